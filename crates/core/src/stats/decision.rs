//! PASS, FAIL, or what is missing: the decision on one objective, and Holm's procedure over several.

use super::blocks::{BLOCKS_MIN, MeanBounds, Moments, student_bounds};
use super::distributions::student_t_quantile;
use super::misses::{ShareBounds, Stratum, StratumBounds, bound_misses, combine};
use super::order::check_open_share;
use super::proportion::{clopper_pearson_lower, clopper_pearson_upper};
use super::refusal::Refusal;
use super::spread::spread_root;

/// Error probability of every one-sided bound that a verdict rests on.
pub const ALPHA: f64 = 0.05;

/// No test is proposed that needs more blocks than this.
pub const BLOCKS_PROPOSED_MAX: usize = 10_000;

/// What the blocks decide about one objective.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The upper bound is within the objective.
    Pass,
    /// The lower bound is beyond the objective. With several objectives it becomes a verdict only
    /// through [`holm`].
    Fail,
    /// Neither.
    Undecided(Need),
}

/// What would probably decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Further blocks of the kind seen; `None` where even [`BLOCKS_PROPOSED_MAX`] would not do,
    /// because the estimate lies too close to the objective.
    pub further_blocks: Option<usize>,
    /// Further judged requests: the blocks times the mean requests of a block.
    pub further_requests: Option<u64>,
    /// Which way the estimate points: `true` towards PASS.
    pub towards_pass: bool,
    /// What stands in the way whatever the blocks say.
    pub obstacles: Vec<Refusal>,
}

/// A quantile objective with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareDecision {
    /// Largest share of misses that the objective allows: 1 − q.
    pub allowed: f64,
    /// The bounds of the share of misses.
    pub bounds: ShareBounds,
    /// What they decide.
    pub decision: Decision,
}

/// Decides "the q-quantile is within its limit" at level 1 − `alpha` per bound, from misses counted
/// against that limit.
///
/// PASS where the upper bound of the share of misses is at most 1 − q, every declared stratum has at
/// least two blocks, and the effective requests can bound the quantile at all. FAIL where the lower
/// bound is above 1 − q. A stratum that was not seen cannot pass, but what was seen can fail.
pub fn decide_share(
    strata: &[Stratum],
    quantile: f64,
    alpha: f64,
) -> Result<ShareDecision, Refusal> {
    check_open_share("quantile", quantile)?;
    let bounds = bound_misses(strata, alpha)?;
    // 1 − 0.95 is not 0.05 in binary; a billionth of a share decides nothing.
    let allowed = ((1.0 - quantile) * 1e12).round() / 1e12;
    let obstacles = bounds.obstacles(quantile);
    let decision = if bounds.lower > allowed {
        Decision::Fail
    } else if bounds.upper <= allowed && obstacles.is_empty() {
        Decision::Pass
    } else {
        Decision::Undecided(need_of(&bounds, allowed, obstacles))
    };
    Ok(ShareDecision { allowed, bounds, decision })
}

/// How many further blocks would decide if they look like those seen: same share, same
/// autocorrelation, same requests per block, strata in the same proportion.
///
/// An approximation: it projects Clopper–Pearson and the assumed spread for PASS, and
/// Clopper–Pearson for FAIL. It gives the number at which the
/// expected sample decides, so about half of such tests need more.
fn need_of(bounds: &ShareBounds, allowed: f64, obstacles: Vec<Refusal>) -> Need {
    let towards_pass = bounds.estimate <= allowed;
    let unseen: usize =
        bounds.strata.iter().map(|stratum| BLOCKS_MIN.saturating_sub(stratum.blocks)).sum();
    let seen = bounds.blocks.max(1);
    let decides = |total: usize| {
        let factor = total as f64 / seen as f64;
        let project = if towards_pass { projected_upper } else { projected_lower };
        let (centre, reach) = combine(bounds.strata.iter().map(|stratum| {
            let share = stratum.estimate.unwrap_or(0.0);
            (stratum.weight, share, project(stratum, factor, bounds.alpha))
        }));
        if towards_pass { centre + reach <= allowed } else { centre - reach > allowed }
    };
    let smallest_total = (bounds.blocks + 1).max(bounds.blocks + unseen);
    let further_blocks = smallest_true(smallest_total, BLOCKS_PROPOSED_MAX, decides)
        .map(|total| total - bounds.blocks);
    let requests_per_block = bounds.requests as f64 / seen as f64;
    Need {
        further_blocks,
        further_requests: further_blocks
            .map(|blocks| (blocks as f64 * requests_per_block).ceil() as u64),
        towards_pass,
        obstacles,
    }
}

/// Upper bound of a stratum if `factor` times its blocks had the same shares. A stratum that was
/// not seen is taken to be like a block without a miss: what it will show is unknown.
fn projected_upper(stratum: &StratumBounds, factor: f64, alpha: f64) -> f64 {
    let blocks = (stratum.blocks as f64 * factor).max(BLOCKS_MIN as f64);
    let requests = stratum.effective_requests * blocks / stratum.blocks.max(1) as f64;
    if requests <= 0.0 {
        return 0.0;
    }
    let misses = stratum.estimate.unwrap_or(0.0) * requests;
    let clopper_pearson = clopper_pearson_upper(misses, requests, alpha).unwrap_or(1.0);
    clopper_pearson.max(spread_root(misses, requests, blocks, alpha))
}

