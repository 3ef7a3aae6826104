//! The guard while a block runs: it looks at the load, and says when the neighbour must go.

use std::time::Duration;

use cotenant_core::guard::{GUARD_WINDOW_DEFAULT, Trip, tripped};
use cotenant_core::site::Guard;

use crate::clock::monotonic_ns;
use crate::load::Live;

/// Pause between two looks. Shorter than any bound that is worth declaring.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A guard with the load that it looks at.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    guard: Guard,
    live: Live,
    zero_ns: u64,
}

impl Watch {
    /// A guard over the load of a block that began at `zero_ns`.
    pub(super) fn new(guard: &Guard, zero_ns: u64) -> Self {
        let window = guard.window.unwrap_or(GUARD_WINDOW_DEFAULT);
        Self { guard: guard.clone(), live: Live::new(window), zero_ns }
    }

    /// What the load client tells.
    pub(super) fn live(&self) -> Live {
        self.live.clone()
    }

    /// Returns when a bound is broken, and not before.
    pub(super) async fn trip(&self) -> Trip {
        loop {
            let now_ns = monotonic_ns().saturating_sub(self.zero_ns);
            if let Some(trip) = tripped(&self.guard, &self.live.look(now_ns)) {
                return trip;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
