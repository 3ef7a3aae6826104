//! Two upper bounds of a mean share of misses over blocks that more misses can never lower.
//!
//! Cox's bound reads how much blocks differ from their spread. A further miss in the best block
//! makes the blocks more alike, so it can *lower* the bound: five misses in each of four blocks of
//! 200 give 2.7 %, while five in three of them and none in the fourth give 22 %. Both bounds here
//! are mended: [`cox_upper_lifted`] is the largest bound below Cox's that never falls when a miss is
//! added, and [`assumed_spread_upper`] does not look at the spread at all but assumes one.

use super::blocks::{BLOCKS_MIN, Moments, cox_bound, moments, moments_of};
use super::distributions::{normal_quantile, student_t_quantile};
use super::order::check_open_share;
use super::refusal::Refusal;

/// How much blocks are assumed to differ where a PASS is claimed: the standard deviation of the
/// logarithm of a block's share of misses. At 1.0 one block in twenty misses five times as often as
/// the median block. Blocks that differ more need strata (`docs/statistics.md`).
pub const ASSUMED_LOG_SPREAD: f64 = 1.0;

/// Cox's upper bound, made monotone: the smallest value that Cox's bound takes when the logarithms
/// that are lower than some level are lifted to that level.
///
/// Cox's bound is a convex, symmetric function of the logarithms (mean + s²/2 + t·√(s²/m +
/// s⁴/(2(m − 1))), each part of it convex), so among all the samples that lie nowhere below this one
/// the smallest bound is found where the lowest values are lifted to one common level. The result
/// is therefore min { Cox(x) : x ≥ logarithms }, which cannot fall when a value grows. In words: a
/// block that did better than the others never counts as evidence of spread.
pub fn cox_upper_lifted(logarithms: &[f64], alpha: f64) -> Result<f64, Refusal> {
    check_open_share("alpha", alpha)?;
    let t = student_t_quantile(1.0 - alpha, moments(logarithms)?.count as f64 - 1.0);
    Ok(lifted_bound(logarithms, t))
}

/// As [`cox_upper_lifted`], for at least two finite logarithms and Student's quantile `t`.
pub(super) fn lifted_bound(logarithms: &[f64], t: f64) -> f64 {
    let lift = |level: f64| moments_of(logarithms.iter().map(move |value| value.max(level)));
    let mut low = logarithms.iter().copied().fold(f64::INFINITY, f64::min);
    let mut high = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // To the last bit: where every block is lifted to the same level the bound has a kink, and a
    // level that is a little off gives a bound that is off by as much.
    loop {
        let level = 0.5 * (low + high);
        if level <= low || level >= high {
            break;
        }
        // Where lifting further still lowers the bound the best level lies above.
        if slope_at(lift(level), level, t) < 0.0 {
            low = level;
        } else {
            high = level;
        }
    }
    [f64::NEG_INFINITY, low, high]
        .into_iter()
        .map(|level| cox_bound(lift(level), t))
        .fold(f64::INFINITY, f64::min)
}

/// Sign of the derivative of Cox's logarithmic bound by a value that lies at `level`.
fn slope_at(lifted: Moments, level: f64, t: f64) -> f64 {
    let Moments { count, mean, variance } = lifted;
    let m = count as f64;
    let half_width = (variance / m + variance * variance / (2.0 * (m - 1.0))).sqrt();
    if half_width <= 0.0 {
        return 1.0;
    }
    let by_variance = 1.0 + t * (1.0 / m + variance / (m - 1.0)) / half_width;
    1.0 / m - (mean - level) / (m - 1.0) * by_variance
}

/// Upper bound at level 1 − `alpha` of the mean share of misses over blocks that differ no more
/// than [`ASSUMED_LOG_SPREAD`]: the root U of
///
/// U = q̂·exp(v/2 + z₁₋α·√v), q̂ = (k + 1)/n, v = ln(1 + (e^(σ²) − 1)/m + (1 − U)/(U·n)),
///
/// with k misses among n effective requests in m blocks. The mean of m log-normal shares is itself
/// nearly log-normal with the variance of the first two terms (Fenton, IRE Transactions 1960); the
/// third is the binomial noise of n requests if the share is U, and the one added miss is
/// Clopper–Pearson's. The right side falls as U grows, so there is one root, and it grows with k.
///
/// Never below (k + 1)/n and never above 1.
pub fn assumed_spread_upper(
    misses: f64,
    requests: f64,
    blocks: usize,
    alpha: f64,
) -> Result<f64, Refusal> {
    check_open_share("alpha", alpha)?;
    if blocks < BLOCKS_MIN {
        return Err(Refusal::TooFewBlocks { needed: BLOCKS_MIN, seen: blocks });
    }
    if !(requests > 0.0 && misses >= 0.0 && misses <= requests) {
        return Err(Refusal::OutOfRange {
            name: "number of misses",
            value: misses,
            range: "between 0 and a positive number of requests",
        });
    }
    Ok(spread_root(misses, requests, blocks as f64, alpha))
}

/// As [`assumed_spread_upper`], for arguments that were checked; the number of blocks may be a
/// fraction where a future sample is projected.
pub(super) fn spread_root(misses: f64, requests: f64, blocks: f64, alpha: f64) -> f64 {
    let z = normal_quantile(1.0 - alpha);
    let share = (misses + 1.0) / requests;
    let between = (ASSUMED_LOG_SPREAD * ASSUMED_LOG_SPREAD).exp_m1() / blocks;
    let image = |upper: f64| {
        let variance = (between + (1.0 - upper) / (upper * requests)).ln_1p();
        share * (0.5 * variance + z * variance.sqrt()).exp()
    };
    if image(1.0) >= 1.0 {
        return 1.0;
    }
    // image(share) ≥ share and image(1) < 1 enclose the root.
    let (mut low, mut high) = (share.min(1.0), 1.0);
    while high - low > 1e-13 * high {
        let middle = 0.5 * (low + high);
        if image(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
