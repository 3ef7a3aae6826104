//! A scrape in canonical terms.

use std::collections::{BTreeMap, BTreeSet};

use super::histogram::DurationHistogram;
use super::kind::{EngineKind, engine_of_names};
use super::quantity::{Quantity, Shape};
use super::table::{Combine, Part, Source, mapping};
use crate::exposition::{Exposition, Labels, Sample, Strictness, detect_format, histograms, parse};

/// What one scrape says of serving. A quantity that the engine does not show is absent, never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingMetrics {
    /// The engine whose names were read.
    pub engine: EngineKind,
    /// Values of now.
    pub gauges: BTreeMap<Quantity, f64>,
    /// Counts, by series: the key is the text of its labels.
    pub counters: BTreeMap<Quantity, BTreeMap<String, f64>>,
    /// Distributions of seconds, by series.
    pub durations: BTreeMap<Quantity, BTreeMap<String, DurationHistogram>>,
    /// The source that each quantity was read from.
    pub sources: BTreeMap<Quantity, &'static Source>,
    /// Quantities of which some series could not be used: NaN, or buckets that contradict each other.
    pub unusable: BTreeSet<Quantity>,
    /// Whether nothing of the scrape was passed over, so that what it lacks was not there.
    pub complete: bool,
    /// When the engine's process began, seconds since 1970, where it says so.
    pub process_start_s: Option<f64>,
    /// What could not be used, and why.
    pub notes: Vec<String>,
    /// What the scrape tells more than once and is counted once, in sentences.
    pub twins: Vec<String>,
}

impl ServingMetrics {
    /// A value of now.
    pub fn gauge(&self, quantity: Quantity) -> Option<f64> {
        self.gauges.get(&quantity).copied()
    }

    /// A count over all series.
    pub fn counter(&self, quantity: Quantity) -> Option<f64> {
        self.counters.get(&quantity).map(|series| series.values().sum())
    }

    /// A distribution over all series.
    pub fn duration(&self, quantity: Quantity) -> Option<DurationHistogram> {
        self.durations.get(&quantity).and_then(|series| merged(series.values()))
    }
}

/// The sum of histograms; `None` of none.
pub(super) fn merged<'h>(
    mut series: impl Iterator<Item = &'h DurationHistogram>,
) -> Option<DurationHistogram> {
    let mut sum = series.next()?.clone();
    for histogram in series {
        sum.add(histogram);
    }
    Some(sum)
}

/// Reads a scrape in the names of an engine.
pub fn read_serving(scrape: &Exposition<'_>, engine: EngineKind) -> ServingMetrics {
    let mut metrics = ServingMetrics {
        engine,
        gauges: BTreeMap::new(),
        counters: BTreeMap::new(),
        durations: BTreeMap::new(),
        sources: BTreeMap::new(),
        unusable: BTreeSet::new(),
        complete: scrape.notes.is_empty(),
        process_start_s: samples(scrape, "process_start_time_seconds")
            .first()
            .map(|sample| sample.value),
        notes: scrape
            .notes
            .iter()
            .map(|note| format!("line {}: {}", note.line, note.text))
            .collect(),
        twins: vec![],
    };
    for mapping in mapping(engine) {
        for source in mapping.sources {
            let notes = metrics.notes.len();
            let found = take(&mut metrics, scrape, mapping.quantity, source);
            if metrics.notes.len() > notes {
                metrics.unusable.insert(mapping.quantity);
            }
            if found {
                metrics.sources.insert(mapping.quantity, source);
                metrics.twins.extend(twins(scrape, source, mapping.sources));
                break;
            }
        }
    }
    metrics
}

