//! A schedule in the making: what each task holds, and what is still free.

use super::task::{Clock, Piece, Task, Worth};
use crate::plan::Problem;

/// A schedule that keeps every rule at any time.
#[derive(Clone)]
pub(super) struct Draft {
    /// Free GPUs of each slot.
    free: Vec<u32>,
    /// Of these, GPUs that a task may hold that must not be preempted.
    firm: Vec<u32>,
    /// The runs of each task.
    pub(super) pieces: Vec<Vec<Piece>>,
    worth: Vec<Worth>,
}

impl Draft {
    /// Nobody runs.
    pub(super) fn empty(problem: &Problem, tasks: &[Task]) -> Self {
        let idle = |task: &Task| task.worth(&[], &Clock::of(problem));
        Self {
            free: problem.slots.iter().map(|slot| slot.firm + slot.lendable).collect(),
            firm: problem.slots.iter().map(|slot| slot.firm).collect(),
            pieces: vec![Vec::new(); tasks.len()],
            worth: tasks.iter().map(idle).collect(),
        }
    }

    /// GPUs that a task may still hold in each slot.
    pub(super) fn free_for(&self, task: &Task, free: &mut Vec<u32>) {
        free.clear();
        if task.preemptible {
            free.extend_from_slice(&self.free);
        } else {
            free.extend(self.free.iter().zip(&self.firm).map(|(&all, &firm)| all.min(firm)));
        }
    }

    /// Gives a task, which holds nothing, its runs. They must fit.
    pub(super) fn put(&mut self, job: usize, task: &Task, pieces: Vec<Piece>, clock: &Clock) {
        self.occupy(task, &pieces, |free, gpus| free - gpus);
        self.worth[job] = task.worth(&pieces, clock);
        self.pieces[job] = pieces;
    }

    /// Takes a task's runs away.
    pub(super) fn take(&mut self, job: usize, task: &Task, clock: &Clock) -> Vec<Piece> {
        let pieces = std::mem::take(&mut self.pieces[job]);
        self.occupy(task, &pieces, |free, gpus| free + gpus);
        self.worth[job] = task.worth(&[], clock);
        pieces
    }

    fn occupy(&mut self, task: &Task, pieces: &[Piece], change: impl Fn(u32, u32) -> u32) {
        for piece in pieces {
            let gpus = task.modes[piece.mode].gpus;
            for slot in piece.from..piece.until {
                self.free[slot] = change(self.free[slot], gpus);
                if !task.preemptible {
                    self.firm[slot] = change(self.firm[slot], gpus);
                }
            }
        }
    }

    /// Whether a task could hold so many GPUs more in a slot.
    pub(super) fn fits(&self, task: &Task, slot: usize, gpus: u32) -> bool {
        self.free[slot] >= gpus && (task.preemptible || self.firm[slot] >= gpus)
    }

    /// Whether work of a job is late that has a weight.
    pub(super) fn is_late(&self, job: usize) -> bool {
        self.worth[job].0[0] > 0.0
    }

    /// What the schedule is worth.
    pub(super) fn worth(&self) -> Worth {
        self.worth.iter().fold(Worth::default(), |sum, &worth| sum.plus(worth))
    }
}
