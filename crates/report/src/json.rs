//! The report as JSON text, its schema, and reading it back.

use serde::Deserialize;

use crate::{FORMAT, Report, VERSION};

/// Why a text is not a report that this program can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON of this shape.
    #[error("not a Cotenant report: {0}")]
    Shape(#[from] serde_json::Error),
    /// Its `format` field is something else.
    #[error("not a Cotenant report: its format is `{0}`")]
    Format(String),
    /// A newer program wrote it.
    #[error("report version {found} is newer than version {known}, which this program can read")]
    Newer {
        /// The version found.
        found: u32,
        /// The newest version that can be read.
        known: u32,
    },
}

/// The report as pretty JSON with a fixed order of keys, ending in a newline. The same report gives
/// the same bytes. Numbers without limit are null, with `"state": "unbounded"` beside them.
pub fn to_json(report: &Report) -> String {
    pretty(report)
}

/// A value of ours as pretty JSON, ending in a newline.
pub(crate) fn pretty(report: &impl serde::Serialize) -> String {
    // The report holds only text, numbers, lists and structs with text keys, and serde_json prints
    // a number that is not finite as null: nothing in it can fail to be printed.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the report.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

/// Reads a report back.
///
/// # Errors
/// Where the text is not a report, or a newer program wrote it.
pub fn from_json(text: &str) -> Result<Report, ReadError> {
    expect_format(text, FORMAT, VERSION)?;
    Ok(serde_json::from_str(text)?)
}

/// Whether a text is of a format and of a version that this program can read.
pub(crate) fn expect_format(text: &str, format: &str, version: u32) -> Result<(), ReadError> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
        version: u32,
    }
    let head: Head = serde_json::from_str(text)?;
    if head.format != format {
        return Err(ReadError::Format(head.format));
    }
    if head.version > version {
        return Err(ReadError::Newer { found: head.version, known: version });
    }
    Ok(())
}
