//! Whether all steps of a job are done before its deadline.

use jiff::{SignedDuration, Timestamp};

use crate::evidence::{Condition, Origin};
use crate::site::{CheckpointInterval, Deadline, Demand, SharingMode, Training};
use crate::stats::{self, ALPHA, MeanBounds};

use super::completion::{Judged, Look, begun, rates, target, withhold};
use super::findings::{Case, Seconds};
use super::means::Weighted;
use super::phases::Phases;
use super::pool::Member;
use super::{Bounded, Finding, Missing, Ruling, Sample, Unit, means, series};

/// What a one-off deadline asks for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    deadline: &'a Deadline,
    /// When the work begins.
    from: Timestamp,
    /// Time from then to the deadline, seconds; not positive where it is past.
    available_s: f64,
    job: Job,
}

/// The work that is to be done.
#[derive(Clone, Copy)]
struct Job {
    steps: u64,
    /// What checkpoints add to each step, seconds; `None` where none was seen and none is declared.
    saving_s: Option<f64>,
}

impl Job {
    /// Time that the whole takes at a rate of steps a second, seconds.
    fn total_s(self, rate: f64) -> f64 {
        if rate > 0.0 {
            self.steps as f64 * (1.0 / rate + self.saving_s.unwrap_or(0.0))
        } else {
            f64::INFINITY
        }
    }
}

impl<'a> Look<'a> {
    /// A one-off deadline: all steps at the rate that was measured together. Alone is the most
    /// favourable case: where even that is too slow, nothing helps.
    pub(super) fn meets(self, deadline: &Deadline) -> Judged<'a> {
        let case = self.case;
        let mut finding = begun(case, self.strategy, self.together, "deadline");
        let Some(asked) = self.asked(deadline, &mut finding) else { return (finding, None) };
        let Asked { job, available_s, .. } = asked;
        finding.target = Some(target("deadline", available_s.max(0.0), Unit::Seconds));
        if available_s <= 0.0 {
            finding.origin = Some(Origin::Declared);
            finding.explanation = format!(
                "the deadline {deadline} leaves no time from {}",
                asked.from.strftime("%F %R UTC")
            );
            return (finding, Some(Box::new(|_| true)));
        }
        let phases = Phases::new(case, Condition::C, self.together);
        let ways = phases.means(&rates(self.together));
        let bounds = match slowest(&ways) {
            Ok(bounds) => bounds,
            Err(refusal) => {
                finding.explanation = format!("no bound of the progress can be given: {refusal}");
                let minutes = Some(3.0 * case.pair_minutes());
                finding.missing.push(case.measure("b,c", "more blocks".into(), minutes));
                return (finding, None);
            }
        };
        self.tell(&mut finding, asked, bounds);
        if matches!(case.site.sharing.mode, SharingMode::Temporal(_)) {
            finding.explanation.push_str("; with windows of time it takes a calendar to decide");
            finding.missing.push(case.declare(
                "a way of sharing that one test can decide",
                "sharing: { mode: whole_gpu }",
            ));
            return (finding, None);
        }
        if job.total_s(bounds.lower) <= available_s {
            self.hold(&mut finding, asked, bounds, phases.obstacle);
        }
        let rates_alone = rates(self.alone);
        let late_alone = move |level: f64| {
            stats::student_bounds(&rates_alone, level)
                .is_ok_and(|alone| job.total_s(alone.upper) > available_s)
        };
        let late = move |level: f64| {
            ways.iter().all(|way| {
                means::bounds(way, level)
                    .is_ok_and(|bounds| job.total_s(bounds.upper) > available_s)
            })
        };
        let steady = self.is_steady();
        if late_alone(ALPHA) {
            finding.explanation.push_str("; even alone it would be late");
        } else if finding.ruling != Ruling::Pass && finding.missing.is_empty() {
            self.more(&mut finding, late(ALPHA), steady);
        }
        let beyond = move |level: f64| late_alone(level) || (steady && late(level));
        (finding, Some(Box::new(beyond)))
    }

    /// What a deadline asks for, or in the finding what is missing to know it.
    fn asked<'d>(self, deadline: &'d Deadline, finding: &mut Finding) -> Option<Asked<'d>> {
        let case = self.case;
        let Deadline::At { at, start, .. } = deadline else {
            finding.explanation =
                "a deadline that recurs needs a calendar of weeks, and none has been planned"
                    .into();
            finding.missing.push(one_off(case));
            return None;
        };
        let Some(steps) = self.training.steps else {
            let word = case.step_word();
            finding.explanation = format!("the site does not say how many {word}s there are to do");
            let line = format!("{word}s: 20000");
            finding.missing.push(case.declare(&format!("the number of {word}s"), &line));
            return None;
        };
        let Some(as_of) = case.as_of else {
            finding.explanation = "no instant is known to count from".into();
            finding
                .missing
                .push(case.declare("the instant to judge for", "as_of: 2027-01-04 09:00"));
            return None;
        };
        let from = start.map_or(as_of, |start: Timestamp| start.max(as_of));
        let available_s = at.duration_since(from).as_secs_f64();
        let saving_s = checkpoint_cost_s(self.training, self.together);
        Some(Asked { deadline, from, available_s, job: Job { steps, saving_s } })
    }

    /// Writes down what was seen and what it means for the whole job.
    fn tell(self, finding: &mut Finding, asked: Asked<'_>, bounds: MeanBounds) {
        let Asked { deadline, from, job, .. } = asked;
        finding.sample = Sample {
            count: self.together.iter().map(|m| m.block.judged_steps().count() as u64).sum(),
            effective: bounds.blocks as f64,
            blocks: bounds.blocks as u32,
        };
        finding.observed = Some(job.total_s(bounds.mean));
        finding.judged = Some(Bounded {
            estimate: job.total_s(bounds.mean),
            lower: Some(job.total_s(bounds.upper)),
            upper: Some(job.total_s(bounds.lower)),
        });
        let word = self.case.step_word();
        let saving = if self.case.renders() {
            String::new()
        } else {
            format!(" (and {} a {word} for checkpoints)", Seconds(job.saving_s.unwrap_or(0.0)))
        };
        finding.explanation = format!(
            "{} {word}s at {} a {word}{saving} take {}, done by {} at the latest (95 %); the \
             deadline is {deadline}",
            job.steps,
            Seconds(1.0 / bounds.mean),
            Seconds(job.total_s(bounds.mean)),
            done(from, job.total_s(bounds.lower)),
        );
    }

    /// The deadline holds, as far as nothing stands in the way of saying so.
    fn hold(
        self,
        finding: &mut Finding,
        asked: Asked<'_>,
        bounds: MeanBounds,
        obstacle: Option<(String, Missing)>,
    ) {
        finding.ruling = Ruling::Pass;
        let slack_s = asked.available_s - asked.job.total_s(bounds.lower);
        finding.blind_spot = Some(format!(
            "time lost to reclaims is not in it: {} are left for them",
            Seconds(slack_s)
        ));
        if let Some((why, missing)) = obstacle {
            withhold(finding, &format!("{why}; "), missing);
        } else if asked.job.saving_s.is_none() {
            let line = "checkpoint: { duration: 6 s }";
            withhold(
                finding,
                "no checkpoint was seen, so what they cost is unknown; ",
                self.case.declare("how long a checkpoint takes", line),
            );
        }
    }

    /// Whether the tested load is the one of every hour, so that no quiet hours can make up for it.
    fn is_steady(self) -> bool {
        self.tie.above.is_empty()
            && matches!(
                self.case.inference.map(|(_, inference)| &inference.demand),
                Some(Demand::Poisson { .. } | Demand::Gamma { .. } | Demand::Constant { .. })
            )
    }

    /// What would decide a deadline that neither holds nor is out of reach alone.
    fn more(self, finding: &mut Finding, is_late: bool, is_steady: bool) {
        let case = self.case;
        if is_late && !is_steady {
            finding.explanation.push_str(
                "; late at the tested load, but quiet hours may make it up: a calendar decides",
            );
            finding.missing.push(case.measure(
                "b,c",
                "step times at quiet load".into(),
                Some(6.0 * case.pair_minutes()),
            ));
        } else if !is_late {
            finding.missing.push(case.measure(
                "b,c",
                "as many blocks again".into(),
                Some(self.together.len() as f64 * case.pair_minutes()),
            ));
        }
    }
}

