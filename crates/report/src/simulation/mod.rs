//! What would happen, as one report value, and its renderings.

mod build;
mod json;
mod latency;
mod model;
mod terminal;

pub use build::{SimulationInputs, build_simulation};
pub use json::{simulation_from_json, simulation_schema, simulation_to_json};
pub use model::{LatencySection, SimulationReport};
pub use terminal::render_simulation_terminal;

/// The `format` field of every simulation.
pub const SIMULATION_FORMAT: &str = "cotenant-simulation";

/// The `version` field of the simulations that this crate writes. It grows when a field changes its
/// meaning or goes; a new field leaves it as it is.
pub const SIMULATION_VERSION: u32 = 1;