/// Requests that wait in the engine, from the text of its metrics. `None` where no known engine's
/// metrics are in it, or where they do not say.
///
/// ```
/// # use cotenant_probe::engine_metrics::waiting;
/// let text = "# TYPE vllm:num_requests_waiting gauge\n\
///             vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 3.0\n\
///             vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 3.0\n";
/// assert_eq!(waiting(text), Some(3.0));
/// assert_eq!(waiting("up 1\n"), None);
/// ```
pub fn waiting(text: &str) -> Option<f64> {
    scraped(text.as_bytes())?.gauge(Quantity::Waiting)
}

/// A scrape in canonical terms, from its bytes. `None` where no known engine's metrics are in it.
pub fn scraped(bytes: &[u8]) -> Option<ServingMetrics> {
    let scrape = parse(bytes, detect_format(bytes, None), Strictness::Lenient).ok()?;
    Some(read_serving(&scrape, engine_of_names(&scrape)?))
}

/// Which other families and series count the same events as a source that was read.
fn twins(scrape: &Exposition<'_>, source: &Source, sources: &[Source]) -> Vec<String> {
    let mut twins = vec![];
    let base = source.name.strip_suffix("_total").unwrap_or(source.name);
    let split = format!("{base}_by_");
    let is_older = |name: &str| {
        let mut others = sources.iter().filter(|other| other.name != source.name);
        others.any(|other| other.name == name || other.name.strip_suffix("_total") == Some(name))
    };
    for family in scrape.families.iter().filter(|family| !family.samples.is_empty()) {
        if family.name.starts_with(&split) {
            twins.push(format!("{} splits what {} counts: read once", family.name, source.name));
        } else if is_older(&family.name) {
            twins.push(format!("{} and {} tell the same: read once", family.name, source.name));
        }
    }
    let family = scrape.family(source.name).or_else(|| scrape.family(base));
    let samples = family.map_or(&[][..], |family| &family.samples[..]);
    let values = |name: &str| -> BTreeSet<&str> {
        let labels = samples.iter().map(|sample| label(&sample.labels, name));
        labels.filter(|value| !value.is_empty()).collect()
    };
    for name in source.repeat_labels.iter().filter(|name| values(name).len() > 1) {
        let ranks = values(name).len();
        twins.push(format!("{}: {ranks} ranks ({name}) repeat each other: read once", source.name));
    }
    if let Some(name) = source.total_label
        && !values(name).is_empty()
        && samples.iter().any(|sample| label(&sample.labels, name).is_empty())
    {
        let what = source.name;
        twins.push(format!("{what}: the series without {name} is the total of those with one"));
    }
    twins
}

/// Puts what a source says into the metrics; whether it says anything.
fn take(
    metrics: &mut ServingMetrics,
    scrape: &Exposition<'_>,
    quantity: Quantity,
    source: &'static Source,
) -> bool {
    match quantity.shape() {
        Shape::Duration => {
            let series = durations(scrape, source, &mut metrics.notes);
            let found = !series.is_empty();
            if found {
                metrics.durations.insert(quantity, series);
            }
            found
        }
        shape => {
            let series = values(scrape, source, &mut metrics.notes);
            if series.is_empty() {
                return false;
            }
            if shape == Shape::Counter {
                metrics.counters.insert(quantity, series);
            } else {
                let values = series.into_values();
                let value = match source.combine {
                    Combine::Sum => values.sum(),
                    Combine::Max => values.fold(f64::NEG_INFINITY, f64::max),
                };
                metrics.gauges.insert(quantity, value);
            }
            true
        }
    }
}

/// The samples of this very name. OpenMetrics calls the family of a counter without `_total`.
fn samples<'s, 'a>(scrape: &'s Exposition<'a>, name: &str) -> Vec<&'s Sample<'a>> {
    let family = scrape
        .family(name)
        .filter(|family| !family.samples.is_empty())
        .or_else(|| scrape.family(name.strip_suffix("_total")?));
    family.map_or(vec![], |family| {
        family.samples.iter().filter(|sample| sample.name == name).collect()
    })
}

