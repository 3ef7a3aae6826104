//! What all units together need in one slot of the week, in GPUs.

use std::time::Duration;

use super::demand::UnitDemand;
use super::gpus::gpus_for;
use super::inside::{Inside, inside};
use super::question::ReserveQuestion;
use super::slot::{Basis, BoundsOfPools, SlotNeed};
use super::tail::{NoTail, Tail, tail_of};
use crate::demand::WorkUnit;
use crate::site::ReplicaCapacity;

/// One unit with everything that its slots are judged by.
pub(super) struct Unit<'a> {
    /// Its demand.
    pub demand: &'a UnitDemand,
    /// ε; `None` takes the highest that was seen.
    pub epsilon: Option<f64>,
    /// The tail of its bursts, or why there is none.
    pub tail: Result<Tail, NoTail>,
    /// What its steps hide, where they are longer than a reclaim and something says so.
    pub inside: Option<Inside>,
    known: BoundsOfPools,
}

impl<'a> Unit<'a> {
    /// Fits what is to be fitted once for all slots.
    pub(super) fn new(
        question: &ReserveQuestion<'_>,
        demand: &'a UnitDemand,
        reclaim: Option<Duration>,
    ) -> Self {
        let epsilon = question.epsilon();
        let seen = demand.bursts_seen;
        let tail = if seen { tail_of(demand, epsilon) } else { Err(NoTail::NotAsked) };
        // Steps of a second hide nothing that a rate per second or a number in flight could show.
        let hidden = !seen && demand.resolution_s > 1.0;
        let inside = if hidden { inside(question, demand.unit, reclaim) } else { None };
        Self { demand, epsilon, tail, inside, known: BoundsOfPools::new() }
    }

    /// The need in a slot of the week; `None` where the history shows nothing at all.
    pub(super) fn need(&mut self, slot: u32, reclaimable: bool) -> Option<SlotNeed> {
        let basis = Basis {
            demand: self.demand,
            epsilon: self.epsilon,
            reclaimable,
            tail: self.tail.as_ref().ok(),
            inside: self.inside.as_ref(),
        };
        basis.need(slot, &mut self.known)
    }
}

/// What all units together need in one slot of the week.
pub(super) struct SlotAnswer {
    /// The need of each unit, in their order.
    pub needs: Vec<Option<SlotNeed>>,
    /// The unit that needs most.
    pub binding: WorkUnit,
    /// GPUs for the level.
    pub level: u32,
    /// GPUs for level and burst.
    pub top: u32,
    /// GPUs for the peak.
    pub peak: u32,
    /// Whether the history supports the risk tolerance in every unit.
    pub supported: bool,
}

impl SlotAnswer {
    /// Puts the needs of all units side by side. `reclaimable`: whether a time to reclaim is known.
    pub(super) fn new(
        units: &mut [Unit<'_>],
        slot: u32,
        capacity: &ReplicaCapacity,
        reclaimable: bool,
    ) -> Self {
        let needs: Vec<Option<SlotNeed>> =
            units.iter_mut().map(|unit| unit.need(slot, reclaimable)).collect();
        let seen = || {
            units.iter().zip(&needs).filter_map(|(unit, need)| Some((unit.demand, need.as_ref()?)))
        };
        let gpus = |value: fn(&SlotNeed) -> f64| {
            seen()
                .filter_map(|(demand, need)| gpus_for(capacity, demand.unit, value(need)))
                .max()
                .unwrap_or(0)
        };
        Self {
            binding: binding(seen()),
            level: gpus(|need| need.level),
            top: gpus(|need| need.top),
            peak: gpus(|need| need.peak),
            supported: needs.iter().flatten().all(|need| need.supported),
            needs,
        }
    }
}

/// The unit that needs the most replicas, the first of several. Whole replicas are often the same
/// for several units: the fraction tells which one binds.
fn binding<'a>(needs: impl Iterator<Item = (&'a UnitDemand, &'a SlotNeed)>) -> WorkUnit {
    let mut most: Option<(WorkUnit, f64)> = None;
    for (demand, need) in needs.filter(|(demand, _)| demand.unit != WorkUnit::Gpus) {
        let replicas = need.top / demand.figure;
        if most.is_none_or(|(_, highest)| replicas > highest) {
            most = Some((demand.unit, replicas));
        }
    }
    most.map_or(WorkUnit::Gpus, |(unit, _)| unit)
}
