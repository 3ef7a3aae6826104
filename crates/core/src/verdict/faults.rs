//! What the neighbour's faults cost inference, in minutes a month beside the availability target.
//!
//! A fault test makes the neighbour fail under load, again and again. Of `n` faults of a kind `k`
//! reached inference; the share that may is bounded by Clopper and Pearson (Biometrika 26, 1934).
//! Which kinds production will see is not known, and the test chose its own mixture: the upper bound
//! is that of the worst kind, the lower one that of the best. The minutes of a month are `faults a
//! month × share × bad seconds of one fault ÷ 60`. For the upper bound a fault is bad from the first
//! request that was lost until one was asked for after the last lost one and completed: between two
//! requests nobody knows that inference served. For the lower bound only the seconds count in which a
//! lost request was asked for.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::{Block, Disturbance, NeighbourFault, RequestRecord, Situation};
use crate::stats::{clopper_pearson_lower, clopper_pearson_upper};
use crate::units::Share;

use super::findings::{Case, open};
use super::pool::{Member, Pool};
use super::{Finding, Ruling, Strategy, Target, Unit};

const ALPHA: f64 = 0.05;
const MONTH_MINUTES: f64 = 30.0 * 24.0 * 60.0;

/// What one fault did to inference.
struct Seen {
    /// Requests that were in flight at the fault or asked for after it.
    requests: usize,
    /// Of these, those that did not complete.
    lost: usize,
    /// Seconds in which one of them was asked for.
    bad_s: f64,
    /// From the first of them until a request completes that was asked for after the last.
    outage_s: f64,
}

/// The finding of the failure-domain gate. `None` where no availability is declared, so that there is
/// nothing to hold minutes against, or where neither a test was made nor a rate of faults is declared.
pub(super) fn finding(case: &Case<'_>, availability: Option<f64>) -> Option<Finding> {
    let (inference, _) = case.inference?;
    let neighbour = case.neighbour?;
    let availability = availability?;
    let tested = tested(case);
    if tested.is_empty() && neighbour.faults.is_none() {
        return None;
    }
    let subject = format!("{}: availability when `{}` fails", inference.name, neighbour.name);
    let mut finding = open(subject, Strategy::AsDeclared);
    finding.target = Some(Target {
        metric: "availability".into(),
        value: availability,
        unit: Unit::Share,
        misses_allowed: None,
    });
    if tested.is_empty() {
        finding.explanation = "faults are declared, and none was tried under load".into();
        finding.missing.push(faults_again(case));
        return Some(finding);
    }
    finding.origin = Pool::origin(&tested);
    finding.evidence = Pool::run_ids(&tested);
    finding.sample.count = tested.len() as u64;
    judge(case, availability, &tested, &mut finding);
    Some(finding)
}

/// Blocks in which the neighbour was made to fail, on the stack that the question is about.
fn tested<'a>(case: &Case<'a>) -> Vec<Member<'a>> {
    let members = case.pool.map(Pool::on_purpose).unwrap_or_default();
    let names = case
        .inference
        .zip(case.neighbour)
        .map(|(inference, neighbour)| (inference.0.name.as_str(), neighbour.name.as_str()));
    let is_fault = |member: &Member<'_>| {
        names == Some((member.run.inference.as_str(), member.run.neighbour.as_str()))
            && matches!(member.block.plan.situation, Situation::Fault(_))
            && member.block.observed.disturbance.is_some()
    };
    members.into_iter().filter(is_fault).collect()
}

