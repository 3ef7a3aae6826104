//! Which days of the history speak for a slot of the week.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::Date;

use super::occurrences::Occurrences;

/// Fewest weeks from which a slot of the week speaks for itself: with 19 days the conformal bound
/// first reaches 95 %. It does not depend on ε: less risk would else look at other days, and could
/// ask for less.
const WEEKS_MIN: usize = 19;

/// Fewest days of one kind that speak for a slot of it.
const DAYS_MIN: usize = 2;

/// Which days speak for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PoolKind {
    /// The same slot of the week.
    SlotOfWeek,
    /// The same time of day on the same kind of day: Monday to Friday, or the weekend.
    KindOfDay,
    /// The same time of day on every day: its own kind of day was seen once at most.
    TimeOfDay,
    /// The whole history: that time of day was never seen.
    Everything,
}

/// The days that speak for a slot: the steps of each.
#[derive(Clone, Debug)]
pub(super) struct Pool<'a> {
    /// Which they are.
    pub kind: PoolKind,
    /// The steps of each day.
    pub days: Vec<Vec<&'a Range<usize>>>,
}

impl Occurrences {
    /// The days on which a slot of the week was passed.
    pub(super) fn own(&self, slot: u32) -> Vec<Vec<&Range<usize>>> {
        self.passings
            .range((slot, Date::MIN)..=(slot, Date::MAX))
            .map(|(_, ranges)| ranges.iter().collect())
            .collect()
    }

    /// Whether a slot lies on Saturday or Sunday, and its place in the day.
    pub(super) fn time_of_day(&self, slot: u32) -> (bool, u32) {
        (slot / self.slots_per_day() >= 5, slot % self.slots_per_day())
    }

    /// The days that speak for a slot: those of the same slot of the week where there are enough (of
    /// declared demand one is); else those of the same kind at the same time of day; else what there
    /// is.
    pub(super) fn pool(&self, slot: u32, declared: bool) -> Pool<'_> {
        let own = self.own(slot);
        if own.len() >= if declared { 1 } else { WEEKS_MIN } {
            return Pool { kind: PoolKind::SlotOfWeek, days: own };
        }
        let (weekend, time) = self.time_of_day(slot);
        let of_days = |days: Range<u32>| -> Vec<_> {
            days.flat_map(|day| self.own(day * self.slots_per_day() + time)).collect()
        };
        let kind = of_days(if weekend { 5..7 } else { 0..5 });
        if kind.len() >= DAYS_MIN {
            return Pool { kind: PoolKind::KindOfDay, days: kind };
        }
        let every = of_days(0..7);
        if !every.is_empty() {
            return Pool { kind: PoolKind::TimeOfDay, days: every };
        }
        let mut days: BTreeMap<Date, Vec<&Range<usize>>> = BTreeMap::new();
        for ((_, day), ranges) in &self.passings {
            days.entry(*day).or_default().extend(ranges);
        }
        Pool { kind: PoolKind::Everything, days: days.into_values().collect() }
    }

    /// Local days of which anything was seen.
    pub(super) fn days(&self) -> u64 {
        let days: std::collections::BTreeSet<Date> =
            self.passings.keys().map(|(_, day)| *day).collect();
        days.len() as u64
    }
}
