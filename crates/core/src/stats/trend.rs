//! Whether a series grows: a waiting queue that does is overload, and its percentiles only say how
//! long one waited before stopping to look.

use super::distributions::normal_cdf;
use super::order::check_finite;
use super::refusal::Refusal;

/// Fewest observations: below ten the normal approximation of S is poor.
pub const TREND_OBSERVATIONS_MIN: usize = 10;

/// Most points between which slopes are formed. Longer series are thinned evenly for the slope
/// alone, which keeps its memory at 16 MB.
const SLOPE_POINTS_MAX: usize = 2_000;

/// The Mann–Kendall test of a series for growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Kendall's S: pairs in time order that rise minus pairs that fall.
    pub s: i64,
    /// Variance of S without a trend, with ties taken off, for independent observations.
    pub variance: f64,
    /// (S ∓ 1)/√variance; 0 where S is 0 or every value is equal.
    pub z: f64,
    /// One-sided p-value of growth if the observations were independent.
    pub p_increasing: f64,
    /// Lag-1 autocorrelation of the series after its Theil–Sen line is taken off.
    pub autocorrelation: f64,
    /// One-sided p-value of growth with the variance scaled by (1 + ρ)/(1 − ρ) where ρ is above 0.
    /// This is the one to act on: the length of a queue now is mostly its length a second ago, and
    /// a steady queue would be called growing far too often without it.
    pub p_increasing_corrected: f64,
    /// Theil–Sen slope: median of the slopes of all pairs, in units of the value per unit of time.
    pub slope: f64,
}

/// Mann–Kendall test (Mann, Econometrica 1945; Kendall 1975) of evenly spaced observations, in order
/// of time, with the tie correction var S = [n(n−1)(2n+5) − Σ t(t−1)(2t+5)]/18, the Theil–Sen slope
/// (Sen, JASA 1968), and the correction of Yue & Wang (Water Resources Management 2004) for
/// autocorrelation. The slope is per observation; divide by the spacing for a rate.
///
/// Refuses fewer than ten observations and values that are not finite. Takes time in proportion to
/// the square of the length.
pub fn mann_kendall(values: &[f64]) -> Result<Trend, Refusal> {
    let times: Vec<f64> = (0..values.len()).map(|index| index as f64).collect();
    mann_kendall_at(&times, values)
}

/// As [`mann_kendall`] for observations at `times`; the slope is per unit of time. Refuses times
/// that do not run together with the values or do not grow.
pub fn mann_kendall_at(times: &[f64], values: &[f64]) -> Result<Trend, Refusal> {
    check_finite(values)?;
    check_finite(times)?;
    let n = values.len();
    if n < TREND_OBSERVATIONS_MIN || times.len() != n {
        return Err(Refusal::TooFewObservations {
            what: "Mann–Kendall",
            needed: TREND_OBSERVATIONS_MIN.max(n),
            seen: times.len().min(n),
        });
    }
    if let Some(index) = times.windows(2).position(|pair| pair[1] <= pair[0]) {
        return Err(Refusal::OutOfRange {
            name: "time",
            value: times[index + 1],
            range: "later than the one before it",
        });
    }
    let s = kendall_s(values);
    let variance = s_variance(values);
    let slope = theil_sen(times, values);
    let autocorrelation = residual_autocorrelation(times, values, slope);
    let rho = autocorrelation.clamp(0.0, 0.99);
    let z = standardised(s, variance);
    let z_corrected = standardised(s, variance * (1.0 + rho) / (1.0 - rho));
    Ok(Trend {
        s,
        variance,
        z,
        p_increasing: normal_cdf(-z),
        autocorrelation,
        p_increasing_corrected: normal_cdf(-z_corrected),
        slope,
    })
}

fn kendall_s(values: &[f64]) -> i64 {
    let mut s = 0_i64;
    for (index, earlier) in values.iter().enumerate() {
        for later in &values[index + 1..] {
            s += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    s
}

fn s_variance(values: &[f64]) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties: f64 =
        sorted.chunk_by(|left, right| left == right).map(|group| term(group.len() as f64)).sum();
    (term(values.len() as f64) - ties) / 18.0
}

fn standardised(s: i64, variance: f64) -> f64 {
    if s == 0 || variance <= 0.0 {
        return 0.0;
    }
    // The continuity correction moves S one step towards 0.
    (s - s.signum()) as f64 / variance.sqrt()
}

fn theil_sen(times: &[f64], values: &[f64]) -> f64 {
    let stride = values.len().div_ceil(SLOPE_POINTS_MAX);
    let points: Vec<(f64, f64)> =
        times.iter().copied().zip(values.iter().copied()).step_by(stride).collect();
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (index, (time, value)) in points.iter().enumerate() {
        for (later_time, later_value) in &points[index + 1..] {
            slopes.push((later_value - value) / (later_time - time));
        }
    }
    midpoint_median(&mut slopes)
}

/// Sen's median: the mean of the two middle slopes where their number is even. (A quantile of
/// latencies is an order statistic; this is an estimate of a slope.)
fn midpoint_median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if even {
        let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        0.5 * (lower + upper)
    } else {
        upper
    }
}

fn residual_autocorrelation(times: &[f64], values: &[f64], slope: f64) -> f64 {
    let residuals: Vec<f64> =
        times.iter().zip(values).map(|(time, value)| value - slope * time).collect();
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|value| (value - mean).powi(2)).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = residuals.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    products / squares
}
