//! The question in the unit in which it is judged: GPU-hours of each job at its best work per
//! GPU-hour.

use std::cmp::Ordering;

use super::audit::WORK_TOLERANCE;
use crate::plan::{Problem, Run};

/// Hours from the first slot to the start of each slot, and to the end of the last.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    hours: Vec<f64>,
}

impl Clock {
    pub(super) fn of(problem: &Problem) -> Self {
        let mut hours = Vec::with_capacity(problem.slots.len() + 1);
        let mut now = 0.0;
        hours.push(now);
        for slot in &problem.slots {
            now += slot.hours;
            hours.push(now);
        }
        Self { hours }
    }

    /// Slots.
    pub(super) fn slots(&self) -> usize {
        self.hours.len() - 1
    }

    /// Hours from the start of slot `from` to the start of slot `until`.
    pub(super) fn between(&self, from: usize, until: usize) -> f64 {
        self.hours[until] - self.hours[from]
    }

    /// The first boundary that lies at least so many hours after the start of a slot; one past the
    /// last where none does.
    pub(super) fn reaches(&self, from: usize, hours: f64) -> usize {
        let moment = self.hours[from] + hours;
        self.hours.partition_point(|&boundary| boundary < moment - 1e-9).max(from + 1)
    }

    /// The length of the shortest slot, hours.
    pub(super) fn slot_min(&self) -> f64 {
        (0..self.slots()).map(|slot| self.slot(slot)).fold(f64::INFINITY, f64::min)
    }

    /// The length of a slot, hours.
    pub(super) fn slot(&self, slot: usize) -> f64 {
        self.between(slot, slot + 1)
    }
}

/// A way in which a task may run.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskMode {
    /// Its place among the job's modes.
    pub(super) place: usize,
    /// GPUs that it holds.
    pub(super) gpus: u32,
    /// Work in an hour, GPU-hours at the job's best; at most `gpus`.
    pub(super) rate: f64,
}

/// A job in GPU-hours at its best work per GPU-hour.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Work, GPU-hours; infinite for work that never ends.
    pub(super) need: f64,
    /// The modes that do any work.
    pub(super) modes: Vec<TaskMode>,
    /// The first slot in which it may run.
    pub(super) release: usize,
    /// The slot before which it must be done; the end of the schedule where it has no deadline.
    pub(super) due: usize,
    /// What a late GPU-hour weighs; `None` where it has no deadline.
    pub(super) weight: Option<f64>,
    /// Whether it may hold lent GPUs.
    pub(super) preemptible: bool,
    /// The fewest slots of a run, at least one.
    pub(super) min_run: usize,
    /// Hours at the start of a run without work.
    pub(super) start: f64,
    /// Hours at the end of a run without work.
    pub(super) stop: f64,
    /// Whether runs must end by `due`, even of a task with a deadline.
    pub(super) ends_inside: bool,
}

impl Task {
    /// The problem's jobs, in its order.
    pub(super) fn all(problem: &Problem) -> Vec<Self> {
        problem.jobs.iter().map(|job| Self::of(job, problem.slots.len())).collect()
    }

    fn of(job: &crate::plan::Job, slots: usize) -> Self {
        let best = job.work_per_gpu_hour_max();
        let unit = if best > 0.0 { best } else { 1.0 };
        let modes = job.modes.iter().enumerate().filter(|(_, mode)| mode.work_per_hour > 0.0);
        Self {
            need: job.work / unit,
            modes: modes
                .map(|(place, mode)| TaskMode {
                    place,
                    gpus: mode.gpus,
                    rate: mode.work_per_hour / unit,
                })
                .collect(),
            release: job.release.min(slots),
            due: job.deadline.map_or(slots, |slot| slot.min(slots)),
            weight: job.deadline.map(|_| job.weight),
            preemptible: job.preemptible,
            min_run: job.min_run.max(1),
            start: job.start_hours,
            stop: job.stop_hours,
            ends_inside: job.deadline.is_none(),
        }
    }

    /// Hours of a run that its transitions take.
    pub(super) fn transitions(&self) -> f64 {
        self.start + self.stop
    }

    /// Work that counts as all of it.
    pub(super) fn enough(&self) -> f64 {
        self.need * (1.0 - WORK_TOLERANCE)
    }

    /// Work of a piece before the slot `before`.
    fn work(&self, piece: Piece, before: usize, clock: &Clock) -> f64 {
        let end = (clock.hours[piece.until] - self.stop).min(clock.hours[before]);
        self.modes[piece.mode].rate * (end - clock.hours[piece.from] - self.start).max(0.0)
    }

    /// All work of the pieces.
    pub(super) fn work_of(&self, pieces: &[Piece], clock: &Clock) -> f64 {
        pieces.iter().map(|&piece| self.work(piece, piece.until, clock)).sum()
    }

    /// What the pieces are worth.
    pub(super) fn worth(&self, pieces: &[Piece], clock: &Clock) -> Worth {
        let mut in_time = 0.0;
        let mut lost = 0.0;
        for &piece in pieces {
            in_time += self.work(piece, self.due, clock);
            if self.weight.is_some() && piece.from < self.due {
                lost += f64::from(self.modes[piece.mode].gpus) * self.transitions();
            }
        }
        let done = self.work_of(pieces, clock).min(self.need);
        let missing = if in_time >= self.enough() { 0.0 } else { self.need - in_time };
        let changes = 2.0 * pieces.len() as f64;
        match self.weight {
            None => Worth([0.0, 0.0, -done, changes]),
            Some(weight) => Worth([weight * missing, lost, -(done - in_time).max(0.0), changes]),
        }
    }
}

/// A run of a task whose mode is its place among the task's modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    /// The first slot.
    pub(super) from: usize,
    /// The slot after the last one.
    pub(super) until: usize,
    /// Its place among the task's modes.
    pub(super) mode: usize,
}

/// The runs of all tasks, by job and time.
pub(super) fn runs(tasks: &[Task], pieces: &[Vec<Piece>]) -> Vec<Run> {
    let run = |job: usize, piece: &Piece| Run {
        job,
        from: piece.from,
        until: piece.until,
        mode: tasks[job].modes[piece.mode].place,
    };
    pieces
        .iter()
        .enumerate()
        .flat_map(|(job, own)| own.iter().map(move |piece| run(job, piece)))
        .collect()
}

/// Lateness, transition loss, harvest with its sign turned, and changes: less is better in each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Worth(pub(super) [f64; 4]);

/// Differences below this are rounding, in GPU-hours and changes.
const SAME: f64 = 1e-7;

impl Worth {
    /// Adds another one.
    pub(super) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|level| self.0[level] + other.0[level]))
    }

    /// Whether it is better or worse at the first level at which the two differ.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.order_of(other, self.0.len())
    }

    /// The same, where only so many levels are looked at.
    pub(super) fn order_of(&self, other: &Self, levels: usize) -> Ordering {
        for (own, others) in self.0.iter().zip(other.0).take(levels) {
            let scale = own.abs().max(others.abs()).max(1.0);
            if (own - others).abs() > SAME * scale {
                return own.total_cmp(&others);
            }
        }
        Ordering::Equal
    }
}
