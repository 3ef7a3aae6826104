//! The gate of the neighbour's objective: does training (batch, rendering) get done in time beside
//! inference?

use jiff::{SignedDuration, Timestamp};

use crate::evidence::Condition;
use crate::site::{CheckpointInterval, Deadline, Demand, SharingMode, Training, WorkloadKind};
use crate::stats::{self, ALPHA, Side};

use super::findings::{Case, Percent, Seconds, gate, open};
use super::pool::{Member, Pool};
use super::{Bounded, Finding, Gate, GateKind, Ruling, Sample, Strategy, Target, Unit, means, series};

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
    let mut findings = Vec::new();
    let together = case.blocks(Condition::C, strategy);
    let alone = case.blocks(Condition::B, Strategy::AsDeclared);
    if alone.is_empty() {
        findings.push(not_tested(case, strategy, Condition::B));
    }
    if together.is_empty() {
        findings.push(not_tested(case, strategy, Condition::C));
        return gate(GateKind::Completion, findings);
    }
    findings.extend(drift(case, &alone, Strategy::Alone));
    findings.extend(drift(case, &together, strategy));
    let objectives = &training.objectives;
    if let Some(most) = objectives.step_time_max {
        let mut finding = begun(case, strategy, &together, "step_time_max");
        finding.target = Some(target("step_time_max", most.as_secs_f64(), Unit::Seconds));
        let step_means: Vec<f64> =
            together.iter().filter_map(|member| mean(&series::step_durations(member.block))).collect();
        means::decide(case, &mut finding, &step_means, most.as_secs_f64(), Side::AtMost, "b,c");
        if let Some(judged) = finding.judged {
            finding.explanation = format!(
                "mean step {} over {} blocks, at most {} (95 %), {} allowed",
                Seconds(judged.estimate),
                finding.sample.blocks,
                Seconds(judged.upper.unwrap_or(f64::INFINITY)),
                Seconds(most.as_secs_f64())
            );
        }
        findings.push(finding);
    }
    if let Some(least) = &objectives.throughput_min {
        let mut finding = begun(case, strategy, &together, "throughput_min");
        let tokens = least.is_tokens();
        let unit = if tokens { Unit::TokensPerSecond } else { Unit::Count };
        finding.target = Some(target("throughput_min", least.per_second, unit));
        let rates: Vec<f64> = together
            .iter()
            .filter_map(|member| {
                let each = if tokens { tokens_per_step(member)? } else { 1.0 };
                Some(each / series::wall_per_step(member.block)?)
            })
            .collect();
        if tokens || least.unit.starts_with("step") {
            means::decide(case, &mut finding, &rates, least.per_second, Side::AtLeast, "b,c");
        } else {
            finding.explanation =
                format!("the trainer's log counts no `{}`, so it was not seen", least.unit);
            finding.missing.push(
                case.declare("a throughput that the log shows", "throughput_min: 4000 tok/s"),
            );
        }
        findings.push(finding);
    }
    if let Some(deadline) = &objectives.deadline {
        findings.push(meets(case, training, deadline, strategy, &together, &alone));
    }
    if objectives.on_time_share.is_some() {
        let mut finding = begun(case, strategy, &together, "on_time_share");
        finding.explanation =
            "a share of weeks needs a calendar of weeks, and none has been planned".into();
        finding.missing.push(case.declare(
            "a one-off deadline that one test can decide",
            "objectives: { deadline: 2027-01-08 18:00 }",
        ));
        findings.push(finding);
    }
    gate(GateKind::Completion, findings)
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

