//! The pool in one clock.
//!
//! At one moment workloads end, then those that were stopped are gone, then waits for places run out,
//! then stays away, then workloads come, each in the order of their numbers. Then admission goes round
//! by round, cohort by cohort, until nothing changes, and gangs are placed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::outcome::{PoolOutcome, gather};
use super::pending::Pending;
use super::placement::{Gang, Nodes};
use super::problem::{PoolProblem, check_spec, check_workloads};
use super::quota::Ledger;
use super::spec::PoolSpec;
use super::workload::{Phase, State, Workload};
use crate::units::Picoseconds;

/// What is planned for a workload, in the order of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Plan {
    Ends,
    Gone,
    GivesUp,
    Returns,
}

/// The pool while it is simulated.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) spec: PoolSpec,
    /// By arrival, then by number.
    pub(super) workloads: Vec<Workload>,
    pub(super) states: Vec<State>,
    pub(super) ledger: Ledger,
    pub(super) nodes: Vec<Nodes>,
    pub(super) pending: Vec<Pending>,
    /// By queue, those that hold quota.
    pub(super) admitted: Vec<Vec<u32>>,
    pub(super) now: Picoseconds,
    pub(super) outcome: PoolOutcome,
    plans: BinaryHeap<Reverse<(Picoseconds, Plan, u32, u32)>>,
    /// Cohorts in which something changed.
    changed: Vec<bool>,
    admissions: u64,
    ahead: u32,
    unfinished: usize,
}

/// Simulates what becomes of the workloads until the pool's end.
///
/// # Errors
///
/// Where the pool or a workload cannot be meant, or a workload could never run even alone.
pub fn simulate(spec: &PoolSpec, workloads: &[Workload]) -> Result<PoolOutcome, PoolProblem> {
    check_spec(spec)?;
    let ledger = Ledger::new(spec);
    let nodes: Vec<Nodes> =
        spec.flavours.iter().map(|flavour| Nodes::new(flavour, spec.packing)).collect();
    check_workloads(spec, workloads, &ledger, &nodes)?;
    let mut sorted = workloads.to_vec();
    sorted.sort_by_key(|workload| (workload.at, workload.id));
    let pool = Pool {
        states: vec![State::default(); sorted.len()],
        workloads: sorted,
        pending: spec.queues.iter().map(|queue| Pending::new(queue.strategy)).collect(),
        admitted: vec![Vec::new(); spec.queues.len()],
        now: Picoseconds::ZERO,
        outcome: PoolOutcome::default(),
        plans: BinaryHeap::new(),
        changed: vec![false; ledger.cohorts()],
        admissions: 0,
        ahead: 0,
        unfinished: workloads.len(),
        spec: spec.clone(),
        ledger,
        nodes,
    };
    Ok(pool.run())
}

impl Pool {
    fn run(mut self) -> PoolOutcome {
        // What is planned for somebody who has gone another way does not lengthen the time.
        while self.unfinished > 0 && self.outcome.livelock.is_none() {
            let Some(next) = self.next().filter(|next| *next <= self.spec.until) else { break };
            for nodes in &mut self.nodes {
                nodes.pass(next);
            }
            self.now = next;
            self.moment();
        }
        let over = self.unfinished == 0 || self.outcome.livelock.is_some();
        let end = if over { self.now } else { self.spec.until };
        for nodes in &mut self.nodes {
            nodes.pass(end);
        }
        self.now = end;
        gather(self)
    }

    fn next(&self) -> Option<Picoseconds> {
        let planned = self.plans.peek().map(|Reverse(plan)| plan.0);
        let arrives = self.workloads.get(self.ahead as usize).map(|workload| workload.at);
        planned.into_iter().chain(arrives).min()
    }

    fn moment(&mut self) {
        while let Some(Reverse((at, plan, index, attempt))) = self.plans.peek().copied() {
            if at > self.now {
                break;
            }
            self.plans.pop();
            if self.states[index as usize].attempt != attempt {
                continue;
            }
            self.outcome.events += 1;
            match plan {
                Plan::Ends => self.finish(index),
                Plan::Gone => self.wait_again(index),
                Plan::GivesUp => self.give_up(index),
                Plan::Returns => self.enqueue(index),
            }
        }
        while self.workloads.get(self.ahead as usize).is_some_and(|next| next.at <= self.now) {
            let index = self.ahead;
            self.ahead += 1;
            self.outcome.events += 1;
            let state = &mut self.states[index as usize];
            (state.order_at, state.since) = (self.now, self.now);
            self.enqueue(index);
        }
        for cohort in 0..self.changed.len() {
            self.settle_cohort(cohort);
        }
        for flavour in 0..self.nodes.len() {
            for (index, places) in self.nodes[flavour].settle() {
                self.states[index as usize].places = places;
                self.start(index);
            }
        }
    }

