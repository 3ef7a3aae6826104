//! The one door: what a file is, told by its content, and its numbers in one neutral form.
//!
//! Every recogniser is shown the beginning of the text and says by what it knows the file. A sure
//! one reads it, and what then stands in the way is the refusal; those that are not sure are tried in
//! turn. The name of the file only decides whom to try first. Compression (gzip, zstd) and encoding
//! (UTF-16 with its mark) are told by the first bytes. At most [`WHOLE_BYTES_MAX`] bytes of text are
//! held; traces, tables of rates and logs may be longer, for they are read as a stream.

mod answer;
mod benchmarks;
mod content;
mod dashboard;
mod devices;
mod door;
mod fields;
mod foreign;
mod kubernetes;
mod log;
mod look;
mod mig;
mod own;
mod quantiles;
mod schedulers;
mod scrape;
mod tables;

pub use content::WHOLE_BYTES_MAX;
pub use door::{ReadFile, contradictions, read, read_file};
