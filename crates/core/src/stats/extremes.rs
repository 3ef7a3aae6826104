//! Levels that were rarely or never seen.

use super::checkpoint::check_positive;
use super::order::check_open_share;
use super::refusal::Refusal;

/// Level that is exceeded with probability `probability` per observation, from a generalised Pareto
/// fit of the excesses over a threshold u: u + (σ/ξ)[(q·n/N_u)^(−ξ) − 1], and for ξ → 0
/// u − σ·ln(q·n/N_u) (peaks over threshold; Siffer et al., KDD 2017, eq. 1).
///
/// `observations` is n and `excesses` N_u; the level has the unit of `threshold` and `scale`.
pub fn pareto_level(
    threshold: f64,
    scale: f64,
    shape: f64,
    observations: u64,
    excesses: u64,
    probability: f64,
) -> Result<f64, Refusal> {
    check_positive("scale", scale)?;
    check_open_share("probability", probability)?;
    if excesses == 0 || excesses > observations {
        return Err(Refusal::OutOfRange {
            name: "number of excesses",
            value: excesses as f64,
            range: "from 1 to the number of observations",
        });
    }
    let ratio = probability * observations as f64 / excesses as f64;
    Ok(if shape.abs() < 1e-9 {
        threshold - scale * ratio.ln()
    } else {
        threshold + scale / shape * (ratio.powf(-shape) - 1.0)
    })
}

/// Rank, among n past values in ascending order, of the split conformal upper bound at level
/// 1 − `alpha`: ⌈(n + 1)(1 − α)⌉ (Vovk et al. 2005). `None` where the history is too short: 28 days
/// bound the next one at 96.6 % at most.
///
/// ```
/// # use cotenant_core::stats::conformal_rank;
/// assert_eq!(conformal_rank(28, 0.05)?, Some(28));
/// assert_eq!(conformal_rank(28, 0.01)?, None);
/// # Ok::<(), cotenant_core::stats::Refusal>(())
/// ```
pub fn conformal_rank(n: u64, alpha: f64) -> Result<Option<u64>, Refusal> {
    check_open_share("alpha", alpha)?;
    // (n + 1)·0.95 can land just above a whole number in binary.
    let exact = (n as f64 + 1.0) * (1.0 - alpha);
    let rank = (exact - 1e-9 * exact.max(1.0)).ceil() as u64;
    Ok((rank >= 1 && rank <= n).then_some(rank))
}
