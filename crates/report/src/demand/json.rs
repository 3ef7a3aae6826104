//! Demand as JSON text, its schema, and reading it back.

use super::{DEMAND_FORMAT, DEMAND_VERSION, DemandReport};
use crate::json::{ReadError, expect_format, pretty};

/// The demand as pretty JSON with a fixed order of keys, ending in a newline. The same demand gives
/// the same bytes.
pub fn demand_to_json(report: &DemandReport) -> String {
    pretty(report)
}

/// The JSON Schema of the view of demand.
pub fn demand_schema() -> serde_json::Value {
    schemars::schema_for!(DemandReport).to_value()
}

/// Reads a view of demand back.
///
/// # Errors
/// Where the text is none, or a newer program wrote it.
pub fn demand_from_json(text: &str) -> Result<DemandReport, ReadError> {
    expect_format(text, DEMAND_FORMAT, DEMAND_VERSION)?;
    Ok(serde_json::from_str(text)?)
}
