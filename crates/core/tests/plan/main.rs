//! The plan of a site, from its jobs to the word: by hand where a number can be computed by hand, and
//! by what must always hold.

#![expect(clippy::unwrap_used, reason = "a test may stop where its own site is not as made")]

mod backtests;
mod candidates;
mod carried;
mod certificates;
mod gates;
mod jobs;
mod latencies;
mod pace;
mod simulated;
mod support;
mod sweeps;
mod whole;
