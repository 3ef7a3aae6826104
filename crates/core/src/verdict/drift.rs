//! Whether the step time had settled when it was measured.

use crate::stats;

use super::completion::begun;
use super::findings::{Case, Percent};
use super::pool::Member;
use super::{Finding, Sample, Strategy, series};

/// A p-value below which a block's step times are taken to drift.
const DRIFT_P: f64 = 0.01;

/// Step times that still rise at the end of a block were measured too early: a clock that falls as
/// the device heats makes a short test overstate what a long job will get.
pub(super) fn drift(
    case: &Case<'_>,
    members: &[Member<'_>],
    strategy: Strategy,
) -> Option<Finding> {
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
