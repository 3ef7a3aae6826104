//! Whether demand changes from week to week.

use std::f64::consts::SQRT_2;

use super::local::{WallWindows, weekday};
use crate::stats::erfc;

/// Below this p-value the weeks are said to differ.
pub const DRIFT_ALPHA: f64 = 0.05;

/// A day counts where at least this share of its windows is known.
const DAY_SEEN_SHARE: f64 = 0.9;

/// Up to this many weeks the distribution of the statistic is counted out; beyond it is normal.
const EXACT_WEEKS_MAX: usize = 12;

/// The seasonal Kendall test over the seven weekdays.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The most weeks in which one weekday was seen whole.
    pub weeks: usize,
    /// Kendall's S over all weekdays: pairs of days a whole number of weeks apart that rise, minus
    /// pairs that fall. `None` where no weekday was seen twice.
    pub s: Option<i64>,
    /// Two-sided p-value of S if the order of the weeks did not matter.
    pub p_value: Option<f64>,
    /// The median change from one week to the next over those pairs, as a share of the mean demand.
    pub change_per_week: Option<f64>,
    /// Whether the p-value is below [`DRIFT_ALPHA`].
    pub differs: Option<bool>,
    /// One sentence: what the test says, or why it cannot.
    pub sentence: String,
}

/// Tests whether the demand of whole days changes from week to week.
///
/// Hirsch, Slack & Smith, *Techniques of trend analysis for monthly water quality data*, Water
/// Resources Research 18 (1982): Kendall's S is formed for each weekday by itself, so the shape of
/// the week does not matter, and summed. Up to twelve weeks and without ties the p-value comes from
/// the exact distribution of the sum, the convolution of the numbers of permutations by inversions;
/// else from the normal approximation with the correction for ties and for continuity. Days are
/// taken as independent given their weekday. With two weeks seven days that all rise have p = 2/128.
pub(super) fn drift_between_weeks(windows: &WallWindows) -> Drift {
    let mut days: [Vec<(i64, f64)>; 7] = std::array::from_fn(|_| Vec::new());
    for (day, of_day) in windows.days() {
        let seen: Vec<f64> = of_day.iter().flatten().map(|window| window.mean).collect();
        if seen.len() as f64 >= DAY_SEEN_SHARE * of_day.len() as f64 {
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            days[weekday(day)].push((day, mean));
        }
    }
    let weeks = days.iter().map(Vec::len).max().unwrap_or(0);
    if weeks < 2 {
        return Drift {
            weeks,
            s: None,
            p_value: None,
            change_per_week: None,
            differs: None,
            sentence: "drift between weeks cannot be tested: no day of the week is seen twice in \
                       full"
                .to_owned(),
        };
    }
    let s = days.iter().map(|days| kendall_s(days)).sum::<i64>();
    let p_value = p_value(&days, s);
    let change = change_per_week(&days);
    let differs = p_value < DRIFT_ALPHA;
    let sentence = format!(
        "{}: {} a week, seasonal Kendall test over {weeks} weeks, p = {p_value:.3}",
        if differs {
            "demand changes from week to week"
        } else {
            "no drift between weeks is shown"
        },
        change.map_or("no change".to_owned(), |change| format!("{:+.1} %", 100.0 * change)),
    );
    Drift {
        weeks,
        s: Some(s),
        p_value: Some(p_value),
        change_per_week: change,
        differs: Some(differs),
        sentence,
    }
}

fn kendall_s(days: &[(i64, f64)]) -> i64 {
    let mut s = 0;
    for (index, (_, earlier)) in days.iter().enumerate() {
        for (_, later) in &days[index + 1..] {
            s += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    s
}

fn p_value(days: &[Vec<(i64, f64)>; 7], s: i64) -> f64 {
    let tied = days.iter().any(|days| has_ties(days));
    let longest = days.iter().map(Vec::len).max().unwrap_or(0);
    if !tied && longest <= EXACT_WEEKS_MAX { exact_p(days, s) } else { normal_p(days, s) }
}

fn has_ties(days: &[(i64, f64)]) -> bool {
    let mut values: Vec<f64> = days.iter().map(|(_, value)| *value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.windows(2).any(|pair| pair[0] == pair[1])
}

/// Share of all orders of the weeks, of each weekday by itself, with |S| at least as large.
fn exact_p(days: &[Vec<(i64, f64)>; 7], s: i64) -> f64 {
    // probabilities[i]: i falling pairs over all weekdays.
    let mut probabilities = vec![1.0];
    let mut pairs = 0;
    for days in days {
        for placed in 1..days.len() {
            // The next of n values falls below 0, 1, …, n of those placed, each equally likely.
            let mut next = vec![0.0; probabilities.len() + placed];
            for (falls, probability) in probabilities.iter().enumerate() {
                for more in 0..=placed {
                    next[falls + more] += probability / (placed + 1) as f64;
                }
            }
            probabilities = next;
            pairs += placed as i64;
        }
    }
    let tail: f64 = probabilities
        .iter()
        .enumerate()
        .filter(|(falls, _)| (pairs - 2 * *falls as i64).abs() >= s.abs())
        .map(|(_, probability)| probability)
        .sum();
    tail.min(1.0)
}

fn normal_p(days: &[Vec<(i64, f64)>; 7], s: i64) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let variance: f64 = days
        .iter()
        .map(|days| {
            let mut values: Vec<f64> = days.iter().map(|(_, value)| *value).collect();
            values.sort_unstable_by(f64::total_cmp);
            let ties: f64 = values
                .chunk_by(|left, right| left == right)
                .map(|group| term(group.len() as f64))
                .sum();
            (term(values.len() as f64) - ties) / 18.0
        })
        .sum();
    if s == 0 || variance <= 0.0 {
        return 1.0;
    }
    let z = (s.abs() - 1) as f64 / variance.sqrt();
    erfc(z / SQRT_2).min(1.0)
}

/// Median slope over all pairs of days of one weekday, over the mean of all days.
fn change_per_week(days: &[Vec<(i64, f64)>; 7]) -> Option<f64> {
    let mut slopes = Vec::new();
    for days in days {
        for (index, (earlier_day, earlier)) in days.iter().enumerate() {
            for (later_day, later) in &days[index + 1..] {
                let weeks = (later_day - earlier_day) as f64 / 7.0;
                slopes.push((later - earlier) / weeks);
            }
        }
    }
    let all: Vec<f64> = days.iter().flatten().map(|(_, value)| *value).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let slope = crate::stats::quantile(&slopes, 0.5).ok()?;
    (mean > 0.0).then_some(slope / mean)
}
