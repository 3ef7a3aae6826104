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
    let mut result = IntervalMetrics {
        engine: later.engine,
        counts: BTreeMap::new(),
        durations: BTreeMap::new(),
        resets: vec![],
        notes: vec![],
    };
    let restarted =
        earlier.process_start_s.zip(later.process_start_s).is_some_and(|(then, now)| then != now);
    if restarted {
        result.resets.push("the engine's process was started anew".into());
    }
    let comparable = |quantity: &Quantity, notes: &mut Vec<String>| {
        let name = |metrics: &ServingMetrics| metrics.sources.get(quantity).map(|s| s.name);
        let same = name(earlier).is_none_or(|before| Some(before) == name(later));
        if !same {
            notes.push(format!("{}: the scrapes name it differently", quantity.name()));
        }
        same
    };
    for (quantity, series) in &later.counters {
        if !comparable(quantity, &mut result.notes) {
            continue;
        }
        let since = |now: &f64, then: &f64| (now >= then).then(|| now - then);
        let before = earlier.counters.get(quantity);
        let deltas = differences(*quantity, before, series, restarted, since, &mut result);
        result.counts.insert(*quantity, deltas.iter().sum());
    }
    for (quantity, series) in &later.durations {
        if !comparable(quantity, &mut result.notes) {
            continue;
        }
        let before = earlier.durations.get(quantity);
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
