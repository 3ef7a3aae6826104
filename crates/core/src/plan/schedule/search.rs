//! Jobs are put in one by one, each in the best way that the others leave, and then again and again
//! some are taken out and put in anew, where that makes the schedule no worse.

use std::cmp::Ordering;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::answer::Effort;
use super::draft::Draft;
use super::single::{Ask, Single, trim};
use super::task::{Clock, Piece, Task};
use crate::plan::Problem;

/// What a GPU-hour costs beside one that is lost to a transition: enough to prefer the schedule that
/// leaves more free, too little to lose another GPU-hour for it.
const GPU_HOUR_PRICE: f64 = 1e-4;

/// What a run costs beside a GPU-hour.
const RUN_PRICE: f64 = 1e-6;

/// The search.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    tasks: &'a [Task],
    clock: &'a Clock,
    single: Single,
    random: Pcg64,
    free: Vec<u32>,
    price: Vec<f64>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        tasks: &'a [Task],
        clock: &'a Clock,
        effort: &Effort,
    ) -> Self {
        Self {
            problem,
            tasks,
            clock,
            single: Single::default(),
            random: Pcg64::seed_from_u64(effort.seed),
            free: Vec::new(),
            price: Vec::new(),
        }
    }

    /// The best schedule that was found in so many steps.
    pub(super) fn run(&mut self, steps_max: u64) -> Draft {
        let due: Vec<usize> = self.jobs(|task| task.weight.is_some());
        let other: Vec<usize> = self.jobs(|task| task.weight.is_none());
        let mut draft = self.construct(&due);
        if due.len() > 1 {
            let steps = if other.is_empty() { steps_max } else { steps_max / 2 };
            for _ in 0..steps {
                self.step(&mut draft, &due, &[]);
            }
        }
        self.put_late_work(&mut draft, &due);
        for &job in &other {
            self.insert(&mut draft, job);
        }
        if !other.is_empty() && self.tasks.len() > 1 {
            for _ in 0..steps_max / 2 {
                self.step(&mut draft, &due, &other);
            }
        }
        draft
    }

    fn jobs(&self, which: impl Fn(&Task) -> bool) -> Vec<usize> {
        (0..self.tasks.len()).filter(|&job| which(&self.tasks[job])).collect()
    }

    /// The best of the orders that are known to be good.
    fn construct(&mut self, due: &[usize]) -> Draft {
        let tasks = self.tasks;
        let clock = self.clock;
        let weight = |job: usize| tasks[job].weight.unwrap_or(0.0);
        let laxity = |job: usize| {
            let fastest = tasks[job].modes.iter().map(|mode| mode.rate).fold(0.0, f64::max);
            let release = tasks[job].release.min(tasks[job].due);
            clock.between(release, tasks[job].due) - tasks[job].need / fastest.max(1e-9)
        };
        let mut best: Option<Draft> = None;
        for key in 0..3 {
            let mut order = due.to_vec();
            order.sort_by(|&one, &other| match key {
                0 => tasks[one].due.cmp(&tasks[other].due),
                1 => weight(other).total_cmp(&weight(one)),
                _ => laxity(one).total_cmp(&laxity(other)),
            });
            let mut draft = Draft::empty(self.problem, tasks);
            for job in order {
                self.insert(&mut draft, job);
            }
            let better = |best: &Draft| draft.worth().order(&best.worth()) == Ordering::Less;
            if best.as_ref().is_none_or(better) {
                best = Some(draft);
            }
        }
        best.unwrap_or_else(|| Draft::empty(self.problem, tasks))
    }

    /// Takes some jobs out and puts them in again; keeps what is no worse.
    fn step(&mut self, draft: &mut Draft, due: &[usize], other: &[usize]) {
        let mut chosen = self.choose(due, if other.is_empty() { 4 } else { 2 });
        chosen.extend(self.choose(other, 3));
        let before = draft.worth();
        let kept: Vec<(usize, Vec<Piece>)> = chosen
            .iter()
            .map(|&job| (job, draft.take(job, &self.tasks[job], self.clock)))
            .collect();
        let has_others = !other.is_empty();
        for &job in &chosen {
            self.insert(draft, job);
            if has_others && self.tasks[job].weight.is_some() {
                self.put_late_work(draft, &[job]);
            }
        }
        if draft.worth().order(&before) == Ordering::Greater {
            for &job in &chosen {
                draft.take(job, &self.tasks[job], self.clock);
            }
            for (job, pieces) in kept {
                draft.put(job, &self.tasks[job], pieces, self.clock);
            }
        }
    }

    fn choose(&mut self, jobs: &[usize], most: usize) -> Vec<usize> {
        if jobs.is_empty() {
            return Vec::new();
        }
        let count = self.random.random_range(1..=most.min(jobs.len()));
        let mut jobs = jobs.to_vec();
        let (chosen, _) = jobs.partial_shuffle(&mut self.random, count);
        chosen.to_vec()
    }

    fn insert(&mut self, draft: &mut Draft, job: usize) {
        let task = &self.tasks[job];
        // Lateness that weighs nothing is not worth a transition.
        let waits = task.weight.is_some_and(|weight| weight <= 0.0);
        let pieces = if waits { Vec::new() } else { self.best(draft, task) };
        draft.put(job, task, pieces, self.clock);
    }

    fn best(&mut self, draft: &Draft, task: &Task) -> Vec<Piece> {
        draft.free_for(task, &mut self.free);
        let noise = self.random.random_range(0.0..0.5);
        let harvests = task.weight.is_none();
        self.price.clear();
        for slot in 0..self.clock.slots() {
            let price = GPU_HOUR_PRICE * self.clock.slot(slot);
            let shaken = 1.0 + noise * self.random.random_range(-1.0..1.0);
            self.price.push(if harvests { 0.0 } else { price * shaken });
        }
        let ask = Ask {
            free: &self.free,
            price: &self.price,
            loss_price: if harvests { 0.0 } else { 1.0 },
            run_price: RUN_PRICE,
            work_value: if harvests { 1.0 } else { GPU_HOUR_PRICE },
            undone_price: harvests.then_some(1.0),
        };
        self.single.best(task, &ask, self.clock)
    }

    /// Work that missed its deadline goes on like work without one.
    fn put_late_work(&mut self, draft: &mut Draft, due: &[usize]) {
        for &job in due {
            let task = &self.tasks[job];
            let done = task.work_of(&draft.pieces[job], self.clock);
            if done >= task.enough() {
                continue;
            }
            let mut rest = task.clone();
            rest.need = task.need - done;
            rest.release = draft.pieces[job].last().map_or(0, |last| last.until).max(task.due);
            rest.due = self.clock.slots();
            rest.weight = None;
            let more = self.best(draft, &rest);
            let mut pieces = draft.take(job, task, self.clock);
            for piece in more {
                match pieces.last_mut() {
                    Some(last) if last.until == piece.from && last.mode == piece.mode => {
                        last.until = piece.until;
                    }
                    _ => pieces.push(piece),
                }
            }
            trim(task, &mut pieces, self.clock);
            draft.put(job, task, pieces, self.clock);
        }
    }
}
