//! Readers of request traces: Azure, Mooncake, BurstGPT and others by their columns, and any CSV or
//! JSONL whose columns are named. Plain, gzip or zstd, told by the first bytes; the format by
//! content. A row that cannot be read is an error with its place: nothing is dropped.

mod columns;
mod content;
mod csv_line;
mod error;
mod json_line;
mod lines;
mod read;
mod row;
mod stream;
mod time;

pub use columns::{ColumnMap, TimeUnit, TraceFormat};
pub use error::TraceError;
pub use read::{ReadOptions, Trace, TraceRequest, read, read_file};
pub use row::TraceRow;
pub use stream::{StreamSummary, stream};

pub(crate) use content::open as open_content;
pub(crate) use csv_line::cells as csv_cells;
pub(crate) use error::Problem;
pub(crate) use lines::Lines;
pub(crate) use read::open as open_file;
pub(crate) use stream::try_stream;
pub(crate) use time::{TimeReader, decimal};
