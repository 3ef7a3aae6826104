//! The interval of an effect over pairs of blocks.

use rand::{Rng, RngExt};

use super::order::{check_finite, check_open_share, quantile_rank};
use super::refusal::Refusal;

/// Fewest pairs from which an interval is drawn.
pub const PAIRS_MIN: usize = 2;

/// Mean logarithm of a ratio over pairs, with its bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// exp of the mean of the logarithms: the geometric mean ratio.
    pub ratio: f64,
    /// Lower end of the interval of the ratio.
    pub lower: f64,
    /// Upper end of the interval of the ratio.
    pub upper: f64,
    /// Number of pairs.
    pub pairs: usize,
}

/// ln(together ÷ alone) of one pair of blocks. Refuses a quantile that is not finite and positive:
/// where C's p95 is +∞ the amplification is infinite, and no mean of it exists.
pub fn log_ratio(together: f64, alone: f64) -> Result<f64, Refusal> {
    for (name, value) in [("value together", together), ("value alone", alone)] {
        if !value.is_finite() || value <= 0.0 {
            return Err(Refusal::OutOfRange { name, value, range: "finite and above 0" });
        }
    }
    Ok((together / alone).ln())
}

/// Percentile bootstrap (Efron & Tibshirani 1993, ch. 13) of the mean of one value per pair of
/// blocks: pairs are drawn with replacement, `resamples` times, and the ends (lower, upper) are
/// order statistics of the means, in the unit of the values.
///
/// The pair is the unit: requests inside a block are not resampled, because they share its weather.
/// With few pairs the percentile interval is too narrow (with m pairs by about √((m − 1)/m), and
/// more in the tails), so [`super::paired_t_interval`] stands beside it; neither judges.
///
/// The generator is passed in: the same seed gives the same interval.
pub fn bootstrap_mean_interval<R: Rng>(
    values: &[f64],
    confidence: f64,
    resamples: usize,
    rng: &mut R,
) -> Result<(f64, f64), Refusal> {
    check_open_share("confidence", confidence)?;
    check_finite(values)?;
    let pairs = values.len();
    if pairs < PAIRS_MIN {
        return Err(Refusal::TooFewBlocks { needed: PAIRS_MIN, seen: pairs });
    }
    if resamples == 0 {
        return Err(Refusal::TooFewObservations { what: "a bootstrap", needed: 1, seen: 0 });
    }
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let sum: f64 = (0..pairs).map(|_| values[rng.random_range(0..pairs)]).sum();
            sum / pairs as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - confidence);
    let at = |share: f64| means[quantile_rank(share, resamples) - 1];
    Ok((at(tail), at(1.0 - tail)))
}

/// The geometric mean ratio of pairs with its bootstrap interval, from ln(together ÷ alone) of each
/// pair ([`log_ratio`]).
pub fn bootstrap_ratio<R: Rng>(
    log_ratios: &[f64],
    confidence: f64,
    resamples: usize,
    rng: &mut R,
) -> Result<RatioInterval, Refusal> {
    let (lower, upper) = bootstrap_mean_interval(log_ratios, confidence, resamples, rng)?;
    let pairs = log_ratios.len();
    let mean = log_ratios.iter().sum::<f64>() / pairs as f64;
    Ok(RatioInterval { ratio: mean.exp(), lower: lower.exp(), upper: upper.exp(), pairs })
}
