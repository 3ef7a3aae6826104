//! What the load is by time, as one report value, and its renderings.

mod build;
mod json;
pub mod model;
mod terminal;

pub use build::{DemandInputs, DemandUnit, build_demand};
pub use json::{demand_from_json, demand_schema, demand_to_json};
pub use model::DemandReport;
pub use terminal::render_demand_terminal;

/// The `format` field of every view of demand.
pub const DEMAND_FORMAT: &str = "cotenant-demand";

/// The `version` field of the views that this crate writes. It grows when a field changes its
/// meaning or goes; a new field leaves it as it is.
pub const DEMAND_VERSION: u32 = 1;
