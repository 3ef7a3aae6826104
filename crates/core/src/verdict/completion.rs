//! The gate of the neighbour's objective: does training (batch, rendering) get done in time beside
//! inference?

use jiff::{SignedDuration, Timestamp};

use crate::evidence::Condition;
use crate::site::{CheckpointInterval, Deadline, Demand, SharingMode, Training, WorkloadKind};
use crate::stats::{self, ALPHA, MeanBounds, Side};
use crate::units::RatePerSecond;

use super::claims::{Claim, rule_failures};
use super::findings::{Case, Percent, Seconds, gate, not_tested, open, untested_workload};
use super::inference::count;
use super::load::{self, Tie};
use super::means::Weighted;
use super::phases::Phases;
use super::pool::{Member, Pool};
use super::{
    Bounded, Finding, Gate, GateKind, Ruling, Sample, Strategy, Target, Unit, means, points, series,
};

/// A p-value below which a block's step times are taken to drift.
const DRIFT_P: f64 = 0.01;

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let Some(workload) = case.neighbour else {
        let mut finding = open("neighbour", strategy);
        finding.explanation = "the site declares no workload beside inference".into();
        finding.missing.push(case.declare("a neighbour", "workloads: [{ training: … }]"));
        return gate(GateKind::Completion, vec![finding]);
    };
    let Some(training) = case.training else {
        let mut finding = open(format!("{}: objective", workload.name), strategy);
        finding.explanation = format!(
            "`{}` is {}, and only training was measured",
            workload.name,
            kind_with_article(&workload.kind)
        );
        finding.missing.push(case.measure("b,c", "its progress alone and together".into(), None));
        return gate(GateKind::Completion, vec![finding]);
    };
    if training.objectives.is_empty() {
        let mut finding = open(format!("{}: objectives", workload.name), strategy);
        finding.explanation = "the site declares no objective for it".into();
        finding.missing.push(
            case.declare("an objective", "objectives: { deadline: …, step_time_max: 120 ms }"),
        );
        return gate(GateKind::Completion, vec![finding]);
    }
    let mut findings = untested(case, strategy, &workload.name);
    let together = case.blocks(Condition::C, strategy);
    let alone = case.training_alone(strategy);
    if alone.is_empty() {
        findings.push(not_tested(case, Condition::B, strategy, &workload.name));
    }
    findings.extend(broken_off(case, strategy));
    if together.is_empty() {
        findings.push(not_tested(case, Condition::C, strategy, &workload.name));
        findings.extend(points::step_time(case, strategy, &workload.name));
        return gate(GateKind::Completion, findings);
    }
    findings.extend(drift(case, &alone, Strategy::Alone));
    findings.extend(drift(case, &together, strategy));
    let tie = load::tie(case, &together);
    if !tie.below.is_empty() {
        let mut finding = begun(case, strategy, &together, "load beside it");
        finding.explanation = format!(
            "inference was under less load than is declared, which leaves more to training: {}",
            tie.below.join("; ")
        );
        finding.missing.push(case.at_declared_load());
        findings.push(finding);
    }
    let look = Look { case, training, strategy, together: &together, alone: &alone, tie: &tie };
    findings.extend(look.objectives());
    gate(GateKind::Completion, findings)
}

/// Workloads beside inference that no test covers.
fn untested(case: &Case<'_>, strategy: Strategy, tested: &str) -> Vec<Finding> {
    case.site
        .workloads
        .iter()
        .filter(|workload| !matches!(workload.kind, WorkloadKind::Inference(_)))
        .filter(|workload| workload.name != tested)
        .map(|workload| untested_workload(case, strategy, &workload.name))
        .collect()
}

/// Blocks of training beside inference that broke off: the neighbour may have died of the sharing.
fn broken_off(case: &Case<'_>, strategy: Strategy) -> Option<Finding> {
    let blocks = case.pool?.incomplete(Condition::C, Case::remedy(strategy));
    let first = blocks.first()?;
    let mut finding = begun(case, strategy, &blocks, "runs through");
    let reasons: Vec<String> =
        first.block.faults.iter().map(crate::evidence::BlockFault::sentence).collect();
    finding.explanation = format!(
        "{} of test C broke off (block {}: {}), which may be what sharing does to it",
        count(blocks.len(), "block"),
        first.block.plan.index,
        reasons.join("; ")
    );
    finding.missing.push(case.measure(
        "a,c",
        "test C that runs through".into(),
        Some(6.0 * case.pair_minutes()),
    ));
    Some(finding)
}

/// One way of sharing in its setting.
#[derive(Clone, Copy)]
struct Look<'a> {
    case: &'a Case<'a>,
    training: &'a Training,
    strategy: Strategy,
    together: &'a [Member<'a>],
    alone: &'a [Member<'a>],
    tie: &'a Tie,
}

