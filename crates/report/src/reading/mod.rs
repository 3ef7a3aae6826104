//! What files were read as, as one report value, and its renderings.

mod build;
mod json;
pub mod model;
mod terminal;

pub use build::{ReadInput, build_reading};
pub use json::{reading_from_json, reading_schema, reading_to_json};
pub use model::ReadingReport;
pub use terminal::render_reading_terminal;

/// The `format` field of every view of files.
pub const READING_FORMAT: &str = "cotenant-reading";

/// The `version` field of the views that this crate writes. It grows when a field changes its
/// meaning or goes; a new field leaves it as it is.
pub const READING_VERSION: u32 = 1;
