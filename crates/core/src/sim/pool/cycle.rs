//! One round of admission in one cohort.

use std::cmp::Reverse;

use super::pending::Kind;
use super::run::Pool;
use super::spec::Reclaim;
use super::workload::Phase;
use crate::units::Picoseconds;

/// What can be done for the head of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// It fits.
    Admit,
    /// It fits once these are gone.
    Stop(Vec<u32>),
    /// It is within its queue's quota, and nobody may be stopped for it.
    Blocked,
    /// It needs more than its queue's quota, and that is not free.
    NoRoom,
}

#[derive(Clone, Debug)]
struct Entry {
    index: u32,
    way: Way,
    order: (bool, Reverse<i32>, Picoseconds, u32),
}

/// What is set apart until a round ends.
#[derive(Debug, Default)]
struct Round {
    /// Queue, flavour and GPUs.
    reserved: Vec<(usize, usize, u64)>,
    leaving: Vec<u32>,
}

impl Pool {
    /// Takes the heads of all queues of a cohort once, and says whether another round can change
    /// anything.
    pub(super) fn cycle(&mut self, cohort: usize) -> bool {
        let mut entries = self.nominate(cohort);
        entries.sort_by_key(|entry| entry.order);
        let mut progress = false;
        let mut round = Round::default();
        for entry in entries {
            progress |= self.serve(entry, &mut round);
        }
        for (queue, flavour, gpus) in round.reserved {
            self.ledger.remove(self.now, queue, flavour, gpus);
        }
        for victim in &round.leaving {
            self.give_quota(*victim);
        }
        for victim in round.leaving {
            progress |= self.stop(victim);
        }
        progress
    }

    /// Does for a head what can be done, after those before it. True where it is admitted or stands
    /// aside.
    fn serve(&mut self, entry: Entry, round: &mut Round) -> bool {
        let (queue, flavour, gpus) = self.asks(entry.index);
        match entry.way {
            Way::NoRoom => self.put_aside(entry.index),
            Way::Blocked => {
                self.put_aside(entry.index);
                // Who can always get its own back need not keep it from others.
                if self.spec.queues[queue].reclaim != Reclaim::Any {
                    let own = self.ledger.nominal(queue, flavour);
                    let own = own.saturating_sub(self.ledger.used(queue, flavour)).min(gpus);
                    self.reserve(queue, flavour, own, round);
                }
            }
            Way::Stop(victims) => {
                // Two that want the same victims are not both served by their end.
                if victims.iter().any(|victim| round.leaving.contains(victim)) {
                    return false;
                }
                self.clear_way(entry.index, victims, round);
                return false;
            }
            Way::Admit if gpus <= self.ledger.available(queue, flavour) => self.admit(entry.index),
            Way::Admit => return false,
        }
        true
    }

    /// Sends the victims away if that is still enough after what the heads before took.
    fn clear_way(&mut self, index: u32, victims: Vec<u32>, round: &mut Round) {
        let (queue, flavour, gpus) = self.asks(index);
        for victim in &victims {
            self.take_quota(*victim);
        }
        if gpus > self.ledger.available(queue, flavour) {
            for victim in victims {
                self.give_quota(victim);
            }
            return;
        }
        self.reserve(queue, flavour, gpus, round);
        round.leaving.extend(victims);
        self.pending[queue].serve(self.states[index as usize].order_at, index);
    }

    fn reserve(&mut self, queue: usize, flavour: usize, gpus: u64, round: &mut Round) {
        self.ledger.add(self.now, queue, flavour, gpus);
        round.reserved.push((queue, flavour, gpus));
    }

    fn nominate(&mut self, cohort: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        for at in 0..self.ledger.members(cohort).len() {
            let queue = self.ledger.members(cohort)[at];
            let Some((order_at, index)) = self.pending[queue].head() else { continue };
            let (way, borrows) = self.way(index);
            let priority = Reverse(self.workloads[index as usize].priority);
            entries.push(Entry { index, way, order: (borrows, priority, order_at, index) });
        }
        entries
    }

    /// What can be done for a workload, and whether its queue then borrows.
    fn way(&mut self, index: u32) -> (Way, bool) {
        let (queue, flavour, gpus) = self.asks(index);
        let borrows = self.ledger.borrows(queue, flavour, gpus);
        if gpus <= self.ledger.available(queue, flavour) {
            return (Way::Admit, borrows);
        }
        if gpus > self.ledger.nominal(queue, flavour) {
            return (Way::NoRoom, borrows);
        }
        let victims = self.victims(index);
        if victims.is_empty() {
            return (Way::Blocked, borrows);
        }
        let own = victims.iter().filter(|victim| self.asks(**victim).0 == queue);
        let freed: u64 = own.map(|victim| self.asks(*victim).2).sum();
        let used = self.ledger.used(queue, flavour).saturating_sub(freed);
        (Way::Stop(victims), used + gpus > self.ledger.nominal(queue, flavour))
    }

    /// The queue, the flavour and the GPUs that a workload asks for.
    pub(super) fn asks(&self, index: u32) -> (usize, usize, u64) {
        let workload = &self.workloads[index as usize];
        (usize::from(workload.queue), usize::from(workload.flavour), workload.gpus())
    }

    pub(super) fn kind(&self, index: u32) -> Kind {
        let workload = &self.workloads[index as usize];
        Kind { priority: workload.priority, flavour: workload.flavour, gpus: workload.gpus() }
    }

    pub(super) fn take_quota(&mut self, index: u32) {
        let (queue, flavour, gpus) = self.asks(index);
        self.ledger.remove(self.now, queue, flavour, gpus);
    }

    pub(super) fn give_quota(&mut self, index: u32) {
        let (queue, flavour, gpus) = self.asks(index);
        self.ledger.add(self.now, queue, flavour, gpus);
    }

    fn put_aside(&mut self, index: u32) {
        let (queue, kind) = (self.asks(index).0, self.kind(index));
        self.pending[queue].put_aside(kind, index);
    }

    fn admit(&mut self, index: u32) {
        let (queue, ..) = self.asks(index);
        let kind = self.kind(index);
        let state = &mut self.states[index as usize];
        self.pending[queue].remove(kind, state.order_at, index);
        state.turn(self.now, Phase::Placing);
        state.attempt += 1;
        state.admitted_at = self.now;
        state.first_admitted_at.get_or_insert(self.now);
        self.give_quota(index);
        self.admitted[queue].push(index);
        self.seek_places(index);
    }
}
