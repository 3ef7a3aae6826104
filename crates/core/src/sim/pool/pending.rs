//! Who waits for quota in a queue, and who is next.
//!
//! Workloads of a queue that have the same priority and ask for the same GPUs are admitted or not
//! alike as long as nothing in the cohort gets free, so they stand aside together, and a queue of
//! thousands costs no more to look at than its few kinds.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::spec::Strategy;
use crate::units::Picoseconds;

/// What makes two workloads of a queue alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) priority: i32,
    pub(super) flavour: u16,
    pub(super) gpus: u64,
}

#[derive(Clone, Debug)]
struct Group {
    kind: Kind,
    aside: bool,
    waiting: BTreeSet<(Picoseconds, u32)>,
}

/// Those of one queue that wait.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    strategy: Strategy,
    groups: Vec<Group>,
    /// The one for which others are stopped. It stays at the head: otherwise an older one that did not
    /// fit takes what gets free, and is stopped for it again and again.
    served: Option<(Picoseconds, u32)>,
}

impl Pending {
    pub(super) fn new(strategy: Strategy) -> Self {
        Self { strategy, groups: Vec::new(), served: None }
    }

    /// Puts a workload in. Its kind is tried again, for it may have come since a borrower that could be
    /// stopped for it.
    pub(super) fn push(&mut self, kind: Kind, order_at: Picoseconds, index: u32) {
        let at = self.groups.iter().position(|group| group.kind == kind).unwrap_or_else(|| {
            self.groups.push(Group { kind, aside: false, waiting: BTreeSet::new() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.aside = false;
        group.waiting.insert((order_at, index));
    }

    pub(super) fn remove(&mut self, kind: Kind, order_at: Picoseconds, index: u32) {
        if let Some(group) = self.groups.iter_mut().find(|group| group.kind == kind) {
            group.waiting.remove(&(order_at, index));
        }
        self.served = self.served.filter(|served| served.1 != index);
    }

    /// Keeps a workload for which others are stopped at the head until it is admitted or stands aside.
    pub(super) fn serve(&mut self, order_at: Picoseconds, index: u32) {
        if self.strategy == Strategy::BestEffortFifo {
            self.served = Some((order_at, index));
        }
    }

    /// The next one, and what its age is counted from: the one for which others are stopped, or of the highest priority, then the oldest. In a
    /// strict queue there is none while that one stands aside.
    pub(super) fn head(&self) -> Option<(Picoseconds, u32)> {
        if self.served.is_some() {
            return self.served;
        }
        let strict = self.strategy == Strategy::StrictFifo;
        let first = |group: &Group| group.waiting.first().copied();
        let best = self
            .groups
            .iter()
            .filter(|group| strict || !group.aside)
            .filter_map(|group| Some((Reverse(group.kind.priority), first(group)?, group.aside)))
            .min()?;
        (!best.2).then_some(best.1)
    }

    /// Lets all of a workload's kind stand aside.
    pub(super) fn put_aside(&mut self, kind: Kind, index: u32) {
        self.served = self.served.filter(|served| served.1 != index);
        if let Some(group) = self.groups.iter_mut().find(|group| group.kind == kind) {
            group.aside = true;
        }
    }

    /// Lets all try again.
    pub(super) fn try_again(&mut self) {
        self.groups.iter_mut().for_each(|group| group.aside = false);
    }
}
