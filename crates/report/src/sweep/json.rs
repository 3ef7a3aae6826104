//! A sweep as JSON text, its schema, and reading it back.

use super::{SWEEP_FORMAT, SWEEP_VERSION, SweepReport};
use crate::json::{ReadError, expect_format, pretty};

/// The sweep as pretty JSON with a fixed order of keys, ending in a newline. The same sweep gives the same
/// bytes.
pub fn sweep_to_json(report: &SweepReport) -> String {
    pretty(report)
}

/// The JSON Schema of a sweep.
pub fn sweep_schema() -> serde_json::Value {
    schemars::schema_for!(SweepReport).to_value()
}

/// Reads a sweep back.
///
/// # Errors
/// Where the text is none, or a newer program wrote it.
pub fn sweep_from_json(text: &str) -> Result<SweepReport, ReadError> {
    expect_format(text, SWEEP_FORMAT, SWEEP_VERSION)?;
    Ok(serde_json::from_str(text)?)
}
