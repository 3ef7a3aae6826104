//! From a plan to its report. Every number is turned into text here, once.

mod blocks;
mod calendar;
mod days;
mod figures;
mod inputs;
mod legend;
mod overlap;
mod parts;
mod report;
mod reserve;
mod sharing;
mod simulated;
mod times;

pub use inputs::PlanInputs;
pub use parts::build_checks;
pub use report::build_plan;
