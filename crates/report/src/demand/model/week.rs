//! The week at a glance, and the course of a short history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Value;
use crate::plan::model::Moment;

/// Days down, hours across.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeekView {
    /// What the printed numbers are counted in: `requests/s`, `1,000 KV tokens`.
    pub printed_in: String,
    /// The days that were seen.
    pub days: Vec<WeekDay>,
    /// What the shades mean, the darkest first.
    pub shades: Vec<ShadeView>,
}

/// A day of the week over all weeks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeekDay {
    /// `Mon`, or `day 1` where the time of week is not known.
    pub label: String,
    /// The median of the day.
    pub p50: Value,
    /// The 95th percentile of the day.
    pub p95: Value,
    /// The hour with the highest 95th percentile.
    pub peak: Option<PeakHour>,
    /// The 24 hours of the day.
    pub hours: Vec<WeekHour>,
}

/// The hour of a day with the highest 95th percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakHour {
    /// `14:00`.
    pub clock: String,
    /// Its 95th percentile.
    pub p95: Value,
}

/// An hour of a day of the week over all weeks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeekHour {
    /// `14:00`.
    pub clock: String,
    /// From 0 for the lowest to 4 for the highest fifth of the highest hour's mean; null where
    /// nothing is known.
    pub shade: Option<u8>,
    /// The mean.
    pub mean: Option<Value>,
    /// The median.
    pub p50: Option<Value>,
    /// The 95th percentile.
    pub p95: Option<Value>,
}

/// What a shade means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShadeView {
    /// From 0 to 4.
    pub shade: u8,
    /// The smallest mean that has it.
    pub from: Value,
}

/// Demand from the first instant to the last in equal steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CourseView {
    /// What the printed numbers are counted in.
    pub printed_in: String,
    /// The length of a row.
    pub row_length: Value,
    /// The rows.
    pub rows: Vec<CourseRow>,
}

/// One step of the course.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CourseRow {
    /// Its start.
    pub at: Moment,
    /// Its start as it is printed.
    pub clock: String,
    /// Its mean; null where nothing is known.
    pub mean: Option<Value>,
    /// Its highest value.
    pub max: Option<Value>,
}
