//! The schedule's question as a mixed integer program, written from the meaning of the levels and
//! from nothing that the search or its bounds compute.
//!
//! For each job, mode and slot one binary column says that the job holds those GPUs there, and for
//! each boundary one says that such a run starts, and one that it stops. Work in time is what is held
//! before the deadline, less the part of each start and of each stop that lies before it. That sum is
//! right for every run that is at least as long as its two transitions; a shorter one does no work,
//! costs what others could use, and is left out. Running on after the work is done is not forbidden
//! here: it gains nothing at any level.

use std::collections::BTreeMap;

use cotenant_core::plan::{Job, Problem};

/// Levels of what is optimised.
pub(super) const LEVELS: usize = 4;

/// Their order: lateness, transition loss, harvest, changes.
const LATE: usize = 0;
const LOST: usize = 1;
const HARVEST: usize = 2;
const CHANGES: usize = 3;

/// Costs nothing at any level.
const FREE: [f64; LEVELS] = [0.0; LEVELS];

/// Rounding that may not make a run of exactly its two transitions too short.
const ROUNDING_HOURS: f64 = 1e-12;

/// A sum of columns, each times a factor.
pub(super) type Sum = Vec<(usize, f64)>;

/// A variable, at least zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) upper: f64,
    pub(super) whole: bool,
    /// What a unit of it costs at each level; the harvest with its sign turned.
    pub(super) costs: [f64; LEVELS],
}

/// `low <= sum <= high`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) sum: Sum,
}

/// A column that says that a job holds the GPUs of a mode in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub(super) job: usize,
    pub(super) mode: usize,
    pub(super) slot: usize,
    pub(super) column: usize,
}

/// The whole program, to be minimised at one level at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) holds: Vec<Hold>,
}

impl Program {
    /// The program of a question. Every job must be able to do some work.
    pub(super) fn of(problem: &Problem) -> Self {
        let mut clock = vec![0.0];
        for slot in &problem.slots {
            clock.push(clock[clock.len() - 1] + slot.hours);
        }
        let mut program = Self::default();
        for place in 0..problem.jobs.len() {
            program.add_job(problem, place, &clock);
        }
        program.add_capacity(problem);
        program
    }

    /// What a level's columns add up to.
    pub(super) fn level(&self, level: usize) -> Sum {
        let costs = self.columns.iter().enumerate().map(|(at, column)| (at, column.costs[level]));
        costs.filter(|(_, cost)| *cost != 0.0).collect()
    }

    fn column(&mut self, upper: f64, whole: bool, costs: [f64; LEVELS]) -> usize {
        self.columns.push(Column { upper, whole, costs });
        self.columns.len() - 1
    }

    fn row(&mut self, low: f64, high: f64, sum: impl IntoIterator<Item = (usize, f64)>) {
        let mut merged: BTreeMap<usize, f64> = BTreeMap::new();
        for (column, factor) in sum {
            *merged.entry(column).or_default() += factor;
        }
        self.rows.push(Row { low, high, sum: merged.into_iter().collect() });
    }

    fn add_job(&mut self, problem: &Problem, place: usize, clock: &[f64]) {
        let job = &problem.jobs[place];
        let best = job.work_per_gpu_hour_max();
        let mut work = Work::default();
        let mut held: BTreeMap<usize, Sum> = BTreeMap::new();
        for (mode, way) in job.modes.iter().enumerate() {
            let first = self.holds.len();
            for (slot, window) in problem.slots.iter().enumerate().skip(job.release) {
                let free = window.firm + if job.preemptible { window.lendable } else { 0 };
                if way.gpus <= free {
                    let column = self.column(1.0, true, FREE);
                    self.holds.push(Hold { job: place, mode, slot, column });
                    held.entry(slot).or_default().push((column, 1.0));
                }
            }
            let slots: BTreeMap<usize, usize> =
                self.holds[first..].iter().map(|hold| (hold.slot, hold.column)).collect();
            self.add_runs(job, way.gpus, way.work_per_hour / best, &slots, clock, &mut work);
        }
        for together in held.into_values().filter(|sum| sum.len() > 1) {
            self.row(f64::NEG_INFINITY, 1.0, together);
        }
        self.add_worth(job, clock, &work);
    }

