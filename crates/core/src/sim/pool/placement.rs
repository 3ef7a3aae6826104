//! Which node has how many GPUs free, and who waits for them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::outcome::GpuTime;
use super::spec::{Flavour, Packing};
use crate::units::Picoseconds;

/// GPUs of one node that somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    node: u32,
    gpus: u32,
}

/// A gang that waits for places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gang {
    pub(super) priority: Reverse<i32>,
    /// Counts admissions.
    pub(super) admission: u64,
    pub(super) index: u32,
    pub(super) pods: u32,
    pub(super) gpus_per_pod: u32,
}

/// The nodes of one flavour.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    packing: Packing,
    free: Vec<u32>,
    /// The nodes that have so many GPUs free.
    by_free: Vec<BTreeSet<u32>>,
    free_gpus: u64,
    capacity: u64,
    waiting: BTreeSet<Gang>,
    /// Whether something changed since all that wait were tried.
    changed: bool,
    since: Picoseconds,
    pub(super) free_time: GpuTime,
    pub(super) fragmented_time: GpuTime,
}

impl Nodes {
    pub(super) fn new(flavour: &Flavour, packing: Packing) -> Self {
        let each = |group: &super::spec::NodeGroup| {
            std::iter::repeat_n(group.gpus_each, group.nodes as usize)
        };
        let free: Vec<u32> = flavour.nodes.iter().flat_map(each).collect();
        let largest = free.iter().copied().max().unwrap_or(0) as usize;
        let mut by_free = vec![BTreeSet::new(); largest + 1];
        for (node, gpus) in (0..).zip(&free) {
            by_free[*gpus as usize].insert(node);
        }
        let capacity = free.iter().map(|gpus| u64::from(*gpus)).sum();
        Self {
            packing,
            free,
            by_free,
            free_gpus: capacity,
            capacity,
            waiting: BTreeSet::new(),
            changed: false,
            since: Picoseconds::ZERO,
            free_time: GpuTime::default(),
            fragmented_time: GpuTime::default(),
        }
    }

