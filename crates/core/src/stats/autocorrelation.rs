//! How many independent requests a run of neighbouring ones is worth.
//!
//! A slow moment of a server makes several requests in a row slow. Counting them as independent
//! would make a bound look sharper than it is.

use super::order::{check_values, quantile_rank};
use super::refusal::Refusal;

/// Lag-1 autocorrelation of a latency series above its median, in the order of intended send time.
///
/// Each value is replaced by 1 where it is above the median of the series (the ⌈n/2⌉-th order
/// statistic) and 0 elsewhere; with b̄ the mean of these,
/// ρ̂ = Σᵢ (bᵢ − b̄)(bᵢ₊₁ − b̄) / Σᵢ (bᵢ − b̄)² (Box & Jenkins, *Time Series Analysis*, ch. 2).
///
/// Counting above the median instead of counting misses makes it exist where nothing missed, and
/// +∞ (no answer) is simply above. With ties at the median the side of them is taken that splits
/// the series closer to half: of 1, 1, 1, 2, 3 the last two are above; of 1, 2, 2, 2, 2 the last
/// four, because no value is above 2.
///
/// A series of which all values are equal gives 1: it is one observation, not n. That is also the
/// answer for one request.
///
/// ```
/// # use cotenant_core::stats::autocorrelation;
/// // Slow requests come together …
/// assert!(autocorrelation(&[0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.9, f64::INFINITY])? > 0.5);
/// // … or take turns.
/// assert!(autocorrelation(&[0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9])? < -0.5);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn autocorrelation(latencies: &[f64]) -> Result<f64, Refusal> {
    check_values(latencies)?;
    let mut copy = latencies.to_vec();
    let rank = quantile_rank(0.5, copy.len());
    let (_, &mut median, _) = copy.select_nth_unstable_by(rank - 1, f64::total_cmp);
    let count = |above: &dyn Fn(f64) -> bool| latencies.iter().filter(|v| above(**v)).count();
    let (strictly, at_least) = (count(&|v| v > median), count(&|v| v >= median));
    let distance = |above: usize| (2 * above).abs_diff(latencies.len());
    Ok(if distance(strictly) <= distance(at_least) {
        indicator_autocorrelation(latencies, strictly, |value| value > median)
    } else {
        indicator_autocorrelation(latencies, at_least, |value| value >= median)
    })
}

fn indicator_autocorrelation(values: &[f64], ones: usize, above: impl Fn(f64) -> bool) -> f64 {
    if ones == 0 || ones == values.len() {
        return 1.0;
    }
    let mean = ones as f64 / values.len() as f64;
    let centred = |value: &f64| if above(*value) { 1.0 - mean } else { -mean };
    let products: f64 = values.windows(2).map(|pair| centred(&pair[0]) * centred(&pair[1])).sum();
    // Σ (b − b̄)² of a series of zeros and ones.
    products / (values.len() as f64 * mean * (1.0 - mean))
}

/// Independent requests that `requests` autocorrelated ones are worth: n(1 − ρ)/(1 + ρ), at least 1
/// and at most n.
///
/// Exact for the mean of a first-order autoregressive series (Bartlett 1946). A negative ρ̂ never
/// raises it above n: an estimate that happens to fall below zero is no evidence of more requests.
pub fn effective_sample_size(requests: f64, autocorrelation: f64) -> f64 {
    let rho = autocorrelation.clamp(0.0, 1.0);
    (requests * (1.0 - rho) / (1.0 + rho)).max(1.0).min(requests)
}
