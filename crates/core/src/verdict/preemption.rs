//! The gate of preemption and transition: can the machine be given back in time, and does the
//! neighbour really resume?

use std::time::Duration;

use crate::evidence::{Condition, Origin, ReclaimDrill};
use crate::site::{LostWork, Preemption};
use crate::stats::{ALPHA, clopper_pearson_lower, clopper_pearson_upper, drills_needed};

use super::findings::{Case, Percent, Seconds, gate, open};
use super::inference::count;
use super::pool::{Member, Pool};
use super::{Bounded, Finding, Gate, GateKind, Missing, Ruling, Sample, Strategy, Target, Unit};
use super::{resume, transition};

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let mut findings = vec![reclaims(case, strategy)];
    findings.extend(resume::resumes(case, strategy));
    findings.extend(transition::changes(case, strategy));
    gate(GateKind::Preemption, findings)
}

/// The share of reclaims that the site lets fail.
pub(super) fn allowed_failures(case: &Case<'_>) -> Option<f64> {
    let preemption = case.training.and_then(|training| training.preemption.as_ref());
    let declared = preemption.and_then(|preemption| preemption.failure_share_max);
    declared.or(case.site.operations.risk_tolerance).map(crate::units::Share::value)
}

fn reclaims(case: &Case<'_>, strategy: Strategy) -> Finding {
    let name = case.neighbour.map_or("the neighbour", |workload| workload.name.as_str());
    let mut finding = open(format!("{name}: reclaim and resume"), strategy);
    let Some(preemption) = case.training.and_then(|training| training.preemption.as_ref()) else {
        finding.explanation = "the site does not say whether it may be preempted".into();
        finding.missing.push(case.declare(
            "whether the neighbour may be preempted, and with what notice",
            "preemption: { allowed: true, signal: TERM, notice: 30 s }",
        ));
        return finding;
    };
    if !preemption.allowed {
        finding.ruling = Ruling::Pass;
        finding.origin = Some(Origin::Declared);
        finding.explanation = "declared as never preempted: nothing is ever reclaimed, so inference \
                               must hold with it running at the declared peak, which the first gate \
                               judges"
            .into();
        return finding;
    }
    let Some(allowed) = allowed_failures(case) else {
        finding.explanation = "the site does not say which share of reclaims may fail".into();
        finding.missing.push(
            case.declare("the share of reclaims that may fail", "operations.risk_tolerance: 1 %"),
        );
        return finding;
    };
    let members = case.drills(strategy);
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    judge_drills(case, &mut finding, preemption, allowed, &members);
    finding
}

