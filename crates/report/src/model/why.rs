//! Why inference is slower beside its neighbour, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Axis, MissingView, Table, Value};

/// What inference is sensitive to, what the neighbour presses on, and what both predict of test C.
/// It explains and judges nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyView {
    /// How to read it.
    pub note: String,
    /// One entry for each latency objective.
    pub outcomes: Vec<WhyOutcome>,
    /// Each dose of each resource, and what it made of each objective.
    pub responses: Table,
    /// What the neighbour presses on each resource.
    pub neighbour: Table,
    /// One chart for each objective.
    pub charts: Vec<ResponseChart>,
    /// What would supply what is not known.
    pub missing: Vec<MissingView>,
    /// What narrows what may be read from it.
    pub remarks: Vec<String>,
}

/// One objective: predicted beside measured, and what is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyOutcome {
    /// The objective's key: `ttft_p95`.
    pub key: String,
    /// Its name.
    pub title: String,
    /// The quantile with nothing stressed.
    pub alone: Value,
    /// C ÷ A as predicted.
    pub predicted: Value,
    /// C ÷ A as measured.
    pub measured: Value,
    /// Measured ÷ predicted.
    pub unexplained: Value,
    /// The likeliest cause, or that none explains it.
    pub cause: String,
}

/// What each resource makes of one objective, over how much it is pressed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseChart {
    /// The objective's key.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// What it shows in words.
    pub description: String,
    /// Pressure as a share of the largest that was tested.
    pub x: Axis,
    /// Factor on the quantile.
    pub y: Axis,
    /// One line a resource.
    pub series: Vec<ResponseSeries>,
    /// Why there is nothing to show, where there is nothing.
    pub missing: Option<String>,
}

/// One resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseSeries {
    /// Its name.
    pub label: String,
    /// Its doses, in order of pressure.
    pub points: Vec<ResponsePoint>,
    /// Where the neighbour stands, as a share of the largest tested pressure; `None` where that is
    /// not known. Above 1 it is beyond what was tested.
    pub neighbour_at: Option<f64>,
    /// All that in words.
    pub text: String,
}

/// One dose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponsePoint {
    /// Pressure as a share of the largest tested.
    pub at: f64,
    /// Lower end of the factor's interval; the factor itself where there is none.
    pub low: f64,
    /// The factor.
    pub factor: f64,
    /// Upper end of the factor's interval; the factor itself where there is none.
    pub high: f64,
}
