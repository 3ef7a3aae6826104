//! Where a job's time went.

use crate::units::Picoseconds;

/// The time that a job held GPUs, each moment in one line; and its units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Starting or restoring.
    pub starting: Picoseconds,
    /// Working, what was lost included.
    pub working: Picoseconds,
    /// Standing still for a save.
    pub saving: Picoseconds,
    /// Leaving: from the last useful moment to memory free.
    pub leaving: Picoseconds,
    /// Of [`Self::working`], work that was lost and is done again, the unit it was in included.
    pub lost: Picoseconds,
    /// The four lines together, each times the GPUs that were held: GPU-time.
    pub gpu_time: Picoseconds,
    /// Of [`Self::gpu_time`], what was spent working.
    pub gpu_time_working: Picoseconds,
    /// Units that were finished, those that were lost afterwards included.
    pub units_done: u64,
    /// Units that were finished and lost.
    pub units_lost: u64,
    /// Saves that were completed.
    pub saves: u64,
    /// Times that it was stopped for somebody else.
    pub stops: u64,
    /// Of these, how often its notice ran out, so that it was ended by force.
    pub forced: u64,
    /// Losses that nothing announced.
    pub losses: u64,
}

impl Ledger {
    /// The time that it held GPUs.
    pub fn held(&self) -> Picoseconds {
        self.starting + self.working + self.saving + self.leaving
    }
}
