//! Jobs are put in one by one, each in the best way that the others leave, and then again and again
//! some are taken out and put in anew (large neighbourhood search; Shaw 1998).
//!
//! Level by level, the prices that prove a level's bound also say where GPUs are worth most, and the
//! jobs are put in under these prices, shaken a little.

use std::cmp::Ordering;
use std::ops::Range;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::answer::Effort;
use super::draft::Draft;
use super::dual::{Aim, Bound, Dual};
use super::single::{Ask, Single, trim};
use super::task::{Clock, Piece, Task, Worth};
use crate::plan::Problem;

/// What a GPU-hour costs beside one that is lost to a transition: enough to prefer the schedule that
/// leaves more free, too little to lose another GPU-hour for it.
const GPU_HOUR_PRICE: f64 = 1e-4;

/// What a run costs beside a GPU-hour.
const RUN_PRICE: f64 = 1e-6;

/// Steps of the search for prices that guide a stage.
const GUIDE_STEPS: usize = 300;

/// The search.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    tasks: &'a [Task],
    clock: &'a Clock,
    dual: &'a Dual<'a>,
    single: Single,
    random: Pcg64,
    free: Vec<u32>,
    price: Vec<f64>,
    edge: [Vec<f64>; 2],
    guide: Bound,
    /// Hours that a transition takes, over the tasks.
    transition: f64,
}

/// How jobs are put in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// As well as can be, whatever it costs others.
    Alone,
    /// At the guide's prices.
    Guided,
}

/// What is improved.
struct Stage<'s> {
    aim: Aim,
    /// Jobs with a deadline.
    due: &'s [usize],
    /// Jobs without one, where they take part.
    other: &'s [usize],
}

