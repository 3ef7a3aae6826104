//! Observation of the host, each source on its own.

mod process;

pub use process::{Identity, ProcessStat, ProcessTable, parse_process_stat, read_process};
