//! What happens next: the total order.

use super::serving::{Arrival, Serving};
use super::state::{SlotState, World};
use crate::units::Picoseconds;

/// What happens, in the order in which it does at one moment: first what ends, then what was
/// decided for this moment, then what is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Something in a replica.
    Replica,
    /// Something in a job.
    Job,
    /// A replica has come, has drained long enough, or has gone.
    Change,
    /// A job is lost without a warning.
    Loss,
    /// The calendar is looked at.
    Calendar,
    /// The demand of a service changes.
    Demand,
    /// A service asks GPUs back, or lends them again.
    Reclaim,
    /// Somebody has waited too long.
    Queue,
    /// A request arrives.
    Arrival,
    /// It is looked at how full the replicas of a service are.
    Sample,
    /// A replica begins what waited for everything else at this moment.
    Begin,
}

/// One thing that happens: when, what, to whom.
pub(super) type Happening = (Picoseconds, Kind, usize);

impl<S, A, F> World<S, A, F>
where
    S: Serving,
    A: Iterator<Item = Arrival<S::Request>>,
    F: FnMut(u32) -> S,
{
    /// The next thing that happens.
    pub(super) fn next_happening(&self) -> Option<Happening> {
        let mut first: Option<Happening> = None;
        let mut consider = |at: Option<Picoseconds>, kind: Kind, number: usize| {
            if let Some(at) = at {
                let one = (at, kind, number);
                first = Some(first.map_or(one, |first| first.min(one)));
            }
        };
        for (number, slot) in self.slots.iter().enumerate() {
            if matches!(slot.state, SlotState::Up | SlotState::Draining) {
                consider(slot.serving.next(), Kind::Replica, number);
                consider(slot.serving.begins(), Kind::Begin, number);
            }
            // Whoever was asked about may have gone on to this moment by that.
            if slot.is_drained() {
                consider(Some(self.now), Kind::Replica, number);
            }
            consider(slot.until, Kind::Change, number);
        }
        for (number, job) in self.jobs.iter().enumerate() {
            let at = if job.is_unseen() { Some(self.now) } else { job.run.next() };
            consider(at, Kind::Job, number);
            consider(job.loss_at, Kind::Loss, number);
        }
        consider(self.calendar_at, Kind::Calendar, 0);
        for (number, service) in self.services.iter().enumerate() {
            consider(service.next_demand(), Kind::Demand, number);
            consider(service.reclaim_at, Kind::Reclaim, number);
            consider(service.queue_at, Kind::Queue, number);
            consider(service.sample_at, Kind::Sample, number);
        }
        consider(self.arrival.as_ref().map(|it| it.at), Kind::Arrival, 0);
        first
    }
}
