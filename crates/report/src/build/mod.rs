//! From evidence and a verdict to a report. Every number is computed here, once.

pub(crate) mod axes;
mod burst;
mod capacity;
mod charts;
mod facts;
mod formulas;
mod gates;
mod host;
mod inputs;
mod observed;
mod ordered;
mod pool;
mod reclaim;
mod report;
mod sample;
mod story;
mod tables;
mod timeline;
mod transitions;
mod why;

pub use inputs::{
    DeclaredCheckpoint, DeclaredLoad, DeclaredObjective, NextStepInput, ReportInputs, RequestClass,
};
pub use report::build;
