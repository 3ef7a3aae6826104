//! Which GPUs are held, and how long they were not.

use crate::units::Picoseconds;

/// The GPUs of a place.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    holders: Vec<u32>,
    free_since: Vec<Picoseconds>,
    free: Picoseconds,
}

impl Hold {
    pub(super) fn new(gpus: usize) -> Self {
        let free_since = vec![Picoseconds::ZERO; gpus];
        Self { holders: vec![0; gpus], free_since, free: Picoseconds::ZERO }
    }

    pub(super) fn gpus(&self) -> u64 {
        self.holders.len() as u64
    }

    /// Somebody more holds these.
    pub(super) fn take(&mut self, now: Picoseconds, gpus: &[u32]) {
        for gpu in gpus.iter().map(|gpu| *gpu as usize) {
            if let (Some(holders), Some(since)) =
                (self.holders.get_mut(gpu), self.free_since.get(gpu))
            {
                if *holders == 0 {
                    self.free += now - *since;
                }
                *holders += 1;
            }
        }
    }

    /// Somebody holds these no more.
    pub(super) fn give(&mut self, now: Picoseconds, gpus: &[u32]) {
        for gpu in gpus.iter().map(|gpu| *gpu as usize) {
            if let (Some(holders), Some(since)) =
                (self.holders.get_mut(gpu), self.free_since.get_mut(gpu))
            {
                *holders = holders.saturating_sub(1);
                *since = now;
            }
        }
    }

    /// GPU-time in which nobody held a GPU, up to now.
    pub(super) fn free(&self, now: Picoseconds) -> Picoseconds {
        let free = self.holders.iter().zip(&self.free_since).filter(|(holders, _)| **holders == 0);
        self.free + free.map(|(_, since)| now - *since).sum()
    }
}