/// A finding, and what would make it fail.
type Judged<'a> = (Finding, Option<Box<dyn Fn(f64) -> bool + 'a>>);

impl<'a> Look<'a> {
    fn objectives(self) -> Vec<Finding> {
        let objectives = &self.training.objectives;
        let mut judged: Vec<Judged<'a>> = Vec::new();
        if let Some(most) = objectives.step_time_max {
            judged.push(self.step_time(most.as_secs_f64()));
        }
        if let Some(least) = &objectives.throughput_min {
            judged.push(self.throughput(least));
        }
        if let Some(deadline) = &objectives.deadline {
            judged.push(self.meets(deadline));
        }
        let mut findings = Vec::new();
        let mut claims = Vec::new();
        for (finding, beyond) in judged {
            if let Some(beyond) = beyond {
                claims.push(Claim { finding: findings.len(), beyond, tests: "b,c" });
            }
            findings.push(finding);
        }
        rule_failures(self.case, &mut findings, &claims);
        if objectives.on_time_share.is_some() {
            let mut finding = begun(self.case, self.strategy, self.together, "on_time_share");
            finding.explanation =
                "a share of weeks needs a calendar of weeks, and none has been planned".into();
            finding.missing.push(one_off(self.case));
            findings.push(finding);
        }
        findings
    }

