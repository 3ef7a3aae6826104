//! The KV cache in blocks: how many are free, and which beginnings of prompts still lie in it.
//!
//! Free blocks stand in one queue: what is freed goes to its end, what is needed comes from its
//! head, and a shared beginning stays usable until its blocks were taken from there, from its end
//! on. The queue is kept as lengths of like blocks, not block by block.

use std::collections::{BTreeMap, HashMap};

/// Blocks that were freed together.
#[derive(Clone, Debug)]
struct Stretch {
    group: Option<u32>,
    blocks: u64,
}

/// A shared beginning.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Blocks of it that lie in the cache, counted from its beginning.
    resident: u32,
    /// Blocks of it that running sequences hold.
    in_use: u32,
    /// How many sequences hold it up to which block.
    holders: BTreeMap<u32, u32>,
    /// Its stretches in the queue of free blocks, the ones farthest from the beginning first.
    idle: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Cache {
    free: u64,
    shares: bool,
    queue: BTreeMap<u64, Stretch>,
    next_key: u64,
    groups: HashMap<u32, Group>,
}

impl Cache {
    pub(super) fn new(blocks: u64, shares: bool) -> Self {
        let mut cache =
            Self { free: 0, shares, queue: BTreeMap::new(), next_key: 0, groups: HashMap::new() };
        cache.free_unshared(blocks);
        cache
    }

    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Blocks of a shared beginning that lie in the cache, and how many of them are free ones.
    pub(super) fn hits(&self, group: u32, blocks_max: u32) -> (u32, u64) {
        self.groups.get(&group).map_or((0, 0), |group| {
            let hits = group.resident.min(blocks_max);
            (hits, hits.saturating_sub(group.in_use).into())
        })
    }

    /// Holds the first `blocks` of a shared beginning, which are in the cache.
    pub(super) fn hold(&mut self, group: u32, blocks: u32) {
        if blocks == 0 {
            return;
        }
        let group = self.groups.entry(group).or_default();
        let mut missing = u64::from(blocks.saturating_sub(group.in_use));
        self.free -= missing;
        while let Some(key) = group.idle.last().filter(|_| missing > 0)
            && let Some(stretch) = self.queue.get_mut(key)
        {
            let taken = stretch.blocks.min(missing);
            stretch.blocks -= taken;
            missing -= taken;
            if stretch.blocks == 0 {
                self.queue.remove(key);
                group.idle.pop();
            }
        }
        group.in_use = group.in_use.max(blocks);
        *group.holders.entry(blocks).or_default() += 1;
    }

    /// Takes blocks from the head of the free ones; there must be as many.
    pub(super) fn allocate(&mut self, mut blocks: u64) {
        debug_assert!(blocks <= self.free, "more blocks taken than are free");
        self.free -= blocks;
        if !self.shares {
            return;
        }
        while blocks > 0
            && let Some(mut head) = self.queue.first_entry()
        {
            let taken = head.get().blocks.min(blocks);
            head.get_mut().blocks -= taken;
            blocks -= taken;
            let (shared_by, is_empty) = (head.get().group, head.get().blocks == 0);
            if is_empty {
                head.remove();
            }
            if let Some(number) = shared_by
                && let Some(group) = self.groups.get_mut(&number)
            {
                group.resident -= taken as u32;
                if is_empty {
                    group.idle.remove(0);
                }
                if group.resident == 0 && group.holders.is_empty() {
                    self.groups.remove(&number);
                }
            }
        }
    }

    /// A holder of the first `held` blocks of a beginning computed on, up to block `until`. Returns
    /// how many it then holds: they become the group's if they are the next ones that it lacks.
    pub(super) fn contribute(&mut self, group: u32, held: u32, until: u32) -> u32 {
        let group = self.groups.entry(group).or_default();
        if group.resident != held || until <= held {
            return held;
        }
        group.drop_holder(held);
        group.resident = until;
        group.in_use = until;
        *group.holders.entry(until).or_default() += 1;
        until
    }

    /// Frees what a sequence held: its own blocks first, then its part of the shared beginning, as
    /// far as nobody else holds it.
    pub(super) fn release(&mut self, own: u64, shared: Option<(u32, u32)>) {
        self.free_unshared(own);
        let Some((number, held)) = shared.filter(|(_, held)| *held > 0) else { return };
        let Some(group) = self.groups.get_mut(&number) else { return };
        group.drop_holder(held);
        let in_use = group.holders.last_key_value().map_or(0, |(held, _)| *held);
        let blocks = u64::from(group.in_use - in_use);
        group.in_use = in_use;
        if blocks > 0 {
            group.idle.push(self.next_key);
            self.free += blocks;
            self.queue.insert(self.next_key, Stretch { group: Some(number), blocks });
            self.next_key += 1;
        }
    }

    fn free_unshared(&mut self, blocks: u64) {
        self.free += blocks;
        if !self.shares || blocks == 0 {
            return;
        }
        if let Some(mut last) = self.queue.last_entry().filter(|last| last.get().group.is_none()) {
            last.get_mut().blocks += blocks;
            return;
        }
        self.queue.insert(self.next_key, Stretch { group: None, blocks });
        self.next_key += 1;
    }
}

impl Group {
    fn drop_holder(&mut self, held: u32) {
        if let Some(count) = self.holders.get_mut(&held) {
            *count -= 1;
            if *count == 0 {
                self.holders.remove(&held);
            }
        }
    }
}
