//! What became of the workloads.

use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

use super::run::Pool;
use super::workload::{Phase, State, Workload};
use crate::sim::Histogram;
use crate::units::Picoseconds;

/// GPUs times time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GpuTime(pub u128);

impl GpuTime {
    /// So many GPUs for so long.
    pub fn of(gpus: u64, time: Picoseconds) -> Self {
        Self(u128::from(gpus) * u128::from(time.0))
    }

    /// In GPU-hours.
    pub fn gpu_hours(self) -> f64 {
        self.0 as f64 / 3600e12
    }
}

impl Add for GpuTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for GpuTime {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Where a workload was at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Finished at that moment.
    Finished(Picoseconds),
    /// The end of the simulation came before it.
    Ahead,
    /// Without quota.
    WaitingForQuota,
    /// With quota and without places, or staying away after that took too long.
    WaitingForPlaces,
    /// On its nodes.
    Running,
}

/// What became of one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub id: u64,
    /// Where it ended.
    pub ending: Ending,
    /// When quota admitted it first.
    pub first_admitted_at: Option<Picoseconds>,
    /// How long it waited for quota, all times together.
    pub quota_wait: Picoseconds,
    /// How long it then waited for places, with the times that it stayed away.
    pub placement_wait: Picoseconds,
    /// How long it was on its nodes.
    pub held: Picoseconds,
    /// How often it was stopped for another one.
    pub preemptions: u32,
    /// How often it gave its quota back because it found no places.
    pub placement_timeouts: u32,
}

/// Workloads counted together. Times are those of the finished ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that came.
    pub arrived: u64,
    /// Those that finished.
    pub finished: u64,
    /// Those that still waited for quota at the end.
    pub waiting_for_quota: u64,
    /// Those that still waited for places.
    pub waiting_for_places: u64,
    /// Those that still ran.
    pub running: u64,
    /// Waits for quota.
    pub quota_wait: Histogram,
    /// Waits for places.
    pub placement_wait: Histogram,
    /// From arrival to end: both waits and the time on nodes.
    pub turnaround: Histogram,
    /// The longest wait for quota of those that still wait, so far.
    pub waiting_max: Option<Picoseconds>,
    /// Those with a deadline that finished in time.
    pub on_time: u64,
    /// Those that did not, or can no longer.
    pub late: u64,
    /// How often one was stopped for another.
    pub preemptions: u64,
    /// How often one gave its quota back because it found no places.
    pub placement_timeouts: u64,
    /// GPU-time of work that was kept.
    pub kept: GpuTime,
    /// GPU-time of work that was lost because it was stopped.
    pub lost: GpuTime,
    /// GPU-time on nodes; what is above kept and lost went into starts, exits and work that is not
    /// saved yet.
    pub held: GpuTime,
    /// Those that still wait for quota though one that came later, of no higher priority and the same
    /// queue and flavour, was admitted: they starve.
    pub starving: u64,
    /// Those unfinished that were started at least twice and have nothing to show for it.
    pub started_in_vain: u64,
}

/// What became of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueOutcome {
    /// Its workloads.
    pub tally: Tally,
    /// GPU-time for which it held quota.
    pub used: GpuTime,
    /// How much of that was above its own quota.
    pub borrowed: GpuTime,
    /// The most GPUs of quota that it held, by flavour.
    pub used_max: Vec<u64>,
}

/// What became of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolOutcome {
    /// By queue.
    pub queues: Vec<QueueOutcome>,
    /// By priority.
    pub priorities: BTreeMap<i32, Tally>,
    /// All together.
    pub all: Tally,
    /// Each workload, by number.
    pub records: Vec<Record>,
    /// When the last one finished, or where the simulation ended.
    pub end: Picoseconds,
    /// GPU-time that nodes had, where places are looked at.
    pub capacity: GpuTime,
    /// How much of that nobody held.
    pub free: GpuTime,
    /// How much of that was free while the first gang in line asked for no more than was free, so that
    /// only how it lies about kept the gang waiting.
    pub fragmented: GpuTime,
    /// Arrivals, ends and the like.
    pub events: u64,
    /// Rounds of admission that changed something.
    pub cycles: u64,
    /// When workloads began to stop each other in a circle. The simulation ends there.
    pub livelock: Option<Picoseconds>,
    lost: BTreeMap<u64, GpuTime>,
}

impl PoolOutcome {
    /// The share of the nodes' GPU-time that somebody held. `None` where places are not looked at.
    pub fn utilisation(&self) -> Option<f64> {
        (self.capacity > GpuTime(0)).then(|| 1.0 - self.free.0 as f64 / self.capacity.0 as f64)
    }

    pub(super) fn lost_work(&mut self, workload: &Workload, lost: Picoseconds) {
        *self.lost.entry(workload.id).or_default() += GpuTime::of(workload.gpus(), lost);
    }
}

/// The latest arrival of all that were admitted, by queue, flavour and priority.
type Latest = BTreeMap<(u16, u16), BTreeMap<i32, Picoseconds>>;

