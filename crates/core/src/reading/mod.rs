//! What a file of any kind turned out to hold, in one neutral form: its kind, who wrote it, its
//! numbers with their units, what was passed over, and what it cannot be used for. What is not there
//! is absent with its reason.

mod kind;
mod model;
mod refusal;

pub use kind::FileKind;
pub use model::{Column, Fact, Figure, FileReading, LINES_KEPT_MAX, Limit, ROWS_KEPT_MAX, Table};
pub use refusal::{FileRefusal, RefusalCause};
