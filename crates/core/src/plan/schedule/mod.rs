//! The calendar's question answered: who runs when, and how far that is from the best.

mod answer;
mod assign;
mod audit;
mod draft;
mod dual;
mod exact;
mod flow;
mod price;
mod search;
mod shortage;
mod single;
mod solve;
mod task;
mod whole;

pub use answer::{Effort, JobOutcome, Shortage, Solution};
pub use assign::assign;
pub use audit::{Fault, Levels, WORK_TOLERANCE, audit, late_gpu_hours, outcomes};
pub use shortage::{shortage, shortages};
pub use solve::{solve, solve_unproven};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod trials;
