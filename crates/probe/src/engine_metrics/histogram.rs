//! Distributions of seconds as buckets: what they say and what they leave open.

use cotenant_core::stats::{Buckets, QuantileBounds};

use crate::exposition::CumulativeHistogram;

/// Durations counted in buckets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DurationHistogram {
    /// Upper bounds without infinity, ascending, seconds. Empty where only sum and count are known.
    pub bounds_s: Vec<f64>,
    /// Observations at or below each bound.
    pub cumulative: Vec<f64>,
    /// All observations.
    pub count: f64,
    /// Sum of the observations, seconds, where it is known.
    pub sum_s: Option<f64>,
}

impl DurationHistogram {
    /// From a histogram of a scrape; `unit_s` is its unit in seconds.
    pub fn from_cumulative(histogram: CumulativeHistogram, unit_s: f64) -> Self {
        Self {
            bounds_s: histogram.bounds.iter().map(|bound| bound * unit_s).collect(),
            cumulative: histogram.cumulative,
            count: histogram.count,
            sum_s: histogram.sum.map(|sum| sum * unit_s),
        }
    }

    /// The mean, seconds; `None` without observations or without a sum.
    pub fn mean_s(&self) -> Option<f64> {
        self.sum_s.filter(|_| self.count > 0.0).map(|sum_s| sum_s / self.count)
    }

    fn buckets(&self) -> Buckets<'_> {
        Buckets { bounds_s: &self.bounds_s, cumulative: &self.cumulative, count: self.count }
    }

    /// Between which bounds the smallest value lies that at least `share` of the observations do not
    /// exceed. Never a point: where in its bucket it lies, nobody knows. `None` without observations.
    pub fn quantile(&self, share: f64) -> Option<QuantileBounds> {
        self.buckets().quantile(share)
    }

    /// The least and the largest share of observations that may exceed a limit.
    pub fn share_above(&self, limit_s: f64) -> Option<(f64, f64)> {
        if self.count <= 0.0 {
            return None;
        }
        let (least, most) = self.buckets().above(limit_s);
        Some((least / self.count, most / self.count))
    }

    /// Adds another histogram. Only bounds that both have remain, for only of these is it known how
    /// many observations of both lie below.
    pub fn add(&mut self, other: &Self) {
        let (mut bounds_s, mut cumulative) = (vec![], vec![]);
        let mut at = 0;
        for (bound_s, count) in self.bounds_s.iter().zip(&self.cumulative) {
            at += other.bounds_s[at..].partition_point(|bound| bound < bound_s);
            if other.bounds_s.get(at) == Some(bound_s) {
                bounds_s.push(*bound_s);
                cumulative.push(count + other.cumulative[at]);
            }
        }
        (self.bounds_s, self.cumulative) = (bounds_s, cumulative);
        self.count += other.count;
        self.sum_s = self.sum_s.zip(other.sum_s).map(|(a, b)| a + b);
    }

    /// What was observed since `earlier`; `None` where this one does not go on from it: another
    /// process, or other bounds.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let rose = self.bounds_s == earlier.bounds_s
            && self.count >= earlier.count
            && self.cumulative.iter().zip(&earlier.cumulative).all(|(now, then)| now >= then);
        if !rose {
            return None;
        }
        let cumulative: Vec<f64> =
            self.cumulative.iter().zip(&earlier.cumulative).map(|(now, then)| now - then).collect();
        let count = self.count - earlier.count;
        // A process that began anew and has passed the old count in one bucket, not in all.
        if cumulative.windows(2).any(|pair| pair[0] > pair[1])
            || cumulative.last().is_some_and(|last| *last > count)
        {
            return None;
        }
        let sum_s = self.sum_s.zip(earlier.sum_s).map(|(now, then)| (now - then).max(0.0));
        Some(Self { bounds_s: self.bounds_s.clone(), cumulative, count, sum_s })
    }
}

#[cfg(test)]
mod tests {
    use cotenant_core::stats::Comparison;
    use proptest::prelude::*;

    use super::*;

