//! Whether the deadlines can be met at all: work as a flow into free GPU-hours.
//!
//! The relaxation: work may be cut and moved freely between slots and GPUs, no time is lost to
//! transitions, and each GPU-hour does a job's best work, though never more at once than the largest
//! mode that fits. With one resource and free cutting this is the processor-demand criterion of
//! Baruah, Howell and Rosier (1990), and the flow is that of Horn (1974). What is late here is late
//! in every schedule, so the least weighted lateness of the flow bounds that of any schedule. The
//! amounts of done work that a flow can reach are a polymatroid, so the heaviest job first is best.

use std::collections::BTreeMap;

use super::answer::Shortage;
use super::flow::Network;
use super::task::{Clock, Task};
use crate::plan::Problem;

/// Units of flow in a GPU-hour.
const UNITS: f64 = 1e6;

/// GPU-hours that must be missing before a shortage is told: more than rounding to units can make.
const MISSING_MIN: f64 = 1e-3;

/// The proof that some deadlines cannot be met, whatever the schedule: the jobs and the interval that
/// miss the most; `None` where work could flow into free GPU-hours in time. Such work may still be
/// late, for a schedule also loses time to transitions, gangs and shortest runs.
pub fn shortage(problem: &Problem) -> Option<Shortage> {
    shortages(problem).into_iter().next()
}

/// All such proofs that share no job, the one that misses most first.
pub fn shortages(problem: &Problem) -> Vec<Shortage> {
    let tasks = Task::all(problem);
    let clock = Clock::of(problem);
    Demand::of(problem, &tasks, &clock).shortages(problem, &tasks, &clock)
}

/// The most that could flow.
pub(super) struct Demand {
    network: Network,
    /// For each task, its arc from the source and its need in units.
    arcs: Vec<Option<(usize, i64)>>,
}

const SOURCE: usize = 0;
const SINK: usize = 1;

impl Demand {
    pub(super) fn of(problem: &Problem, tasks: &[Task], clock: &Clock) -> Self {
        let groups = groups(problem, tasks, clock);
        let first_group = 2 + tasks.len();
        let mut network = Network::new(first_group + 2 * groups.len());
        let mut arcs = vec![None; tasks.len()];
        for (place, group) in groups.iter().enumerate() {
            let (all, firm) = (first_group + 2 * place, first_group + 2 * place + 1);
            // Capacities are rounded up and needs down: the bound stays a bound.
            network.arc(all, SINK, units_up(group.hours * f64::from(group.all)));
            network.arc(firm, all, units_up(group.hours * f64::from(group.firm)));
        }
        for (job, task) in tasks.iter().enumerate() {
            if task.weight.is_none() || !task.need.is_finite() {
                continue;
            }
            let arc = network.arc(SOURCE, 2 + job, 0);
            arcs[job] = Some((arc, (task.need * UNITS).floor() as i64));
            for (place, group) in groups.iter().enumerate() {
                if task.release <= group.slot && group.slot < task.due {
                    let rate =
                        rate_max(task, if task.preemptible { group.all } else { group.firm });
                    let node = first_group + 2 * place + usize::from(!task.preemptible);
                    if rate > 0.0 {
                        network.arc(2 + job, node, units_up(group.hours * rate));
                    }
                }
            }
        }
        let mut order: Vec<usize> = (0..tasks.len()).filter(|&job| arcs[job].is_some()).collect();
        let weight = |job: usize| tasks[job].weight.unwrap_or(0.0);
        order.sort_by(|&one, &other| weight(other).total_cmp(&weight(one)));
        for job in order {
            if let Some((arc, need)) = arcs[job] {
                network.widen(arc, need);
                network.augment(SOURCE, SINK);
            }
        }
        Self { network, arcs }
    }

    /// Work of a task that is late in the flow, GPU-hours.
    fn missing(&self, job: usize) -> f64 {
        self.arcs[job].map_or(0.0, |(arc, need)| (need - self.network.flow(arc)) as f64 / UNITS)
    }