fn not_tested(case: &Case<'_>, strategy: Strategy, condition: Condition) -> Finding {
    let letter = condition.letter();
    let mut finding = begun(case, strategy, &[], &format!("test {letter}"));
    let other = case.pool.and_then(|pool| {
        pool.differences.iter().find(|difference| difference.condition == condition)
    });
    finding.explanation = match other {
        Some(difference) => format!(
            "test {letter} was made on something else and does not count: {}",
            difference.what
        ),
        None => format!("no valid block of test {letter} exists"),
    };
    let tests = if condition == Condition::B { "b" } else { "c" };
    finding.missing.push(case.measure(
        tests,
        format!("test {letter} on the stack of today"),
        Some(3.0 * case.pair_minutes()),
    ));
    finding
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn tokens_per_step(member: &Member<'_>) -> Option<f64> {
    mean(&member.block.judged_steps().filter_map(|s| s.tokens.map(|t| t as f64)).collect::<Vec<_>>())
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
        let (first, last) = (mean(&steps[..quarter])?, mean(&steps[steps.len() - quarter..])?);
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
    Some(mean(&clocks[clocks.len() - quarter..])? / mean(&clocks[..quarter])? - 1.0)
}

/// A one-off deadline: all steps at the wall-clock time per step that was measured together. Alone
/// is the most favourable case: where even that is too slow, nothing helps.
fn meets(
    case: &Case<'_>,
    training: &Training,
    deadline: &Deadline,
    strategy: Strategy,
    together: &[Member<'_>],
    alone: &[Member<'_>],
) -> Finding {
    let mut finding = begun(case, strategy, together, "deadline");
    let Deadline::At { at, start, .. } = deadline else {
        finding.explanation =
            "a deadline that recurs needs a calendar of weeks, and none has been planned".into();
        finding.missing.push(case.declare(
            "a one-off deadline that one test can decide",
            "objectives: { deadline: 2027-01-08 18:00 }",
        ));
        return finding;
    };
    let Some(steps) = training.steps else {
        finding.explanation = "the site does not say how many steps there are to do".into();
        finding.missing.push(case.declare("the number of steps", "steps: 20000"));
        return finding;
    };
    let Some(as_of) = case.as_of else {
        finding.explanation = "no instant is known to count from".into();
        finding.missing.push(case.declare("the instant to judge for", "as_of: 2027-01-04 09:00"));
        return finding;
    };
    let from = start.map_or(as_of, |start: Timestamp| start.max(as_of));
    let available_s = at.duration_since(from).as_secs_f64();
    finding.target = Some(target("deadline", available_s.max(0.0), Unit::Seconds));
    if *at <= as_of {
        finding.ruling = Ruling::Fail;
        finding.explanation = format!("the deadline {deadline} has passed at {as_of}");
        return finding;
    }
    let checkpoint_s = checkpoint_cost_s(training, together);
    let walls = |members: &[Member<'_>]| -> Vec<f64> {
        members.iter().filter_map(|member| series::wall_per_step(member.block)).collect()
    };
    let bounds = match stats::student_bounds(&walls(together), ALPHA) {
        Ok(bounds) => bounds,
        Err(refusal) => {
            finding.explanation = format!("no bound of the step time can be given: {refusal}");
            finding.missing.push(case.measure(
                "b,c",
                "more blocks".into(),
                Some(3.0 * case.pair_minutes()),
            ));
            return finding;
        }
    };
    let total = |step_s: f64| steps as f64 * (step_s + checkpoint_s);
    finding.sample = Sample {
        count: together.iter().map(|member| member.block.judged_steps().count() as u64).sum(),
        effective: bounds.blocks as f64,
        blocks: bounds.blocks as u32,
    };
    finding.observed = Some(total(bounds.mean));
    finding.judged = Some(Bounded {
        estimate: total(bounds.mean),
        lower: Some(total(bounds.lower)),
        upper: Some(total(bounds.upper)),
    });
    let done = |seconds: f64| {
        SignedDuration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|needed| from.checked_add(needed).ok())
            .map_or_else(|| "beyond the calendar".to_owned(), |at| at.strftime("%F %R UTC").to_string())
    };
    finding.explanation = format!(
        "{steps} steps at {} a step (and {} a step for checkpoints) take {}, done by {} at the \
         latest (95 %); the deadline is {deadline}",
        Seconds(bounds.mean),
        Seconds(checkpoint_s),
        Seconds(total(bounds.mean)),
        done(total(bounds.upper)),
    );
    let steady_load = matches!(
        case.inference.map(|(_, inference)| &inference.demand),
        Some(Demand::Poisson { .. } | Demand::Gamma { .. } | Demand::Constant { .. })
    );
    let windows = matches!(case.site.sharing.mode, SharingMode::Temporal(_));
    let alone_lower = stats::student_bounds(&walls(alone), ALPHA).map(|bounds| bounds.lower).ok();
    let fails_alone = alone_lower.is_some_and(|lower| total(lower) > available_s);
    if windows {
        finding.explanation.push_str("; with windows of time it takes a calendar to decide");
        finding.missing.push(case.declare(
            "a way of sharing that one test can decide",
            "sharing: { mode: whole_gpu }",
        ));
    } else if total(bounds.upper) <= available_s {
        finding.ruling = Ruling::Pass;
    } else if total(bounds.lower) > available_s && (steady_load || fails_alone) {
        finding.ruling = Ruling::Fail;
        if fails_alone {
            finding.explanation.push_str("; even alone it would be late");
        }
    } else if total(bounds.lower) > available_s {
        finding.explanation.push_str(
            "; late at the tested load, but the load varies, and quiet hours may make it up: a \
             calendar decides",
        );
        finding.missing.push(case.measure(
            "b,c",
            "step times at quiet load".into(),
            Some(6.0 * case.pair_minutes()),
        ));
    } else {
        finding.missing.push(case.measure(
            "b,c",
            "more blocks".into(),
            Some(together.len() as f64 * case.pair_minutes()),
        ));
    }
    finding
}

/// Time that checkpoints add to each step, seconds, where the judged intervals did not contain them
/// at the declared rate: measured duration ÷ steps between two.
fn checkpoint_cost_s(training: &Training, members: &[Member<'_>]) -> f64 {
    let durations: Vec<f64> = members
        .iter()
        .flat_map(|member| &member.block.checkpoints)
        .map(|checkpoint| checkpoint.duration_s)
        .collect();
    let declared = training.checkpoint.as_ref();
    let duration = mean(&durations)
        .or(declared.and_then(|c| c.duration).map(|duration| duration.as_secs_f64()));
    let walls: Vec<f64> = members.iter().filter_map(|m| series::wall_per_step(m.block)).collect();
    let steps_between = match declared.and_then(|checkpoint| checkpoint.interval) {
        Some(CheckpointInterval::Steps(steps)) => Some(steps as f64),
        Some(CheckpointInterval::Time(time)) => {
            mean(&walls).map(|wall| (time.as_secs_f64() / wall).max(1.0))
        }
        None => None,
    };
    // Counted in full even where some blocks contained one: the error is on the side of «late».
    match (duration, steps_between) {
        (Some(duration), Some(steps)) if steps > 0.0 => duration / steps,
        _ => 0.0,
    }
}
