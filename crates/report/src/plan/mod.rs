//! A plan as one report value, and its three renderings.

mod build;
mod html;
mod json;
pub mod model;
mod terminal;

pub use build::{PlanInputs, build_checks, build_plan};
pub use html::render_plan_html;
pub use json::{plan_from_json, plan_schema, plan_to_json};
pub use model::PlanReport;
pub use terminal::{render_checks_terminal, render_plan_terminal};

/// The `format` field of every plan.
pub const PLAN_FORMAT: &str = "cotenant-plan";

/// The `version` field of the plans that this crate writes. It grows when a field changes its
/// meaning or goes; a new field leaves it as it is.
pub const PLAN_VERSION: u32 = 1;
