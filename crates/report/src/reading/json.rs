//! The view of files as JSON text, its schema, and reading it back.

use super::{READING_FORMAT, READING_VERSION, ReadingReport};
use crate::json::{ReadError, expect_format, pretty};

/// The view as pretty JSON with a fixed order of keys, ending in a newline. The same files give the
/// same bytes.
pub fn reading_to_json(report: &ReadingReport) -> String {
    pretty(report)
}

/// The JSON Schema of the view.
pub fn reading_schema() -> serde_json::Value {
    schemars::schema_for!(ReadingReport).to_value()
}

/// Reads a view back.
///
/// # Errors
/// Where the text is none, or a newer program wrote it.
pub fn reading_from_json(text: &str) -> Result<ReadingReport, ReadError> {
    expect_format(text, READING_FORMAT, READING_VERSION)?;
    Ok(serde_json::from_str(text)?)
}
