//! How near to its capacity a server is, and whether its latencies can be foretold there.

use super::engine::{Replica, ReplicaSpec, SimRequest, SpecProblem};
use super::outcome::Outcome;
use crate::units::Picoseconds;

/// What a replica carries while requests never lack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Requests a second.
    pub requests_per_s: f64,
    /// Tokens given a second.
    pub output_tokens_per_s: f64,
    /// Mean number of decoding sequences.
    pub batch_mean: f64,
}

/// Simulates one replica to which requests of a mix of lengths come without an end: each time one
/// ends, the next is there. The first and the last quarter are cut off, since the batch fills in the
/// one and empties in the other. `None` where fewer than eight requests can be served.
pub fn capacity(
    spec: ReplicaSpec,
    requests: impl IntoIterator<Item = SimRequest>,
) -> Result<Option<Capacity>, SpecProblem> {
    let spec = ReplicaSpec { requests_max: None, ..spec };
    let mut replica = Replica::new(0, spec)?;
    let mut seen = Served::default();
    for request in requests {
        let request = SimRequest { at: Picoseconds::ZERO, ..request };
        replica.offer(Picoseconds::ZERO, request, &mut seen);
    }
    replica.advance(Picoseconds::MAX, &mut seen);
    Ok(seen.capacity())
}

/// The moments at which requests ended, and their tokens.
#[derive(Default)]
struct Served {
    outcome: Outcome,
    ends: Vec<(Picoseconds, u32)>,
}

impl Served {
    fn capacity(&self) -> Option<Capacity> {
        let quarter = self.ends.len() / 4;
        let (first, last) = (self.ends.get(quarter)?, self.ends.get(3 * quarter)?);
        let seconds = (last.0 - first.0).seconds();
        if quarter < 2 || seconds <= 0.0 {
            return None;
        }
        let between = &self.ends[quarter + 1..=3 * quarter];
        let tokens: u64 = between.iter().map(|(_, tokens)| u64::from(*tokens)).sum();
        Some(Capacity {
            requests_per_s: between.len() as f64 / seconds,
            output_tokens_per_s: tokens as f64 / seconds,
            batch_mean: self.outcome.batch_mean()?,
        })
    }
}

impl super::engine::Watcher for Served {
    fn passes(&mut self, run: &super::engine::PassRun) {
        self.outcome.passes(run);
    }

    fn finished(&mut self, request: &SimRequest, tokens: super::engine::Tokens) {
        self.ends.push((tokens.last_at, request.output_tokens));
    }
}

/// The load ρ, as a share of capacity, with what the error of the capacity makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadMargin {
    /// Offered rate by capacity.
    pub rho: f64,
    /// The same if the capacity is larger by its error.
    pub low: f64,
    /// The same if the capacity is smaller by its error; infinite for an error of 1 or more.
    pub high: f64,
}

/// Whether latencies can be told at a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictable {
    /// The load is below capacity, whatever the error.
    Yes,
    /// Capacity may lie on either side of the load: a small error of the one makes any latency.
    No,
    /// The load is above capacity, whatever the error: the queue grows for as long as it lasts.
    Overloaded,
}

impl LoadMargin {
    /// The margin of an offered rate, in requests a second, against a capacity that may be wrong by
    /// `relative_error` (0.05 is five per cent).
    pub fn new(offered_per_s: f64, capacity_per_s: f64, relative_error: f64) -> Self {
        let rho = offered_per_s / capacity_per_s;
        let smaller = 1.0 - relative_error;
        Self {
            rho,
            low: rho / (1.0 + relative_error),
            high: if smaller > 0.0 { rho / smaller } else { f64::INFINITY },
        }
    }

    /// Whether latencies can be told. Where ρ cannot be told from 1 the answer is no number. What
    /// is not a number is not predictable.
    pub fn predictable(&self) -> Predictable {
        if self.high < 1.0 {
            Predictable::Yes
        } else if self.low > 1.0 {
            Predictable::Overloaded
        } else {
            Predictable::No
        }
    }
}