fn judge(case: &Case<'_>, availability: f64, tested: &[Member<'_>], finding: &mut Finding) {
    let seen: Vec<Seen> = tested
        .iter()
        .filter_map(|member| Some(look(member.block, member.block.observed.disturbance.as_ref()?)))
        .collect();
    let reached: Vec<&Seen> = seen.iter().filter(|seen| seen.lost > 0).collect();
    let (requests, lost) =
        seen.iter().fold((0, 0), |sum, seen| (sum.0 + seen.requests, sum.1 + seen.lost));
    let longest_s = reached.iter().map(|seen| seen.outage_s).fold(0.0, f64::max);
    let mean_s = match reached.len() {
        0 => 0.0,
        count => reached.iter().map(|seen| seen.bad_s).sum::<f64>() / count as f64,
    };
    let told = format!(
        "{} of {} faults reached inference ({}); {lost} of {requests} requests were lost, for at most \
         {longest_s:.0} s",
        reached.len(),
        seen.len(),
        by_kind(tested)
    );
    let faults = case.neighbour.and_then(|neighbour| neighbour.faults);
    let recovery_s = faults.and_then(|faults| faults.recovery).map(|time| time.as_secs_f64());
    let Some(faults) = faults else {
        finding.explanation = format!("{told}; how often the neighbour fails is not declared");
        finding.missing.push(case.declare(
            "how often the neighbour fails by its own fault",
            "faults: { per_month: …, recovery: … min } of the neighbour",
        ));
        return;
    };
    if reached.is_empty() && recovery_s.is_none() {
        finding.explanation =
            format!("{told}; how long a fault that does reach it lasts is not declared");
        finding.missing.push(case.declare(
            "how long it takes until inference serves again",
            "faults: { per_month: …, recovery: … min } of the neighbour",
        ));
        return;
    }
    let Some((lower, upper)) = shares(tested) else { return };
    let minutes = |share: f64, bad_s: f64| faults.per_month * share * bad_s / 60.0;
    let least = minutes(lower, mean_s);
    let most = minutes(upper, longest_s.max(recovery_s.unwrap_or(0.0)));
    let allowed = (1.0 - availability) * MONTH_MINUTES;
    let node = case.site.operations.node_availability.map(Share::value);
    let node_minutes = node.map_or(0.0, |node| (1.0 - node) * MONTH_MINUTES);
    let left = allowed - node_minutes;
    finding.observed = Some(1.0 - (node_minutes + most) / MONTH_MINUTES);
    finding.explanation = format!(
        "{told}; with {} faults a month that is {least:.1} to {most:.1} bad minutes a month (95 %), and \
         the target leaves {left:.1} of {allowed:.0} beside the node's own {node_minutes:.0}",
        faults.per_month
    );
    finding.ruling = if most <= left {
        Ruling::Pass
    } else if least > left {
        Ruling::Fail
    } else {
        finding.missing.push(faults_again(case));
        Ruling::NotProven
    };
    if finding.ruling == Ruling::Pass {
        finding.blind_spot = Some(format!(
            "a kind of fault in fewer than 1 of {} would have gone unseen",
            seen.len()
        ));
    }
}

/// Faults of one kind: how many were made, and how many reached inference.
struct OfKind {
    kind: NeighbourFault,
    made: u64,
    reached: u64,
}

/// The kinds that were tried.
fn kinds(tested: &[Member<'_>]) -> Vec<OfKind> {
    let mut kinds: BTreeMap<NeighbourFault, OfKind> = BTreeMap::new();
    for member in tested {
        let (Situation::Fault(kind), Some(disturbance)) =
            (member.block.plan.situation, &member.block.observed.disturbance)
        else {
            continue;
        };
        let of_kind = kinds.entry(kind).or_insert(OfKind { kind, made: 0, reached: 0 });
        of_kind.made += 1;
        of_kind.reached += u64::from(look(member.block, disturbance).lost > 0);
    }
    kinds.into_values().collect()
}

/// The lower bound of the kind that reached inference least, and the upper one of the kind that
/// reached it most.
fn shares(tested: &[Member<'_>]) -> Option<(f64, f64)> {
    let mut bounds = None;
    for OfKind { made, reached, .. } in kinds(tested) {
        let (reached, made) = (reached as f64, made as f64);
        let lower = clopper_pearson_lower(reached, made, ALPHA).ok()?;
        let upper = clopper_pearson_upper(reached, made, ALPHA).ok()?;
        let (least, most) = bounds.unwrap_or((lower, upper));
        bounds = Some((lower.min(least), upper.max(most)));
    }
    bounds
}

/// "killed 0 of 3, out of memory 2 of 3".
fn by_kind(tested: &[Member<'_>]) -> String {
    let words = kinds(tested)
        .into_iter()
        .map(|OfKind { kind, made, reached }| format!("{} {reached} of {made}", kind.name()));
    words.collect::<Vec<_>>().join(", ")
}

fn look(block: &Block, disturbance: &Disturbance) -> Seen {
    let began_ns = disturbance.began_ns;
    let touched = || block.requests.iter().filter(|request| request.end_ns >= began_ns);
    // What was in flight at the fault was lost by it.
    let asked_ns = |request: &RequestRecord| request.intended_ns.max(began_ns);
    let lost: BTreeSet<u64> =
        touched().filter(|request| !request.outcome.is_complete()).map(asked_ns).collect();
    let count = touched().filter(|request| !request.outcome.is_complete()).count();
    let mut seen = Seen { requests: touched().count(), lost: count, bad_s: 0.0, outage_s: 0.0 };
    if let (Some(first_ns), Some(last_ns)) = (lost.first(), lost.last()) {
        let bad: BTreeSet<u64> = lost.iter().map(|at| (at - began_ns) / 1_000_000_000).collect();
        seen.bad_s = bad.len() as f64;
        let served_ns = touched()
            .filter(|request| request.outcome.is_complete() && request.intended_ns > *last_ns)
            .map(|request| request.intended_ns)
            .min();
        let until_ns = served_ns.unwrap_or_else(|| block.ended_ns.max(*last_ns));
        seen.outage_s = (until_ns - first_ns) as f64 / 1e9;
    }
    seen
}

fn faults_again(case: &Case<'_>) -> super::Missing {
    case.measure("faults", "more faults of the neighbour under load".into(), None)
}
