//! Bounds of a share: how many requests in the long run miss, given k of n that did.

use super::decision::ALPHA;
use super::distributions::normal_quantile;
use super::order::check_open_share;
use super::refusal::Refusal;
use super::special::beta_regularized_inverse;

/// One-sided Clopper–Pearson upper bound at level 1 − `alpha` of a share of which `misses` in
/// `requests` were seen: the (1 − α)-quantile of Beta(k + 1, n − k) (Clopper & Pearson, Biometrika
/// 1934).
///
/// Both counts may be fractions: with autocorrelated requests the effective sample size takes the
/// place of n, and the same share of it the place of k.
///
/// ```
/// # use cotenant_core::stats::clopper_pearson_upper;
/// // No miss in 300 requests does not mean no misses: up to 0.99 % would fit.
/// let upper = clopper_pearson_upper(0.0, 300.0, 0.05)?;
/// assert!((upper - 0.009936).abs() < 1e-6);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn clopper_pearson_upper(misses: f64, requests: f64, alpha: f64) -> Result<f64, Refusal> {
    check_counts(misses, requests)?;
    check_open_share("alpha", alpha)?;
    let hits = requests - misses;
    if hits <= 0.0 {
        return Ok(1.0);
    }
    Ok(beta_regularized_inverse(1.0 - alpha, misses + 1.0, hits))
}

/// One-sided Clopper–Pearson lower bound at level 1 − `alpha`: the α-quantile of
/// Beta(k, n − k + 1). Zero where nothing missed.
pub fn clopper_pearson_lower(misses: f64, requests: f64, alpha: f64) -> Result<f64, Refusal> {
    check_counts(misses, requests)?;
    check_open_share("alpha", alpha)?;
    if misses <= 0.0 {
        return Ok(0.0);
    }
    Ok(beta_regularized_inverse(alpha, misses, requests - misses + 1.0))
}

/// Trials without a failure after which the share of failures is at most `allowed` at level
/// 1 − [`ALPHA`]: ⌈ln α ÷ ln(1 − allowed)⌉, where the Clopper–Pearson bound of none in n reaches it.
/// `None` for a share of 0: no number of trials proves that nothing ever fails.
///
/// ```
/// # use cotenant_core::stats::drills_needed;
/// // 0.95^59 = 0.0485 and 0.95^58 = 0.0510.
/// assert_eq!(drills_needed(0.05), Some(59));
/// assert_eq!((drills_needed(0.5), drills_needed(1.0), drills_needed(0.0)), (Some(5), Some(1), None));
/// ```
pub fn drills_needed(allowed: f64) -> Option<u64> {
    if allowed.is_nan() || allowed <= 0.0 {
        return None;
    }
    if allowed >= 1.0 {
        return Some(1);
    }
    Some((ALPHA.ln() / (-allowed).ln_1p()).ceil() as u64)
}

/// Two-sided Wilson score interval (Wilson, JASA 1927) of a share, for display: closer to its
/// nominal coverage than Clopper–Pearson, but not a guarantee, so no verdict is made from it.
pub fn wilson_interval(misses: f64, requests: f64, confidence: f64) -> Result<(f64, f64), Refusal> {
    check_counts(misses, requests)?;
    check_open_share("confidence", confidence)?;
    let z = normal_quantile(0.5 * (1.0 + confidence));
    let share = misses / requests;
    let scale = 1.0 + z * z / requests;
    let centre = share + z * z / (2.0 * requests);
    let half = z * (share * (1.0 - share) / requests + z * z / (4.0 * requests * requests)).sqrt();
    Ok((((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0)))
}

fn check_counts(misses: f64, requests: f64) -> Result<(), Refusal> {
    if requests.is_nan() || requests <= 0.0 || requests.is_infinite() {
        return Err(Refusal::OutOfRange {
            name: "number of requests",
            value: requests,
            range: "finite and above 0",
        });
    }
    if misses.is_nan() || misses < 0.0 || misses > requests {
        return Err(Refusal::OutOfRange {
            name: "number of misses",
            value: misses,
            range: "between 0 and the number of requests",
        });
    }
    Ok(())
}