    /// Whether places are looked at in this flavour.
    pub(super) fn limited(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many pods of so many GPUs find a place now.
    pub(super) fn room(&self, gpus_per_pod: u32) -> u64 {
        let each = (0_u64..).zip(&self.by_free);
        each.map(|(free, nodes)| free / u64::from(gpus_per_pod.max(1)) * nodes.len() as u64).sum()
    }

    /// Counts the time since the last call, in which nothing changed.
    pub(super) fn pass(&mut self, now: Picoseconds) {
        let time = now - self.since;
        self.since = now;
        if !self.limited() || time == Picoseconds::ZERO {
            return;
        }
        let free = GpuTime::of(self.free_gpus, time);
        self.free_time += free;
        let first = self.waiting.first();
        let enough =
            |gang: &Gang| u64::from(gang.pods) * u64::from(gang.gpus_per_pod) <= self.free_gpus;
        if first.is_some_and(enough) {
            self.fragmented_time += free;
        }
    }

    pub(super) fn wait(&mut self, gang: Gang) {
        self.waiting.insert(gang);
        self.changed = true;
    }

    pub(super) fn leave(&mut self, index: u32) {
        self.waiting.retain(|gang| gang.index != index);
    }

    /// Places whoever can be placed, in the order of priority and admission; one that finds no place
    /// does not stop those behind it.
    pub(super) fn settle(&mut self) -> Vec<(u32, Vec<Place>)> {
        let mut placed = Vec::new();
        if !std::mem::take(&mut self.changed) {
            return placed;
        }
        let mut in_vain: Vec<(u32, u32)> = Vec::new();
        for gang in self.waiting.clone() {
            let more = |shape: &(u32, u32)| gang.pods >= shape.0 && gang.gpus_per_pod >= shape.1;
            if in_vain.iter().any(more) {
                continue;
            }
            match self.place(gang.pods, gang.gpus_per_pod) {
                Some(places) => {
                    self.waiting.remove(&gang);
                    placed.push((gang.index, places));
                }
                None => in_vain.push((gang.pods, gang.gpus_per_pod)),
            }
        }
        placed
    }

    fn place(&mut self, pods: u32, gpus_per_pod: u32) -> Option<Vec<Place>> {
        if self.room(gpus_per_pod) < u64::from(pods) {
            return None;
        }
        let mut places = Vec::with_capacity(pods as usize);
        for _ in 0..pods {
            let enough = self.by_free.iter().skip(gpus_per_pod as usize);
            let mut firsts = enough.filter_map(|nodes| nodes.first().copied());
            let node = match self.packing {
                Packing::BestFit => firsts.next(),
                Packing::FirstFit => firsts.min(),
            }?;
            let free = self.free[node as usize];
            self.set(node, free - gpus_per_pod);
            places.push(Place { node, gpus: gpus_per_pod });
        }
        Some(places)
    }

    pub(super) fn release(&mut self, places: &[Place]) {
        for place in places {
            let free = self.free[place.node as usize];
            self.set(place.node, free + place.gpus);
        }
        self.changed |= !places.is_empty();
    }

    fn set(&mut self, node: u32, free: u32) {
        let before = std::mem::replace(&mut self.free[node as usize], free);
        self.by_free[before as usize].remove(&node);
        self.by_free[free as usize].insert(node);
        self.free_gpus = self.free_gpus + u64::from(free) - u64::from(before);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::spec::NodeGroup;
    use super::*;

    fn nodes(packing: Packing, groups: &[(u32, u32)]) -> Nodes {
        let nodes = groups
            .iter()
            .map(|(nodes, gpus_each)| NodeGroup { nodes: *nodes, gpus_each: *gpus_each });
        Nodes::new(&Flavour { name: "h100".to_owned(), nodes: nodes.collect() }, packing)
    }

    #[test]
    fn a_pod_goes_to_the_fullest_node_or_to_the_first() {
        let mut best = nodes(Packing::BestFit, &[(1, 8), (1, 4), (1, 2)]);
        assert_eq!(best.place(1, 3), Some(vec![Place { node: 1, gpus: 3 }]));
        assert_eq!(
            best.place(2, 1),
            Some(vec![Place { node: 1, gpus: 1 }, Place { node: 2, gpus: 1 }])
        );
        let mut first = nodes(Packing::FirstFit, &[(1, 8), (1, 4), (1, 2)]);
        assert_eq!(first.place(1, 3), Some(vec![Place { node: 0, gpus: 3 }]));
    }

    #[test]
    fn a_gang_gets_all_its_places_or_none() {
        let mut two = nodes(Packing::BestFit, &[(2, 8)]);
        assert_eq!(two.place(3, 5), None);
        assert_eq!(two.free_gpus, 16);
        let places = two.place(2, 5).unwrap();
        assert_eq!((two.free_gpus, two.room(3), two.room(4)), (6, 2, 0));
        two.release(&places);
        assert_eq!((two.free_gpus, two.room(8)), (16, 2));
    }

    /// Whether pods find places, tried one node after the other.
    fn fits_plainly(free: &[u32], pods: u32, gpus_per_pod: u32) -> bool {
        let mut left = free.to_vec();
        (0..pods).all(|_| match left.iter_mut().find(|gpus| **gpus >= gpus_per_pod) {
            Some(gpus) => {
                *gpus -= gpus_per_pod;
                true
            }
            None => false,
        })
    }

    proptest! {
        /// A gang is placed exactly where there is room, no node gives more than it has, and what comes
        /// back is free again.
        #[test]
        fn no_node_gives_more_than_it_has(
            groups in prop::collection::vec((1..4_u32, 0..9_u32), 1..4),
            gangs in prop::collection::vec((1..5_u32, 1..6_u32, any::<bool>()), 0..40),
            first_fit: bool,
        ) {
            let packing = if first_fit { Packing::FirstFit } else { Packing::BestFit };
            let mut nodes = nodes(packing, &groups);
            let whole = nodes.free.clone();
            let mut held: Vec<Vec<Place>> = Vec::new();
            for (pods, gpus_per_pod, returns) in gangs {
                let room = fits_plainly(&nodes.free, pods, gpus_per_pod);
                let placed = nodes.place(pods, gpus_per_pod);
                prop_assert_eq!(placed.is_some(), room);
                held.extend(placed);
                if returns && !held.is_empty() {
                    nodes.release(&held.remove(0));
                }
                for (node, (free, all)) in (0..).zip(nodes.free.iter().zip(&whole)) {
                    let places = held.iter().flatten().filter(|place| place.node == node);
                    prop_assert_eq!(free + places.map(|place| place.gpus).sum::<u32>(), *all);
                }
                let free: u64 = nodes.free.iter().map(|gpus| u64::from(*gpus)).sum();
                prop_assert_eq!(nodes.free_gpus, free);
            }
        }
    }
}
