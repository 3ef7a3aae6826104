//! Blocks of a test as something that the simulator can serve again.

use crate::evidence::{Block, Outcome, RequestRecord};
use crate::sim::calibration::{Answer, NOT_JUDGED, ServedRun, group_times, mean};
use crate::sim::engine::{ReplicaSpec, SimRequest};
use crate::stats::quantile;
use crate::units::Picoseconds;

/// A figure of a block that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// Mean time to first token.
    TtftMean,
    /// Its 95th percentile.
    TtftP95,
    /// Mean time to the last token.
    E2eMean,
    /// Its 95th percentile.
    E2eP95,
    /// Mean time between tokens.
    TokenMean,
}

impl Figure {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::TtftMean, Self::TtftP95, Self::TokenMean, Self::E2eMean, Self::E2eP95];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::TtftMean => "TTFT mean",
            Self::TtftP95 => "TTFT p95",
            Self::E2eMean => "E2E mean",
            Self::E2eP95 => "E2E p95",
            Self::TokenMean => "TPOT mean",
        }
    }

    /// What answers make of it, seconds; `None` of no answers that have it.
    pub fn of(self, answers: &[Answer]) -> Option<f64> {
        let judged = answers.iter().filter(|answer| answer.class != NOT_JUDGED);
        let level = |time: fn(&Answer) -> f64| {
            let times: Vec<f64> = judged.clone().map(time).collect();
            quantile(&times, 0.95).ok()
        };
        match self {
            Self::TtftMean => mean(judged.map(|answer| answer.ttft_s)),
            Self::TtftP95 => level(|answer| answer.ttft_s),
            Self::E2eMean => mean(judged.map(|answer| answer.e2e_s)),
            Self::E2eP95 => level(|answer| answer.e2e_s),
            Self::TokenMean => mean(judged.filter_map(Answer::token_s)),
        }
    }
}

/// A figure, measured and predicted without it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Which.
    pub figure: Figure,
    /// As it was measured, seconds.
    pub measured_s: f64,
    /// As it was predicted, seconds.
    pub predicted_s: f64,
}

impl Comparison {
    /// Predicted over measured, less one.
    pub fn error(&self) -> f64 {
        self.predicted_s / self.measured_s - 1.0
    }

    /// All figures that both have.
    pub(super) fn all(measured: &[Answer], predicted: &[Answer]) -> Vec<Self> {
        let compared = |figure: Figure| {
            let (measured_s, predicted_s) = (figure.of(measured)?, figure.of(predicted)?);
            Some(Self { figure, measured_s, predicted_s })
        };
        Figure::ALL.into_iter().filter_map(compared).collect()
    }
}

/// A block as it was asked and answered.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) run: ServedRun,
    /// The answers of requests that are judged.
    pub(super) answers: Vec<Answer>,
}

/// A block's requests; `None` where none that is judged was answered whole. Requests that an engine
/// refused because it was full are offered to it again where its queue is bounded. Others that failed
/// are left out: how much of an answer the engine had computed is not known.
pub(super) fn served(name: String, spec: ReplicaSpec, block: &Block) -> Option<Served> {
    let whole = || block.requests.iter().filter(|request| request.outcome.is_complete());
    let judged = |request: &RequestRecord| {
        (block.judged_from_ns..block.judged_until_ns).contains(&request.intended_ns)
    };
    let middle = |of: fn(&RequestRecord) -> u32| {
        let mut values: Vec<u32> = whole().filter(|request| judged(request)).map(of).collect();
        let at = values.len() / 2;
        (!values.is_empty()).then(|| *values.select_nth_unstable(at).1)
    };
    let prompt_middle = middle(|request| request.prompt_tokens)?;
    let output_middle = middle(|request| request.output_tokens)?;
    let class = |request: &RequestRecord| {
        if !judged(request) {
            return NOT_JUDGED;
        }
        // Long and short prompts and answers apart, so that both tell what they cost.
        2 * u16::from(request.prompt_tokens > prompt_middle)
            + u16::from(request.output_tokens > output_middle)
    };
    let mut requests: Vec<SimRequest> = Vec::new();
    let mut answers = Vec::new();
    for request in whole() {
        let (Some(sent), Some(first)) = (request.sent_ns, request.first_token_ns) else { continue };
        requests.push(SimRequest {
            id: u64::from(request.index),
            at: Picoseconds(sent.saturating_mul(1000)),
            prompt_tokens: request.prompt_tokens.max(1),
            output_tokens: request.output_tokens.max(1),
            class: class(request),
            prefix: None,
        });
        let since = |at: u64| at.saturating_sub(sent) as f64 / 1e9;
        let last = request.last_token_ns.unwrap_or(request.end_ns);
        answers.push(Answer {
            class: class(request),
            ttft_s: since(first),
            e2e_s: since(last),
            output_tokens: request.output_tokens.max(1),
        });
    }
    let is_bounded = spec.requests_max.is_some();
    let refused = block
        .requests
        .iter()
        .filter(|request| is_bounded && matches!(request.outcome, Outcome::Refused(_)));
    requests.extend(refused.filter_map(|request| {
        Some(SimRequest {
            id: u64::from(request.index),
            at: Picoseconds(request.sent_ns?.saturating_mul(1000)),
            prompt_tokens: request.prompt_tokens.max(1),
            // What it would have been given is not known.
            output_tokens: output_middle.max(1),
            class: NOT_JUDGED,
            prefix: None,
        })
    }));
    requests.sort_by_key(|request| (request.at, request.id));
    answers.retain(|answer| answer.class != NOT_JUDGED);
    // The normalised time says nothing that the other three do not.
    let mut seen = group_times(&answers);
    for group in &mut seen {
        group.normalised_token_s = None;
    }
    (!answers.is_empty())
        .then_some(Served { run: ServedRun { name, spec, requests, seen }, answers })
}
