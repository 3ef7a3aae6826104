//! Single numbers from elsewhere, without the sample behind them.

use super::{Condition, Remedy};

/// What a single number is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PointMetric {
    /// Time to first token, seconds.
    TimeToFirstToken,
    /// Gap between two tokens, seconds.
    InterToken,
    /// (last − first token) ÷ (tokens − 1), seconds.
    TimePerOutputToken,
    /// Whole request, seconds.
    EndToEnd,
    /// Finished requests per second.
    Requests,
    /// Output tokens per second.
    OutputTokens,
    /// Mean time of a training step, seconds.
    StepTime,
}

/// One number that a page, a paper or another tool's summary gives: "p95 540 ms". Nothing is known
/// of the sample, so it has no bound; it can neither fail nor pass, and only suggests.
#[derive(Clone, Debug, PartialEq)]
pub struct PointEstimate {
    /// What ran when it was taken.
    pub condition: Condition,
    /// The remedy that it was taken under, if any.
    pub remedy: Option<Remedy>,
    /// What it is about.
    pub metric: PointMetric,
    /// The quantile that it is, a share (0.95); `None` for a mean or a rate.
    pub quantile: Option<f64>,
    /// The number, in the unit of the metric.
    pub value: f64,
    /// Where it stands: an address, a file, a person.
    pub source: String,
}