    /// Mean time of a step.
    fn step_time(self, most: f64) -> Judged<'a> {
        let mut finding = begun(self.case, self.strategy, self.together, "step_time_max");
        finding.target = Some(target("step_time_max", most, Unit::Seconds));
        let means: Vec<Option<f64>> = self
            .together
            .iter()
            .map(|member| series::mean(&series::step_durations(member.block)))
            .collect();
        let without = means.iter().filter(|mean| mean.is_none()).count();
        // A block without a finished step says that a step takes at least as long as the block.
        let values: Vec<f64> = means
            .iter()
            .zip(self.together)
            .map(|(mean, member)| mean.unwrap_or_else(|| member.block.judged_s()))
            .collect();
        let phases = Phases::new(self.case, Condition::C, self.together);
        let ways = phases.means(&values);
        let show = |value: f64| Seconds(value).to_string();
        let aim = means::Aim { limit: most, side: Side::AtMost, tests: "b,c" };
        means::decide(self.case, &mut finding, &ways, phases.obstacle.as_ref(), aim, show);
        if without > 0 {
            let why = format!(
                "in {without} of {} blocks no step was finished; ",
                count(means.len(), "block")
            );
            let missing = self.case.measure(
                "b,c",
                "longer blocks, so that each holds some steps".into(),
                Some(2.0 * means.len() as f64 * self.case.pair_minutes()),
            );
            withhold(&mut finding, &why, missing);
        }
        self.failing(finding, ways, most, Side::AtMost)
    }

    /// Finished work over time.
    fn throughput(self, least: &RatePerSecond) -> Judged<'a> {
        let mut finding = begun(self.case, self.strategy, self.together, "throughput_min");
        let tokens = least.is_tokens();
        let unit = if tokens { Unit::TokensPerSecond } else { Unit::Count };
        finding.target = Some(target("throughput_min", least.per_second, unit));
        let each: Vec<f64> = self
            .together
            .iter()
            .filter_map(|member| series::tokens_per_step(member.block))
            .collect();
        let each = match series::mean(&each) {
            _ if least.unit.starts_with("step") => 1.0,
            Some(mean) if tokens => mean,
            _ => {
                finding.explanation =
                    format!("the trainer's log counts no `{}`, so it was not seen", least.unit);
                finding.missing.push(
                    self.case
                        .declare("a throughput that the log shows", "throughput_min: 4000 tok/s"),
                );
                return (finding, None);
            }
        };
        let values: Vec<f64> = rates(self.together).iter().map(|rate| rate * each).collect();
        let phases = Phases::new(self.case, Condition::C, self.together);
        let ways = phases.means(&values);
        let limit = least.per_second;
        let show = |value: f64| format!("{value:.2} {}/s", least.unit);
        let aim = means::Aim { limit, side: Side::AtLeast, tests: "b,c" };
        means::decide(self.case, &mut finding, &ways, phases.obstacle.as_ref(), aim, show);
        self.failing(finding, ways, limit, Side::AtLeast)
    }

    /// What fails beside more load than is declared may hold beside the declared one.
    fn failing(
        self,
        mut finding: Finding,
        ways: Vec<Weighted>,
        limit: f64,
        side: Side,
    ) -> Judged<'a> {
        if !self.tie.above.is_empty() && finding.ruling == Ruling::NotProven {
            finding.explanation = format!(
                "inference was under more load than is declared ({}); {}",
                self.tie.above.join("; "),
                finding.explanation
            );
            finding.missing.push(self.case.at_declared_load());
            return (finding, None);
        }
        let beyond = move |level: f64| means::is_beyond(&ways, limit, side, level);
        (finding, Some(Box::new(beyond)))
    }

    /// A one-off deadline: all steps at the rate that was measured together. Alone is the most
    /// favourable case: where even that is too slow, nothing helps.
    fn meets(self, deadline: &Deadline) -> Judged<'a> {
        let case = self.case;
        let mut finding = begun(case, self.strategy, self.together, "deadline");
        let Deadline::At { at, start, .. } = deadline else {
            finding.explanation =
                "a deadline that recurs needs a calendar of weeks, and none has been planned"
                    .into();
            finding.missing.push(one_off(case));
            return (finding, None);
        };
        let Some(steps) = self.training.steps else {
            finding.explanation = "the site does not say how many steps there are to do".into();
            finding.missing.push(case.declare("the number of steps", "steps: 20000"));
            return (finding, None);
        };
        let Some(as_of) = case.as_of else {
            finding.explanation = "no instant is known to count from".into();
            finding
                .missing
                .push(case.declare("the instant to judge for", "as_of: 2027-01-04 09:00"));
            return (finding, None);
        };
        let from = start.map_or(as_of, |start: Timestamp| start.max(as_of));
        let available_s = at.duration_since(from).as_secs_f64();
        finding.target = Some(target("deadline", available_s.max(0.0), Unit::Seconds));
        if available_s <= 0.0 {
            finding.origin = Some(crate::evidence::Origin::Declared);
            finding.explanation = format!(
                "the deadline {deadline} leaves no time from {}",
                from.strftime("%F %R UTC")
            );
            return (finding, Some(Box::new(|_| true)));
        }
        let phases = Phases::new(case, Condition::C, self.together);
        let ways = phases.means(&rates(self.together));
        let bounds = match slowest(&ways) {
            Ok(bounds) => bounds,
            Err(refusal) => {
                finding.explanation = format!("no bound of the progress can be given: {refusal}");
                finding.missing.push(case.measure(
                    "b,c",
                    "more blocks".into(),
                    Some(3.0 * case.pair_minutes()),
                ));
                return (finding, None);
            }
        };
        let saving = checkpoint_cost_s(self.training, self.together);
        let saving_s = saving.unwrap_or(0.0);
        let total = move |rate: f64| {
            if rate > 0.0 { steps as f64 * (1.0 / rate + saving_s) } else { f64::INFINITY }
        };
        finding.sample = Sample {
            count: self.together.iter().map(|m| m.block.judged_steps().count() as u64).sum(),
            effective: bounds.blocks as f64,
            blocks: bounds.blocks as u32,
        };
        finding.observed = Some(total(bounds.mean));
        finding.judged = Some(Bounded {
            estimate: total(bounds.mean),
            lower: Some(total(bounds.upper)),
            upper: Some(total(bounds.lower)),
        });
        finding.explanation = format!(
            "{steps} steps at {} a step (and {} a step for checkpoints) take {}, done by {} at the \
             latest (95 %); the deadline is {deadline}",
            Seconds(1.0 / bounds.mean),
            Seconds(saving_s),
            Seconds(total(bounds.mean)),
            done(from, total(bounds.lower)),
        );
        if matches!(case.site.sharing.mode, SharingMode::Temporal(_)) {
            finding.explanation.push_str("; with windows of time it takes a calendar to decide");
            finding.missing.push(case.declare(
                "a way of sharing that one test can decide",
                "sharing: { mode: whole_gpu }",
            ));
            return (finding, None);
        }
        if total(bounds.lower) <= available_s {
            finding.ruling = Ruling::Pass;
            let slack_s = available_s - total(bounds.lower);
            finding.blind_spot = Some(format!(
                "time lost to reclaims is not in it: {} are left for them",
                Seconds(slack_s)
            ));
            if let Some((why, missing)) = phases.obstacle {
                withhold(&mut finding, &format!("{why}; "), missing);
            } else if saving.is_none() {
                withhold(
                    &mut finding,
                    "no checkpoint was seen, so what they cost is unknown; ",
                    case.declare("how long a checkpoint takes", "checkpoint: { duration: 6 s }"),
                );
            }
        }
        let rates_alone = rates(self.alone);
        let late_alone = move |level: f64| {
            stats::student_bounds(&rates_alone, level)
                .is_ok_and(|alone| total(alone.upper) > available_s)
        };
        let steady = self.tie.above.is_empty()
            && matches!(
                case.inference.map(|(_, inference)| &inference.demand),
                Some(Demand::Poisson { .. } | Demand::Gamma { .. } | Demand::Constant { .. })
            );
        let late = move |level: f64| {
            ways.iter().all(|way| {
                means::bounds(way, level).is_ok_and(|bounds| total(bounds.upper) > available_s)
            })
        };
        if late_alone(ALPHA) {
            finding.explanation.push_str("; even alone it would be late");
        }
        if finding.ruling != Ruling::Pass && finding.missing.is_empty() {
            if late(ALPHA) && !steady && !late_alone(ALPHA) {
                finding.explanation.push_str(
                    "; late at the tested load, but quiet hours may make it up: a calendar decides",
                );
                finding.missing.push(case.measure(
                    "b,c",
                    "step times at quiet load".into(),
                    Some(6.0 * case.pair_minutes()),
                ));
            } else if !late(ALPHA) && !late_alone(ALPHA) {
                finding.missing.push(case.measure(
                    "b,c",
                    "as many blocks again".into(),
                    Some(self.together.len() as f64 * case.pair_minutes()),
                ));
            }
        }
        let beyond = move |level: f64| late_alone(level) || (steady && late(level));
        (finding, Some(Box::new(beyond)))
    }
}

