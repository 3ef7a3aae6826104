//! What a replica is doing between two moments at which its batch can change.

use super::request::Sequence;
use crate::units::Picoseconds;

/// Passes that follow each other with one batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    pub(super) from: Picoseconds,
    pub(super) until: Picoseconds,
    pub(super) passes: u64,
    pub(super) first: Picoseconds,
    pub(super) growth: Picoseconds,
    /// Sequences that decode in each pass, those that decode here for the first time left out.
    pub(super) sequences: u64,
    pub(super) prefill_tokens: u64,
    /// Blocks taken already, for the first pass.
    pub(super) blocks_taken: u64,
    /// Sequences that get their next token at the end of this one pass, and join those that decode.
    pub(super) entering: Vec<Sequence>,
}

impl Flight {
    /// How long the first `passes` of it take: n·first + growth·n(n − 1)/2.
    pub(super) fn duration(&self, passes: u64) -> Picoseconds {
        let pairs = passes.saturating_mul(passes.saturating_sub(1)) / 2;
        self.first * passes + self.growth * pairs
    }

    /// The fewest passes, at least 1, that are not over before `now`.
    pub(super) fn passes_by(&self, now: Picoseconds) -> u64 {
        let elapsed = now - self.from;
        let (mut low, mut high) = (1, self.passes);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.duration(middle) >= elapsed {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// How many passes are over at `now`, the one that ends then included.
    pub(super) fn passes_over(&self, now: Picoseconds) -> u64 {
        let passes = self.passes_by(now);
        if self.duration(passes) <= now - self.from { passes } else { passes - 1 }
    }

    /// Ends with the pass that is running at `now`, or that ends then.
    pub(super) fn cut(&mut self, now: Picoseconds) {
        self.passes = self.passes_by(now);
        self.until = self.from + self.duration(self.passes);
    }
}
