//! Changes of hands beside the neighbour's own stop and start: are those that the site needs measured,
//! and do they succeed often enough?

use crate::evidence::{ChangeKind, HandChange};
use crate::site::{SharingMode, TransitionStepKind};
use crate::stats::{ALPHA, clopper_pearson_lower, clopper_pearson_upper, drills_needed, quantile};

use super::findings::{Case, Percent, Seconds, open};
use super::pool::{Member, Pool};
use super::preemption::allowed_failures;
use super::{Bounded, Finding, Missing, Ruling, Sample, Strategy, Target, Unit};

/// The finding about steps of a change of hands that no neighbour's stop contains. `None` where the
/// site needs none.
pub(super) fn changes(case: &Case<'_>, strategy: Strategy) -> Option<Finding> {
    let members = case.drills(strategy);
    let seen: Vec<&HandChange> =
        members.iter().flat_map(|member| &member.block.observed.changes).collect();
    let needed = needed_steps(case);
    let takes_turns = matches!(case.site.sharing.mode, SharingMode::Temporal(_));
    if needed.is_empty() && !takes_turns && seen.is_empty() {
        return None;
    }
    let mut finding = open("change of hands", strategy);
    let lacking: Vec<&str> = needed
        .iter()
        .filter(|step| !seen.iter().any(|change| change.total_s.is_some() && shows(change, **step)))
        .map(|step| step.name())
        .collect();
    if seen.is_empty() || !lacking.is_empty() {
        finding.explanation = if lacking.is_empty() {
            "workloads that take turns change hands, and no test measured how long that takes"
                .into()
        } else {
            format!("no drill contains these steps of a change of hands: {}", lacking.join(", "))
        };
        finding.missing.push(lack(case, &lacking));
        return Some(finding);
    }
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    judge(case, &mut finding, &members);
    Some(finding)
}

/// Declared steps beside those that every drill contains.
fn needed_steps(case: &Case<'_>) -> Vec<TransitionStepKind> {
    use TransitionStepKind as Kind;
    let declared = case.site.operations.transition.as_ref();
    let mut steps: Vec<Kind> = declared
        .into_iter()
        .flat_map(|transition| transition.to_training.iter().chain(&transition.to_inference))
        .map(|step| step.kind)
        .filter(|kind| !matches!(kind, Kind::Checkpoint | Kind::Resume))
        .collect();
    steps.sort_unstable_by_key(|kind| kind.name());
    steps.dedup();
    steps
}

/// Whether a change contains a step. Nothing here boots a machine.
fn shows(change: &HandChange, step: TransitionStepKind) -> bool {
    use TransitionStepKind as Step;
    match change.kind {
        ChangeKind::EngineSleep | ChangeKind::EngineStop => step == Step::Drain,
        ChangeKind::EngineWake | ChangeKind::EngineStart => {
            matches!(step, Step::ServiceRestart | Step::ModelReload | Step::WarmUp)
        }
        ChangeKind::Layout => step == Step::MigReconfiguration,
    }
}

fn lack(case: &Case<'_>, lacking: &[&str]) -> Missing {
    if lacking.contains(&TransitionStepKind::Reboot.name()) {
        return Missing {
            what: "a boot of the machine, timed from the last token to the first".into(),
            remedy:
                "no command boots a machine: take `reboot` out of operations.transition, or time \
                     it by hand and judge it yourself"
                    .into(),
            minutes: None,
        };
    }
    let what = "a measurement of the whole change of hands, in both directions".to_owned();
    case.measure("transition", what, Some(12.0 * case.drill_minutes()))
}

/// A drill counts once, however many changes it has: it fails where one of them does.
fn judge(case: &Case<'_>, finding: &mut Finding, members: &[Member<'_>]) {
    let with: Vec<&[HandChange]> = members
        .iter()
        .map(|member| &member.block.observed.changes[..])
        .filter(|changes| !changes.is_empty())
        .collect();
    let seen = with.len();
    let first = |changes: &&[HandChange]| changes.iter().find_map(|change| change.failure.clone());
    let failures: Vec<String> = with.iter().filter_map(first).collect();
    let failed = failures.len();
    let share = failed as f64 / seen as f64;
    let lower = clopper_pearson_lower(failed as f64, seen as f64, ALPHA).unwrap_or(0.0);
    let upper = clopper_pearson_upper(failed as f64, seen as f64, ALPHA).unwrap_or(1.0);
    finding.sample = Sample { count: seen as u64, effective: seen as f64, blocks: seen as u32 };
    finding.observed = Some(share);
    finding.judged = Some(Bounded { estimate: share, lower: Some(lower), upper: Some(upper) });
    finding.explanation = format!(
        "{failed} of {seen} changes of hands failed, so at most {} do (95 %); {}",
        Percent(upper),
        times(&with)
    );
    if let Some(why) = failures.first() {
        finding.explanation = format!("{}; the first failure: {why}", finding.explanation);
    }
    let Some(allowed) = allowed_failures(case) else {
        finding.missing.push(
            case.declare("the share of reclaims that may fail", "operations.risk_tolerance: 1 %"),
        );
        return;
    };
    finding.target = Some(Target {
        metric: "failed changes of hands".into(),
        value: allowed,
        unit: Unit::Share,
        misses_allowed: None,
    });
    finding.ruling = if upper <= allowed {
        Ruling::Pass
    } else if lower > allowed || failed == seen {
        Ruling::Fail
    } else {
        let needed = drills_needed(allowed).unwrap_or(u64::MAX);
        let more = needed.saturating_sub(seen as u64).clamp(1, 100_000);
        finding.missing.push(case.measure(
            "transition",
            format!("{more} more changes of hands without a failure"),
            Some(more as f64 * case.drill_minutes()),
        ));
        Ruling::NotProven
    };
}

/// Median and longest time of each kind of change.
fn times(drills: &[&[HandChange]]) -> String {
    let of = |kind: ChangeKind| -> Option<String> {
        let seconds: Vec<f64> = drills
            .iter()
            .flat_map(|changes| changes.iter())
            .filter(|change| change.kind == kind)
            .filter_map(|change| change.total_s)
            .collect();
        let median = quantile(&seconds, 0.5).ok()?;
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        Some(format!("{} {} (at most {})", kind.name(), Seconds(median), Seconds(longest)))
    };
    ChangeKind::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}
