//! The gate of preemption and transition: can the machine be given back in time, and does the
//! neighbour really resume?

use crate::evidence::{Condition, Origin, ReclaimDrill};
use crate::site::{LostWork, Preemption, SharingMode, TransitionStepKind};
use crate::stats::{ALPHA, clopper_pearson_lower, clopper_pearson_upper};

use super::findings::{Case, Percent, Seconds, gate, open};
use super::inference::count;
use super::pool::{Member, Pool};
use super::{Bounded, Finding, Gate, GateKind, Missing, Ruling, Sample, Strategy, Target, Unit};

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let mut findings = vec![reclaims(case, strategy)];
    findings.extend(transitions(case, strategy));
    gate(GateKind::Preemption, findings)
}

/// Steps of a change of hands that no drill contains.
fn transitions(case: &Case<'_>, strategy: Strategy) -> Option<Finding> {
    use TransitionStepKind as Kind;
    let declared = case.site.operations.transition.as_ref();
    let mut steps: Vec<&str> = declared
        .into_iter()
        .flat_map(|transition| transition.to_training.iter().chain(&transition.to_inference))
        .map(|step| step.kind)
        .filter(|kind| !matches!(kind, Kind::Checkpoint | Kind::Resume))
        .map(Kind::name)
        .collect();
    steps.sort_unstable();
    steps.dedup();
    let takes_turns = matches!(case.site.sharing.mode, SharingMode::Temporal(_));
    if steps.is_empty() && !takes_turns {
        return None;
    }
    let mut finding = open("change of hands", strategy);
    finding.explanation = if steps.is_empty() {
        "workloads that take turns change hands, and no test measured how long that takes".into()
    } else {
        format!("no drill contains these steps of a change of hands: {}", steps.join(", "))
    };
    finding.missing.push(Missing {
        what: "a measurement of the whole change of hands, in both directions".into(),
        remedy: "no command of this version measures it".into(),
        minutes: None,
    });
    Some(finding)
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
    let Some(allowed) = preemption.failure_share_max.or(case.site.operations.risk_tolerance) else {
        finding.explanation = "the site does not say which share of reclaims may fail".into();
        finding.missing.push(
            case.declare("the share of reclaims that may fail", "operations.risk_tolerance: 1 %"),
        );
        return finding;
    };
    let members = case.blocks(Condition::C, strategy);
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    judge_drills(case, &mut finding, preemption, allowed.value(), &members);
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
    notice_s: Option<f64>,
    is_last: bool,
    case: &Case<'_>,
) -> DrillOutcome {
    use DrillOutcome::{Failed, Succeeded, Unfinished, Unseen};
    let word = case.step_word();
    if let Some(why) = &drill.failure {
        return Failed(why.clone());
    }
    if let Some((exit_s, notice_s)) = drill.exit_s.zip(notice_s)
        && exit_s > notice_s
    {
        return Failed(format!(
            "it was gone after {}, its notice is {}",
            Seconds(exit_s),
            Seconds(notice_s)
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
        .map(|(drill, is_last)| (drill, outcome(drill, preemption, notice_s, is_last, case)))
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
    let longest = drills.iter().filter_map(|(drill, _)| drill.exit_s).fold(0.0, f64::max);
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
         took {} from signal to exit, {notice}; {lost} {word}s were lost in all",
        count(drills.len(), "drill"),
        Percent(upper),
        Percent(allowed),
        Seconds(longest_s)
    );
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

/// Drills without failure that bound the share of failures at `allowed`: ⌈ln α ÷ ln(1 − allowed)⌉
/// (Clopper–Pearson with no failure).
fn drills_needed(allowed: f64) -> u64 {
    if allowed <= 0.0 {
        return u64::MAX;
    }
    if allowed >= 1.0 {
        return 1;
    }
    (ALPHA.ln() / (1.0 - allowed).ln()).ceil() as u64
}

fn missing_drills(case: &Case<'_>, needed: u64, seen: u64) -> Missing {
    if needed == u64::MAX {
        return case.declare(
            "a share of failing reclaims above zero: no number of drills proves that none ever fails",
            "preemption.failure_share_max: 1 %",
        );
    }
    let more = needed.saturating_sub(seen).max(1);
    let minutes = more as f64 * case.pair_minutes() / 2.0;
    case.measure(
        "c",
        format!("{more} more drills without a failure ({needed} are needed, {seen} were seen)"),
        Some(minutes),
    )
}

#[cfg(test)]
mod tests {
    use super::drills_needed;

    #[test]
    fn drills_without_failure() {
        // 0.95^59 = 0.0485 and 0.95^58 = 0.0510, so a share of 5 % takes 59.
        assert_eq!(drills_needed(0.05), 59);
        assert_eq!(drills_needed(0.5), 5);
        assert_eq!(drills_needed(1.0), 1);
        assert_eq!(drills_needed(0.0), u64::MAX);
    }
}
