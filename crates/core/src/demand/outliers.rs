//! Windows that are unlike their peers: shown, never dropped.

use jiff::Timestamp;

use super::history::instant;
use super::local::{WallWindow, WallWindows, weekday};
use crate::stats::quantile;

/// A window is an outlier where its modified z-score is above this (Iglewicz & Hoaglin, *How to
/// Detect and Handle Outliers*, 1993). It only decides what is pointed at.
pub const OUTLIER_Z: f64 = 3.5;

/// Fewest windows that a window is compared with.
const PEERS_MIN: usize = 4;

/// Outliers that are shown, at most.
const OUTLIERS_SHOWN: usize = 20;

/// A window whose mean demand is unlike that of its peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The first known instant of the window.
    pub at: Timestamp,
    /// Its mean demand.
    pub value: f64,
    /// The median of its peers.
    pub median: f64,
    /// Its modified z-score, with its sign.
    pub z: f64,
    /// Whether the peers are the same time of the week; else they are the same time of the day, on
    /// days of the same kind.
    pub by_week: bool,
}

/// The outliers of a history, the most unlike first, at most 20.
///
/// The rule. Peers of a window are the windows of the same time of the week, itself included; with
/// fewer than four of them, those of the same time of the day on days of the same kind (Monday to
/// Friday, or weekend); with fewer than four of these it is not judged. The score is
/// 0.6745 · (x − median)/MAD, and (x − median)/(1.2533 · mean absolute deviation) where more than
/// half of the peers are equal.
pub(super) fn outliers(windows: &WallWindows) -> Vec<Outlier> {
    let per_day = windows.per_day();
    let mut by_week: Vec<Vec<WallWindow>> = vec![Vec::new(); 7 * per_day];
    let mut by_kind: Vec<Vec<WallWindow>> = vec![Vec::new(); 2 * per_day];
    for (day, of_day) in windows.days() {
        let weekday = weekday(day);
        for (slot, window) in of_day.iter().enumerate() {
            let Some(window) = window else { continue };
            by_week[weekday * per_day + slot].push(*window);
            by_kind[kind(weekday) * per_day + slot].push(*window);
        }
    }
    let mut found = Vec::new();
    for (index, peers) in by_week.iter().enumerate() {
        let (weekday, slot) = (index / per_day, index % per_day);
        let of_week = peers.len() >= PEERS_MIN;
        let compared = if of_week { peers } else { &by_kind[kind(weekday) * per_day + slot] };
        if compared.len() >= PEERS_MIN {
            found.extend(unlike(peers, compared, of_week));
        }
    }
    found.sort_by(|left: &Outlier, right| {
        right.z.abs().total_cmp(&left.z.abs()).then(left.at.cmp(&right.at))
    });
    found.truncate(OUTLIERS_SHOWN);
    found
}

fn kind(weekday: usize) -> usize {
    usize::from(weekday >= 5)
}

fn unlike(windows: &[WallWindow], peers: &[WallWindow], by_week: bool) -> Vec<Outlier> {
    let values: Vec<f64> = peers.iter().map(|window| window.mean).collect();
    let Some((median, scale)) = location_and_scale(&values) else { return Vec::new() };
    windows
        .iter()
        .map(|window| Outlier {
            at: instant(window.at_s),
            value: window.mean,
            median,
            z: (window.mean - median) / scale,
            by_week,
        })
        .filter(|outlier| outlier.z.abs() > OUTLIER_Z)
        .collect()
}

/// Median, and what a deviation is divided by; `None` where every value is equal.
fn location_and_scale(values: &[f64]) -> Option<(f64, f64)> {
    let median = middle(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let mad = middle(&deviations)?;
    if mad > 0.0 {
        return Some((median, mad / 0.6745));
    }
    let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
    (mean > 0.0).then_some((median, 1.2533 * mean))
}

/// The median: of an even number of values the mean of the two in the middle, so that neither side
/// is favoured.
fn middle(values: &[f64]) -> Option<f64> {
    let lower = quantile(values, 0.5).ok()?;
    if values.len() % 2 == 1 {
        return Some(lower);
    }
    let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
    Some((lower - quantile(&mirrored, 0.5).ok()?) / 2.0)
}
