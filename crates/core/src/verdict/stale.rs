//! Tests that were made on another stack or load than today's.

use crate::evidence::{Condition, Run};
use crate::site::{Site, Workload};

use super::expected::Expected;
use super::judge::{tested_inference, tested_neighbour};
use super::pool::Pool;

/// A test of a run that does not count any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The run.
    pub run: String,
    /// Its test.
    pub condition: Condition,
    /// What differs: "driver: 580.1 there, 590.2 now".
    pub what: String,
}

/// The stale tests among some runs, each with everything that differs from what is declared or was
/// seen last, oldest run first.
pub fn stale(site: &Site, runs: &[Run]) -> Vec<Stale> {
    let neighbour = tested_neighbour(site, runs);
    let training = neighbour.and_then(Workload::job);
    let expected = Expected::new(site, tested_inference(site, runs), neighbour, training);
    Pool::new(runs, expected)
        .map(|pool| pool.differences)
        .unwrap_or_default()
        .into_iter()
        .map(|difference| Stale {
            run: difference.run,
            condition: difference.condition,
            what: difference.what,
        })
        .collect()
}