/// What one drill says.
#[derive(Clone, Debug, PartialEq)]
enum DrillOutcome {
    /// Gone within the notice, its memory free, resumed where it stopped.
    Succeeded,
    /// Not, for this reason.
    Failed(String),
    /// Something that a success needs was not seen.
    Unseen(&'static str),
    /// The run ended before the next start.
    Unfinished,
}

fn outcome(
    drill: &ReclaimDrill,
    preemption: &Preemption,
    reclaim_time: Option<Duration>,
    is_last: bool,
    case: &Case<'_>,
) -> DrillOutcome {
    use DrillOutcome::{Failed, Succeeded, Unfinished, Unseen};
    let word = case.step_word();
    if let Some(why) = &drill.failure {
        return Failed(why.clone());
    }
    // Gone is what has given its memory back: an exit alone frees nothing.
    let gone_s = drill.memory_free_s.or(drill.exit_s);
    let notice_s = preemption.notice.map(|notice| notice.as_secs_f64());
    if let Some((gone_s, notice_s)) = gone_s.zip(notice_s)
        && gone_s > notice_s
    {
        return Failed(format!(
            "it was gone after {}, its notice is {}",
            Seconds(gone_s),
            Seconds(notice_s)
        ));
    }
    if let Some((token_s, most)) = drill.first_token_s.zip(reclaim_time)
        && token_s > most.as_secs_f64()
    {
        return Failed(format!(
            "inference gave its first token after {}, operations.reclaim_time is {}",
            Seconds(token_s),
            Seconds(most.as_secs_f64())
        ));
    }
    if drill.exit_s.is_none() {
        return Unseen("the exit of the neighbour was not seen");
    }
    let Some(resume) = &drill.resume else {
        let lost = "the next start was not seen, though blocks follow";
        return if is_last { Unfinished } else { Unseen(lost) };
    };
    if let Some(why) = &resume.failure {
        return Failed(why.clone());
    }
    let steps_max = match preemption.lost_work {
        Some(LostWork::None) => Some(0),
        Some(LostWork::Steps(steps)) => Some(steps),
        Some(LostWork::SinceCheckpoint | LostWork::Time(_)) | None => None,
    };
    if let Some(most) = steps_max.filter(|most| resume.lost_steps > *most) {
        return Failed(format!("{} {word}s were lost, {most} are declared", resume.lost_steps));
    }
    if drill.memory_free_s.is_none() {
        return Unseen("it was not checked that the memory was free");
    }
    if !case.renders() && (resume.loss_after.is_none() || resume.loss_before.is_none()) {
        return Unseen("the log shows no loss, so it is not seen that the model continued");
    }
    Succeeded
}

fn judge_drills(
    case: &Case<'_>,
    finding: &mut Finding,
    preemption: &Preemption,
    allowed: f64,
    members: &[Member<'_>],
) {
    let notice_s = preemption.notice.map(|notice| notice.as_secs_f64());
    let is_last = |member: &Member<'_>| {
        let later = |block: &crate::evidence::Block| {
            block.plan.index > member.block.plan.index && block.plan.condition != Condition::A
        };
        !member.run.blocks.iter().any(later)
    };
    let drills: Vec<(&ReclaimDrill, DrillOutcome)> = members
        .iter()
        .filter_map(|member| Some((member.block.drill.as_ref()?, is_last(member))))
        .map(|(drill, is_last)| {
            let reclaim_time = case.site.operations.reclaim_time;
            (drill, outcome(drill, preemption, reclaim_time, is_last, case))
        })
        .filter(|(_, outcome)| *outcome != DrillOutcome::Unfinished)
        .collect();
    let number = |is: fn(&DrillOutcome) -> bool| drills.iter().filter(|(_, o)| is(o)).count();
    let failed = number(|outcome| matches!(outcome, DrillOutcome::Failed(_)));
    let unseen = number(|outcome| matches!(outcome, DrillOutcome::Unseen(_)));
    let seen = drills.len();
    finding.sample =
        Sample { count: seen as u64, effective: seen as f64, blocks: members.len() as u32 };
    finding.target = Some(Target {
        metric: "failed reclaims".into(),
        value: allowed,
        unit: Unit::Share,
        misses_allowed: None,
    });
    let needed = drills_needed(allowed);
    if seen == 0 {
        finding.explanation = "no reclaim was drilled to its resume".into();
        finding.missing.push(missing_drills(case, needed, 0));
        return;
    }
    // What was not seen to succeed is no success, and what was not seen to fail is no failure.
    let upper = clopper_pearson_upper((failed + unseen) as f64, seen as f64, ALPHA).unwrap_or(1.0);
    let lower = clopper_pearson_lower(failed as f64, seen as f64, ALPHA).unwrap_or(0.0);
    let share = failed as f64 / seen as f64;
    finding.observed = Some(share);
    finding.judged = Some(Bounded { estimate: share, lower: Some(lower), upper: Some(upper) });
    finding.ruling = if upper <= allowed && notice_s.is_some() {
        Ruling::Pass
    } else if lower > allowed {
        Ruling::Fail
    } else {
        Ruling::NotProven
    };
    let gone_s = |drill: &ReclaimDrill| drill.memory_free_s.or(drill.exit_s);
    let longest = drills.iter().filter_map(|(drill, _)| gone_s(drill)).fold(0.0, f64::max);
    finding.explanation =
        summary(&drills, failed, upper, allowed, longest, notice_s, case.step_word());
    if finding.ruling != Ruling::NotProven {
        return;
    }
    if notice_s.is_none() {
        finding.missing.push(case.declare(
            "the notice that the neighbour gets before it is stopped by force",
            "preemption: { notice: 30 s }",
        ));
    }
    if upper > allowed {
        finding.missing.push(missing_drills(case, needed, seen as u64));
    }
}

fn summary(
    drills: &[(&ReclaimDrill, DrillOutcome)],
    failed: usize,
    upper: f64,
    allowed: f64,
    longest_s: f64,
    notice_s: Option<f64>,
    word: &str,
) -> String {
    let notice = notice_s.map_or_else(
        || "no notice is declared".to_owned(),
        |notice| format!("the notice is {}", Seconds(notice)),
    );
    let lost: u64 = drills
        .iter()
        .filter_map(|(drill, _)| drill.resume.as_ref())
        .map(|resume| resume.lost_steps)
        .fold(0, u64::saturating_add);
    let mut sentence = format!(
        "{failed} of {} failed, so at most {} of reclaims do (95 %), {} is allowed; the longest \
         took {} from the signal until its memory was free, {notice}; {lost} {word}s were lost in all",
        count(drills.len(), "drill"),
        Percent(upper),
        Percent(allowed),
        Seconds(longest_s)
    );
    if let Some(held_s) = held_after_exit_s(drills) {
        sentence = format!(
            "{sentence}; memory was held up to {} beyond the exit, so inference must wait for the \
             memory and not for the exit",
            Seconds(held_s)
        );
    }
    let first = drills.iter().find_map(|(_, outcome)| match outcome {
        DrillOutcome::Failed(why) => Some(why.as_str()),
        _ => None,
    });
    if let Some(why) = first {
        sentence = format!("{sentence}; the first failure: {why}");
    }
    let unseen: Vec<&str> = drills
        .iter()
        .filter_map(|(_, outcome)| match outcome {
            DrillOutcome::Unseen(why) => Some(*why),
            _ => None,
        })
        .collect();
    if let [why, ..] = unseen.as_slice() {
        sentence = format!("{sentence}; {} proved nothing: {why}", count(unseen.len(), "drill"));
    }
    sentence
}

/// How much longer than to its exit the neighbour held memory, at the most; `None` where nothing was
/// seen to hold any.
fn held_after_exit_s(drills: &[(&ReclaimDrill, DrillOutcome)]) -> Option<f64> {
    drills
        .iter()
        .filter(|(drill, _)| !drill.held.is_empty())
        .filter_map(|(drill, _)| Some(drill.memory_free_s? - drill.exit_s?))
        .reduce(f64::max)
}

/// What would show that no more than the allowed share of reclaims fails.
fn missing_drills(case: &Case<'_>, needed: Option<u64>, seen: u64) -> Missing {
    let Some(needed) = needed else {
        return case.declare(
            "a share of failing reclaims above zero: no number of drills proves that none ever fails",
            "preemption.failure_share_max: 1 %",
        );
    };
    let more = needed.saturating_sub(seen).max(1);
    let minutes = more as f64 * case.drill_minutes();
    case.measure(
        "reclaim",
        format!("{more} more drills without a failure ({needed} are needed, {seen} were seen)"),
        Some(minutes),
    )
}