/// Lower bound of a stratum if `factor` times its blocks had the same shares. The spread that is not
/// noise is unknown for the future; the assumed one is not taken, because it would make a FAIL
/// look far away.
fn projected_lower(stratum: &StratumBounds, factor: f64, alpha: f64) -> f64 {
    let requests = stratum.effective_requests * factor;
    if requests <= 0.0 {
        return 0.0;
    }
    let misses = stratum.estimate.unwrap_or(0.0) * requests;
    clopper_pearson_lower(misses, requests, alpha).unwrap_or(0.0)
}

/// A mean objective (step time at most, throughput at least) with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanDecision {
    /// One-sided t bounds over the block means, in their unit.
    pub bounds: MeanBounds,
    /// What they decide.
    pub decision: Decision,
}

/// Which side of its limit a mean has to be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At most the limit: step time.
    AtMost,
    /// At least the limit: throughput.
    AtLeast,
}

/// Decides "the mean is on the right side of `limit`" from block means in the unit of the limit, by
/// one-sided t bounds at level 1 − `alpha`.
///
/// The blocks still needed are m ≈ (t₁₋α·s/(limit − mean))², Student's t at m − 1 degrees of freedom
/// and the spread as seen: the number at which the expected sample decides.
pub fn decide_mean(
    block_means: &[f64],
    limit: f64,
    side: Side,
    alpha: f64,
) -> Result<MeanDecision, Refusal> {
    if !limit.is_finite() {
        return Err(Refusal::OutOfRange { name: "limit", value: limit, range: "finite" });
    }
    let bounds = student_bounds(block_means, alpha)?;
    let (within, beyond) = match side {
        Side::AtMost => (bounds.upper <= limit, bounds.lower > limit),
        Side::AtLeast => (bounds.lower >= limit, bounds.upper < limit),
    };
    let decision = if within {
        Decision::Pass
    } else if beyond {
        Decision::Fail
    } else {
        let Moments { count, mean, variance } = super::blocks::moments(block_means)?;
        let distance = (limit - mean).abs();
        let decides = |total: usize| {
            let t = student_t_quantile(1.0 - alpha, total as f64 - 1.0);
            t * (variance / total as f64).sqrt() <= distance && distance > 0.0
        };
        Decision::Undecided(Need {
            further_blocks: smallest_true(count + 1, BLOCKS_PROPOSED_MAX, decides)
                .map(|total| total - count),
            further_requests: None,
            towards_pass: match side {
                Side::AtMost => mean <= limit,
                Side::AtLeast => mean >= limit,
            },
            obstacles: Vec::new(),
        })
    };
    Ok(MeanDecision { bounds, decision })
}

/// The smallest number in `from..=to` for which a condition that stays true once true holds.
fn smallest_true(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if from > to || !holds(to) {
        return None;
    }
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// Holm's step-down procedure (Scandinavian Journal of Statistics 1979) over FAIL claims, by levels
/// instead of p-values: `beyond(i, a)` says whether objective i's lower bound at level 1 − a lies
/// beyond its limit. Returns which objectives fail with a family-wise error of at most `alpha`.
///
/// With k claims still open each is tried at α/k; every claim that holds is closed, and the rest
/// are tried again, until a round closes none. `beyond` must be monotone in a: what holds at a
/// strict level holds at a looser one.
///
/// ```
/// # use cotenant_core::stats::holm;
/// // p-values 0.01, 0.03 and 0.04: only the first survives, for 0.03 > 0.05/2.
/// let p = [0.01, 0.03, 0.04];
/// assert_eq!(holm(3, 0.05, |index, level| p[index] <= level), [true, false, false]);
/// ```
pub fn holm(claims: usize, alpha: f64, beyond: impl Fn(usize, f64) -> bool) -> Vec<bool> {
    let mut closed = vec![false; claims];
    let mut open = claims;
    while open > 0 {
        let level = alpha / open as f64;
        let found: Vec<usize> =
            (0..claims).filter(|index| !closed[*index] && beyond(*index, level)).collect();
        if found.is_empty() {
            break;
        }
        for index in &found {
            closed[*index] = true;
        }
        open -= found.len();
    }
    closed
}

/// Looks at a growing sample, each of which may stop the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookPlan {
    /// Blocks at the first look.
    pub first_blocks: usize,
    /// Blocks between two looks.
    pub step_blocks: usize,
    /// Blocks at the last look.
    pub last_blocks: usize,
}

impl LookPlan {
    /// The plan that the study covers: 4, 6, 8, 10, 12, 14 and 16 blocks.
    pub const STUDIED: Self = Self { first_blocks: 4, step_blocks: 2, last_blocks: 16 };

    /// One look, at a number of blocks that was fixed before the first (by a pilot).
    pub fn fixed(blocks: usize) -> Self {
        Self { first_blocks: blocks, step_blocks: 1, last_blocks: blocks }
    }

    /// The numbers of blocks at which the test is looked at, in order.
    pub fn looks(self) -> impl Iterator<Item = usize> {
        (self.first_blocks..=self.last_blocks).step_by(self.step_blocks.max(1))
    }

    /// The α that each look may use so that the whole procedure errs with probability α.
    ///
    /// One look: α. Up to the seven looks of [`LookPlan::STUDIED`]: α/4, because the looks share
    /// most of their blocks (`docs/statistics.md` has the rates). More looks: α divided by their
    /// number (Bonferroni).
    pub fn alpha_per_look(self, alpha: f64) -> f64 {
        let looks = self.looks().count();
        let divisor = if looks <= 7 { looks.clamp(1, 4) } else { looks };
        alpha / divisor as f64
    }
}
