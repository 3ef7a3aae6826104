//! What is asked of a pool, and how far it has come.

use super::placement::Place;
use crate::units::Picoseconds;

/// A gang of pods that runs together or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its number, which no other one has.
    pub id: u64,
    /// The number of its queue.
    pub queue: u16,
    /// The number of the flavour of GPU that it needs.
    pub flavour: u16,
    /// Larger ones go first.
    pub priority: i32,
    /// When it comes.
    pub at: Picoseconds,
    /// Pods, each of which is on one node.
    pub pods: u32,
    /// GPUs of each pod.
    pub gpus_per_pod: u32,
    /// How long it holds its GPUs at each start before it works.
    pub start: Picoseconds,
    /// How long it works in all.
    pub work: Picoseconds,
    /// Work after which it saves, each time; what it did since is lost when it is stopped. `None` for
    /// one that begins again.
    pub checkpoint: Option<Picoseconds>,
    /// How long after its arrival it should be done.
    pub deadline: Option<Picoseconds>,
}

impl Workload {
    /// GPUs of the whole gang.
    pub fn gpus(&self) -> u64 {
        u64::from(self.pods) * u64::from(self.gpus_per_pod)
    }
}

/// Where a workload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not there yet.
    #[default]
    Ahead,
    /// Without quota.
    Waiting,
    /// Staying away after a wait for places that took too long.
    Away,
    /// With quota, without places.
    Placing,
    /// On its nodes.
    Running,
    /// Stopped and not gone yet.
    Leaving,
    /// Finished.
    Done,
}

/// How far a workload has come.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) phase: Phase,
    /// Since when it is there.
    pub(super) since: Picoseconds,
    /// What its age in its queue is counted from.
    pub(super) order_at: Picoseconds,
    /// When quota admitted it last.
    pub(super) admitted_at: Picoseconds,
    /// When quota admitted it first.
    pub(super) first_admitted_at: Option<Picoseconds>,
    /// Counts its admissions and releases, so that what was planned for an earlier one is known to be stale.
    pub(super) attempt: u32,
    /// Work that is saved.
    pub(super) kept: Picoseconds,
    pub(super) quota_wait: Picoseconds,
    pub(super) placement_wait: Picoseconds,
    /// Time on its nodes.
    pub(super) held: Picoseconds,
    pub(super) starts: u32,
    pub(super) preemptions: u32,
    pub(super) timeouts: u32,
    pub(super) places: Vec<Place>,
}

impl State {
    /// Takes it from one phase to the next, and counts the time of the one that ends.
    pub(super) fn turn(&mut self, now: Picoseconds, phase: Phase) {
        let time = now - self.since;
        match self.phase {
            Phase::Waiting => self.quota_wait += time,
            Phase::Away | Phase::Placing => self.placement_wait += time,
            Phase::Running | Phase::Leaving => self.held += time,
            Phase::Ahead | Phase::Done => {}
        }
        self.phase = phase;
        self.since = now;
    }

    /// Work that is saved when it is stopped now, and work that is lost by it.
    pub(super) fn stopped(
        &self,
        now: Picoseconds,
        workload: &Workload,
    ) -> (Picoseconds, Picoseconds) {
        let done = self.kept + ((now - self.since) - workload.start);
        let kept = workload.checkpoint.map_or(Picoseconds::ZERO, |every| {
            Picoseconds(done.0 / every.0.max(1) * every.0.max(1)).max(self.kept)
        });
        (kept, done - kept)
    }
}
