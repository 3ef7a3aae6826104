//! Demand and reserve by time, and the drawings of the calendar.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Axis, Tick, Value};

/// Demand and reserve of one inference workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReserveView {
    /// The workload.
    pub workload: String,
    /// The unit that binds in most windows, and in which demand is told.
    pub unit: String,
    /// The facts in one paragraph: replica, reclaim, risk.
    pub summary: String,
    /// GPUs of one replica.
    pub replica_gpus: Value,
    /// Time to reclaim.
    pub reclaim_time: Value,
    /// Where the reclaim time comes from, where there is one.
    pub reclaim_origin: Option<String>,
    /// Share of the exposures in which the reserve may be short.
    pub risk_tolerance: Value,
    /// Whether bursts inside of a reclaim were seen.
    pub bursts_seen: bool,
    /// Whether the history supports the risk tolerance.
    pub risk_supported: bool,
    /// The most GPUs that a window needs for what is reserved and kept free, before the number of
    /// GPUs of the place caps it.
    pub gpus_needed_max: u32,
    /// What a reader must know.
    pub remarks: Vec<String>,
    /// Each window of the calendar.
    pub windows: Vec<ReserveWindow>,
    /// The hours of a day, above the columns of `weekdays`.
    pub hours: Vec<u32>,
    /// GPUs by hour of the day, days that are alike in one.
    pub weekdays: Vec<WeekdayReserve>,
    /// The highest need of any window, in words.
    pub peak_text: String,
    /// Demand, in the unit.
    pub demand_axis: Axis,
    /// GPUs that are reserved, kept free or lent.
    pub gpus_axis: Axis,
    /// The demand in words, for those who cannot see the curve.
    pub description: String,
}

/// Demand and reserve in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReserveWindow {
    /// Demand and its peak, in the unit.
    pub demand: DemandStep,
    /// GPUs reserved.
    pub reserved: u32,
    /// GPUs kept free beside them.
    pub hot: u32,
    /// GPUs beyond them that may be lent.
    pub lent: u32,
    /// All that in words.
    pub text: String,
}

/// Demand in one window, in the unit of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DemandStep {
    /// The mean that is expected.
    pub mean: f64,
    /// The highest that is to be expected at the risk tolerance.
    pub peak: f64,
}

/// GPUs by hour of the day: the highest of the hour's windows on these days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WeekdayReserve {
    /// The days: `Mon–Thu`.
    pub label: String,
    /// Reserved, for each of 24 hours; null where the day has no such hour.
    pub reserved: Vec<Option<u32>>,
    /// Kept free.
    pub hot: Vec<Option<u32>>,
    /// May be lent.
    pub lent: Vec<Option<u32>>,
}

/// One week to be drawn: a stretch of the calendar's windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeekFigure {
    /// Its heading.
    pub title: String,
    /// What it shows in words, for those who cannot see it.
    pub description: String,
    /// Its first window.
    pub from: u32,
    /// The window after its last one.
    pub until: u32,
    /// Hours from its first window.
    pub x: Axis,
    /// The days, at their middle.
    pub days: Vec<Tick>,
    /// Where days begin, hours.
    pub midnights: Vec<f64>,
}
