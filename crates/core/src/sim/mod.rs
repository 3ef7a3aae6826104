//! What would happen: requests, jobs, changes of hands and a calendar in one clock.

pub mod calibration;
pub mod candidates;
pub mod engine;
pub mod fleet;
mod histogram;
pub mod job;
pub mod latency;
mod margin;
mod outcome;
pub mod pool;
mod replications;
pub mod sweep;
pub mod transition;
pub mod world;

pub use histogram::Histogram;
pub use margin::{Capacity, LoadMargin, Predictable, capacity};
pub use outcome::{Backlog, Outcome};
pub use replications::Replications;
