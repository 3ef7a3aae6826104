//! What one unit needs in one slot of the week.

use std::collections::BTreeMap;
use std::ops::Range;

use super::demand::UnitDemand;
use super::inside::Inside;
use super::pools::{Pool, PoolKind};
use super::quantile::{Bound, bound, shown};
use super::tail::Tail;

/// Where a burst comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum BurstFrom {
    /// The quantile of what was seen.
    Seen,
    /// The fitted tail.
    Tail,
    /// The highest that was seen, because the history does not support the quantile.
    Highest,
    /// The model of what happens inside a step.
    Assumed,
    /// Nothing: no time to reclaim is known, and the whole peak is kept free.
    Peak,
}

/// What one unit needs in one slot of the week, in the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SlotNeed {
    /// Mean demand.
    pub mean: f64,
    /// Demand as it stands at any moment.
    pub level: f64,
    /// Growth within a reclaim.
    pub burst: f64,
    /// What must be there without a reclaim: level and burst.
    pub top: f64,
    /// The highest of one passing of the slot.
    pub peak: f64,
    /// Days that speak for the slot.
    pub days: u64,
    /// Start points on them.
    pub exposures: u64,
    /// Which days they are.
    pub pool: PoolKind,
    /// Where the burst comes from.
    pub burst_from: BurstFrom,
    /// Whether the history supports the risk tolerance here, for level and burst.
    pub supported: bool,
}

/// What a slot is judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Basis<'a> {
    /// The demand.
    pub demand: &'a UnitDemand,
    /// ε; `None` takes the highest that was seen.
    pub epsilon: Option<f64>,
    /// Whether a time to reclaim is known.
    pub reclaimable: bool,
    /// The tail of the bursts, where there is one.
    pub tail: Option<&'a Tail>,
    /// What happens inside a step, where steps hide it.
    pub inside: Option<&'a Inside>,
}

/// What the days of one pool bound. Slots that share a pool share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolBounds {
    mean: f64,
    level: Bound,
    within: Bound,
    burst: Bound,
    peak: Bound,
}

/// The bounds of every pool that was looked at, by its kind and what tells it from others of that
/// kind.
pub(super) type BoundsOfPools = BTreeMap<(PoolKind, u32), Option<PoolBounds>>;

impl Basis<'_> {
    /// The need in a slot of the week; `None` where the history shows nothing at all.
    pub(super) fn need(&self, slot: u32, known: &mut BoundsOfPools) -> Option<SlotNeed> {
        let occurrences = &self.demand.occurrences;
        let pool = occurrences.pool(slot, self.demand.declared);
        let (weekend, time) = occurrences.time_of_day(slot);
        let key = match pool.kind {
            PoolKind::SlotOfWeek => slot,
            PoolKind::KindOfDay => time + u32::from(weekend) * occurrences.slots_per_day(),
            PoolKind::TimeOfDay => time,
            PoolKind::Everything => 0,
        };
        let found = known.entry((pool.kind, key));
        let mut bounds = (*found.or_insert_with(|| self.bounds(&pool)))?;
        let own = occurrences.own(slot);
        if !own.is_empty() {
            bounds.mean = mean_of(&values_of(&own, &self.demand.values));
        }
        if pool.kind == PoolKind::KindOfDay {
            self.keep_own(&mut bounds, &own);
        }
        let (level, burst) = (bounds.level, bounds.burst);
        let seen = SlotNeed {
            mean: bounds.mean,
            level: level.value,
            burst: burst.value,
            top: (level.value + burst.value).max(bounds.within.value),
            peak: bounds.peak.value,
            days: level.days,
            exposures: burst.exposures,
            pool: pool.kind,
            burst_from: if burst.supported { BurstFrom::Seen } else { BurstFrom::Highest },
            supported: level.supported && burst.supported,
        };
        Some(self.finish(slot, seen))
    }

    /// The bounds of a pool. Days of another kind, however many, support nothing, and neither does
    /// what is declared.
    fn bounds(&self, pool: &Pool<'_>) -> Option<PoolBounds> {
        let alike = matches!(pool.kind, PoolKind::SlotOfWeek | PoolKind::KindOfDay)
            && !self.demand.declared;
        let bounded = |days: &[Vec<f64>]| {
            let seen = bound(days, self.epsilon)?;
            Some(if alike { seen } else { Bound { value: seen.largest, supported: false, ..seen } })
        };
        let levels = values_of(&pool.days, &self.demand.values);
        Some(PoolBounds {
            mean: mean_of(&levels),
            level: bounded(&levels)?,
            within: bounded(&values_of(&pool.days, &self.demand.within))?,
            burst: bounded(&values_of(&pool.days, &self.demand.bursts))?,
            peak: bounded(&peaks_of(&levels))?,
        })
    }

    /// A day of the week that is busier than the others of its kind keeps what it showed.
    fn keep_own(&self, bounds: &mut PoolBounds, own: &[Vec<&Range<usize>>]) {
        let keep = |bound: &mut Bound, days: &[Vec<f64>]| {
            if let Some(shown) = shown(days, self.epsilon) {
                bound.value = bound.value.max(shown);
            }
        };
        // Unsupported bounds are the highest of all days of the kind already.
        if bounds.level.supported {
            let levels = values_of(own, &self.demand.values);
            keep(&mut bounds.level, &levels);
            keep(&mut bounds.peak, &peaks_of(&levels));
            keep(&mut bounds.within, &values_of(own, &self.demand.within));
            keep(&mut bounds.burst, &values_of(own, &self.demand.bursts));
        }
    }

    /// Adds what was not seen: the tail, what steps hide, and the whole peak where nothing comes
    /// back in time.
    fn finish(&self, slot: u32, mut need: SlotNeed) -> SlotNeed {
        if let Some(inside) = self.inside {
            need.top = inside.highest(need.level) + need.burst;
            need.burst = need.top - need.level;
            need.peak = inside.highest(need.peak);
            need.burst_from = BurstFrom::Assumed;
        } else if need.burst_from == BurstFrom::Highest {
            let (weekend, time) = self.demand.occurrences.time_of_day(slot);
            if let Some(fitted) = self.tail.and_then(|tail| tail.burst(weekend, time)) {
                // The tail speaks for the burst alone: the level has no more days than before.
                need.burst = need.burst.max(fitted);
                need.top = need.top.max(need.level + need.burst);
                need.burst_from = BurstFrom::Tail;
            }
        }
        if !self.reclaimable {
            need.top = need.top.max(need.peak);
            need.burst = need.top - need.level;
            need.burst_from = BurstFrom::Peak;
        }
        need
    }
}

/// The values that were seen on each day.
fn values_of(days: &[Vec<&Range<usize>>], values: &[Option<f64>]) -> Vec<Vec<f64>> {
    let of_day = |day: &Vec<&Range<usize>>| {
        day.iter().flat_map(|range| values[(*range).clone()].iter().flatten().copied()).collect()
    };
    days.iter().map(of_day).collect()
}

/// The highest value of each day.
fn peaks_of(days: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let highest = |values: &Vec<f64>| values.iter().copied().reduce(f64::max);
    days.iter().map(|values| highest(values).into_iter().collect()).collect()
}

/// The mean over days of their means.
fn mean_of(days: &[Vec<f64>]) -> f64 {
    let means: Vec<f64> = days
        .iter()
        .filter(|values| !values.is_empty())
        .map(|values| values.iter().sum::<f64>() / values.len() as f64)
        .collect();
    means.iter().sum::<f64>() / means.len().max(1) as f64
}
