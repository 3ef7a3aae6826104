//! A site file begun from what was found on a machine.
//!
//! What was found and has a field is a field with where it comes from; what has none is a remark. What was
//! not found is a line that is commented out, with the reason and an example. The file is valid as it is
//! written. What nobody can find, the objectives and the demand of a workload, stands as a placeholder of
//! which no test can make a PASS.

mod document;
mod server;
mod sharing;
mod sheet;
mod workloads;

pub use document::{draft, open_points};
