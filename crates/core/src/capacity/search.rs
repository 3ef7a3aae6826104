//! The rule of the search: from the looks so far to the next rate, or the end.
//!
//! It doubles or halves until one look leans each way, halves the bracket by logarithms, and spends
//! what is left of its looks at the ends of the interval, below and above the estimate in turn: there
//! they say most of where the objective breaks.

use super::estimate::{NEAR, crossing_of, interval};
use super::fit::Crossing;
use super::look::Look;

/// What is fixed before the first look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchRule {
    /// The first rate, requests per second: the declared one.
    pub first_per_s: f64,
    /// The lowest rate that is tried.
    pub least_per_s: f64,
    /// The highest rate that is tried.
    pub most_per_s: f64,
    /// Looks at most, those that do not count included.
    pub looks_max: u32,
    /// It ends where the interval is this narrow: high ÷ low − 1.
    pub resolution: f64,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Look at this rate, requests per second.
    Look(f64),
    /// Stop.
    Done(Ending),
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The interval is as narrow as was asked.
    Resolved,
    /// Every look is spent.
    LooksSpent,
    /// Even the lowest rate that is tried breaks an objective.
    NothingIsFine,
    /// Even the highest rate that is tried, or that the load client can send, keeps every objective.
    EverythingIsFine,
}

impl Ending {
    /// The reason in words, for records and reports.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Resolved => "the interval is as narrow as was asked",
            Self::LooksSpent => "every planned look was spent",
            Self::NothingIsFine => "even the lowest rate that was tried breaks an objective",
            Self::EverythingIsFine => {
                "even the highest rate that could be tried keeps every objective"
            }
        }
    }
}

/// Bracket that is fine enough to look around the estimate.
const BRACKET: f64 = 1.25;
/// Least distance of a look from the estimate, as a ratio.
const RUNG: f64 = 1.05;
/// Distance where the interval has no end yet, as a ratio.
const OUTSIDE: f64 = 1.2;
/// Looks close to the estimate without which no interval ends a search: of fewer it is not known how
/// much they differ.
const LOOKS_NEAR_MIN: usize = 8;
/// Looks at the edge of the range before it is said that nothing lies beyond.
const LOOKS_AT_EDGE: usize = 3;
/// Looks at one rate that did not count before no higher rate is tried: the load client cannot send
/// it.
const VOID_MAX: usize = 2;

/// The next step. `looks` are those that count, in any order; `void` the rates of those that do not.
/// The same looks give the same step, so that a search goes on after an interruption as if there had
/// been none.
pub fn next_step(rule: &SearchRule, looks: &[Look], void: &[f64]) -> Step {
    let spent = looks.len() + void.len();
    if spent >= rule.looks_max as usize {
        return Step::Done(Ending::LooksSpent);
    }
    let most = sendable(rule, looks, void);
    let within = |rate: f64| Step::Look(rate.clamp(rule.least_per_s.min(most), most));
    let Some(crossing) = crossing_of(looks) else { return within(rule.first_per_s) };
    let at = |rate: f64| looks.iter().filter(|look| near(look.rate_per_s, rate)).count();
    match crossing {
        Crossing::Above(rate) if near(rate, most) && at(most) >= LOOKS_AT_EDGE => {
            Step::Done(Ending::EverythingIsFine)
        }
        Crossing::Above(rate) => within(2.0 * rate),
        Crossing::Below(rate)
            if near(rate, rule.least_per_s) && at(rule.least_per_s) >= LOOKS_AT_EDGE =>
        {
            Step::Done(Ending::NothingIsFine)
        }
        Crossing::Below(rate) => within(rate / 2.0),
        Crossing::Between { within: below, beyond, .. } if beyond / below > BRACKET => {
            within((below * beyond).sqrt())
        }
        Crossing::Between { .. } if is_resolved(rule, looks, crossing) => {
            Step::Done(Ending::Resolved)
        }
        Crossing::Between { .. } => within(around(looks, crossing)),
    }
}

fn near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-6
}

/// The highest rate that may be tried: below one at which looks did not count again and again, where
/// none did count.
fn sendable(rule: &SearchRule, looks: &[Look], void: &[f64]) -> f64 {
    let counted = looks.iter().map(|look| look.rate_per_s).fold(0.0, f64::max);
    let refused = void.iter().copied().filter(|rate| {
        let times = void.iter().filter(|other| near(**other, *rate)).count();
        times >= VOID_MAX && *rate > counted && *rate > rule.first_per_s
    });
    let lowest = refused.fold(f64::INFINITY, f64::min);
    // Between what counted and what did not: so the edge is approached, and never passed.
    if lowest.is_finite() {
        (counted.max(rule.first_per_s) * lowest).sqrt()
    } else {
        rule.most_per_s
    }
}

/// The next look around the estimate: at an end of its interval, the one near which fewer looks lie,
/// or some way out where there is no end yet.
fn around(looks: &[Look], crossing: Crossing) -> f64 {
    let estimate = crossing.rate();
    let interval = interval(looks, crossing);
    let close = |look: &&Look| is_close(look.rate_per_s, estimate);
    let below = looks.iter().filter(close).filter(|look| look.rate_per_s < estimate).count();
    let above = looks.iter().filter(close).filter(|look| look.rate_per_s > estimate).count();
    // Without an end the looks go further out, each time by a little.
    let out = |looks: usize| (OUTSIDE * 1.08_f64.powf(looks as f64 / 2.0 - 1.0)).min(0.99 * NEAR);
    if below <= above {
        interval.low.unwrap_or(0.0).clamp(estimate / out(below), estimate / RUNG)
    } else {
        interval.high.unwrap_or(f64::INFINITY).clamp(estimate * RUNG, estimate * out(above))
    }
}

fn is_close(rate: f64, estimate: f64) -> bool {
    (estimate / NEAR..=estimate * NEAR).contains(&rate)
}

/// Whether the interval is narrow enough, from enough looks.
fn is_resolved(rule: &SearchRule, looks: &[Look], crossing: Crossing) -> bool {
    let estimate = crossing.rate();
    let close = looks.iter().filter(|look| is_close(look.rate_per_s, estimate)).count();
    if close < LOOKS_NEAR_MIN {
        return false;
    }
    let interval = interval(looks, crossing);
    let ends = interval.low.zip(interval.high);
    ends.is_some_and(|(low, high)| high / low <= 1.0 + rule.resolution)
}
