//! What counts in buckets say of a quantile and of a share: bounds, never a point.
//!
//! Where in its bucket a value lies, nobody knows. Interpolation, as `histogram_quantile` does it,
//! invents a place: of 1,000 queue times below a first bound of 300 ms it makes a p95 of 285 ms,
//! whether they were 1 ms or 299 ms.

/// Between which bounds a quantile lies: above one, and at most another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileBounds {
    /// It lies above this, seconds; or at it, where it is 0.
    pub above_s: f64,
    /// It is at most this, seconds; `None` where it lies beyond the last bound.
    pub at_most_s: Option<f64>,
}

/// What a quantile's bounds say against a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The quantile is at most the limit.
    Within,
    /// The quantile is above the limit.
    Beyond,
    /// The limit lies inside of the bucket: the buckets are too coarse to say.
    TooCoarse,
}

impl QuantileBounds {
    /// Holds the quantile against a limit.
    ///
    /// ```
    /// # use cotenant_core::stats::{Comparison, QuantileBounds};
    /// let bounds = QuantileBounds { above_s: 0.0, at_most_s: Some(0.3) };
    /// assert_eq!(bounds.compare(0.3), Comparison::Within);
    /// assert_eq!(bounds.compare(0.2), Comparison::TooCoarse);
    /// ```
    pub fn compare(self, limit_s: f64) -> Comparison {
        if self.at_most_s.is_some_and(|at_most_s| at_most_s <= limit_s) {
            Comparison::Within
        } else if self.above_s >= limit_s && self.above_s > 0.0 {
            Comparison::Beyond
        } else {
            Comparison::TooCoarse
        }
    }

    /// How far a measured value lies outside of the bounds, seconds: negative below, positive above,
    /// 0 inside.
    pub fn distance(self, value_s: f64) -> f64 {
        match self.at_most_s {
            Some(at_most_s) if value_s > at_most_s => value_s - at_most_s,
            _ if value_s < self.above_s => value_s - self.above_s,
            _ => 0.0,
        }
    }
}

/// Counts in buckets of seconds. `bounds_s` are the upper bounds, ascending, the last of which may
/// be infinite; `cumulative` has as many counts of what lies at or below each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buckets<'a> {
    /// Upper bounds, seconds.
    pub bounds_s: &'a [f64],
    /// Observations at or below each bound.
    pub cumulative: &'a [f64],
    /// All observations.
    pub count: f64,
}

