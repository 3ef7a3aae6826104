//! Objectives on a mean over blocks: step time, throughput.

use crate::stats::{self, ALPHA, Decision, Side};

use super::findings::Case;
use super::{Bounded, Finding, Ruling, Sample};

/// Rules on which side of its limit a mean over blocks is, by a t bound.
pub(super) fn decide(
    case: &Case<'_>,
    finding: &mut Finding,
    block_means: &[f64],
    limit: f64,
    side: Side,
    tests: &str,
) {
    let blocks = block_means.len();
    finding.sample =
        Sample { count: blocks as u64, effective: blocks as f64, blocks: blocks as u32 };
    let decided = match stats::decide_mean(block_means, limit, side, ALPHA) {
        Ok(decided) => decided,
        Err(refusal) => {
            finding.explanation = format!("no bound can be given: {refusal}");
            finding.missing.push(case.measure(
                tests,
                "more blocks".into(),
                Some(3.0 * case.pair_minutes()),
            ));
            return;
        }
    };
    let bounds = decided.bounds;
    finding.observed = Some(bounds.mean);
    finding.judged = Some(Bounded {
        estimate: bounds.mean,
        lower: Some(bounds.lower),
        upper: Some(bounds.upper),
    });
    finding.explanation = format!(
        "mean over {blocks} blocks {}, one-sided 95 % bounds {} and {}",
        significant(bounds.mean),
        significant(bounds.lower),
        significant(bounds.upper)
    );
    finding.ruling = match decided.decision {
        Decision::Pass => Ruling::Pass,
        Decision::Fail => Ruling::Fail,
        Decision::Undecided(need) => {
            let what = match need.further_blocks {
                Some(blocks) => format!("about {blocks} more blocks like these"),
                None => "a larger distance between the mean and its limit".to_owned(),
            };
            let minutes = need.further_blocks.map(|blocks| blocks as f64 * case.pair_minutes());
            finding.missing.push(case.measure(tests, what, minutes));
            Ruling::NotProven
        }
    };
}

fn significant(value: f64) -> String {
    let digits = if value == 0.0 {
        0
    } else {
        (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize
    };
    format!("{value:.digits$}")
}
