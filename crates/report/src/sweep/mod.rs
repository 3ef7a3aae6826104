//! What-ifs side by side, as one report value, and its renderings.

mod build;
mod curves;
mod html;
mod indexed_job;
mod json;
mod model;
mod pools;
mod terminal;

pub use build::{SweepInputs, build_sweep};
pub use html::render_sweep_html;
pub use indexed_job::{IndexedJob, SWEEP_MOUNT, indexed_job_yaml};
pub use json::{sweep_from_json, sweep_schema, sweep_to_json};
pub use model::{
    SweepAxisView, SweepChart, SweepJobView, SweepLine, SweepPointView, SweepReport,
    SweepServiceView,
};
pub use terminal::render_sweep_terminal;

/// The `format` field of every sweep.
pub const SWEEP_FORMAT: &str = "cotenant-sweep";

/// The `version` field of the sweeps that this crate writes. It grows when a field changes its meaning or
/// goes; a new field leaves it as it is.
pub const SWEEP_VERSION: u32 = 1;
