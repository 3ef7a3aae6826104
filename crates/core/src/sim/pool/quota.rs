//! Who has how much quota, and who has lent what to whom.

use super::outcome::GpuTime;
use super::spec::PoolSpec;
use crate::units::Picoseconds;

/// The quota of one queue in one flavour.
#[derive(Clone, Debug)]
struct Cell {
    nominal: u64,
    /// What nobody else may use.
    guaranteed: u64,
    borrowing_limit: Option<u64>,
    used: u64,
    since: Picoseconds,
    used_time: GpuTime,
    borrowed_time: GpuTime,
    used_max: u64,
}

/// Quota and its use, by queue and flavour.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    flavours: usize,
    cells: Vec<Cell>,
    /// The cohort of each queue. A queue by itself is a cohort of one.
    cohort_of: Vec<usize>,
    members: Vec<Vec<usize>>,
    /// What the queues of a cohort lend each other, by cohort and flavour.
    lendable: Vec<u64>,
    /// What is used of that.
    lent: Vec<u64>,
}

impl Ledger {
    pub(super) fn new(spec: &PoolSpec) -> Self {
        let flavours = spec.flavours.len();
        let mut cohorts: Vec<u16> = spec.queues.iter().filter_map(|queue| queue.cohort).collect();
        cohorts.sort_unstable();
        cohorts.dedup();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); cohorts.len()];
        let mut cohort_of = Vec::new();
        for (number, queue) in spec.queues.iter().enumerate() {
            let shared = queue.cohort.and_then(|it| cohorts.binary_search(&it).ok());
            let cohort = shared.unwrap_or_else(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[cohort].push(number);
            cohort_of.push(cohort);
        }
        let mut lendable = vec![0; members.len() * flavours];
        let mut cells = Vec::new();
        for (queue, cohort) in spec.queues.iter().zip(&cohort_of) {
            for (flavour, quota) in queue.quotas.iter().enumerate() {
                let nominal = u64::from(quota.nominal);
                let alone = queue.cohort.is_none();
                let lent = quota.lending_limit.filter(|_| !alone).map_or(nominal, u64::from);
                let limit = if alone { Some(0) } else { quota.borrowing_limit.map(u64::from) };
                lendable[cohort * flavours + flavour] += lent.min(nominal);
                cells.push(Cell {
                    nominal,
                    guaranteed: nominal.saturating_sub(lent),
                    borrowing_limit: limit,
                    used: 0,
                    since: Picoseconds::ZERO,
                    used_time: GpuTime::default(),
                    borrowed_time: GpuTime::default(),
                    used_max: 0,
                });
            }
        }
        let lent = vec![0; lendable.len()];
        Self { flavours, cells, cohort_of, members, lendable, lent }
    }

    pub(super) fn cohort_of(&self, queue: usize) -> usize {
        self.cohort_of[queue]
    }

    pub(super) fn cohorts(&self) -> usize {
        self.members.len()
    }

    /// The queues of a cohort, in their order.
    pub(super) fn members(&self, cohort: usize) -> &[usize] {
        &self.members[cohort]
    }

    pub(super) fn nominal(&self, queue: usize, flavour: usize) -> u64 {
        self.cell(queue, flavour).nominal
    }

    pub(super) fn used(&self, queue: usize, flavour: usize) -> u64 {
        self.cell(queue, flavour).used
    }

    /// How much the queue could have now: what is left of its own part that nobody else may use, and
    /// of what the cohort lends, as far as it may borrow.
    pub(super) fn available(&self, queue: usize, flavour: usize) -> u64 {
        let cell = self.cell(queue, flavour);
        let pot = self.cohort_of[queue] * self.flavours + flavour;
        let own = cell.guaranteed.saturating_sub(cell.used);
        let shared = self.lendable[pot].saturating_sub(self.lent[pot]);
        let shared = cell.borrowing_limit.map_or(shared, |limit| {
            let most = cell.nominal - cell.guaranteed + limit;
            shared.min(most.saturating_sub(cell.used.saturating_sub(cell.guaranteed)))
        });
        own + shared
    }

    /// How much the queue could have if nobody else used anything.
    pub(super) fn most(&self, queue: usize, flavour: usize) -> u64 {
        let cell = self.cell(queue, flavour);
        let shared = self.lendable[self.cohort_of[queue] * self.flavours + flavour];
        let limit = cell.borrowing_limit.map(|limit| cell.nominal - cell.guaranteed + limit);
        cell.guaranteed + limit.map_or(shared, |limit| shared.min(limit))
    }

    /// Whether the queue uses more than its own, or would with so many GPUs more.
    pub(super) fn borrows(&self, queue: usize, flavour: usize, more: u64) -> bool {
        let cell = self.cell(queue, flavour);
        cell.used + more > cell.nominal
    }

    pub(super) fn add(&mut self, now: Picoseconds, queue: usize, flavour: usize, gpus: u64) {
        self.change(now, queue, flavour, |used| used + gpus);
    }

    pub(super) fn remove(&mut self, now: Picoseconds, queue: usize, flavour: usize, gpus: u64) {
        self.change(now, queue, flavour, |used| used.saturating_sub(gpus));
    }

    /// What a queue used and borrowed up to now in all flavours.
    pub(super) fn times(&mut self, now: Picoseconds, queue: usize) -> (GpuTime, GpuTime) {
        let mut sums = (GpuTime::default(), GpuTime::default());
        for flavour in 0..self.flavours {
            self.change(now, queue, flavour, |used| used);
            let cell = self.cell(queue, flavour);
            sums = (sums.0 + cell.used_time, sums.1 + cell.borrowed_time);
        }
        sums
    }

    /// The most that a queue used for any time at all, in one flavour.
    pub(super) fn used_max(&self, queue: usize, flavour: usize) -> u64 {
        self.cell(queue, flavour).used_max
    }

    fn cell(&self, queue: usize, flavour: usize) -> &Cell {
        &self.cells[queue * self.flavours + flavour]
    }

    fn change(&mut self, now: Picoseconds, queue: usize, flavour: usize, to: impl Fn(u64) -> u64) {
        let pot = self.cohort_of[queue] * self.flavours + flavour;
        let cell = &mut self.cells[queue * self.flavours + flavour];
        let time = now - cell.since;
        if time > Picoseconds::ZERO {
            cell.used_time += GpuTime::of(cell.used, time);
            cell.borrowed_time += GpuTime::of(cell.used.saturating_sub(cell.nominal), time);
            cell.used_max = cell.used_max.max(cell.used);
            cell.since = now;
        }
        let before = cell.used.saturating_sub(cell.guaranteed);
        cell.used = to(cell.used);
        let after = cell.used.saturating_sub(cell.guaranteed);
        self.lent[pot] = self.lent[pot] + after - before;
    }
}