    /// The least weighted lateness, GPU-hours: no schedule has less.
    pub(super) fn late_min(&self, tasks: &[Task]) -> f64 {
        let late = |(job, task): (usize, &Task)| {
            let rounding = 1.0 / UNITS;
            task.weight.unwrap_or(0.0) * (self.missing(job) - rounding).max(0.0)
        };
        tasks.iter().enumerate().map(late).sum()
    }

    fn shortages(&self, problem: &Problem, tasks: &[Task], clock: &Clock) -> Vec<Shortage> {
        let mut found: Vec<Shortage> = (0..tasks.len())
            .filter(|&job| self.missing(job) > MISSING_MIN)
            .map(|job| {
                // What could flow from a job with unmet need leads to full slots only, and to the
                // jobs that fill them: one side of a minimum cut.
                let reached = self.network.reachable(2 + job);
                let jobs = (0..tasks.len()).filter(|&other| reached[2 + other]).collect();
                weigh(problem, tasks, clock, jobs)
            })
            .filter(|shortage| shortage.missing() > MISSING_MIN)
            .collect();
        found.sort_by(|one, other| {
            let length = |shortage: &Shortage| shortage.until_slot - shortage.from_slot;
            other
                .missing()
                .total_cmp(&one.missing())
                .then_with(|| length(one).cmp(&length(other)))
                .then_with(|| one.jobs.cmp(&other.jobs))
        });
        let mut kept: Vec<Shortage> = Vec::new();
        for shortage in found {
            let shares =
                |other: &Shortage| other.jobs.iter().any(|job| shortage.jobs.contains(job));
            if !kept.iter().any(shares) {
                kept.push(shortage);
            }
        }
        kept
    }
}

/// Needed and free GPU-hours of some jobs, by direct summation over slots.
fn weigh(problem: &Problem, tasks: &[Task], clock: &Clock, jobs: Vec<usize>) -> Shortage {
    let from_slot = jobs.iter().map(|&job| tasks[job].release).min().unwrap_or(0);
    let until_slot = jobs.iter().map(|&job| tasks[job].due).max().unwrap_or(0);
    let needed = jobs.iter().map(|&job| tasks[job].need).sum();
    let free = (from_slot..until_slot)
        .map(|place| {
            let slot = &problem.slots[place];
            let all = slot.firm + slot.lendable;
            let (mut lendable, mut firm) = (0.0, 0.0);
            for task in jobs.iter().map(|&job| &tasks[job]) {
                if task.release <= place && place < task.due {
                    if task.preemptible {
                        lendable += rate_max(task, all);
                    } else {
                        firm += rate_max(task, slot.firm);
                    }
                }
            }
            let usable: f64 = lendable + f64::min(firm, f64::from(slot.firm));
            clock.slot(place) * usable.min(f64::from(all))
        })
        .sum();
    Shortage { jobs, from_slot, until_slot: until_slot.max(from_slot), needed, free }
}

/// Slots in which the same tasks may run on the same number of free GPUs.
struct Group {
    slot: usize,
    all: u32,
    firm: u32,
    hours: f64,
}

fn groups(problem: &Problem, tasks: &[Task], clock: &Clock) -> Vec<Group> {
    let mut changes: Vec<usize> = tasks.iter().flat_map(|task| [task.release, task.due]).collect();
    changes.sort_unstable();
    let mut groups: BTreeMap<(usize, u32, u32), Group> = BTreeMap::new();
    for (place, slot) in problem.slots.iter().enumerate() {
        let interval = changes.partition_point(|&change| change <= place);
        let all = slot.firm + slot.lendable;
        let group = groups.entry((interval, all, slot.firm)).or_insert(Group {
            slot: place,
            all,
            firm: slot.firm,
            hours: 0.0,
        });
        group.hours += clock.slot(place);
    }
    groups.into_values().collect()
}

/// The most work in an hour on so many GPUs.
fn rate_max(task: &Task, gpus: u32) -> f64 {
    task.modes.iter().filter(|mode| mode.gpus <= gpus).map(|mode| mode.rate).fold(0.0, f64::max)
}

fn units_up(gpu_hours: f64) -> i64 {
    (gpu_hours * UNITS).ceil() as i64
}