fn values(
    scrape: &Exposition<'_>,
    source: &Source,
    notes: &mut Vec<String>,
) -> BTreeMap<String, f64> {
    let suffix = match source.part {
        Part::HistogramSum => "_sum",
        Part::HistogramCount => "_count",
        _ => "",
    };
    let name = format!("{}{suffix}", source.name);
    let found: Vec<(&Labels<'_>, f64)> = if suffix.is_empty() {
        samples(scrape, &name).into_iter().map(|sample| (&sample.labels, sample.value)).collect()
    } else {
        scrape.family(source.name).map_or(vec![], |family| {
            let of_name = family.samples.iter().filter(|sample| *sample.name == name);
            of_name.map(|sample| (&sample.labels, sample.value)).collect()
        })
    };
    let (finite, not): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, value)| value.is_finite());
    notes.extend(not.iter().map(|(labels, value)| format!("{name}{{{}}} is {value}", key(labels))));
    let series = selected(finite, source);
    series.into_iter().map(|(key, value)| (key, value * source.unit)).collect()
}

fn durations(
    scrape: &Exposition<'_>,
    source: &Source,
    notes: &mut Vec<String>,
) -> BTreeMap<String, DurationHistogram> {
    if let Part::TotalOver(counter) = source.part {
        let totals = values(scrape, &Source { part: Part::Value, ..*source }, notes);
        let counting = Source { name: counter, part: Part::Value, unit: 1.0, ..*source };
        let counts = values(scrape, &counting, notes);
        return totals
            .into_iter()
            .filter_map(|(key, sum_s)| {
                let count = *counts.get(&key)?;
                let sum_s = Some(sum_s);
                Some((key, DurationHistogram { count, sum_s, ..DurationHistogram::default() }))
            })
            .collect();
    }
    let Some(family) = scrape.family(source.name) else { return BTreeMap::new() };
    let (series, malformed) = histograms(family);
    notes.extend(malformed.iter().map(ToString::to_string));
    let series = series.iter().map(|series| (&series.labels, &series.histogram)).collect();
    selected(series, source)
        .into_iter()
        .map(|(key, histogram)| {
            (key, DurationHistogram::from_cumulative(histogram.clone(), source.unit))
        })
        .collect()
}

fn label<'l>(labels: &'l Labels<'_>, name: &str) -> &'l str {
    labels.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
}

/// The text of labels in the order of their names: what tells series of one family apart.
fn key(labels: &Labels<'_>) -> String {
    let mut sorted: Vec<String> = labels
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    sorted.sort_unstable();
    sorted.join(",")
}

/// The series that a source wants, each event once.
fn selected<T>(mut series: Vec<(&Labels<'_>, T)>, source: &Source) -> BTreeMap<String, T> {
    if let Some((name, wanted)) = source.only {
        series.retain(|(labels, _)| wanted.contains(&label(labels, name)));
    }
    if let Some((name, unwanted)) = source.except {
        series.retain(|(labels, _)| !unwanted.contains(&label(labels, name)));
    }
    if let Some(name) = source.total_label
        && series.iter().any(|(labels, _)| label(labels, name).is_empty())
    {
        series.retain(|(labels, _)| label(labels, name).is_empty());
    }
    // Of ranks that repeat each other the first remains: by number, since "10" sorts before "2".
    let rank = |labels: &Labels<'_>| -> Vec<(usize, String)> {
        let ranks = source.repeat_labels.iter().map(|name| label(labels, name));
        ranks.map(|rank| (rank.len(), rank.to_owned())).collect()
    };
    series.sort_by_key(|(labels, _)| rank(labels));
    let mut one_each = BTreeMap::new();
    for (labels, value) in series {
        let others: Labels<'_> = labels
            .iter()
            .filter(|(name, _)| !source.repeat_labels.contains(&&**name))
            .cloned()
            .collect();
        one_each.entry(key(&others)).or_insert(value);
    }
    one_each
}
