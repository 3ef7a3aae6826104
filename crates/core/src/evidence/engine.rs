//! What an engine said of itself while a block ran.

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
    /// Differences of its counters between the two scrapes, by canonical name.
    pub counters: Vec<(String, f64)>,
    /// Gauges at every scrape, by canonical name.
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
    /// Their sum.
    pub sum: f64,
}

/// A gauge during a block.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineGauge {
    /// The canonical name: "requests_running".
    pub metric: String,
    /// Time from the block's start, nanoseconds, and value.
    pub readings: Vec<(u64, f64)>,
}

impl EngineObservation {
    /// The histogram of a canonical metric.
    pub fn histogram(&self, metric: &str) -> Option<&EngineHistogram> {
        self.histograms.iter().find(|histogram| histogram.metric == metric)
    }
}
