//! The plan as JSON text, its schema, and reading it back.

use super::{PLAN_FORMAT, PLAN_VERSION, PlanReport};
use crate::json::{ReadError, expect_format, pretty};

/// The plan as pretty JSON with a fixed order of keys, ending in a newline. The same plan gives the
/// same bytes.
pub fn plan_to_json(report: &PlanReport) -> String {
    pretty(report)
}

/// The JSON Schema of the plan.
pub fn plan_schema() -> serde_json::Value {
    schemars::schema_for!(PlanReport).to_value()
}

/// Reads a plan back.
///
/// # Errors
/// Where the text is not a plan, or a newer program wrote it.
pub fn plan_from_json(text: &str) -> Result<PlanReport, ReadError> {
    expect_format(text, PLAN_FORMAT, PLAN_VERSION)?;
    Ok(serde_json::from_str(text)?)
}