impl Buckets<'_> {
    /// Between which bounds the smallest value lies that at least `share` of the observations do not
    /// exceed. `None` without observations.
    pub fn quantile(self, share: f64) -> Option<QuantileBounds> {
        if self.count < 1.0 {
            return None;
        }
        // The product's rounding must not push the rank to the next observation.
        let rank = (share * self.count * (1.0 - 1e-12)).ceil().clamp(1.0, self.count);
        let at = self.cumulative.partition_point(|below| *below < rank);
        let above_s = if at == 0 { 0.0 } else { self.bounds_s.get(at - 1).copied()? };
        Some(QuantileBounds {
            above_s: above_s.max(0.0),
            at_most_s: self.bounds_s.get(at).copied().filter(|bound_s| bound_s.is_finite()),
        })
    }

    /// The least and the largest number of observations that may exceed a limit: all that lie above
    /// the first bound at or beyond it surely do, all that lie above the last bound at or before it
    /// may. They are the same where the limit is a bound.
    ///
    /// ```
    /// # use cotenant_core::stats::Buckets;
    /// let waits = Buckets { bounds_s: &[0.3, 0.5], cumulative: &[90.0, 96.0], count: 100.0 };
    /// assert_eq!(waits.above(0.3), (10.0, 10.0));
    /// assert_eq!(waits.above(0.4), (4.0, 10.0));
    /// assert_eq!(waits.above(2.0), (0.0, 4.0));
    /// ```
    pub fn above(self, limit_s: f64) -> (f64, f64) {
        let at_or_beyond = self.bounds_s.partition_point(|bound_s| *bound_s < limit_s);
        let exact = self.bounds_s.get(at_or_beyond) == Some(&limit_s);
        let below = |index: usize| self.cumulative.get(index).copied().unwrap_or(self.count);
        let surely_within = match at_or_beyond {
            _ if exact => below(at_or_beyond),
            0 => 0.0,
            index => below(index - 1),
        };
        let rest = |within: f64| (self.count - within).max(0.0);
        // Counts of a torn scrape may contradict each other by an observation or two.
        let most = rest(surely_within);
        (rest(below(at_or_beyond)).min(most), most)
    }

    /// The bounds that enclose a limit: the last one at or before it and the first one at or beyond
    /// it, where there are any that are finite.
    pub fn around(self, limit_s: f64) -> (Option<f64>, Option<f64>) {
        let after = self.bounds_s.partition_point(|bound_s| *bound_s < limit_s);
        let upper = self.bounds_s.get(after).copied().filter(|bound_s| bound_s.is_finite());
        if upper == Some(limit_s) {
            return (upper, upper);
        }
        (after.checked_sub(1).map(|before| self.bounds_s[before]), upper)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_limit_between_two_bounds_is_enclosed_by_them() {
        let bounds_s = [0.3, 0.5, f64::INFINITY];
        let buckets = Buckets { bounds_s: &bounds_s, cumulative: &[1.0, 2.0, 3.0], count: 3.0 };
        assert_eq!(buckets.around(0.1), (None, Some(0.3)));
        assert_eq!(buckets.around(0.3), (Some(0.3), Some(0.3)));
        assert_eq!(buckets.around(0.4), (Some(0.3), Some(0.5)));
        assert_eq!(buckets.around(9.0), (Some(0.5), None));
        assert_eq!(buckets.above(9.0), (0.0, 1.0));
        assert_eq!(buckets.quantile(1.0).unwrap().at_most_s, None);
        assert_eq!(Buckets { bounds_s: &[], cumulative: &[], count: 4.0 }.above(1.0), (0.0, 4.0));
    }

    #[test]
    fn the_distance_says_on_which_side_a_value_lies() {
        let bounds = QuantileBounds { above_s: 0.3, at_most_s: Some(0.5) };
        assert_eq!(bounds.distance(0.4), 0.0);
        assert!((bounds.distance(0.6) - 0.1).abs() < 1e-12);
        assert!((bounds.distance(0.2) + 0.1).abs() < 1e-12);
        assert_eq!(QuantileBounds { above_s: 0.3, at_most_s: None }.distance(9.0), 0.0);
    }

    proptest! {
        /// Whatever the values are, the truth lies within the bounds, and they meet at a bound.
        #[test]
        fn the_truth_lies_between(
            values in prop::collection::vec(0.0..10.0_f64, 1..60),
            mut bounds_s in prop::collection::vec(0.0..10.0_f64, 1..8),
            limit_s in 0.0..10.0_f64,
        ) {
            bounds_s.sort_by(f64::total_cmp);
            bounds_s.dedup();
            let below = |limit: f64| values.iter().filter(|value| **value <= limit).count() as f64;
            let cumulative: Vec<f64> = bounds_s.iter().map(|bound| below(*bound)).collect();
            let count = values.len() as f64;
            let buckets = Buckets { bounds_s: &bounds_s, cumulative: &cumulative, count };
            let (least, most) = buckets.above(limit_s);
            let truth = count - below(limit_s);
            prop_assert!(least <= truth && truth <= most);
            let at_bound = bounds_s[0];
            let (least, most) = buckets.above(at_bound);
            prop_assert_eq!(least, most);
            prop_assert_eq!(least, count - below(at_bound));
            let (before, after) = buckets.around(limit_s);
            prop_assert!(before.is_none_or(|bound| bound <= limit_s));
            prop_assert!(after.is_none_or(|bound| bound >= limit_s));
        }
    }
}
