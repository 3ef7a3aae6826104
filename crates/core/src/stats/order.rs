//! Quantiles as order statistics, and what a sample of a given size can say about them.
//!
//! The q-quantile of n values is the ⌈qn⌉-th smallest, here and everywhere else in the product. It
//! is a value that was really seen, and it is defined with censored values (+∞) as long as their
//! share is below 1 − q; where it is not, the quantile is +∞, which is the truth.
//!
//! Source of the intervals: Hahn & Meeker, *Statistical Intervals*, ch. 5; Le Boudec, *Performance
//! Evaluation of Computer and Communication Systems*, ch. 2.

use super::distributions::binomial_cdf;
use super::refusal::Refusal;

/// The rank ⌈qn⌉, from 1 to n.
///
/// `q * n` is rounded to the nearest whole number first where it lies within 1e-9 of it: in binary
/// 0.07 · 100 is 7.000000000000001, and its ceiling would be the wrong order statistic.
///
/// ```
/// # use cotenant_core::stats::quantile_rank;
/// assert_eq!(quantile_rank(0.07, 100), 7);
/// assert_eq!(quantile_rank(0.95, 20), 19);
/// assert_eq!(quantile_rank(0.95, 21), 20);
/// ```
pub fn quantile_rank(q: f64, n: usize) -> usize {
    let exact = q * n as f64;
    let nearest = exact.round();
    let rank =
        if (exact - nearest).abs() <= 1e-9 * nearest.max(1.0) { nearest } else { exact.ceil() };
    (rank.max(1.0) as usize).min(n.max(1))
}

/// The ⌈qn⌉-th smallest of `values`, in any order, in the unit of the values.
///
/// Refuses an empty sample, a NaN, and a q outside (0, 1].
///
/// ```
/// # use cotenant_core::stats::quantile;
/// // Five requests of which one never answered: the median is a number, the p95 is not finite.
/// let latencies_s = [0.2, f64::INFINITY, 0.1, 0.4, 0.3];
/// assert_eq!(quantile(&latencies_s, 0.5)?, 0.3);
/// assert_eq!(quantile(&latencies_s, 0.95)?, f64::INFINITY);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn quantile(values: &[f64], q: f64) -> Result<f64, Refusal> {
    check_quantile(q)?;
    check_values(values)?;
    let mut copy = values.to_vec();
    let rank = quantile_rank(q, copy.len());
    let (_, value, _) = copy.select_nth_unstable_by(rank - 1, f64::total_cmp);
    Ok(*value)
}

/// As [`quantile`], for values that are already in ascending order: several quantiles of one sample
/// then cost one sort.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> Result<f64, Refusal> {
    check_quantile(q)?;
    if sorted.is_empty() {
        return Err(Refusal::Empty);
    }
    Ok(sorted[quantile_rank(q, sorted.len()) - 1])
}

/// Ranks (from 1) of the order statistics that enclose a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileRanks {
    /// Rank of the lower bound; `None` where even the smallest value is not low enough.
    pub lower: Option<u64>,
    /// Rank of the upper bound; `None` where even the largest value is not high enough: the sample
    /// does not bound the quantile from above.
    pub upper: Option<u64>,
}

/// Ranks of the two-sided interval with `confidence` for the q-quantile of n independent values:
/// the largest l with P(B < l) ≤ α/2 and the smallest u with P(B < u) ≥ 1 − α/2, B binomial (n, q).
///
/// For autocorrelated values pass the effective sample size, and take the values at the same
/// relative ranks.
///
/// ```
/// # use cotenant_core::stats::quantile_interval_ranks;
/// let ranks = quantile_interval_ranks(1_000, 0.99, 0.95)?;
/// assert_eq!((ranks.lower, ranks.upper), (Some(983), Some(997)));
/// // Three hundred values bound a p99 from one side at 95 %, not from both.
/// assert_eq!(quantile_interval_ranks(300, 0.99, 0.95)?.upper, None);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn quantile_interval_ranks(n: u64, q: f64, confidence: f64) -> Result<QuantileRanks, Refusal> {
    check_open_share("quantile", q)?;
    check_open_share("confidence", confidence)?;
    if n == 0 {
        return Err(Refusal::Empty);
    }
    let tail = 0.5 * (1.0 - confidence);
    // P(B < rank), increasing in the rank.
    let below = |rank: u64| if rank == 0 { 0.0 } else { binomial_cdf(rank - 1, n, q) };
    let lower = first_rank(n, |rank| below(rank) > tail) - 1;
    let upper = first_rank(n, |rank| below(rank) >= 1.0 - tail);
    Ok(QuantileRanks { lower: (lower > 0).then_some(lower), upper: (upper <= n).then_some(upper) })
}

