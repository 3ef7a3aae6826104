//! Histograms and summaries put together from their samples.

use std::collections::HashMap;

use super::model::{Family, Kind, Labels, Sample};

/// A histogram: how many observations lie at or below each bound.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CumulativeHistogram {
    /// Upper bounds without infinity, ascending, in the family's unit.
    pub bounds: Vec<f64>,
    /// Observations at or below each bound.
    pub cumulative: Vec<f64>,
    /// All observations.
    pub count: f64,
    /// Sum of the observations, in the family's unit; `None` where the exporter gives none.
    pub sum: Option<f64>,
}

/// One histogram of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSeries<'a> {
    /// The labels without `le`.
    pub labels: Labels<'a>,
    /// The numbers.
    pub histogram: CumulativeHistogram,
}

/// One summary of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct SummarySeries<'a> {
    /// The labels without `quantile`.
    pub labels: Labels<'a>,
    /// Probability and value of each quantile, in the order of the scrape. The exporter computed them
    /// over a window that it does not name, and they cannot be added up.
    pub quantiles: Vec<(f64, f64)>,
    /// All observations, where the exporter gives their number.
    pub count: Option<f64>,
    /// Sum of the observations, where the exporter gives it.
    pub sum: Option<f64>,
}

/// A histogram that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {name}: {what}")]
pub struct Malformed {
    /// The line of its first sample.
    pub line: usize,
    /// The family.
    pub name: String,
    /// What is wrong.
    pub what: String,
}

struct Parts<'a> {
    labels: Labels<'a>,
    line: usize,
    points: Vec<(f64, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
}

/// Groups samples by their labels without `bound`.
fn gather<'a>(family: &Family<'a>, bound: &str) -> Vec<Parts<'a>> {
    let mut groups: Vec<Parts<'a>> = vec![];
    let mut by_labels: HashMap<Labels<'a>, usize> = HashMap::new();
    let mut last: Option<usize> = None;
    for sample in &family.samples {
        let Some(part) = part_of(family, sample) else { continue };
        let others = || sample.labels.iter().filter(|(name, _)| name != bound);
        // Samples of a series stand together as a rule, with their labels in one order.
        let same = last.filter(|&at| groups[at].labels.iter().eq(others()));
        let at = same.unwrap_or_else(|| {
            let mut sorted: Labels<'a> = others().cloned().collect();
            sorted.sort();
            *by_labels.entry(sorted).or_insert_with(|| {
                let (labels, line) = (others().cloned().collect(), sample.line);
                groups.push(Parts { labels, line, points: vec![], sum: None, count: None });
                groups.len() - 1
            })
        });
        last = Some(at);
        let group = &mut groups[at];
        match part {
            Part::Sum => group.sum = Some(sample.value),
            Part::Count => group.count = Some(sample.value),
            Part::Point => {
                if let Some(at) = sample.label(bound).and_then(|at| at.parse().ok()) {
                    group.points.push((at, sample.value));
                }
            }
        }
    }
    groups
}

enum Part {
    Point,
    Sum,
    Count,
}

fn part_of(family: &Family<'_>, sample: &Sample<'_>) -> Option<Part> {
    match sample.name.strip_prefix(&*family.name)? {
        "_sum" | "_gsum" => Some(Part::Sum),
        "_count" | "_gcount" => Some(Part::Count),
        "_bucket" => Some(Part::Point),
        "" if family.kind == Kind::Summary => Some(Part::Point),
        _ => None,
    }
}

/// The histograms of a family, one to each set of labels, and those that contradict themselves.
///
/// A bucket of infinity and the count must agree; where one is missing the other stands for it.
/// NaN, negative and falling counts, and a histogram without either, are malformed.
pub fn histograms<'a>(family: &Family<'a>) -> (Vec<HistogramSeries<'a>>, Vec<Malformed>) {
    let mut series = vec![];
    let mut malformed = vec![];
    for mut parts in gather(family, "le") {
        match histogram(&mut parts) {
            Ok(histogram) => series.push(HistogramSeries { labels: parts.labels, histogram }),
            Err(what) => {
                malformed.push(Malformed { line: parts.line, name: family.name.to_string(), what });
            }
        }
    }
    (series, malformed)
}

fn histogram(parts: &mut Parts<'_>) -> Result<CumulativeHistogram, String> {
    parts.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if parts.points.iter().any(|(bound, _)| bound.is_nan()) {
        return Err("a bucket's bound is NaN".into());
    }
    let mut below = 0.0;
    for &(bound, count) in &parts.points {
        if count.is_nan() || count < below {
            return Err(format!("{count} observations at or below {bound}, {below} below that"));
        }
        below = count;
    }
    let infinite = parts.points.pop_if(|point| point.0 == f64::INFINITY).map(|point| point.1);
    let count = match (infinite, parts.count) {
        (Some(bucket), Some(count)) if bucket != count => {
            return Err(format!("the bucket of infinity holds {bucket}, the count is {count}"));
        }
        (Some(count), _) | (None, Some(count)) => count,
        (None, None) => return Err("neither a bucket of infinity nor a count".into()),
    };
    if count < below || !count.is_finite() {
        return Err(format!("the count {count} is below the {below} of a bucket"));
    }
    let (bounds, cumulative) = parts.points.iter().copied().unzip();
    Ok(CumulativeHistogram { bounds, cumulative, count, sum: parts.sum })
}

/// The summaries of a family, one to each set of labels.
pub fn summaries<'a>(family: &Family<'a>) -> Vec<SummarySeries<'a>> {
    gather(family, "quantile")
        .into_iter()
        .map(|parts| SummarySeries {
            labels: parts.labels,
            quantiles: parts.points,
            count: parts.count,
            sum: parts.sum,
        })
        .collect()
}
