//! Where warm-up ends.

use super::order::check_finite;
use super::refusal::Refusal;

/// Observations per batch in MSER-5.
pub const MSER_BATCH: usize = 5;

/// Fewest batches for which a truncation point has a meaning.
const BATCHES_MIN: usize = 4;

/// The truncation point that MSER-5 chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncation {
    /// Observations to drop from the front, a multiple of 5.
    pub drop: usize,
    /// The statistic at that point: squared standard error of the mean of what remains.
    pub squared_error: f64,
    /// Whether the best point is the last one that was allowed (half of the series): the series is
    /// then probably not steady at all, and a longer pilot is needed.
    pub at_limit: bool,
}

/// MSER-5 (White, *Simulation* 1997; White, Cobb & Spratt, WSC 2000): the observations are averaged
/// in batches of five, and the number d of leading batches is dropped that minimises
/// Σ_{i>d}(Yᵢ − Ȳ_d)² / (n − d)². At most half of the batches may be dropped: near the end of a
/// series the statistic is small by chance. Of equal minima the first is taken. Observations after
/// the last whole batch are not looked at.
pub fn mser5(series: &[f64]) -> Result<Truncation, Refusal> {
    check_finite(series)?;
    let batches: Vec<f64> = series
        .chunks_exact(MSER_BATCH)
        .map(|batch| batch.iter().sum::<f64>() / MSER_BATCH as f64)
        .collect();
    if batches.len() < BATCHES_MIN {
        return Err(Refusal::TooFewObservations {
            what: "MSER-5",
            needed: BATCHES_MIN * MSER_BATCH,
            seen: series.len(),
        });
    }
    let drop_max = batches.len() / 2;
    let mut best = (0, f64::INFINITY);
    // From the end, mean and sum of squares of what remains grow by one batch at a time (Welford).
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (index, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let distance = batch - mean;
        mean += distance / count;
        squares += distance * (batch - mean);
        let statistic = squares / (count * count);
        if index <= drop_max && statistic <= best.1 {
            best = (index, statistic);
        }
    }
    let (drop, squared_error) = best;
    Ok(Truncation { drop: drop * MSER_BATCH, squared_error, at_limit: drop == drop_max })
}
