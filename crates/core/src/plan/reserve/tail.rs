//! The tail of the bursts, where too few days speak for a slot but the whole history speaks for the
//! tail: peaks over threshold on the bursts without their season.
//!
//! The unit is one passing of one slot: its highest burst, divided by what is usual at that time of
//! day on that kind of day. What lies above the threshold in slots that follow each other on one day
//! is one cluster, and counts once.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::demand::UnitDemand;
use crate::stats::{ParetoFit, Refusal, TailLevel, fit_pareto, quantile_rank};

/// Share of the passings above which the tail begins.
const THRESHOLD_QUANTILE: f64 = 0.9;

/// With what confidence the level is bounded, from one side.
const CONFIDENCE: f64 = 0.95;

/// Why the bursts have no tail that could be fitted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NoTail {
    /// No quantile is asked for, or one that lies in the body of what was seen.
    NotAsked,
    /// Too few clusters, or values that a fit has no meaning for.
    Refused(Refusal),
    /// The interval of ξ reaches 1, where the tail has no mean.
    TooHeavy {
        /// The upper end of the interval of ξ.
        shape_upper: f64,
    },
}

/// The tail of the bursts of one unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    /// The usual highest burst by kind of day (whether it is the weekend) and place in the day.
    usual: BTreeMap<(bool, u32), f64>,
    /// The upper bound of the burst at the risk tolerance, as a multiple of the usual one.
    pub multiple: f64,
    /// Its estimate.
    pub multiple_estimate: f64,
    /// The fit, of multiples.
    pub fit: ParetoFit,
    /// The 95 % interval of ξ.
    pub shape: (f64, f64),
    /// Passings that it was fitted from.
    pub passings: u64,
    /// Whether it lies beyond everything that was seen.
    pub extrapolated: bool,
}

impl Tail {
    /// The bound of the burst in a slot; `None` where its time of day shows no burst to scale with.
    pub(super) fn burst(&self, weekend: bool, time: u32) -> Option<f64> {
        self.usual.get(&(weekend, time)).map(|usual| usual * self.multiple)
    }
}

/// One passing with a burst, as a multiple of the usual one.
#[derive(Clone, Copy, Debug)]
struct Passing {
    day: Date,
    time: u32,
    multiple: f64,
}

/// Fits the tail of the bursts of a unit and takes its level at ε.
pub(super) fn tail_of(demand: &UnitDemand, epsilon: Option<f64>) -> Result<Tail, NoTail> {
    let Some(epsilon) = epsilon else { return Err(NoTail::NotAsked) };
    let (usual, mut passings) = without_season(demand);
    passings.sort_unstable_by_key(|passing| (passing.day, passing.time));
    let count = passings.len() as u64;
    if count == 0 {
        return Err(NoTail::Refused(Refusal::Empty));
    }
    let mut sorted: Vec<f64> = passings.iter().map(|passing| passing.multiple).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let threshold = sorted[quantile_rank(THRESHOLD_QUANTILE, sorted.len()) - 1];
    let exceeding = sorted.iter().filter(|value| **value > threshold).count() as u64;
    let fit = fit_pareto(&cluster_excesses(&passings, threshold)).map_err(NoTail::Refused)?;
    let shape = fit.shape_interval(CONFIDENCE).map_err(NoTail::Refused)?;
    if shape.1 >= 1.0 {
        return Err(NoTail::TooHeavy { shape_upper: shape.1 });
    }
    if epsilon * count as f64 > exceeding as f64 {
        return Err(NoTail::NotAsked);
    }
    let place = TailLevel { threshold, observations: count, exceeding, probability: epsilon };
    let level = fit.level(&place).map_err(NoTail::Refused)?;
    let upper = fit.level_upper(&place, CONFIDENCE).map_err(NoTail::Refused)?;
    let extrapolated = epsilon * (count as f64 + 1.0) < 1.0;
    Ok(Tail {
        usual,
        multiple: upper,
        multiple_estimate: level,
        fit,
        shape,
        passings: count,
        extrapolated,
    })
}

/// The usual highest burst of each time of day, and every passing as a multiple of it. Times of day
/// that were seen once, or without any burst, have no usual one and are left out.
fn without_season(demand: &UnitDemand) -> (BTreeMap<(bool, u32), f64>, Vec<Passing>) {
    let mut highest: BTreeMap<(bool, u32), Vec<(Date, f64)>> = BTreeMap::new();
    for ((slot, day), ranges) in &demand.occurrences.passings {
        let bursts = ranges.iter().flat_map(|range| demand.bursts[range.clone()].iter().flatten());
        if let Some(burst) = bursts.copied().reduce(f64::max) {
            let key = demand.occurrences.time_of_day(*slot);
            highest.entry(key).or_default().push((*day, burst));
        }
    }
    let mut usual = BTreeMap::new();
    let mut passings = Vec::new();
    for (key, bursts) in highest {
        let mean = bursts.iter().map(|(_, burst)| burst).sum::<f64>() / bursts.len() as f64;
        if bursts.len() < 2 || mean <= 0.0 {
            continue;
        }
        usual.insert(key, mean);
        passings.extend(bursts.into_iter().map(|(day, burst)| Passing {
            day,
            time: key.1,
            multiple: burst / mean,
        }));
    }
    (usual, passings)
}

/// The highest excess of each cluster: slots in a row on one day above the threshold.
fn cluster_excesses(passings: &[Passing], threshold: f64) -> Vec<f64> {
    let mut excesses: Vec<f64> = Vec::new();
    let mut last: Option<(Date, u32)> = None;
    for passing in passings.iter().filter(|passing| passing.multiple > threshold) {
        let excess = passing.multiple - threshold;
        let follows = last == passing.time.checked_sub(1).map(|time| (passing.day, time));
        match excesses.last_mut().filter(|_| follows) {
            Some(highest) => *highest = highest.max(excess),
            None => excesses.push(excess),
        }
        last = Some((passing.day, passing.time));
    }
    excesses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_in_a_row_are_one_cluster() {
        let (monday, tuesday) = (jiff::civil::date(2026, 6, 1), jiff::civil::date(2026, 6, 2));
        let passing = |day, time, multiple| Passing { day, time, multiple };
        let passings = [
            passing(monday, 0, 3.0),
            passing(monday, 1, 5.0),
            passing(monday, 2, 1.0),
            passing(monday, 3, 4.0),
            passing(tuesday, 0, 2.5),
            passing(tuesday, 4, 2.25),
            passing(tuesday, 5, 2.0),
        ];
        assert_eq!(cluster_excesses(&passings, 2.0), [3.0, 2.0, 0.5, 0.25]);
    }
}
