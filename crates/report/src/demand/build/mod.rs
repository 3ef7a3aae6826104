//! From profiles and forecasts to the view of demand. Every number is turned into text here, once.

mod clock;
mod course;
mod forecast;
mod gaps;
mod inputs;
mod report;
mod scale;
mod unit;
mod week;

pub use inputs::{DemandInputs, DemandUnit};
pub use report::build_demand;
