//! When the history passed through each slot of the week, by the clock on the wall.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Minutes of a day by the clock on the wall.
const MINUTES_PER_DAY: u32 = 24 * 60;

/// The steps of one series, by slot of the week and local day.
#[derive(Clone, Debug)]
pub(super) struct Occurrences {
    /// Length of a slot, minutes.
    pub slot_minutes: u32,
    /// For each slot (its place in the week) and each local day on which it was passed: the steps.
    /// A night whose hour comes twice passes its slots twice on one day.
    pub passings: BTreeMap<(u32, Date), Vec<Range<usize>>>,
}

impl Occurrences {
    /// Places `steps` steps of whole seconds from `start`. A step belongs to the slot in which it
    /// begins, or, where it is longer than a minute, to every slot that it touches.
    pub(super) fn new(
        start: Timestamp,
        step_s: u64,
        steps: usize,
        time_zone: &TimeZone,
        slot_minutes: u32,
    ) -> Self {
        let mut passings: BTreeMap<(u32, Date), Vec<Range<usize>>> = BTreeMap::new();
        let (first_s, step_s) = (start.as_second(), step_s.max(1) as i64);
        let last_s = first_s + step_s * steps as i64;
        // Offsets from UTC are whole minutes, so a minute of UTC lies in one slot.
        for minute in first_s.div_euclid(60)..=(last_s - 1).div_euclid(60) {
            let (from, until) = (minute * 60 - first_s, (minute + 1) * 60 - first_s);
            let begins = if step_s > 60 { from.div_euclid(step_s) } else { ceil(from, step_s) };
            let range = clamp(begins, steps)..clamp(ceil(until, step_s), steps);
            let Ok(at) = Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_secs(minute * 60))
            else {
                continue;
            };
            if range.is_empty() {
                continue;
            }
            let local = time_zone.to_datetime(at);
            let of_day = local.hour() as u32 * 60 + local.minute() as u32;
            let day = local.weekday().to_monday_zero_offset() as u32;
            let slot = (day * MINUTES_PER_DAY + of_day) / slot_minutes;
            extend(passings.entry((slot, local.date())).or_default(), range);
        }
        Self { slot_minutes, passings }
    }

    /// Slots of a day.
    pub(super) fn slots_per_day(&self) -> u32 {
        MINUTES_PER_DAY / self.slot_minutes
    }
}

/// Adds steps behind those that are there, without counting one twice.
fn extend(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

fn ceil(value: i64, step: i64) -> i64 {
    -(-value).div_euclid(step)
}

fn clamp(index: i64, steps: usize) -> usize {
    usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(ranges: &[Range<usize>]) -> Vec<(usize, usize)> {
        ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    #[test]
    fn each_step_of_an_ordinary_day_has_one_slot() {
        let start: Timestamp = "2026-06-01T00:00:00+02:00".parse().unwrap();
        let placed = Occurrences::new(start, 10, 8640, &berlin(), 30);
        assert_eq!(placed.passings.len(), 48);
        for (index, ((slot, _), ranges)) in placed.passings.iter().enumerate() {
            assert_eq!(*slot, index as u32);
            assert_eq!(ends(ranges), [(index * 180, (index + 1) * 180)]);
        }
    }

    #[test]
    fn a_step_longer_than_a_slot_belongs_to_every_slot_that_it_touches() {
        let start: Timestamp = "2026-06-01T00:00:00+02:00".parse().unwrap();
        let placed = Occurrences::new(start, 3600, 2, &berlin(), 30);
        let ranges: Vec<_> = placed.passings.values().flat_map(|ranges| ends(ranges)).collect();
        assert_eq!(ranges, [(0, 1), (0, 1), (1, 2), (1, 2)]);
    }

    #[test]
    fn the_hour_that_comes_twice_is_two_stretches_of_one_day() {
        // 2026-10-25: 02:00 to 03:00 comes twice in Berlin.
        let start: Timestamp = "2026-10-25T00:00:00+02:00".parse().unwrap();
        let placed = Occurrences::new(start, 1800, 50, &berlin(), 30);
        let sunday = 6 * 48;
        let day = jiff::civil::date(2026, 10, 25);
        assert_eq!(ends(&placed.passings[&(sunday + 4, day)]), [(4, 5), (6, 7)]);
        assert_eq!(placed.passings.len(), 48);
        // 2026-03-29: 02:00 to 03:00 does not come, and its slots were not passed.
        let start: Timestamp = "2026-03-29T00:00:00+01:00".parse().unwrap();
        let placed = Occurrences::new(start, 1800, 46, &berlin(), 30);
        let day = jiff::civil::date(2026, 3, 29);
        assert!(!placed.passings.contains_key(&(sunday + 4, day)));
        assert_eq!(ends(&placed.passings[&(sunday + 6, day)]), [(4, 5)]);
    }
}
