//! A plan as files of other tools. Each says what it cannot express.
//!
//! The exports are made from the report of a plan and not from the plan itself: whatever they write
//! is in the JSON, and a plan that was saved as JSON exports the same bytes as a fresh one.

mod csv;
mod ical;
mod kubernetes;
mod layout;
mod mps;
mod names;
mod slurm;
mod target;

pub use target::{Export, ExportFormat, ExportOptions, ExportRefusal, export};