    fn settle_cohort(&mut self, cohort: usize) {
        // Each round admits, stops or puts somebody aside; only those who stop each other in a circle
        // go on for ever.
        let rounds_max = 1000 + 8 * self.workloads.len();
        let mut rounds = 0;
        while std::mem::take(&mut self.changed[cohort]) {
            while self.cycle(cohort) {
                rounds += 1;
                self.outcome.cycles += 1;
                if rounds > rounds_max {
                    self.outcome.livelock = Some(self.now);
                    return;
                }
            }
        }
    }

    /// Something got free in the cohort of a queue: all who stand aside try again.
    fn freed(&mut self, queue: usize) {
        let cohort = self.ledger.cohort_of(queue);
        self.changed[cohort] = true;
        for other in self.ledger.members(cohort) {
            self.pending[*other].try_again();
        }
    }

    fn enqueue(&mut self, index: u32) {
        let (queue, kind) = (self.asks(index).0, self.kind(index));
        self.states[index as usize].turn(self.now, Phase::Waiting);
        self.pending[queue].push(kind, self.states[index as usize].order_at, index);
        self.changed[self.ledger.cohort_of(queue)] = true;
    }

    /// Lets an admitted workload look for places.
    pub(super) fn seek_places(&mut self, index: u32) {
        let workload = self.workloads[index as usize];
        let nodes = &mut self.nodes[usize::from(workload.flavour)];
        if !nodes.limited() {
            self.start(index);
            return;
        }
        self.admissions += 1;
        nodes.wait(Gang {
            priority: Reverse(workload.priority),
            admission: self.admissions,
            index,
            pods: workload.pods,
            gpus_per_pod: workload.gpus_per_pod,
        });
        if let Some(timeout) = self.spec.placement_timeout {
            self.plan(self.now + timeout.after, Plan::GivesUp, index);
        }
    }

    fn plan(&mut self, at: Picoseconds, plan: Plan, index: u32) {
        let attempt = self.states[index as usize].attempt;
        self.plans.push(Reverse((at, plan, index, attempt)));
    }

    fn start(&mut self, index: u32) {
        let workload = self.workloads[index as usize];
        let state = &mut self.states[index as usize];
        state.turn(self.now, Phase::Running);
        state.attempt += 1;
        state.starts += 1;
        let left = workload.start + (workload.work - state.kept);
        self.plan(self.now + left, Plan::Ends, index);
    }

    fn finish(&mut self, index: u32) {
        let state = &mut self.states[index as usize];
        state.turn(self.now, Phase::Done);
        self.unfinished -= 1;
        state.kept = self.workloads[index as usize].work;
        self.let_go(index);
    }

    /// Stops a workload that holds quota. False for one that already is on its way out.
    pub(super) fn stop(&mut self, index: u32) -> bool {
        let workload = self.workloads[index as usize];
        let state = &mut self.states[index as usize];
        if state.phase == Phase::Leaving {
            return false;
        }
        let running = state.phase == Phase::Running;
        state.attempt += 1;
        state.preemptions += 1;
        if running {
            let (kept, lost) = state.stopped(self.now, &workload);
            state.kept = kept;
            self.outcome.lost_work(&workload, lost);
        }
        if running && self.spec.exit > Picoseconds::ZERO {
            self.states[index as usize].turn(self.now, Phase::Leaving);
            self.plan(self.now + self.spec.exit, Plan::Gone, index);
        } else {
            self.nodes[usize::from(workload.flavour)].leave(index);
            self.wait_again(index);
        }
        true
    }

    /// Gives back what a workload holds and lets it wait for quota again, at its old age.
    fn wait_again(&mut self, index: u32) {
        self.let_go(index);
        self.enqueue(index);
    }

    /// The wait for places took too long: quota goes back, and the age counts from now.
    fn give_up(&mut self, index: u32) {
        let Some(timeout) = self.spec.placement_timeout else { return };
        let (_, flavour, _) = self.asks(index);
        self.nodes[flavour].leave(index);
        self.let_go(index);
        let now = self.now;
        let state = &mut self.states[index as usize];
        state.turn(now, Phase::Away);
        state.order_at = now;
        let doubled = timeout.backoff * 1_u64.checked_shl(state.timeouts).unwrap_or(u64::MAX);
        state.timeouts += 1;
        self.plan(now + doubled.min(timeout.backoff_max), Plan::Returns, index);
    }

    fn let_go(&mut self, index: u32) {
        let (queue, flavour, _) = self.asks(index);
        self.take_quota(index);
        self.admitted[queue].retain(|other| *other != index);
        let state = &mut self.states[index as usize];
        state.attempt += 1;
        let places = std::mem::take(&mut state.places);
        self.nodes[flavour].release(&places);
        self.freed(queue);
    }
}
