//! Times counted in buckets, so that millions of them need no more memory than ten.

use crate::stats::QuantileBounds;
use crate::units::Picoseconds;

/// Buckets in each doubling, as a power of two: a bucket is at most 1/128 of its time wide.
const STEPS_LOG2: u32 = 7;
const STEPS: usize = 1 << STEPS_LOG2;

/// A histogram of times with buckets that grow with them: a quantile is known to 0.8 %. Count, mean,
/// least and largest are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: Option<Picoseconds>,
    largest: Option<Picoseconds>,
}

impl Histogram {
    /// Counts a time so many times.
    pub fn add(&mut self, time: Picoseconds, times: u64) {
        if times == 0 {
            return;
        }
        self.count_in(bucket(time.0), times);
        self.sum += u128::from(time.0) * u128::from(times);
        self.widen(time, time);
    }

    /// Counts the times first, first + growth, … of `passes` passes, each so many times.
    pub fn add_series(&mut self, first: Picoseconds, growth: Picoseconds, passes: u64, times: u64) {
        if times == 0 || passes == 0 {
            return;
        }
        let last = first + growth * (passes - 1);
        if growth == Picoseconds::ZERO || bucket(first.0) == bucket(last.0) {
            self.count_in(bucket(first.0), passes * times);
        } else {
            let mut from = 0;
            while from < passes {
                let at = bucket((first + growth * from).0);
                let beyond = (bucket_bound(at + 1).saturating_sub(first.0)).div_ceil(growth.0);
                let until = beyond.clamp(from + 1, passes);
                self.count_in(at, (until - from) * times);
                from = until;
            }
        }
        let (first_sum, pairs) = (u128::from(first.0) * u128::from(passes), u128::from(passes));
        let growth_sum = u128::from(growth.0) * (pairs * (pairs - 1) / 2);
        self.sum += (first_sum + growth_sum) * u128::from(times);
        self.widen(first, last);
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (at, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.count_in(at, *count);
        }
        self.sum += other.sum;
        if let (Some(least), Some(largest)) = (other.least, other.largest) {
            self.widen(least, largest);
        }
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all of them, in picoseconds.
    pub fn sum_picoseconds(&self) -> u128 {
        self.sum
    }

    /// Their mean in seconds, exact. `None` without any.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e12)
    }

    /// The least one.
    pub fn least(&self) -> Option<Picoseconds> {
        self.least
    }

    /// The largest one.
    pub fn largest(&self) -> Option<Picoseconds> {
        self.largest
    }

    /// Between which bounds the smallest time lies that at least `share` of them do not exceed; they
    /// are at most 0.8 % apart. `None` without any.
    pub fn quantile(&self, share: f64) -> Option<QuantileBounds> {
        let (least, largest) = (self.least?, self.largest?);
        // The product's rounding must not push the rank to the next one.
        let rank = (share * self.count as f64 * (1.0 - 1e-12)).ceil().max(1.0) as u64;
        let rank = rank.min(self.count);
        let mut below = 0;
        for (at, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                let low = Picoseconds(bucket_bound(at)).max(least);
                let high = Picoseconds(bucket_bound(at + 1).saturating_sub(1)).min(largest);
                return Some(QuantileBounds {
                    above_s: low.seconds(),
                    at_most_s: Some(high.seconds()),
                });
            }
        }
        None
    }

    fn count_in(&mut self, at: usize, times: u64) {
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += times;
        self.count += times;
    }

    fn widen(&mut self, low: Picoseconds, high: Picoseconds) {
        self.least = Some(self.least.map_or(low, |least| least.min(low)));
        self.largest = Some(self.largest.map_or(high, |largest| largest.max(high)));
    }
}

/// The bucket of a value: its own up to 2·STEPS, then STEPS to each doubling.
fn bucket(value: u64) -> usize {
    let doublings = (u64::BITS - value.leading_zeros()).saturating_sub(STEPS_LOG2 + 1);
    doublings as usize * STEPS + (value >> doublings) as usize
}

/// The least value of a bucket.
fn bucket_bound(at: usize) -> u64 {
    let doublings = (at / STEPS).saturating_sub(1);
    let value = ((at - doublings * STEPS) as u128) << doublings;
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_value_lies_in_its_bucket_which_is_narrow(value: u64) {
            let at = bucket(value);
            prop_assert!(bucket_bound(at) <= value);
            prop_assert!(value < bucket_bound(at + 1) || bucket_bound(at + 1) == u64::MAX);
            prop_assert!((bucket_bound(at + 1) - bucket_bound(at)) as f64 <= 1.0 + value as f64 / 128.0);
        }

        /// A series is the same as its times one by one.
        #[test]
        fn a_series_is_its_times(
            first in 0..1_000_000_u64, growth in 0..5_000_u64, passes in 0..300_u64, times in 0..4_u64,
        ) {
            let (mut whole, mut single) = (Histogram::default(), Histogram::default());
            whole.add_series(Picoseconds(first), Picoseconds(growth), passes, times);
            for pass in 0..passes {
                single.add(Picoseconds(first + pass * growth), times);
            }
            prop_assert_eq!(whole, single);
        }

        #[test]
        fn quantiles_enclose_the_order_statistic(
            mut values in prop::collection::vec(0..1_000_000_000_u64, 1..80), share in 0.01..1.0_f64,
        ) {
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.add(Picoseconds(*value), 1);
            }
            values.sort_unstable();
            let rank = ((share * values.len() as f64 * (1.0 - 1e-12)).ceil() as usize).max(1);
            let truth = Picoseconds(values[rank - 1]).seconds();
            let bounds = histogram.quantile(share).unwrap();
            prop_assert!(bounds.above_s <= truth && truth <= bounds.at_most_s.unwrap());
        }
    }
}
