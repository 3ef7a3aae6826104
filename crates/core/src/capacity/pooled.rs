//! What looks that lie together bound, without a line through them.
//!
//! Shares of misses grow with the rate. Looks at `r` and above it miss at least as much as `r` does, so
//! an upper bound of theirs is one of `r`'s; looks at `r` and below it bound it from the other side.
//! Near overload looks differ so much that no line is told apart from another, while those a little
//! below are clean, and say so.

use super::response::Response;
use crate::stats::{clopper_pearson_lower, clopper_pearson_upper};

/// How far the looks of one window lie apart, as ratios of rates. Fixed, so that no window is made to
/// measure; each costs its part of the error probability.
const WINDOWS: [f64; 3] = [1.1, 1.25, 1.6];
/// Fewest looks in a window: how looks differ is not known from fewer.
const LOOKS_MIN: usize = 3;
/// Slack of a dose that two ways of computing it may differ by.
const SLACK: f64 = 1e-9;

/// The highest dose that the looks above it prove to be fine, and the lowest that those below it prove
/// to be too much, each with an error probability of `alpha`.
pub(super) fn ends(looks: &[Response], allowed: f64, alpha: f64) -> (Option<f64>, Option<f64>) {
    let alpha = alpha / WINDOWS.len() as f64;
    let window = |from: f64, until: f64| -> Vec<Response> {
        let inside = |look: &&Response| (from - SLACK..=until + SLACK).contains(&look.dose);
        looks.iter().filter(inside).copied().collect()
    };
    let is_fine = |dose: f64| {
        WINDOWS.iter().any(|ratio| {
            pooled(&window(dose, dose + ratio.ln())).is_some_and(|(misses, requests)| {
                clopper_pearson_upper(misses, requests, alpha).is_ok_and(|upper| upper <= allowed)
            })
        })
    };
    let is_too_much = |dose: f64| {
        WINDOWS.iter().any(|ratio| {
            pooled(&window(dose - ratio.ln(), dose)).is_some_and(|(misses, requests)| {
                clopper_pearson_lower(misses, requests, alpha).is_ok_and(|lower| lower > allowed)
            })
        })
    };
    let doses = || looks.iter().map(|look| look.dose);
    let low = doses().filter(|dose| is_fine(*dose)).reduce(f64::max);
    let high = doses().filter(|dose| is_too_much(*dose)).reduce(f64::min);
    (low, high)
}

/// Misses and requests of several looks, counted as independent ones: both divided by how much more
/// the looks differ than chance would make them, χ²/(k − 1) about their common share.
fn pooled(looks: &[Response]) -> Option<(f64, f64)> {
    if looks.len() < LOOKS_MIN {
        return None;
    }
    let requests: f64 = looks.iter().map(|look| look.requests).sum();
    let misses: f64 = looks.iter().map(|look| look.share * look.requests).sum();
    let share = misses / requests;
    let chi_square: f64 = looks
        .iter()
        .map(|look| {
            look.requests * (look.share - share).powi(2) / (share * (1.0 - share)).max(1e-9)
        })
        .sum();
    let heterogeneity = (chi_square / (looks.len() as f64 - 1.0)).max(1.0);
    Some((misses / heterogeneity, requests / heterogeneity))
}
