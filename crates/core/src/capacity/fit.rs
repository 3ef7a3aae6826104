//! Shares of misses as a function of the rate that never falls.

use super::response::Response;

/// One look for the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The rate.
    pub(super) rate: f64,
    /// What was seen there.
    pub(super) share: f64,
    /// What it weighs: requests, counted as independent ones.
    pub(super) weight: f64,
}

impl Point {
    /// The same for a line over the logarithm of the rate.
    pub(super) fn response(self) -> Response {
        Response { dose: self.rate.ln(), share: self.share, requests: self.weight }
    }
}

/// Isotonic regression by pooling adjacent violators (Ayer et al., Annals of Mathematical Statistics
/// 1955): the function that never falls and lies nearest to the shares by weighted squares. One value
/// for each distinct rate, ascending; looks of one rate are one value before the pooling.
pub(super) fn isotonic(points: &[Point]) -> Vec<Point> {
    let mut sorted: Vec<Point> = points.iter().copied().filter(|p| p.weight > 0.0).collect();
    sorted.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    let mut rates: Vec<Point> = Vec::new();
    for point in sorted {
        match rates.last_mut() {
            Some(last) if last.rate == point.rate => *last = joined(*last, point),
            _ => rates.push(point),
        }
    }
    // Pools, each with the number of rates in it.
    let mut pools: Vec<(Point, usize)> = Vec::new();
    for point in &rates {
        pools.push((*point, 1));
        while let [.., (before, count), (last, more)] = pools.as_slice()
            && before.share > last.share
        {
            let pool = (joined(*before, *last), count + more);
            pools.truncate(pools.len() - 2);
            pools.push(pool);
        }
    }
    let shares = pools.iter().flat_map(|(pool, count)| std::iter::repeat_n(pool.share, *count));
    rates.iter().zip(shares).map(|(point, share)| Point { share, ..*point }).collect()
}

fn joined(one: Point, other: Point) -> Point {
    let weight = one.weight + other.weight;
    let share = (one.share * one.weight + other.share * other.weight) / weight;
    Point { rate: one.rate, share, weight }
}

/// Where a fitted share crosses what is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// Already at the lowest rate it is above.
    Below(f64),
    /// Between two rates: the last that is not above, the first that is, and the point between them,
    /// straight over the logarithm of the rate.
    Between {
        /// The last rate that is not above.
        within: f64,
        /// The first rate that is above.
        beyond: f64,
        /// The crossing.
        at: f64,
    },
    /// At the highest rate it is still not above.
    Above(f64),
}

/// The crossing of a fit; `None` of an empty one.
pub(super) fn crossing(fitted: &[Point], allowed: f64) -> Option<Crossing> {
    let beyond = fitted.iter().position(|point| point.share > allowed);
    Some(match beyond {
        None => Crossing::Above(fitted.last()?.rate),
        Some(0) => Crossing::Below(fitted.first()?.rate),
        Some(at) => {
            let (below, above) = (fitted[at - 1], fitted[at]);
            let part = (allowed - below.share) / (above.share - below.share);
            let rate = below.rate * (above.rate / below.rate).powf(part.clamp(0.0, 1.0));
            Crossing::Between { within: below.rate, beyond: above.rate, at: rate }
        }
    })
}

impl Crossing {
    /// The rate at which it is, or the nearest that was looked at.
    pub(super) fn rate(self) -> f64 {
        match self {
            Self::Below(rate) | Self::Above(rate) | Self::Between { at: rate, .. } => rate,
        }
    }

    /// Order of two crossings: the lower one limits.
    pub(super) fn rank(self) -> (u8, f64) {
        match self {
            Self::Below(rate) => (0, rate),
            Self::Between { at, .. } => (1, at),
            Self::Above(rate) => (2, rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(f64, f64, f64)]) -> Vec<Point> {
        values.iter().map(|&(rate, share, weight)| Point { rate, share, weight }).collect()
    }

    fn shares(fitted: &[Point]) -> Vec<f64> {
        fitted.iter().map(|point| (point.share * 1e9).round() / 1e9).collect()
    }

    #[test]
    fn what_falls_is_pooled() {
        // By hand: 0.3 and 0.1 with weights 1 and 3 pool to 0.15, and so do the two looks at 4.
        let fitted = isotonic(&points(&[
            (2.0, 0.3, 1.0),
            (1.0, 0.0, 5.0),
            (3.0, 0.1, 3.0),
            (4.0, 0.4, 1.0),
            (4.0, 0.2, 1.0),
        ]));
        assert_eq!(shares(&fitted), [0.0, 0.15, 0.15, 0.3]);
    }

    #[test]
    fn a_fall_at_the_end_pools_back_to_the_start() {
        let fitted = isotonic(&points(&[(1.0, 0.2, 1.0), (2.0, 0.3, 1.0), (3.0, 0.1, 2.0)]));
        assert_eq!(shares(&fitted), [0.175, 0.175, 0.175]);
    }

    #[test]
    fn the_crossing_is_straight_over_the_logarithm() {
        let fitted = isotonic(&points(&[(1.0, 0.0, 1.0), (4.0, 0.1, 1.0)]));
        let Some(Crossing::Between { at, .. }) = crossing(&fitted, 0.05) else { panic!() };
        assert!((at - 2.0).abs() < 1e-12, "half of the way from 1 to 4 by logarithms: {at}");
        assert_eq!(crossing(&fitted, 0.1), Some(Crossing::Above(4.0)));
        assert_eq!(crossing(&fitted[1..], 0.05), Some(Crossing::Below(4.0)));
        assert_eq!(crossing(&[], 0.05), None);
    }

    proptest::proptest! {
        /// The fit never falls, keeps the weighted mean, and leaves alone what never falls.
        #[test]
        fn the_fit_is_a_projection(values in proptest::collection::vec((1_u32..30, 0.0..1.0_f64, 1_u32..50), 1..40)) {
            let points: Vec<Point> = values.iter().map(|&(rate, share, weight)| Point {
                rate: f64::from(rate), share, weight: f64::from(weight),
            }).collect();
            let fitted = isotonic(&points);
            proptest::prop_assert!(fitted.windows(2).all(|p| p[0].rate < p[1].rate));
            proptest::prop_assert!(fitted.windows(2).all(|p| p[0].share <= p[1].share + 1e-12));
            let mean = |points: &[Point]| points.iter().map(|p| p.share * p.weight).sum::<f64>();
            proptest::prop_assert!((mean(&points) - mean(&fitted)).abs() < 1e-9 * mean(&points).max(1.0));
            let again = isotonic(&fitted);
            proptest::prop_assert!(again.iter().zip(&fitted).all(|(a, b)| (a.share - b.share).abs() < 1e-12));
        }
    }
}
