//! Demand in one unit of work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CourseView, ForecastView, WeekView};
use crate::model::Value;
use crate::plan::model::Moment;

/// Demand in one unit of work, by time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitView {
    /// The word of the option `--unit`: `requests`, `in-flight`, `kv`, `prefill` or `output`.
    pub key: String,
    /// The name for people: `prompt tokens/s`.
    pub name: String,
    /// Why the sources cannot show it, where they cannot: then nothing below is there.
    pub missing: Option<String>,
    /// Length of a bin, minutes.
    pub bin_minutes: u32,
    /// The bins of the week from Monday 00:00 by the clock on the wall, those that were seen.
    pub slots: Vec<SlotView>,
    /// The week at a glance; none where the history is too short for one.
    pub week: Option<WeekView>,
    /// Demand from the first instant to the last, where the history is short.
    pub course: Option<CourseView>,
    /// The highest windows, one for each day at most, the highest first.
    pub peaks: Vec<PeakView>,
    /// Windows that are unlike their peers, the most unlike first. They count in every figure.
    pub outliers: Vec<OutlierView>,
    /// How outliers are told, and how many there are.
    pub outlier_sentence: String,
    /// Whether demand changes from week to week.
    pub drift: DriftView,
    /// The week after the history.
    pub forecast: Option<ForecastView>,
    /// Why there is no forecast, where there is none.
    pub forecast_missing: Option<String>,
}

/// One bin of the week over all weeks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotView {
    /// Minutes from Monday 00:00 by the clock on the wall.
    pub minute_of_week: u32,
    /// Time that is known in it, hours.
    pub seen_hours: f64,
    /// Weeks in which some of it is known.
    pub weeks: u32,
    /// The demand, in the unit of the view.
    pub figures: SlotFigures,
}

/// Mean and quantiles over time. A quantile is the ⌈qn⌉-th smallest value of equal steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotFigures {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// Exceeded in 5 % of the time.
    pub p95: f64,
    /// Exceeded in 1 % of the time.
    pub p99: f64,
    /// The highest.
    pub max: f64,
}

/// A window with a high demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakView {
    /// The first known instant of the window.
    pub at: Moment,
    /// The highest value in it.
    pub value: Value,
    /// Its mean.
    pub mean: Value,
}

/// A window whose mean is unlike that of its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutlierView {
    /// The first known instant of the window.
    pub at: Moment,
    /// Its mean.
    pub value: Value,
    /// The median of its peers.
    pub median: Value,
    /// Its modified z-score.
    pub z: Value,
    /// Who its peers are.
    pub peers: String,
}

/// Whether demand changes from week to week: the seasonal Kendall test over the days of the week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftView {
    /// The most weeks in which one day of the week was seen whole.
    pub weeks: u32,
    /// Two-sided p-value; none where no day of the week was seen twice.
    pub p_value: Option<f64>,
    /// The median change from one week to the next, as a share of the mean demand.
    pub change_per_week: Option<f64>,
    /// Whether the weeks are said to differ.
    pub differs: Option<bool>,
    /// One sentence: what the test says, or why it cannot.
    pub sentence: String,
}
