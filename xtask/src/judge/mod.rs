//! An independent judge of calendars: the schedule's question posed to a solver of mixed integer
//! programs (HiGHS), whose answers no bound and no value of ours may contradict.

mod command;
mod program;
mod questions;
mod ruling;
mod solver;
#[cfg(test)]
mod tests;

pub(crate) use command::{JudgeArguments, run};
