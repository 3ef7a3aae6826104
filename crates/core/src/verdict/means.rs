//! Objectives on a mean over blocks: step time, throughput.

use crate::stats::{self, ALPHA, Decision, MeanBounds, Refusal, Side};

use super::findings::Case;
use super::inference::count;
use super::{Bounded, Finding, Missing, Ruling, Sample};

/// The values of blocks, by phase, each with the weight of its phase.
pub(super) type Weighted = Vec<(f64, Vec<f64>)>;

/// One-sided t bounds of a weighted mean over phases: each phase at level α ÷ phases, so that all
/// hold at once (Bonferroni).
pub(super) fn bounds(phases: &Weighted, alpha: f64) -> Result<MeanBounds, Refusal> {
    let mut sum = MeanBounds { mean: 0.0, lower: 0.0, upper: 0.0, blocks: 0 };
    for (weight, values) in phases {
        let one = stats::student_bounds(values, alpha / phases.len() as f64)?;
        sum.mean += weight * one.mean;
        sum.lower += weight * one.lower;
        sum.upper += weight * one.upper;
        sum.blocks += one.blocks;
    }
    Ok(sum)
}

/// Whether a weighted mean is on the wrong side of its limit at level 1 − `alpha`, in every way of
/// weighting.
pub(super) fn is_beyond(ways: &[Weighted], limit: f64, side: Side, alpha: f64) -> bool {
    !ways.is_empty()
        && ways.iter().all(|way| {
            bounds(way, alpha).is_ok_and(|bounds| match side {
                Side::AtMost => bounds.lower > limit,
                Side::AtLeast => bounds.upper < limit,
            })
        })
}

/// What a mean must keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    pub(super) limit: f64,
    pub(super) side: Side,
    /// The tests that would bring more blocks.
    pub(super) tests: &'static str,
}

/// Rules on which side of its limit a mean over blocks is, all but FAIL, which waits for the other
/// objectives. Where there is an `obstacle`, nothing passes. `show` writes a value with its unit.
pub(super) fn decide(
    case: &Case<'_>,
    finding: &mut Finding,
    ways: &[Weighted],
    obstacle: Option<&(String, Missing)>,
    aim: Aim,
    show: impl Fn(f64) -> String,
) {
    let Aim { limit, side, tests } = aim;
    let mut worst: Option<MeanBounds> = None;
    for way in ways {
        let bounds = match bounds(way, ALPHA) {
            Ok(bounds) => bounds,
            Err(refusal) => {
                let (why, missing) = obstacle.cloned().unwrap_or_else(|| {
                    let minutes = Some(3.0 * case.pair_minutes());
                    let why = format!("no bound can be given: {refusal}");
                    (why, case.measure(tests, "more blocks".into(), minutes))
                });
                finding.explanation = why;
                finding.missing.push(missing);
                return;
            }
        };
        let is_worse = |than: &MeanBounds| match side {
            Side::AtMost => bounds.upper > than.upper,
            Side::AtLeast => bounds.lower < than.lower,
        };
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some(bounds);
        }
    }
    let Some(bounds) = worst else { return };
    finding.sample = Sample {
        count: bounds.blocks as u64,
        effective: bounds.blocks as f64,
        blocks: bounds.blocks as u32,
    };
    finding.observed = Some(bounds.mean);
    finding.judged = Some(Bounded {
        estimate: bounds.mean,
        lower: Some(bounds.lower),
        upper: Some(bounds.upper),
    });
    finding.explanation = format!(
        "{} on average over {}; in the long run {} to {} (95 % each), {} {} is required",
        show(bounds.mean),
        count(bounds.blocks, "block"),
        show(bounds.lower),
        show(bounds.upper),
        if side == Side::AtMost { "at most" } else { "at least" },
        show(limit),
    );
    let holds = match side {
        Side::AtMost => bounds.upper <= limit,
        Side::AtLeast => bounds.lower >= limit,
    };
    if let Some((why, missing)) = obstacle.filter(|_| !is_beyond(ways, limit, side, ALPHA)) {
        finding.explanation = format!("{why}; {}", finding.explanation);
        finding.missing.push(missing.clone());
    } else if holds {
        finding.ruling = Ruling::Pass;
    } else if !is_beyond(ways, limit, side, ALPHA) {
        finding.missing.push(need(case, ways, limit, side, tests, bounds.blocks));
    }
}

/// What would decide. With several phases, or several ways to weight them, the projection of one
/// sample does not hold, so as many blocks again are asked for.
fn need(
    case: &Case<'_>,
    ways: &[Weighted],
    limit: f64,
    side: Side,
    tests: &str,
    seen: usize,
) -> Missing {
    let further = match ways {
        [way] => match way.as_slice() {
            [(_, values)] => match stats::decide_mean(values, limit, side, ALPHA) {
                Ok(decided) => match decided.decision {
                    Decision::Undecided(need) => need.further_blocks,
                    Decision::Pass | Decision::Fail => Some(seen),
                },
                Err(_) => Some(seen),
            },
            _ => Some(seen),
        },
        _ => Some(seen),
    };
    let what = match further {
        Some(blocks) => format!("about {blocks} more blocks like these"),
        None => "a larger distance between the mean and its limit: no number of blocks is likely \
                 to decide"
            .to_owned(),
    };
    case.measure(tests, what, further.map(|blocks| blocks as f64 * case.pair_minutes()))
}
