//! What an engine said of itself while a block ran.

use crate::stats::{Buckets, QuantileBounds};

/// An engine's own accounts between two scrapes that stand as near as possible around the judged
/// interval of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineObservation {
    /// The engine and its version, as it was identified: "vLLM 0.32.0".
    pub engine: String,
    /// Time of the first scrape, nanoseconds from the block's start.
    pub from_ns: u64,
    /// Time of the last scrape, nanoseconds from the block's start.
    pub until_ns: u64,
    /// Differences of its histograms between the two scrapes.
    pub histograms: Vec<EngineHistogram>,
    /// Differences of its counters between the two scrapes, by canonical name: "preemptions".
    pub counters: Vec<(String, f64)>,
    /// Gauges at every scrape of the block, by canonical name.
    pub gauges: Vec<EngineGauge>,
    /// What was not there, what was reset, what was told twice: in sentences.
    pub remarks: Vec<String>,
}

/// What a histogram counted during a block.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineHistogram {
    /// The canonical name: "queue_time_s".
    pub metric: String,
    /// Upper bounds of the buckets, ascending, the unit being in the name. The last one may be
    /// infinite.
    pub bounds: Vec<f64>,
    /// How many observations lie at or below each bound.
    pub cumulative: Vec<f64>,
    /// How many observations there are.
    pub count: f64,
    /// Their sum; `None` where the engine tells none.
    pub sum: Option<f64>,
}

/// A gauge during a block.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineGauge {
    /// The canonical name: "running_requests".
    pub metric: String,
    /// Time from the block's start, nanoseconds, and value.
    pub readings: Vec<(u64, f64)>,
}

impl EngineObservation {
    /// The histogram of a canonical metric.
    pub fn histogram(&self, metric: &str) -> Option<&EngineHistogram> {
        self.histograms.iter().find(|histogram| histogram.metric == metric)
    }

    /// The difference of a canonical counter.
    pub fn counter(&self, metric: &str) -> Option<f64> {
        self.counters.iter().find(|(name, _)| name == metric).map(|(_, count)| *count)
    }

    /// The readings of a canonical gauge.
    pub fn gauge(&self, metric: &str) -> Option<&EngineGauge> {
        self.gauges.iter().find(|gauge| gauge.metric == metric)
    }

    /// How much of an interval of the block lies between the two scrapes, from 0 to 1.
    pub fn covered_share(&self, from_ns: u64, until_ns: u64) -> f64 {
        let covered = self.until_ns.min(until_ns).saturating_sub(self.from_ns.max(from_ns));
        let length = until_ns.saturating_sub(from_ns);
        if length == 0 { 0.0 } else { covered as f64 / length as f64 }
    }
}

impl EngineHistogram {
    /// Its counts in buckets. Without any where the engine tells only sum and count.
    pub fn buckets(&self) -> Buckets<'_> {
        Buckets { bounds_s: &self.bounds, cumulative: &self.cumulative, count: self.count }
    }

    /// Between which bounds a quantile lies; `None` without observations.
    pub fn quantile(&self, share: f64) -> Option<QuantileBounds> {
        self.buckets().quantile(share)
    }

    /// The mean; `None` without observations or without a sum. It is exact, whatever the buckets.
    pub fn mean(&self) -> Option<f64> {
        self.sum.filter(|_| self.count > 0.0).map(|sum| sum / self.count)
    }

    /// Adds another histogram of the same metric. Only bounds that both have remain, for only of
    /// these is it known how many observations of both lie below.
    pub fn add(&mut self, other: &Self) {
        let shared = |bound: &f64| other.bounds.iter().position(|there| there == bound);
        let kept: Vec<(f64, f64)> = self
            .bounds
            .iter()
            .zip(&self.cumulative)
            .filter_map(|(bound, here)| {
                Some((*bound, here + other.cumulative.get(shared(bound)?)?))
            })
            .collect();
        (self.bounds, self.cumulative) = kept.into_iter().unzip();
        self.count += other.count;
        self.sum = self.sum.zip(other.sum).map(|(here, there)| here + there);
    }
}