/// Counts what a pool that has ended left.
pub(super) fn gather(mut pool: Pool) -> PoolOutcome {
    let mut outcome = std::mem::take(&mut pool.outcome);
    let end = pool.now;
    outcome.end = end;
    for (number, queue) in pool.spec.queues.iter().enumerate() {
        let (used, borrowed) = pool.ledger.times(end, number);
        let used_max =
            (0..queue.quotas.len()).map(|flavour| pool.ledger.used_max(number, flavour)).collect();
        outcome.queues.push(QueueOutcome { tally: Tally::default(), used, borrowed, used_max });
    }
    for nodes in &pool.nodes {
        outcome.capacity += GpuTime::of(nodes.capacity(), end);
        outcome.free += nodes.free_time;
        outcome.fragmented += nodes.fragmented_time;
    }
    let mut latest = Latest::new();
    for (workload, state) in pool.workloads.iter().zip(&pool.states) {
        if state.first_admitted_at.is_some() {
            let kinds = latest.entry((workload.queue, workload.flavour)).or_default();
            kinds.insert(workload.priority, workload.at);
        }
    }
    for (workload, state) in pool.workloads.iter().zip(&mut pool.states) {
        let phase = state.phase;
        state.turn(end, phase);
        let fate = Fate {
            workload,
            state,
            lost: outcome.lost.get(&workload.id).copied().unwrap_or_default(),
            starves: phase == Phase::Waiting && overtaken(&latest, workload),
            end,
        };
        fate.count(&mut outcome.all);
        fate.count(outcome.priorities.entry(workload.priority).or_default());
        if let Some(queue) = outcome.queues.get_mut(usize::from(workload.queue)) {
            fate.count(&mut queue.tally);
        }
        outcome.records.push(fate.record());
    }
    outcome.lost.clear();
    outcome.records.sort_by_key(|record| record.id);
    outcome
}

fn overtaken(latest: &Latest, workload: &Workload) -> bool {
    latest.get(&(workload.queue, workload.flavour)).is_some_and(|kinds| {
        kinds.range(..=workload.priority).any(|(_, arrived_at)| *arrived_at > workload.at)
    })
}

struct Fate<'a> {
    workload: &'a Workload,
    state: &'a State,
    lost: GpuTime,
    starves: bool,
    end: Picoseconds,
}

impl Fate<'_> {
    fn finished_at(&self) -> Option<Picoseconds> {
        let state = self.state;
        let took = state.quota_wait + state.placement_wait + state.held;
        (state.phase == Phase::Done).then(|| self.workload.at + took)
    }

    fn record(&self) -> Record {
        let state = self.state;
        let ending = match state.phase {
            Phase::Ahead => Ending::Ahead,
            Phase::Waiting => Ending::WaitingForQuota,
            Phase::Away | Phase::Placing => Ending::WaitingForPlaces,
            Phase::Running | Phase::Leaving => Ending::Running,
            Phase::Done => Ending::Finished(self.finished_at().unwrap_or(self.end)),
        };
        Record {
            id: self.workload.id,
            ending,
            first_admitted_at: state.first_admitted_at,
            quota_wait: state.quota_wait,
            placement_wait: state.placement_wait,
            held: state.held,
            preemptions: state.preemptions,
            placement_timeouts: state.timeouts,
        }
    }

    fn count(&self, tally: &mut Tally) {
        let (workload, state) = (self.workload, self.state);
        if state.phase == Phase::Ahead {
            return;
        }
        tally.arrived += 1;
        match state.phase {
            Phase::Ahead | Phase::Done => {}
            Phase::Waiting => {
                tally.waiting_for_quota += 1;
                tally.waiting_max = tally.waiting_max.max(Some(state.quota_wait));
            }
            Phase::Away | Phase::Placing => tally.waiting_for_places += 1,
            Phase::Running | Phase::Leaving => tally.running += 1,
        }
        let finished_at = self.finished_at();
        if let Some(at) = finished_at {
            tally.finished += 1;
            tally.quota_wait.add(state.quota_wait, 1);
            tally.placement_wait.add(state.placement_wait, 1);
            tally.turnaround.add(at - workload.at, 1);
        }
        if let Some(deadline) = workload.deadline {
            let due = workload.at + deadline;
            tally.on_time += u64::from(finished_at.is_some_and(|at| at <= due));
            tally.late += u64::from(finished_at.map_or(self.end > due, |at| at > due));
        }
        tally.preemptions += u64::from(state.preemptions);
        tally.placement_timeouts += u64::from(state.timeouts);
        tally.kept += GpuTime::of(workload.gpus(), state.kept);
        tally.lost += self.lost;
        tally.held += GpuTime::of(workload.gpus(), state.held);
        tally.starving += u64::from(self.starves);
        let vain = finished_at.is_none() && state.starts >= 2 && state.kept == Picoseconds::ZERO;
        tally.started_in_vain += u64::from(vain);
    }
}