    /// Starts and stops of the runs in one mode, and the work that they do.
    fn add_runs(
        &mut self,
        job: &Job,
        gpus: u32,
        rate: f64,
        slots: &BTreeMap<usize, usize>,
        clock: &[f64],
        work: &mut Work,
    ) {
        let due = due(job, clock);
        let due_hours = clock[due];
        let transitions = job.start_hours + job.stop_hours;
        let mut starts: Vec<(usize, usize, usize)> = Vec::new();
        for boundary in job.release..clock.len() {
            let before = boundary.checked_sub(1).and_then(|slot| slots.get(&slot).copied());
            let after = slots.get(&boundary).copied();
            let mut balance: Sum = Vec::new();
            balance.extend(after.map(|column| (column, 1.0)));
            balance.extend(before.map(|column| (column, -1.0)));
            if let Some(until) = shortest(job, boundary, slots, clock) {
                let lost = f64::from(gpus) * transitions;
                let counted = job.deadline.is_some() && boundary < due;
                let mut costs = FREE;
                costs[LOST] = if counted { lost } else { 0.0 };
                // Each run starts and stops.
                costs[CHANGES] = 2.0;
                let start = self.column(1.0, false, costs);
                balance.push((start, -1.0));
                starts.push((boundary, until, start));
                let in_time = job.start_hours.min(due_hours - clock[boundary]).max(0.0);
                work.add(start, -rate * in_time, -rate * job.start_hours);
            }
            if before.is_some() {
                let stop = self.column(1.0, false, FREE);
                balance.push((stop, 1.0));
                let begins = clock[boundary] - job.stop_hours;
                let in_time = job.stop_hours.min(due_hours - begins).max(0.0);
                work.add(stop, -rate * in_time, -rate * job.stop_hours);
            }
            if !balance.is_empty() {
                self.row(0.0, 0.0, balance);
            }
        }
        for (&slot, &column) in slots {
            let hours = clock[slot + 1] - clock[slot];
            work.add(column, if slot < due { rate * hours } else { 0.0 }, rate * hours);
            // Whoever has just started holds on.
            let young = starts.iter().filter(|(from, until, _)| (*from..*until).contains(&slot));
            let sum: Sum = young.map(|(_, _, start)| (*start, 1.0)).collect();
            self.row(f64::NEG_INFINITY, 0.0, sum.into_iter().chain([(column, -1.0)]));
        }
    }

    /// What a job's work is worth at the levels.
    fn add_worth(&mut self, job: &Job, clock: &[f64], work: &Work) {
        let need = job.gpu_hours_min();
        let mut costs = FREE;
        costs[HARVEST] = -1.0;
        let overdue = self.column(need, false, costs);
        if job.deadline.is_none() {
            self.row(0.0, f64::INFINITY, less(&work.all, overdue));
            return;
        }
        let mut costs = FREE;
        costs[LATE] = job.weight;
        let missing = self.column(need, false, costs);
        self.row(need, f64::INFINITY, work.in_time.iter().copied().chain([(missing, 1.0)]));
        // What is done late is at most what is done after the deadline, and at most what was missing
        // then: nothing, unless this column says that something was.
        let is_late = self.column(1.0, true, FREE);
        let after = work.all.iter().copied().chain(work.in_time.iter().map(|&(at, by)| (at, -by)));
        self.row(0.0, f64::INFINITY, less(&after.collect(), overdue));
        self.row(f64::NEG_INFINITY, 0.0, [(overdue, 1.0), (is_late, -need)]);
        let spare = (most_in_time(job, clock) - need).max(0.0);
        let owed = work.in_time.iter().copied().chain([(overdue, 1.0), (is_late, spare)]);
        self.row(f64::NEG_INFINITY, need + spare, owed);
    }

    fn add_capacity(&mut self, problem: &Problem) {
        for (place, slot) in problem.slots.iter().enumerate() {
            let here = self.holds.iter().filter(|hold| hold.slot == place);
            let gpus = |hold: &Hold| {
                (hold.column, f64::from(problem.jobs[hold.job].modes[hold.mode].gpus))
            };
            let all: Sum = here.clone().map(gpus).collect();
            let firm: Sum =
                here.filter(|hold| !problem.jobs[hold.job].preemptible).map(gpus).collect();
            self.row(f64::NEG_INFINITY, f64::from(slot.firm + slot.lendable), all);
            self.row(f64::NEG_INFINITY, f64::from(slot.firm), firm);
        }
    }
}

/// Work of one job in GPU-hours at its best work per GPU-hour.
#[derive(Default)]
struct Work {
    in_time: Sum,
    all: Sum,
}

impl Work {
    fn add(&mut self, column: usize, in_time: f64, all: f64) {
        self.in_time.push((column, in_time));
        self.all.push((column, all));
    }
}

/// A deadline after the end of the schedule is one at its end.
fn due(job: &Job, clock: &[f64]) -> usize {
    job.deadline.map_or(clock.len() - 1, |slot| slot.min(clock.len() - 1))
}

/// The slot after the shortest run that may start in a slot; `None` where none may.
fn shortest(
    job: &Job,
    from: usize,
    slots: &BTreeMap<usize, usize>,
    clock: &[f64],
) -> Option<usize> {
    let enough = job.start_hours + job.stop_hours - ROUNDING_HOURS;
    let until = (from + job.min_run.max(1)..clock.len())
        .find(|&until| clock[until] - clock[from] >= enough)?;
    (from..until).all(|slot| slots.contains_key(&slot)).then_some(until)
}

/// More than a job can do by its deadline, in GPU-hours at its best work per GPU-hour.
fn most_in_time(job: &Job, clock: &[f64]) -> f64 {
    let fastest = job.modes.iter().map(|mode| mode.work_per_hour).fold(0.0, f64::max);
    let due = due(job, clock);
    let hours = clock[due] - clock[job.release.min(due)];
    hours * fastest / job.work_per_gpu_hour_max()
}

/// A sum less a column.
fn less(sum: &Sum, column: usize) -> Sum {
    sum.iter().copied().chain([(column, -1.0)]).collect()
}
