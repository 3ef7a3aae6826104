//! Whom to stop so that a workload gets quota.
//!
//! Candidates are, as in Kueue's classical preemption, workloads of the same queue and flavour with a
//! lower priority, and those of queues of the cohort that use more than their own. They are taken in
//! order until the workload fits; a queue is spared once it no longer borrows. Then each but the last
//! is let live if the workload fits without its end.

use std::cmp::Reverse;

use super::run::Pool;
use super::spec::{Reclaim, Within};
use super::workload::Phase;

/// Which of the candidates, and whether the workload's queue may then use more than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    borrowing: bool,
}

impl Pool {
    /// The workloads to stop for this one, in the order in which they go; none where stopping does not
    /// help or is not allowed. The books are as before afterwards.
    pub(super) fn victims(&mut self, index: u32) -> Vec<u32> {
        let workload = self.workloads[index as usize];
        let (queue, flavour) = (usize::from(workload.queue), usize::from(workload.flavour));
        let own = self.own_candidates(index);
        let others = self.other_candidates(index);
        if others.is_empty() {
            return self.fewest(index, own, Rule { borrowing: true });
        }
        // Nobody of another queue is stopped so that this one can borrow.
        if self.ledger.used(queue, flavour) < self.ledger.nominal(queue, flavour) {
            let all = [own.clone(), others].concat();
            let found = self.fewest(index, all, Rule { borrowing: false });
            if !found.is_empty() {
                return found;
            }
        }
        self.fewest(index, own, Rule { borrowing: true })
    }

    fn own_candidates(&self, index: u32) -> Vec<u32> {
        let workload = &self.workloads[index as usize];
        let queue = usize::from(workload.queue);
        if self.spec.queues[queue].within == Within::Never {
            return Vec::new();
        }
        let below = |other: &u32| {
            let other = &self.workloads[*other as usize];
            other.flavour == workload.flavour && other.priority < workload.priority
        };
        self.admitted[queue].iter().copied().filter(below).collect()
    }

    fn other_candidates(&self, index: u32) -> Vec<u32> {
        let workload = &self.workloads[index as usize];
        let (queue, flavour) = (usize::from(workload.queue), usize::from(workload.flavour));
        let rule = self.spec.queues[queue].reclaim;
        if rule == Reclaim::Never {
            return Vec::new();
        }
        let allowed = |other: &u32| {
            let other = &self.workloads[*other as usize];
            other.flavour == workload.flavour
                && (rule == Reclaim::Any || other.priority < workload.priority)
        };
        let members = self.ledger.members(self.ledger.cohort_of(queue)).iter();
        let borrowers =
            members.filter(|other| **other != queue && self.ledger.borrows(**other, flavour, 0));
        borrowers.flat_map(|other| &self.admitted[*other]).copied().filter(allowed).collect()
    }

    /// The order of Kueue's candidates: those already on their way out, then those of other queues,
    /// then the lower priority, then the one admitted last, then the smaller number.
    fn sort_candidates(&self, queue: u16, candidates: &mut [u32]) {
        candidates.sort_by_key(|other| {
            let (workload, state) =
                (&self.workloads[*other as usize], &self.states[*other as usize]);
            (
                state.phase != Phase::Leaving,
                workload.queue == queue,
                workload.priority,
                Reverse(state.admitted_at),
                workload.id,
            )
        });
    }

    fn fewest(&mut self, index: u32, mut candidates: Vec<u32>, rule: Rule) -> Vec<u32> {
        let workload = self.workloads[index as usize];
        self.sort_candidates(workload.queue, &mut candidates);
        let mut taken = Vec::new();
        let mut fits = false;
        for candidate in candidates {
            let other = self.workloads[candidate as usize];
            let borrows =
                self.ledger.borrows(usize::from(other.queue), usize::from(other.flavour), 0);
            if other.queue != workload.queue && !borrows {
                continue;
            }
            self.take_quota(candidate);
            taken.push(candidate);
            fits = self.fits(index, rule);
            if fits {
                break;
            }
        }
        let mut spared = vec![false; taken.len()];
        if fits {
            for at in (0..taken.len() - 1).rev() {
                self.give_quota(taken[at]);
                spared[at] = self.fits(index, rule);
                if !spared[at] {
                    self.take_quota(taken[at]);
                }
            }
        }
        for (candidate, _) in taken.iter().zip(&spared).filter(|(_, spared)| !**spared) {
            self.give_quota(*candidate);
        }
        let stopped = taken.into_iter().zip(spared).filter(|(_, spared)| fits && !spared);
        stopped.map(|(candidate, _)| candidate).collect()
    }

    fn fits(&self, index: u32, rule: Rule) -> bool {
        let workload = &self.workloads[index as usize];
        let (queue, flavour) = (usize::from(workload.queue), usize::from(workload.flavour));
        let gpus = workload.gpus();
        gpus <= self.ledger.available(queue, flavour)
            && (rule.borrowing || !self.ledger.borrows(queue, flavour, gpus))
    }
}
