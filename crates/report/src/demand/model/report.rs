//! The view of demand and what is said of the whole history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnitView;
use crate::model::{Fact, Value};
use crate::plan::model::Moment;

/// Demand for people and machines. Every number that a rendering shows is in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DemandReport {
    /// Always `cotenant-demand`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// Program and version that wrote it.
    pub tool: String,
    /// `Demand of chat`.
    pub title: String,
    /// The sources that were read as one history, in order.
    pub sources: Vec<String>,
    /// The workload of a site file whose demand this is.
    pub workload: Option<String>,
    /// The zone in which hours and days are told.
    pub time_zone: String,
    /// Whether hours of the day and days of the week can be told. Where not, day 1 begins with the
    /// source's own time zero.
    pub time_of_week_known: bool,
    /// The few figures that are read first, as sentences.
    pub headline: Vec<String>,
    /// Notes on the sources that narrow what may be read from the figures.
    pub notes: Vec<String>,
    /// What was read.
    pub facts: Vec<Fact>,
    /// The first and the last instant of which the sources speak.
    pub span: SpanView,
    /// Rows of the sources: requests, or points of a series.
    pub rows: Option<u64>,
    /// The shortest burst that the sources can show, seconds.
    pub resolution_s: f64,
    /// Requests over the whole history.
    pub requests: RequestCounts,
    /// Demand over all time that is known, one row for each unit of work.
    pub figures: Vec<FiguresRow>,
    /// Tokens of single requests; sources of means state none.
    pub tokens: Vec<FiguresRow>,
    /// Why demand is not known in the other units, a sentence each.
    pub unknown: Vec<String>,
    /// Demand by time, one unit of work at a time.
    pub units: Vec<UnitView>,
    /// Time of which nothing is known.
    pub gaps: GapsView,
    /// What was added back, filled in or could not be told.
    pub remarks: Vec<String>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanView {
    /// Its start.
    pub from: Moment,
    /// Its end.
    pub until: Moment,
    /// Its length.
    pub length: Value,
}

/// Requests over the whole history; fractions where the sources state rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// All that asked for service, those below included.
    pub all: Value,
    /// Of these, turned away.
    pub refused: Value,
    /// Of these, given up before their end.
    pub timed_out: Value,
}

/// Mean, quantiles and maximum under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FiguresRow {
    /// Of what, with its unit.
    pub name: String,
    /// The mean.
    pub mean: Value,
    /// The median.
    pub p50: Value,
    /// The 95th percentile.
    pub p95: Value,
    /// The 99th percentile.
    pub p99: Value,
    /// The largest.
    pub max: Value,
}

/// All time of which nothing is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapsView {
    /// One sentence on all of them.
    pub summary: String,
    /// Their length together.
    pub total: Value,
    /// In order of time.
    pub list: Vec<GapView>,
    /// Places in the list of the longest ones, which are shown.
    pub shown: Vec<u32>,
    /// What is said of those that are not shown.
    pub not_shown: Option<String>,
}

/// Time of which nothing is known: neither counted as silence nor filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapView {
    /// Its start.
    pub from: Moment,
    /// Its end.
    pub until: Moment,
    /// Its length.
    pub length: Value,
    /// `gap`, or `gap or silence` where only the demand around it tells.
    pub kind: String,
    /// Its time and length for people.
    pub text: String,
    /// Why it is a gap.
    pub why: String,
}
