//! Readers of request traces: Azure CSV, Mooncake JSONL, and any CSV or JSONL whose columns are
//! named. Plain or gzip, told by the first bytes; the format by content. A row that cannot be read
//! is an error with its place: nothing is dropped.

mod columns;
mod csv_line;
mod error;
mod lines;
mod read;
mod time;

pub use columns::{ColumnMap, TimeUnit, TraceFormat};
pub use error::TraceError;
pub use read::{ReadOptions, Trace, TraceRequest, read, read_file};
