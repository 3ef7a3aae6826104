//! The gate of preemption and transition: can the machine be given back in time, and does the
//! neighbour really resume?

use crate::evidence::{Condition, ReclaimDrill};
use crate::stats::{ALPHA, clopper_pearson_lower, clopper_pearson_upper};

use super::findings::{Case, Percent, Seconds, gate, open};
use super::pool::Pool;
use super::{Bounded, Finding, Gate, GateKind, Ruling, Sample, Strategy, Target, Unit};

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    gate(GateKind::Preemption, vec![drills(case, strategy)])
}

fn drills(case: &Case<'_>, strategy: Strategy) -> Finding {
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
        finding.origin = Some(crate::evidence::Origin::Declared);
        finding.explanation = "declared as never preempted: nothing is ever reclaimed, so inference \
                               must hold with it running at the declared peak, which the first gate \
                               judges"
            .into();
        return finding;
    }
    let Some(allowed) = preemption.failure_share_max.or(case.site.operations.risk_tolerance) else {
        finding.explanation = "the site does not say which share of reclaims may fail".into();
        finding.missing.push(case.declare(
            "the share of reclaims that may fail",
            "operations.risk_tolerance: 1 %",
        ));
        return finding;
    };
    let allowed = allowed.value();
    let members = case.blocks(Condition::C, strategy);
    let drills: Vec<&ReclaimDrill> =
        members.iter().filter_map(|member| member.block.drill.as_ref()).collect();
    let notice_s = preemption.notice.map(|notice| notice.as_secs_f64());
    let outcomes: Vec<bool> = drills
        .iter()
        .filter_map(|drill| {
            let late = notice_s.zip(drill.exit_s).is_some_and(|(notice, exit)| exit > notice);
            drill.succeeded().map(|succeeded| succeeded && !late)
        })
        .collect();
    let failures = outcomes.iter().filter(|succeeded| !**succeeded).count();
    let count = outcomes.len();
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    finding.sample =
        Sample { count: count as u64, effective: count as f64, blocks: members.len() as u32 };
    finding.target = Some(Target {
        metric: "failed reclaims".into(),
        value: allowed,
        unit: Unit::Share,
        misses_allowed: None,
    });
    let needed = drills_needed(allowed);
    if count == 0 {
        finding.explanation = "no reclaim was drilled to its resume".into();
        finding.missing.push(missing_drills(case, needed, 0));
        return finding;
    }
    let upper = clopper_pearson_upper(failures as f64, count as f64, ALPHA).unwrap_or(1.0);
    let lower =
        clopper_pearson_lower(failures as f64, count as f64, ALPHA).unwrap_or(0.0);
    let share = failures as f64 / count as f64;
    finding.observed = Some(share);
    finding.judged = Some(Bounded { estimate: share, lower: Some(lower), upper: Some(upper) });
    let longest = drills.iter().filter_map(|drill| drill.exit_s).fold(0.0, f64::max);
    let notice = notice_s.map_or_else(
        || "no notice is declared".to_owned(),
        |notice| format!("notice {}", Seconds(notice)),
    );
    let lost: u64 =
        drills.iter().filter_map(|d| d.resume.as_ref()).map(|resume| resume.lost_steps).sum();
    let measured = format!(
        "{failures} of {count} drills failed, so at most {} of reclaims do (95 %; allowed {}); \
         longest signal to exit {} ({notice}); {lost} steps lost in all",
        Percent(upper),
        Percent(allowed),
        Seconds(longest)
    );
    finding.ruling = if upper <= allowed {
        Ruling::Pass
    } else if lower > allowed {
        Ruling::Fail
    } else {
        Ruling::NotProven
    };
    finding.explanation = measured;
    let why = drills.iter().find_map(|drill| {
        drill.failure.clone().or_else(|| drill.resume.as_ref().and_then(|r| r.failure.clone()))
    });
    if let Some(why) = why {
        finding.explanation.push_str(&format!("; first failure: {why}"));
    }
    if finding.ruling == Ruling::NotProven {
        finding.missing.push(missing_drills(case, needed, count as u64));
    }
    finding
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

fn missing_drills(case: &Case<'_>, needed: u64, seen: u64) -> super::Missing {
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
