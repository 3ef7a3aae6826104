//! What happened between two scrapes.

use std::collections::BTreeMap;

use super::histogram::DurationHistogram;
use super::kind::EngineKind;
use super::quantity::Quantity;
use super::read::{ServingMetrics, merged};

/// What happened between two scrapes, over all series.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalMetrics {
    /// The engine.
    pub engine: EngineKind,
    /// Events.
    pub counts: BTreeMap<Quantity, f64>,
    /// Distributions of seconds of the events in between.
    pub durations: BTreeMap<Quantity, DurationHistogram>,
    /// Counters that began anew. What they counted before that is lost, so that the interval's
    /// numbers are lower bounds.
    pub resets: Vec<String>,
    /// What could not be told.
    pub notes: Vec<String>,
}

impl IntervalMetrics {
    /// An interval of which nothing is known.
    pub fn empty(engine: EngineKind) -> Self {
        Self {
            engine,
            counts: BTreeMap::new(),
            durations: BTreeMap::new(),
            resets: vec![],
            notes: vec![],
        }
    }
}

/// Why two scrapes have no difference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scrapes are of {earlier} and {later}: scrape one engine twice")]
pub struct IntervalError {
    /// The earlier scrape's engine.
    pub earlier: &'static str,
    /// The later one's.
    pub later: &'static str,
}

/// What happened between an earlier and a later scrape.
///
/// A series that only the later has began in between, at zero: engines show a label's series from its
/// first event on. One that only the earlier has is noted. One that fell, or any series of a process
/// with another start time, began anew: what the later shows is all that is known.
///
/// Where the earlier scrape was not read whole, a series that it lacks may have been there: its whole
/// history would pass for the interval's. The quantity is left out then, and a note says so; so is one
/// of which either scrape has a series that could not be used.
///
/// # Errors
/// Scrapes of different engines.
pub fn interval(
    earlier: &ServingMetrics,
    later: &ServingMetrics,
) -> Result<IntervalMetrics, IntervalError> {
    if earlier.engine != later.engine {
        let (earlier, later) = (earlier.engine.name(), later.engine.name());
        return Err(IntervalError { earlier, later });
    }
    let mut result = IntervalMetrics::empty(later.engine);
    let restarted =
        earlier.process_start_s.zip(later.process_start_s).is_some_and(|(then, now)| then != now);
    if restarted {
        result.resets.push("the engine's process was started anew".into());
    }
    let comparable = |quantity: &Quantity, new: bool, notes: &mut Vec<String>| {
        let why = why_not(earlier, later, *quantity, new);
        notes.extend(why.map(|why| format!("{}: left out, for {why}", quantity.name())));
        why.is_none()
    };
    for (quantity, series) in &later.counters {
        let before = earlier.counters.get(quantity);
        let new = series.keys().any(|key| !before.is_some_and(|old| old.contains_key(key)));
        if !comparable(quantity, new, &mut result.notes) {
            continue;
        }
        let since = |now: &f64, then: &f64| (now >= then).then(|| now - then);
        let deltas = differences(*quantity, before, series, restarted, since, &mut result);
        result.counts.insert(*quantity, deltas.iter().sum());
    }
    for (quantity, series) in &later.durations {
        let before = earlier.durations.get(quantity);
        let new = series.keys().any(|key| !before.is_some_and(|old| old.contains_key(key)));
        if !comparable(quantity, new, &mut result.notes) {
            continue;
        }
        let since = DurationHistogram::since;
        let deltas = differences(*quantity, before, series, restarted, since, &mut result);
        if let Some(sum) = merged(deltas.iter()) {
            result.durations.insert(*quantity, sum);
        }
    }
    for quantity in earlier.counters.keys().chain(earlier.durations.keys()) {
        if !later.sources.contains_key(quantity) {
            result.notes.push(format!("{}: the later scrape lacks it", quantity.name()));
        }
    }
    Ok(result)
}

/// Why a quantity of two scrapes has no difference. `new` is whether the later has a series
/// that the earlier lacks.
fn why_not(
    earlier: &ServingMetrics,
    later: &ServingMetrics,
    quantity: Quantity,
    new: bool,
) -> Option<&'static str> {
    let name = |metrics: &ServingMetrics| metrics.sources.get(&quantity).map(|source| source.name);
    if name(earlier).is_some_and(|before| Some(before) != name(later)) {
        return Some("the scrapes name it differently");
    }
    if [earlier, later].iter().any(|metrics| metrics.unusable.contains(&quantity)) {
        return Some("a series of it could not be used");
    }
    if !earlier.complete && new {
        return Some("the earlier scrape was not read whole and lacks a series of it");
    }
    None
}

fn differences<T: Clone>(
    quantity: Quantity,
    earlier: Option<&BTreeMap<String, T>>,
    later: &BTreeMap<String, T>,
    restarted: bool,
    since: impl Fn(&T, &T) -> Option<T>,
    result: &mut IntervalMetrics,
) -> Vec<T> {
    let name = quantity.name();
    if earlier.is_none() {
        result.notes.push(format!("{name}: the earlier scrape lacks it, taken as zero there"));
    }
    for key in earlier.into_iter().flat_map(BTreeMap::keys) {
        if !later.contains_key(key) {
            result.notes.push(format!("{name}{{{key}}}: the later scrape lacks this series"));
        }
    }
    let mut deltas = vec![];
    for (key, now) in later {
        deltas.push(match earlier.and_then(|earlier| earlier.get(key)) {
            Some(then) if !restarted => since(now, then).unwrap_or_else(|| {
                result.resets.push(format!("{name}{{{key}}} began anew"));
                now.clone()
            }),
            _ => now.clone(),
        });
    }
    deltas
}
