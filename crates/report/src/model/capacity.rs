//! The capacity that a search found, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Axis, Fact, Table, Value};

/// The capacity of one inference workload: the highest rate that keeps every objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityView {
    /// The workload.
    pub workload: String,
    /// The answer in one sentence.
    pub headline: String,
    /// The estimate, requests per second.
    pub rate: Value,
    /// Lower end of its interval: the rate to count on.
    pub low: Value,
    /// Upper end of its interval.
    pub high: Value,
    /// Confidence of the interval, a share.
    pub confidence: Option<f64>,
    /// What is carried at the lower end, and what limits.
    pub facts: Vec<Fact>,
    /// What a reader must know.
    pub remarks: Vec<String>,
    /// Rate against each objective, drawn.
    pub chart: RateChart,
    /// Rate against each objective, in numbers.
    pub curve: Table,
}

/// Shares of misses by rate, each as a multiple of the share that its objective allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateChart {
    /// What it shows in words, for those who cannot see it.
    pub description: String,
    /// Requests per second.
    pub x: Axis,
    /// Share of misses ÷ share allowed; what never missed stands at the foot.
    pub y: Axis,
    /// One line for each objective.
    pub lines: Vec<RateLine>,
    /// The interval of the capacity on the rate axis, where it has both ends.
    pub interval: Option<(f64, f64)>,
    /// Why there is no line, where there is none.
    pub missing: Option<String>,
}

/// One objective by rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateLine {
    /// The objective.
    pub label: String,
    /// (requests per second, share of misses ÷ share allowed), ascending by rate.
    pub points: Vec<(f64, f64)>,
}
