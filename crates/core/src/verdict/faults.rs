//! What the neighbour's faults cost inference, in minutes a month beside the availability target.
//!
//! A fault test makes the neighbour fail under load, again and again. Of `n` faults `k` reached
//! inference; the share that may is bounded by Clopper and Pearson (Biometrika 26, 1934). The minutes
//! of a month are `faults a month × share × bad seconds of one fault ÷ 60`, the longest that was seen
//! for the upper bound and the mean for the lower one. A bad second is one in which a request was
//! asked for that did not complete.

use std::collections::BTreeSet;

use crate::evidence::{Block, Disturbance, Situation};
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
    let longest_s = reached.iter().map(|seen| seen.bad_s).fold(0.0, f64::max);
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
    let (count, trials) = (reached.len() as f64, seen.len() as f64);
    let bounds = clopper_pearson_lower(count, trials, ALPHA)
        .and_then(|lower| Ok((lower, clopper_pearson_upper(count, trials, ALPHA)?)));
    let Ok((lower, upper)) = bounds else { return };
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

/// "killed 0 of 3, out of memory 2 of 3".
fn by_kind(tested: &[Member<'_>]) -> String {
    let mut kinds: Vec<_> = tested
        .iter()
        .filter_map(|member| match member.block.plan.situation {
            Situation::Fault(fault) => Some(fault),
            _ => None,
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of_kind = |kind| {
        let is_kind = |m: &&Member<'_>| m.block.plan.situation == Situation::Fault(kind);
        let losses = tested.iter().filter(is_kind).map(|member| {
            let disturbance = member.block.observed.disturbance.as_ref();
            disturbance.is_some_and(|disturbance| look(member.block, disturbance).lost > 0)
        });
        let (all, lost) = losses.fold((0, 0), |sum, lost| (sum.0 + 1, sum.1 + u32::from(lost)));
        format!("{} {lost} of {all}", kind.name())
    };
    kinds.into_iter().map(of_kind).collect::<Vec<_>>().join(", ")
}

fn look(block: &Block, disturbance: &Disturbance) -> Seen {
    let touched = block.requests.iter().filter(|request| request.end_ns >= disturbance.began_ns);
    let mut seen = Seen { requests: 0, lost: 0, bad_s: 0.0 };
    let mut bad: BTreeSet<u64> = BTreeSet::new();
    for request in touched {
        seen.requests += 1;
        if !request.outcome.is_complete() {
            seen.lost += 1;
            let asked_ns = request.intended_ns.max(disturbance.began_ns);
            bad.insert((asked_ns - disturbance.began_ns) / 1_000_000_000);
        }
    }
    seen.bad_s = bad.len() as f64;
    seen
}

fn faults_again(case: &Case<'_>) -> super::Missing {
    case.measure("faults", "more faults of the neighbour under load".into(), None)
}
