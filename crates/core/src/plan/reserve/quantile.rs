//! The quantile that a number of days supports.

/// What a set of days bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// The value: the quantile that was asked for where the days support it, else the highest seen.
    pub value: f64,
    /// The highest seen.
    pub largest: f64,
    /// Days that showed anything.
    pub days: u64,
    /// Start points that they showed.
    pub exposures: u64,
    /// Whether the days support what was asked for.
    pub supported: bool,
}

/// Whether n days support the quantile at 1 − ε: n/(n + 1) ≥ 1 − ε.
pub(super) fn supports(days: u64, epsilon: Option<f64>) -> bool {
    const SLACK: f64 = 1e-9;
    epsilon.is_some_and(|epsilon| days as f64 + SLACK >= (1.0 - epsilon) * (days as f64 + 1.0))
}

/// The fewest days that support the quantile at 1 − ε.
pub(super) fn days_needed(epsilon: f64) -> u64 {
    ((1.0 - epsilon) / epsilon - 1e-9).ceil().max(1.0) as u64
}

/// The hierarchical conformal bound: the smallest value below or at which lies a mass of 1 − ε,
/// where each of n days weighs 1/(n + 1), spread evenly over its own values, and the rest lies above
/// every value. `None` where no day showed anything. With one value a day it is the split conformal
/// bound, the ⌈(n + 1)(1 − ε)⌉-th smallest.
pub(super) fn bound(days: &[Vec<f64>], epsilon: Option<f64>) -> Option<Bound> {
    let count = days.iter().filter(|values| !values.is_empty()).count() as u64;
    let largest = days.iter().flatten().copied().reduce(f64::max)?;
    let supported = supports(count, epsilon);
    let value = match epsilon {
        Some(epsilon) if supported => at_mass(days, 1.0 - epsilon, count as f64 + 1.0),
        _ => largest,
    };
    let exposures = days.iter().map(Vec::len).sum::<usize>() as u64;
    Some(Bound { value, largest, days: count, exposures, supported })
}

/// The plain quantile of days that weigh alike, with no room for what was not seen: what the days
/// showed, and no bound.
pub(super) fn shown(days: &[Vec<f64>], epsilon: Option<f64>) -> Option<f64> {
    let count = days.iter().filter(|values| !values.is_empty()).count();
    let largest = days.iter().flatten().copied().reduce(f64::max)?;
    Some(epsilon.map_or(largest, |epsilon| at_mass(days, 1.0 - epsilon, count as f64)))
}

/// The smallest value at which the days reach a mass, each weighing one part of `parts`; the largest
/// value where they do not reach it.
fn at_mass(days: &[Vec<f64>], mass: f64, parts: f64) -> f64 {
    let mut weighted: Vec<(f64, f64)> = days
        .iter()
        .flat_map(|values| {
            let weight = 1.0 / (parts * values.len() as f64);
            values.iter().map(move |value| (*value, weight))
        })
        .collect();
    weighted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut reached = 0.0;
    let mut last = 0.0;
    for (value, weight) in weighted {
        reached += weight;
        last = value;
        // Sums of thousands of rounded weights land beside the mass that they stand for.
        if reached >= mass - 1e-9 {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::conformal_rank;

    #[test]
    fn one_value_a_day_is_the_split_conformal_bound() {
        for n in [1_u64, 4, 19, 28, 99, 150] {
            let days: Vec<Vec<f64>> = (1..=n).rev().map(|value| vec![value as f64]).collect();
            for epsilon in [0.3, 0.1, 0.05, 0.01, 0.001] {
                let bound = bound(&days, Some(epsilon)).unwrap();
                let rank = conformal_rank(n, epsilon).unwrap();
                assert_eq!(bound.supported, rank.is_some(), "{n} {epsilon}");
                assert_eq!(bound.value, rank.unwrap_or(n) as f64, "{n} {epsilon}");
                assert_eq!(bound.supported, n >= days_needed(epsilon), "{n} {epsilon}");
            }
        }
    }

    #[test]
    fn days_weigh_alike_however_many_values_they_have() {
        // Ten values of one day weigh as much as the one of the other: of mass 1/3 each.
        let days = [(1..=10).map(f64::from).collect(), vec![100.0], vec![]];
        assert_eq!(bound(&days, Some(0.67)).unwrap().value, 10.0);
        assert_eq!(bound(&days, Some(0.5)).unwrap().value, 100.0);
        let short = bound(&days, Some(0.3)).unwrap();
        assert_eq!((short.value, short.supported, short.days), (100.0, false, 2));
        assert_eq!(bound(&[vec![]], Some(0.5)), None);
        // Without room for the day that was not seen: of mass 1/2 each.
        assert_eq!(shown(&days, Some(0.5)), Some(10.0));
        assert_eq!(shown(&days, Some(0.01)), Some(100.0));
    }

    #[test]
    fn without_a_risk_tolerance_it_is_the_highest_and_supports_nothing() {
        let bound = bound(&[vec![3.0, 1.0], vec![2.0]], None).unwrap();
        assert_eq!((bound.value, bound.supported, bound.exposures), (3.0, false, 3));
    }
}