    fn observed(bounds_s: &[f64], values: &[f64]) -> DurationHistogram {
        DurationHistogram {
            bounds_s: bounds_s.to_vec(),
            cumulative: bounds_s
                .iter()
                .map(|bound| values.iter().filter(|value| *value <= bound).count() as f64)
                .collect(),
            count: values.len() as f64,
            sum_s: Some(values.iter().sum()),
        }
    }

    #[test]
    fn queue_times_below_the_first_bound_are_invisible_and_only_the_mean_is_known() {
        let queue = observed(&[0.3, 0.5, 0.8], &[0.01, 0.02, 0.05, 0.12]);
        let p99 = queue.quantile(0.99).unwrap();
        assert_eq!(p99, QuantileBounds { above_s: 0.0, at_most_s: Some(0.3) });
        assert_eq!(p99.compare(0.1), Comparison::TooCoarse);
        assert_eq!(p99.compare(0.5), Comparison::Within);
        assert!((queue.mean_s().unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(queue.share_above(0.1), Some((0.0, 1.0)));
    }

    #[test]
    fn a_quantile_beyond_the_last_bound_has_no_upper_bound() {
        let histogram = observed(&[1.0], &[0.5, 9.0]);
        let p90 = histogram.quantile(0.9).unwrap();
        assert_eq!(p90, QuantileBounds { above_s: 1.0, at_most_s: None });
        assert_eq!(p90.compare(1.0), Comparison::Beyond);
        assert_eq!(p90.compare(2.0), Comparison::TooCoarse);
        assert_eq!(histogram.quantile(0.5).unwrap().at_most_s, Some(1.0));
        assert_eq!(DurationHistogram::default().quantile(0.5), None);
    }

    #[test]
    fn sums_keep_the_bounds_that_both_have() {
        let mut sum = observed(&[0.1, 0.2, 1.0], &[0.15, 0.5]);
        sum.add(&observed(&[0.2, 0.4, 1.0], &[0.3, 5.0]));
        assert_eq!(sum.bounds_s, [0.2, 1.0]);
        assert_eq!(sum.cumulative, [1.0, 3.0]);
        assert_eq!(sum.count, 4.0);
        assert!((sum.sum_s.unwrap() - 5.95).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_quantile_lies_within_its_bounds(
            values in prop::collection::vec(0.0..10.0_f64, 1..60),
            mut bounds_s in prop::collection::vec(0.0..10.0_f64, 0..8),
            share in 0.01..1.0_f64,
        ) {
            bounds_s.sort_by(f64::total_cmp);
            bounds_s.dedup();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let rank = (share * values.len() as f64).ceil() as usize;
            let truth = sorted[rank.clamp(1, values.len()) - 1];
            let histogram = observed(&bounds_s, &values);
            let bounds = histogram.quantile(share).unwrap();
            prop_assert!(bounds.above_s < truth || bounds.above_s == 0.0);
            prop_assert!(bounds.at_most_s.is_none_or(|at_most_s| truth <= at_most_s));
            for limit_s in [1.0, 5.0] {
                match bounds.compare(limit_s) {
                    Comparison::Within => prop_assert!(truth <= limit_s),
                    Comparison::Beyond => prop_assert!(truth > limit_s),
                    Comparison::TooCoarse => {}
                }
                let above = values.iter().filter(|value| **value > limit_s).count() as f64
                    / values.len() as f64;
                let (least, most) = histogram.share_above(limit_s).unwrap();
                prop_assert!(least <= above + 1e-12 && above <= most + 1e-12);
            }
        }

        #[test]
        fn a_difference_is_the_histogram_of_what_came_between(
            before in prop::collection::vec(0.0..10.0_f64, 0..30),
            between in prop::collection::vec(0.0..10.0_f64, 0..30),
        ) {
            let bounds_s = [0.5, 2.0, 6.0];
            let earlier = observed(&bounds_s, &before);
            let later = observed(&bounds_s, &[before, between.clone()].concat());
            let difference = later.since(&earlier).unwrap();
            let truth = observed(&bounds_s, &between);
            prop_assert_eq!(&difference.cumulative, &truth.cumulative);
            prop_assert_eq!(difference.count, truth.count);
            prop_assert!((difference.sum_s.unwrap() - truth.sum_s.unwrap()).abs() < 1e-9);
            prop_assert_eq!(earlier.since(&later).is_none(), !between.is_empty());
        }
    }
}
