//! What is to be expected in the week after the history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Value;

/// A forecast of the mean demand of each window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastView {
    /// The method whose forecasts these are.
    pub method: String,
    /// The level that each bound has by itself.
    pub level: Value,
    /// The level that was asked for.
    pub level_asked: Value,
    /// Days on which forecasts were compared with what came.
    pub calibration_days: u32,
    /// The scores of each method on the same days.
    pub scores: Vec<ScoreView>,
    /// Which method, why, and what the history supports.
    pub sentence: String,
    /// What the printed numbers are counted in.
    pub printed_in: String,
    /// One row for each day.
    pub days: Vec<ForecastDay>,
    /// Every window.
    pub windows: Vec<ForecastWindowView>,
}

/// How a method did on days that it had not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreView {
    /// The method.
    pub method: String,
    /// Whether it is the one that is used.
    pub used: bool,
    /// Days that were forecast.
    pub days: Value,
    /// Mean absolute scaled error: below 1 is better than the last value was within the history.
    pub mase: Value,
    /// Mean pinball loss of the upper bound.
    pub pinball: Value,
}

/// One day of the forecast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastDay {
    /// `Mon 15 Jan`, or `day 15`.
    pub label: String,
    /// The mean of its windows.
    pub mean: Value,
    /// The highest forecast of a window.
    pub highest: Value,
    /// When that window begins.
    pub clock: String,
    /// The highest upper bound of a window.
    pub upper: Value,
}

/// One window of the forecast, in the unit of the view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastWindowView {
    /// Its start, RFC 3339 in UTC.
    pub start: String,
    /// What is expected; null where no week of the history knows the window.
    pub point: Option<f64>,
    /// Its mean is at least this, at the level.
    pub lower: Option<f64>,
    /// Its mean is at most this, at the level.
    pub upper: Option<f64>,
}