/// Rank of the one-sided upper bound with `confidence` for the q-quantile of n independent values;
/// `None` below [`sample_size_min`].
pub fn quantile_upper_rank(n: u64, q: f64, confidence: f64) -> Result<Option<u64>, Refusal> {
    check_open_share("quantile", q)?;
    check_open_share("confidence", confidence)?;
    if n == 0 {
        return Err(Refusal::Empty);
    }
    let rank = first_rank(n, |rank| binomial_cdf(rank - 1, n, q) >= confidence);
    Ok((rank <= n).then_some(rank))
}

/// The order-statistic interval for the q-quantile of independent `values`, in their unit; `None`
/// on a side that the sample does not bound.
pub fn quantile_interval(
    values: &[f64],
    q: f64,
    confidence: f64,
) -> Result<(Option<f64>, Option<f64>), Refusal> {
    check_values(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ranks = quantile_interval_ranks(sorted.len() as u64, q, confidence)?;
    let at = |rank: Option<u64>| rank.map(|rank| sorted[rank as usize - 1]);
    Ok((at(ranks.lower), at(ranks.upper)))
}

/// Fewest independent values whose largest bounds the q-quantile from above at level 1 − `alpha`:
/// the smallest n with qⁿ ≤ α. At 95 %: p95 59, p99 299, p99.5 598, p99.9 2,995.
pub fn sample_size_min(q: f64, alpha: f64) -> Result<u64, Refusal> {
    check_open_share("quantile", q)?;
    check_open_share("alpha", alpha)?;
    let mut n = (alpha.ln() / q.ln()).ceil().max(1.0) as u64;
    // The quotient of two rounded logarithms can land just above a whole number.
    while n > 1 && q.powf((n - 1) as f64) <= alpha {
        n -= 1;
    }
    Ok(n)
}

/// Fewest independent values that bound the q-quantile from both sides at level 1 − `alpha`, with
/// half of α on each side. At 95 %: p95 72, p99 368, p99.5 736, p99.9 3,688.
pub fn sample_size_min_two_sided(q: f64, alpha: f64) -> Result<u64, Refusal> {
    check_open_share("alpha", alpha)?;
    sample_size_min(q, 0.5 * alpha)
}

/// Refuses a q-quantile that `effective` independent requests cannot bound at level 1 − `alpha`.
///
/// ```
/// # use cotenant_core::stats::require_sample;
/// let refusal = require_sample(0.99, 8.0, 0.05).unwrap_err();
/// assert_eq!(refusal.to_string(), "p99 needs 299 effective requests, 8 seen");
/// assert!(require_sample(0.99, 299.0, 0.05).is_ok());
/// ```
pub fn require_sample(q: f64, effective: f64, alpha: f64) -> Result<(), Refusal> {
    let needed = sample_size_min(q, alpha)?;
    if effective + 1e-9 < needed as f64 {
        return Err(Refusal::TooFewRequests { quantile: q, needed, seen: effective });
    }
    Ok(())
}

/// The smallest rank in 1..=n for which a condition that stays true once true holds; n + 1 if none.
fn first_rank(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (1, n + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

pub(super) fn check_values(values: &[f64]) -> Result<(), Refusal> {
    if values.is_empty() {
        return Err(Refusal::Empty);
    }
    match values.iter().position(|value| value.is_nan()) {
        Some(index) => Err(Refusal::NotANumber { index }),
        None => Ok(()),
    }
}

pub(super) fn check_finite(values: &[f64]) -> Result<(), Refusal> {
    check_values(values)?;
    match values.iter().position(|value| value.is_infinite()) {
        Some(index) => Err(Refusal::NotFinite { index }),
        None => Ok(()),
    }
}

fn check_quantile(q: f64) -> Result<(), Refusal> {
    if q > 0.0 && q <= 1.0 {
        return Ok(());
    }
    Err(Refusal::OutOfRange { name: "quantile", value: q, range: "above 0 and at most 1" })
}

pub(super) fn check_open_share(name: &'static str, value: f64) -> Result<(), Refusal> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(Refusal::OutOfRange { name, value, range: "between 0 and 1" })
}
