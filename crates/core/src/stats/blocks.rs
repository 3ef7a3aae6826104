//! Bounds of a mean over blocks. The unit is the block, never the request: requests of one block
//! share its weather.

use super::distributions::student_t_quantile;
use super::order::{check_finite, check_open_share};
use super::refusal::Refusal;

/// Fewest blocks from which a spread can be computed.
pub const BLOCKS_MIN: usize = 2;

/// Mean and variance (divisor m − 1) of at least two finite values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub count: usize,
    /// Their mean, in their unit.
    pub mean: f64,
    /// Their variance with divisor m − 1, in the square of their unit.
    pub variance: f64,
}

/// Mean and variance of block values. Refuses fewer than two, NaN and infinities.
pub fn moments(values: &[f64]) -> Result<Moments, Refusal> {
    check_finite(values)?;
    if values.len() < BLOCKS_MIN {
        return Err(Refusal::TooFewBlocks { needed: BLOCKS_MIN, seen: values.len() });
    }
    Ok(moments_of(values.iter().copied()))
}

pub(super) fn moments_of(values: impl Iterator<Item = f64> + Clone) -> Moments {
    let count = values.clone().count();
    let mean = values.clone().sum::<f64>() / count as f64;
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    Moments { count, mean, variance: squares / (count as f64 - 1.0) }
}

/// One-sided lower and upper bounds of a mean, each at its own level 1 − α.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanBounds {
    /// The mean of the block means, in their unit.
    pub mean: f64,
    /// The mean is above this with confidence 1 − α.
    pub lower: f64,
    /// The mean is below this with confidence 1 − α.
    pub upper: f64,
    /// Number of blocks.
    pub blocks: usize,
}

/// One-sided t bounds of a mean over blocks: mean ± t₍m−1, 1−α₎ · s/√m (Student 1908). For step
/// times and throughputs; for shares of misses it is too sharp (see `docs/statistics.md`).
///
/// Both bounds together are the two-sided interval with confidence 1 − 2α.
pub fn student_bounds(block_means: &[f64], alpha: f64) -> Result<MeanBounds, Refusal> {
    check_open_share("alpha", alpha)?;
    let Moments { count, mean, variance } = moments(block_means)?;
    let t = student_t_quantile(1.0 - alpha, count as f64 - 1.0);
    let half = t * (variance / count as f64).sqrt();
    Ok(MeanBounds { mean, lower: mean - half, upper: mean + half, blocks: count })
}

/// Two-sided t interval with `confidence` for the mean of paired differences: for ln(q_C/q_A) of
/// the pairs it is the interval of the logarithm of the amplification.
pub fn paired_t_interval(differences: &[f64], confidence: f64) -> Result<MeanBounds, Refusal> {
    check_open_share("confidence", confidence)?;
    student_bounds(differences, 0.5 * (1.0 - confidence))
}

/// Cox's bounds for the mean of a log-normal distribution, from the logarithms of its values:
/// exp(l̄ + s²/2 ± t₍m−1, 1−α₎ √(s²/m + s⁴/(2(m − 1)))), with l̄ and s² the mean and variance of the
/// logarithms (Cox, reported in Land, Technometrics 1972; with Student's t for the normal quantile
/// as in Olsson, Journal of Statistics Education 2005).
///
/// The bounds are in the unit whose logarithms were given.
pub fn cox_bounds(logarithms: &[f64], alpha: f64) -> Result<MeanBounds, Refusal> {
    check_open_share("alpha", alpha)?;
    let log_moments = moments(logarithms)?;
    let t = student_t_quantile(1.0 - alpha, log_moments.count as f64 - 1.0);
    Ok(cox_bounds_at(log_moments, t))
}

/// Cox's bounds for given moments and Student's quantile.
pub(super) fn cox_bounds_at(log_moments: Moments, t: f64) -> MeanBounds {
    MeanBounds {
        mean: (log_moments.mean + 0.5 * log_moments.variance).exp(),
        lower: cox_bound(log_moments, -t),
        upper: cox_bound(log_moments, t),
        blocks: log_moments.count,
    }
}

/// Cox's bound for given moments; `t` is negative for the lower one.
pub(super) fn cox_bound(log_moments: Moments, t: f64) -> f64 {
    let Moments { count, mean, variance } = log_moments;
    let m = count as f64;
    let spread = (variance / m + variance * variance / (2.0 * (m - 1.0))).sqrt();
    (mean + 0.5 * variance + t * spread).exp()
}