impl<'a> Search<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        tasks: &'a [Task],
        clock: &'a Clock,
        dual: &'a Dual<'a>,
        effort: &Effort,
    ) -> Self {
        Self {
            problem,
            tasks,
            clock,
            dual,
            single: Single::default(),
            random: Pcg64::seed_from_u64(effort.seed),
            free: Vec::new(),
            price: Vec::new(),
            edge: [Vec::new(), Vec::new()],
            transition: tasks.iter().map(Task::transitions).sum::<f64>()
                / tasks.len().max(1) as f64,
            guide: Bound::default(),
        }
    }

    /// The best schedule that was found in so many steps.
    pub(super) fn run(&mut self, steps_max: u64) -> Draft {
        let due: Vec<usize> = self.jobs(|task| task.weight.is_some());
        let other: Vec<usize> = self.jobs(|task| task.weight.is_none());
        let mut draft = self.construct(&due);
        for aim in [Aim::Late, Aim::Lost] {
            if draft.worth().0[aim as usize] > 0.0 {
                let stage = Stage { aim, due: &due, other: &[] };
                draft = self.improve(draft, &stage, steps_max / 3);
            }
        }
        for &job in &due {
            self.put_late_work(&mut draft, job, Manner::Alone);
        }
        for &job in &other {
            self.insert(&mut draft, job, Aim::Harvest, Manner::Alone);
        }
        let stage = Stage { aim: Aim::Harvest, due: &due, other: &other };
        self.improve(draft, &stage, steps_max / 3)
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
                self.insert(&mut draft, job, Aim::Late, Manner::Alone);
            }
            let better = |best: &Draft| draft.worth().order(&best.worth()) == Ordering::Less;
            if best.as_ref().is_none_or(better) {
                best = Some(draft);
            }
        }
        best.unwrap_or_else(|| Draft::empty(self.problem, tasks))
    }

    fn guide_by(&mut self, draft: &Draft, aim: Aim) {
        self.guide = self.dual.bound(aim, &draft.worth(), GUIDE_STEPS);
    }

    /// Steps of one stage; the best schedule that they came to.
    fn improve(&mut self, draft: Draft, stage: &Stage<'_>, steps: u64) -> Draft {
        if stage.due.len() + stage.other.len() < 2 {
            return draft;
        }
        self.guide_by(&draft, stage.aim);
        let mut best = draft.clone();
        let mut draft = draft;
        for step in 0..steps {
            let left = (steps - step) as f64 / steps as f64;
            let level = stage.aim as usize;
            let room = 0.002 * left * best.worth().0[level].abs();
            if self.random.random_bool(0.5) {
                self.step(&mut draft, stage, room);
            } else {
                self.step_inside(&mut draft, stage, room);
            }
            if draft.worth().order(&best.worth()) == Ordering::Less {
                best.clone_from(&draft);
            }
        }
        best
    }

    /// Takes some jobs out and puts them in again; keeps what is hardly worse at the stage's level.
    fn step(&mut self, draft: &mut Draft, stage: &Stage<'_>, room: f64) {
        let harvests = stage.aim == Aim::Harvest;
        let due = self.choose(stage.due, usize::from(!harvests), 4);
        let mut other = Vec::new();
        if harvests {
            let late = |job: &usize| draft.is_late(*job);
            let mut candidates = stage.other.to_vec();
            candidates.extend(stage.due.iter().copied().filter(late));
            candidates.retain(|job| !due.contains(job));
            other = self.choose(&candidates, 0, 6);
        }
        let before = draft.worth();
        let kept: Vec<(usize, Vec<Piece>)> = due
            .iter()
            .chain(&other)
            .map(|&job| (job, draft.take(job, &self.tasks[job], self.clock)))
            .collect();
        let manner = if self.random.random_bool(0.5) { Manner::Guided } else { Manner::Alone };
        for (job, pieces) in &kept[due.len()..] {
            let task = &self.tasks[*job];
            if task.weight.is_some() {
                let in_time = pieces.iter().copied().filter(|piece| piece.from < task.due);
                draft.put(*job, task, in_time.collect(), self.clock);
            }
        }
        for &job in &due {
            self.insert(draft, job, stage.aim, manner);
        }
        if harvests {
            other.extend_from_slice(&due);
            other.shuffle(&mut self.random);
            for &job in &other {
                if self.tasks[job].weight.is_some() {
                    self.put_late_work(draft, job, manner);
                } else {
                    self.insert(draft, job, stage.aim, manner);
                }
            }
        }
        self.settle(draft, stage, before, kept, room);
    }

    /// Takes what some jobs do inside of an interval out and puts it in again.
    fn step_inside(&mut self, draft: &mut Draft, stage: &Stage<'_>, room: f64) {
        let slots = self.clock.slots();
        let length = self.random.random_range(slots.div_ceil(40)..=slots.div_ceil(3));
        let from = self.random.random_range(0..=slots - length.min(slots));
        let inside = from..(from + length).min(slots);
        let touches = |job: &usize| {
            let task = &self.tasks[*job];
            task.release < inside.end && inside.start < task.due
        };
        let due: Vec<usize> = stage.due.iter().copied().filter(touches).collect();
        let other: Vec<usize> = stage.other.iter().copied().filter(touches).collect();
        let mut chosen = self.choose(&due, usize::from(other.is_empty()), 5);
        chosen.extend(self.choose(&other, 0, 6));
        let before = draft.worth();
        let mut kept = Vec::with_capacity(chosen.len());
        for &job in &chosen {
            let task = &self.tasks[job];
            let pieces = draft.take(job, task, self.clock);
            let stays = |piece: &Piece| {
                piece.from < inside.start || piece.until > inside.end || piece.from >= task.due
            };
            draft.put(job, task, pieces.iter().copied().filter(stays).collect(), self.clock);
            kept.push((job, pieces));
        }
        let manner = if self.random.random_bool(0.5) { Manner::Guided } else { Manner::Alone };
        for &job in &chosen {
            self.insert_inside(draft, job, &inside, stage.aim, manner);
        }
        self.settle(draft, stage, before, kept, room);
    }

    /// Adds to a task's runs what is best inside of an interval.
    fn insert_inside(
        &mut self,
        draft: &mut Draft,
        job: usize,
        inside: &Range<usize>,
        aim: Aim,
        manner: Manner,
    ) {
        let task = &self.tasks[job];
        if task.weight.is_some_and(|weight| weight <= 0.0) {
            return;
        }
        let mut part = task.clone();
        let stays = draft.pieces[job].clone();
        part.need = task.need - task.work_of(&stays, self.clock);
        // A run that stays may reach into the interval from either side.
        let before = stays.iter().filter(|piece| piece.from < inside.start);
        let after = stays.iter().filter(|piece| piece.from >= inside.start);
        let first = before.map(|piece| piece.until).max().unwrap_or(0);
        let last = after.map(|piece| piece.from).min().unwrap_or(task.due);
        part.release = task.release.max(inside.start).max(first);
        part.due = task.due.min(inside.end).min(last);
        part.ends_inside = true;
        let mut pieces = stays;
        pieces.extend(self.best(draft, &part, aim, manner));
        pieces.sort_unstable();
        self.join(draft, job, &pieces);
    }

    /// Gives a task runs in place of those it has, which are among them.
    fn join(&self, draft: &mut Draft, job: usize, pieces: &[Piece]) {
        let task = &self.tasks[job];
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
        for &piece in pieces {
            match joined.last_mut() {
                Some(last) if last.until == piece.from && last.mode == piece.mode => {
                    last.until = piece.until;
                }
                _ => joined.push(piece),
            }
        }
        trim(task, &mut joined, self.clock);
        draft.take(job, task, self.clock);
        draft.put(job, task, joined, self.clock);
    }

    /// Keeps a step, or takes it back.
    fn settle(
        &mut self,
        draft: &mut Draft,
        stage: &Stage<'_>,
        before: Worth,
        kept: Vec<(usize, Vec<Piece>)>,
        room: f64,
    ) {
        if !self.keeps(stage, &before, draft, room) {
            for (job, _) in &kept {
                draft.take(*job, &self.tasks[*job], self.clock);
            }
            for (job, pieces) in kept {
                draft.put(job, &self.tasks[job], pieces, self.clock);
            }
        }
    }

    fn keeps(&mut self, stage: &Stage<'_>, before: &Worth, draft: &Draft, room: f64) -> bool {
        let level = stage.aim as usize;
        let mut allowed = *before;
        allowed.0[level] += room * self.random.random_range(0.0..1.0);
        let after = draft.worth();
        match after.order_of(&allowed, level + 1) {
            Ordering::Less => true,
            Ordering::Equal => after.order(&allowed) != Ordering::Greater,
            Ordering::Greater => false,
        }
    }

    fn choose(&mut self, jobs: &[usize], fewest: usize, most: usize) -> Vec<usize> {
        if jobs.is_empty() {
            return Vec::new();
        }
        let count = self.random.random_range(fewest..=most.min(jobs.len()));
        let mut jobs = jobs.to_vec();
        let (chosen, _) = jobs.partial_shuffle(&mut self.random, count);
        chosen.to_vec()
    }

    fn insert(&mut self, draft: &mut Draft, job: usize, aim: Aim, manner: Manner) {
        let task = &self.tasks[job];
        // Lateness that weighs nothing is not worth a transition.
        let waits = task.weight.is_some_and(|weight| weight <= 0.0);
        let pieces = if waits { Vec::new() } else { self.best(draft, task, aim, manner) };
        draft.put(job, task, pieces, self.clock);
    }

    fn best(&mut self, draft: &Draft, task: &Task, aim: Aim, manner: Manner) -> Vec<Piece> {
        draft.free_for(task, &mut self.free);
        let harvests = task.weight.is_none();
        let noise = self.random.random_range(0.0..0.5);
        let guided = manner == Manner::Guided;
        let guide = &self.guide.prices[usize::from(!task.preemptible)];
        // A guide's price is in units of its own level.
        let factor = match aim {
            Aim::Harvest if !harvests => GPU_HOUR_PRICE,
            Aim::Late => self.random.random_range(0.0..1.0),
            _ => 1.0,
        };
        self.price.clear();
        for slot in 0..self.clock.slots() {
            let plain = if harvests { 0.0 } else { GPU_HOUR_PRICE * self.clock.slot(slot) };
            let price =
                if guided { plain + factor * guide.get(slot).unwrap_or(&0.0) } else { plain };
            self.price.push(price * (1.0 + noise * self.random.random_range(-1.0..1.0)));
        }
        let weight = task.weight.unwrap_or(1.0);
        // How much work weighs against transitions on the way, where as much as can be is to be done.
        let work_value = 10_f64.powf(self.random.random_range(-3.0..0.0));
        let pays = guided || self.random.random_bool(0.5);
        let at_price = harvests || (aim == Aim::Late && pays);
        let cut = match (at_price, aim) {
            (true, Aim::Late) => self.transition * weight,
            (true, _) => self.transition,
            (false, _) => GPU_HOUR_PRICE,
        };
        let cut = cut * self.random.random_range(0.0..2.0);
        self.price_edges(cut);
        let ask = Ask {
            free: &self.free,
            price: &self.price,
            edge: [&self.edge[0], &self.edge[1]],
            loss_price: match (harvests, at_price) {
                (true, _) => 0.0,
                (false, true) => GPU_HOUR_PRICE,
                (false, false) => 1.0,
            },
            run_price: RUN_PRICE,
            work_value: if at_price {
                weight
            } else if aim == Aim::Late {
                work_value
            } else {
                GPU_HOUR_PRICE
            },
            undone_price: at_price.then_some(weight),
        };
        self.single.best(task, &ask, self.clock)
    }

    /// A run that starts or stops where its GPU is free on both sides cuts what is free in two, and
    /// somebody else pays another transition for that.
    fn price_edges(&mut self, cut: f64) {
        let free = &self.free;
        let slots = free.len();
        let [starts, stops] = &mut self.edge;
        starts.clear();
        stops.clear();
        for boundary in 0..=slots {
            let before = boundary.checked_sub(1).map_or(0, |slot| free[slot]);
            let after = free.get(boundary).copied().unwrap_or(0);
            starts.push(if before >= after { cut } else { 0.0 });
            stops.push(if after >= before { cut } else { 0.0 });
        }
    }

    /// Work that missed its deadline goes on like work without one.
    fn put_late_work(&mut self, draft: &mut Draft, job: usize, manner: Manner) {
        let task = &self.tasks[job];
        let done = task.work_of(&draft.pieces[job], self.clock);
        if done >= task.enough() {
            return;
        }
        let mut rest = task.clone();
        rest.need = task.need - done;
        let free_from = draft.pieces[job].last().map_or(0, |last| last.until);
        rest.release = free_from.max(task.due).max(task.release);
        rest.due = self.clock.slots();
        rest.weight = None;
        rest.ends_inside = true;
        let mut pieces = draft.pieces[job].clone();
        pieces.extend(self.best(draft, &rest, Aim::Harvest, manner));
        self.join(draft, job, &pieces);
    }
}