/// What would say a deadline that can be decided.
pub(super) fn one_off(case: &Case<'_>) -> Missing {
    case.declare(
        "a one-off deadline that one test can decide",
        "objectives: { deadline: 2027-01-08 18:00 }",
    )
}

/// Bounds of the way of weighting that makes the least progress.
fn slowest(ways: &[Weighted]) -> Result<MeanBounds, stats::Refusal> {
    let mut slowest: Option<MeanBounds> = None;
    for way in ways {
        let bounds = means::bounds(way, ALPHA)?;
        if slowest.is_none_or(|than| bounds.lower < than.lower) {
            slowest = Some(bounds);
        }
    }
    slowest.ok_or(stats::Refusal::Empty)
}

/// When work that takes so long is done.
fn done(from: Timestamp, seconds: f64) -> String {
    SignedDuration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|needed| from.checked_add(needed).ok())
        .map_or_else(|| "no known day".to_owned(), |at| at.strftime("%F %R UTC").to_string())
}

/// Time that checkpoints add to each step, seconds: mean duration ÷ steps between two. `None` where
/// no duration is known. Counted in full even where some blocks contained one: the error is on the
/// side of «late».
fn checkpoint_cost_s(training: &Training, members: &[Member<'_>]) -> Option<f64> {
    let durations: Vec<f64> = members
        .iter()
        .flat_map(|member| &member.block.checkpoints)
        .map(|checkpoint| checkpoint.duration_s.max(0.0))
        .collect();
    let declared = training.checkpoint.as_ref();
    let duration = series::mean(&durations)
        .or(declared.and_then(|c| c.duration).map(|duration| duration.as_secs_f64()));
    let rates: Vec<f64> =
        members.iter().filter_map(|member| series::steps_per_s(member.block)).collect();
    let steps_between = match declared.and_then(|checkpoint| checkpoint.interval)? {
        CheckpointInterval::Steps(steps) => steps as f64,
        CheckpointInterval::Time(time) => time.as_secs_f64() * series::mean(&rates)?,
    };
    if training.steps.is_some_and(|steps| steps_between >= steps as f64) {
        return Some(0.0);
    }
    Some(duration? / steps_between.max(1.0))
}
