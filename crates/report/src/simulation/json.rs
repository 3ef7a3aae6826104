//! A simulation as JSON text, its schema, and reading it back.

use super::{SIMULATION_FORMAT, SIMULATION_VERSION, SimulationReport};
use crate::json::{ReadError, expect_format, pretty};

/// The simulation as pretty JSON with a fixed order of keys, ending in a newline. The same simulation
/// gives the same bytes.
pub fn simulation_to_json(report: &SimulationReport) -> String {
    pretty(report)
}

/// The JSON Schema of a simulation.
pub fn simulation_schema() -> serde_json::Value {
    schemars::schema_for!(SimulationReport).to_value()
}

/// Reads a simulation back.
///
/// # Errors
/// Where the text is none, or a newer program wrote it.
pub fn simulation_from_json(text: &str) -> Result<SimulationReport, ReadError> {
    expect_format(text, SIMULATION_FORMAT, SIMULATION_VERSION)?;
    Ok(serde_json::from_str(text)?)
}