/// Steps a second of each block; none where nothing was judged.
fn rates(members: &[Member<'_>]) -> Vec<f64> {
    members.iter().map(|member| series::steps_per_s(member.block).unwrap_or(0.0)).collect()
}

/// Keeps a pass back, with the reason.
fn withhold(finding: &mut Finding, why: &str, missing: super::Missing) {
    if finding.ruling == Ruling::Pass {
        finding.ruling = Ruling::NotProven;
        finding.blind_spot = None;
        finding.missing.push(missing);
    }
    if finding.ruling == Ruling::NotProven {
        finding.explanation = format!("{why}{}", finding.explanation);
    }
}

fn one_off(case: &Case<'_>) -> super::Missing {
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

fn kind_with_article(kind: &WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Inference(_) => "inference",
        WorkloadKind::Training(_) => "training",
        WorkloadKind::Batch(_) => "a batch",
        WorkloadKind::Render(_) => "a render",
    }
}

fn begun(case: &Case<'_>, strategy: Strategy, members: &[Member<'_>], what: &str) -> Finding {
    let name = case.neighbour.map_or("neighbour", |workload| workload.name.as_str());
    let mut finding = open(format!("{name}: {what}"), strategy);
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    finding
}

fn target(metric: &str, value: f64, unit: Unit) -> Target {
    Target { metric: metric.to_owned(), value, unit, misses_allowed: None }
}

/// Step times that still rise at the end of a block were measured too early: a clock that falls as
/// the device heats makes a short test overstate what a long job will get.
fn drift(case: &Case<'_>, members: &[Member<'_>], strategy: Strategy) -> Option<Finding> {
    let mut drifting = Vec::new();
    for member in members {
        let steps = series::step_durations(member.block);
        let quarter = steps.len() / 4;
        let Ok(trend) = stats::mann_kendall(&steps) else { continue };
        if quarter == 0 || trend.p_increasing_corrected >= DRIFT_P {
            continue;
        }
        let (first, last) =
            (series::mean(&steps[..quarter])?, series::mean(&steps[steps.len() - quarter..])?);
        drifting.push((last / first - 1.0, clock_change(member)));
    }
    if drifting.len() * 2 <= members.len() {
        return None;
    }
    let worst = drifting.iter().map(|(growth, _)| *growth).fold(f64::NEG_INFINITY, f64::max);
    let clock = drifting.iter().filter_map(|(_, clock)| *clock).fold(0.0, f64::min);
    let mut finding = begun(case, strategy, members, "steady step time");
    finding.sample = Sample {
        count: members.len() as u64,
        effective: members.len() as f64,
        blocks: members.len() as u32,
    };
    let cause = if clock < -0.01 {
        format!("; the clock fell by {} meanwhile", Percent(-clock))
    } else {
        String::new()
    };
    finding.explanation = format!(
        "the step time has not settled: in {} of {} blocks it still rises (the last quarter is up \
         to {} slower than the first){cause}, so a short test overstates what a long job will get",
        drifting.len(),
        members.len(),
        Percent(worst)
    );
    finding.missing.push(case.measure(
        "b,c",
        "longer blocks, until the step time is level".into(),
        Some(4.0 * members.len() as f64 * case.pair_minutes()),
    ));
    Some(finding)
}

/// Relative change of the clock from the first to the last quarter of a block.
fn clock_change(member: &Member<'_>) -> Option<f64> {
    let clocks: Vec<f64> =
        member.block.host.iter().filter_map(|sample| sample.cpu_clock_mhz.clone().ok()).collect();
    let quarter = (clocks.len() / 4).max(1);
    if clocks.len() < 2 {
        return None;
    }
    let (first, last) =
        (series::mean(&clocks[..quarter])?, series::mean(&clocks[clocks.len() - quarter..])?);
    Some(last / first - 1.0).filter(|change| change.is_finite())
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
