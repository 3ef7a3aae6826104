//! A test of a server, and the same test in the simulator.

use std::collections::BTreeMap;

use crate::perf::{Multipliers, StepModel};
use crate::sim::engine::{PassRun, Replica, ReplicaSpec, SimRequest, SpecProblem, Tokens, Watcher};
use crate::sim::{Histogram, Outcome};
use crate::units::Picoseconds;

/// The class of requests whose times are not compared: those of the warm-up.
pub const NOT_JUDGED: u16 = u16::MAX;

/// What a server was asked, and how it was seen to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedRun {
    /// What to call it.
    pub name: String,
    /// The engine. Its step is what is looked for, and not read.
    pub spec: ReplicaSpec,
    /// What it was asked, in order of arrival. Times are compared for each class.
    pub requests: Vec<SimRequest>,
    /// What was seen, for each class.
    pub seen: Vec<GroupTimes>,
}

/// How one request was answered, by an engine or by the simulator. Times are seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Its class.
    pub class: u16,
    /// From arrival to the first token.
    pub ttft_s: f64,
    /// From arrival to the last token.
    pub e2e_s: f64,
    /// Tokens of the answer, at least one.
    pub output_tokens: u32,
}

impl Answer {
    /// Between the first token and the last, over the tokens between them; `None` for one token.
    pub fn token_s(&self) -> Option<f64> {
        let gaps = self.output_tokens.checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((self.e2e_s - self.ttft_s) / f64::from(gaps))
    }
}

/// Mean times of the requests of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupTimes {
    /// The class.
    pub class: u16,
    /// Requests that were answered whole.
    pub requests: u64,
    /// From arrival to the first token, seconds.
    pub ttft_s: Option<f64>,
    /// From arrival to the last token, seconds.
    pub e2e_s: Option<f64>,
    /// Between the first token and the last, over the tokens between them, seconds.
    pub token_s: Option<f64>,
    /// From arrival to the last token, over the tokens, seconds: what some tools call the time per
    /// output token, normalised.
    pub normalised_token_s: Option<f64>,
}

impl GroupTimes {
    /// The times, in the order of the fields.
    pub fn times(&self) -> [Option<f64>; 4] {
        [self.ttft_s, self.e2e_s, self.token_s, self.normalised_token_s]
    }

    /// The times that both have, each as (here, there), in the order of the fields.
    pub fn compared(&self, there: &Self) -> impl Iterator<Item = (f64, f64)> + use<> {
        let pairs = self.times().into_iter().zip(there.times());
        pairs.filter_map(|(here, there)| Some((here?, there?)))
    }
}

/// Mean times of the answers of each class, in order of the classes; [`NOT_JUDGED`] is left out.
pub fn group_times(answers: &[Answer]) -> Vec<GroupTimes> {
    let mut groups: BTreeMap<u16, Vec<&Answer>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.class != NOT_JUDGED) {
        groups.entry(answer.class).or_default().push(answer);
    }
    let times = |(class, answers): (u16, Vec<&Answer>)| GroupTimes {
        class,
        requests: answers.len() as u64,
        ttft_s: mean(answers.iter().map(|answer| answer.ttft_s)),
        e2e_s: mean(answers.iter().map(|answer| answer.e2e_s)),
        token_s: mean(answers.iter().filter_map(|answer| answer.token_s())),
        normalised_token_s: mean(
            answers.iter().map(|answer| answer.e2e_s / f64::from(answer.output_tokens.max(1))),
        ),
    };
    groups.into_iter().map(times).collect()
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// A run in the simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulated {
    /// The answers, in the order in which they ended.
    pub answers: Vec<Answer>,
    /// The share of the time, from the first arrival to the last token, in which passes ran.
    pub busy_share: f64,
    /// Times between two tokens of a request, of all requests.
    pub itl: Histogram,
}

/// Serves a run's requests by the simulator, with a model of the step and beside a neighbour.
///
/// # Errors
/// The engine's numbers make none that gets on.
pub fn serve(
    run: &ServedRun,
    model: &StepModel,
    beside: Multipliers,
) -> Result<Simulated, SpecProblem> {
    let spec = ReplicaSpec { step: model.integer(beside), ..run.spec };
    let mut replica = Replica::new(0, spec)?;
    let mut seen = Seen { outside_s: model.request(beside).seconds(), ..Seen::default() };
    let mut now = Picoseconds::ZERO;
    for request in &run.requests {
        now = now.max(request.at);
        replica.advance(now, &mut seen);
        replica.offer(now, SimRequest { at: now, ..*request }, &mut seen);
    }
    replica.advance(Picoseconds::MAX, &mut seen);
    let from = run.requests.first().map_or(Picoseconds::ZERO, |request| request.at);
    let length_s = (seen.outcome.until - from).seconds();
    let busy_share = if length_s > 0.0 { seen.outcome.busy as f64 / 1e12 / length_s } else { 0.0 };
    Ok(Simulated { answers: seen.answers, busy_share, itl: seen.outcome.itl })
}

#[derive(Default)]
struct Seen {
    answers: Vec<Answer>,
    outside_s: f64,
    outcome: Outcome,
}

impl Watcher for Seen {
    fn passes(&mut self, run: &PassRun) {
        self.outcome.passes(run);
    }

    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        self.outcome.late_token(request, tokens, at);
    }

    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        self.answers.push(Answer {
            class: request.class,
            ttft_s: (tokens.first_at - request.at).seconds() + self.outside_s,
            e2e_s: (tokens.last_at - request.at).seconds() + self.outside_s,
            output_tokens: request.output_tokens.max(1),
        });
    }
}
