//! A sweep as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Axis, Table};

/// What a site would come to under other settings. Everything in it is simulated or planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepReport {
    /// Always `cotenant-sweep`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// Program and version that wrote it.
    pub tool: String,
    /// Name of the site.
    pub site: String,
    /// Where its numbers come from: `simulated`.
    pub origin: String,
    /// The answer in one sentence.
    pub headline: String,
    /// When sharing stops paying, as a sentence.
    pub pays: String,
    /// What was varied.
    pub axes: Vec<SweepAxisView>,
    /// What points are compared by.
    pub aims: Vec<String>,
    /// The points as a table, in the order of the product of the axes.
    pub table: Table,
    /// Rows of the table that no other point of the same rate beats in everything, ascending from 0.
    pub front: Vec<u64>,
    /// The points in full.
    pub points: Vec<SweepPointView>,
    /// Curves along the axes whose values are numbers.
    pub charts: Vec<SweepChart>,
    /// One shared pool beside dedicated ones.
    pub pools: Table,
    /// What moving deadlines by some hours is worth; without rows where no axis does it.
    pub shift: Table,
    /// What was assumed, as sentences.
    pub assumed: Vec<String>,
    /// Notes that narrow what may be read from it.
    pub notes: Vec<String>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAxisView {
    /// Its name.
    pub name: String,
    /// Its values, as they were written.
    pub values: Vec<String>,
}

/// A point in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPointView {
    /// Its place in the product of the axes.
    pub index: u64,
    /// Its settings, one for each axis.
    pub settings: Vec<String>,
    /// Whether no other point of the same rate beats it in everything.
    pub is_on_front: bool,
    /// Why it could not be simulated.
    pub missing: Option<String>,
    /// GPUs of the place.
    pub gpus: Option<u32>,
    /// The way of sharing.
    pub mode: Option<String>,
    /// Calendars that were drawn and carried out.
    pub weeks: Option<u32>,
    /// The jobs.
    pub jobs: Vec<SweepJobView>,
    /// The inference workloads.
    pub services: Vec<SweepServiceView>,
    /// Mean GPU-hours of one calendar that replicas held.
    pub gpu_hours_serving: Option<f64>,
    /// Mean GPU-hours of work that was kept.
    pub gpu_hours_kept: Option<f64>,
    /// Mean GPU-hours that jobs held without that.
    pub gpu_hours_lost: Option<f64>,
    /// Mean GPU-hours that nobody held.
    pub gpu_hours_free: Option<f64>,
    /// What all GPUs cost in one calendar; absent where the site has no price.
    pub cost: Option<f64>,
    /// Times that lent GPUs were asked back, in the mean.
    pub reclaims: Option<f64>,
    /// The longest time from asking to replicas that serve, seconds.
    pub reclaim_s_max: Option<f64>,
}

/// A job of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepJobView {
    /// Its name.
    pub name: String,
    /// Share of the drawn calendars in which its deadline held; absent where it has none in them.
    pub on_time_share: Option<f64>,
    /// Share of them in which it was done at all.
    pub done_share: f64,
    /// Mean times that it was stopped for somebody else.
    pub stops: f64,
}

/// An inference workload of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepServiceView {
    /// Its name.
    pub name: String,
    /// Share of the time in which it was short of replicas: mean of the drawn calendars.
    pub short_share: f64,
    /// The same in the worst of them.
    pub short_share_max: f64,
    /// Its latencies at its peak, which goes with the rate of the point.
    pub latencies: Vec<SweepLatencyView>,
    /// Why there are none.
    pub latencies_missing: Option<String>,
}

/// A latency at the peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepLatencyView {
    /// The objective: `ttft_p95`.
    pub name: String,
    /// What the simulator says, seconds.
    pub time_s: f64,
    /// What is declared, seconds.
    pub target_s: Option<f64>,
}

/// One figure along one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepChart {
    /// A stable key: `rate-on_time`.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// What it shows in words, for those who cannot see it.
    pub description: String,
    /// The axis of the sweep.
    pub x: Axis,
    /// The figure.
    pub y: Axis,
    /// One line for each combination of the other settings.
    pub lines: Vec<SweepLine>,
    /// How many of them are drawn; all are here.
    pub drawn: u32,
    /// What is said where some are not drawn.
    pub drawn_text: Option<String>,
}

/// Points that differ in one setting alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepLine {
    /// The other settings.
    pub label: String,
    /// (value of the axis, figure, whether the point is on the front), ascending by value.
    pub points: Vec<(f64, f64, bool)>,
}
