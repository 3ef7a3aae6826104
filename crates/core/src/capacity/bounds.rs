//! What looks prove of a rate, by the bounds of the verdict.
//!
//! Shares of misses grow with the rate. Looks at `r` and somewhat above miss at least as much as `r`
//! does, so an upper bound of theirs is one of `r`'s; looks at `r` and somewhat below bound it from
//! the other side. Nothing is assumed of the shape between.

use super::look::Look;
use crate::stats::{Decision, Need, Stratum, decide_share};

/// How far the looks of one window lie apart, as a ratio of rates. Fixed, so that no window is chosen
/// by its result.
const WINDOW: f64 = 1.10;

/// Slack of a rate that two ways of computing it may differ by.
const SLACK: f64 = 1e-9;

/// What looks say of a rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// Every objective holds: its upper bound is within what is allowed.
    Within,
    /// An objective does not: its lower bound is beyond what is allowed.
    Beyond,
    /// Neither. The blocks that would probably decide, where a number would.
    Undecided(Option<usize>),
}

/// What the looks at `rate` and up to a tenth above it prove from above, or those down to a tenth
/// below it from below: [`Word::Within`] comes of the former, [`Word::Beyond`] of the latter.
pub fn word_at(looks: &[Look], rate: f64, alpha: f64) -> Word {
    let above = judged(&window_above(looks, rate), alpha);
    if above == Word::Within {
        return above;
    }
    let below = judged(&window_below(looks, rate), alpha);
    if below == Word::Beyond { below } else { above }
}

/// The looks from a rate to a tenth above it.
fn window_above(looks: &[Look], rate: f64) -> Vec<&Look> {
    let range = rate * (1.0 - SLACK)..=rate * WINDOW * (1.0 + SLACK);
    looks.iter().filter(|look| range.contains(&look.rate_per_s)).collect()
}

/// The looks from a tenth below a rate to it.
fn window_below(looks: &[Look], rate: f64) -> Vec<&Look> {
    let range = rate / WINDOW * (1.0 - SLACK)..=rate * (1.0 + SLACK);
    looks.iter().filter(|look| range.contains(&look.rate_per_s)).collect()
}

/// Judges a window: each objective by the rule of the verdict, over its looks as blocks. A look whose
/// queue grew missed everything: its latencies only say how long it lasted.
fn judged(window: &[&Look], alpha: f64) -> Word {
    let Some(first) = window.first() else { return Word::Undecided(None) };
    let mut word = Word::Within;
    for (index, objective) in first.objectives.iter().enumerate() {
        let blocks = window.iter().map(|look| {
            let mut misses = look.objectives.get(index)?.misses.clone().ok()?;
            if look.is_overload() {
                misses.misses = misses.requests;
                misses.autocorrelation = 0.0;
            }
            Some(misses)
        });
        let blocks: Option<Vec<_>> = blocks.collect();
        let Some(blocks) = blocks else {
            // An objective that nobody saw is kept by no rate, and broken by none.
            word = Word::Undecided(None);
            continue;
        };
        let stratum = Stratum { name: "looks".into(), weight: 1.0, blocks };
        match decide_share(&[stratum], objective.quantile, alpha).map(|d| d.decision) {
            Ok(Decision::Fail) => return Word::Beyond,
            Ok(Decision::Pass) => {}
            Ok(Decision::Undecided(Need { further_blocks, .. })) => {
                word = match word {
                    // The objective that takes longest counts; one that nothing decides is none.
                    Word::Undecided(other) => {
                        Word::Undecided(other.zip(further_blocks).map(|(a, b)| a.max(b)))
                    }
                    _ => Word::Undecided(further_blocks),
                };
            }
            Err(_) => word = Word::Undecided(None),
        }
    }
    if first.objectives.is_empty() { Word::Undecided(None) } else { word }
}
