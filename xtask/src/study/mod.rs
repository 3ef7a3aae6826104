//! The study behind the verdict's rule: seeded samples whose true share of misses is known, put
//! through the product's own functions from the latency series on.

mod cells;
mod command;
mod tables;
#[cfg(test)]
mod tests;
mod trial;
mod truth;

pub(crate) use command::{StudyArguments, run};
