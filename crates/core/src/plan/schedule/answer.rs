//! What a schedule answers.

use crate::plan::{Level, Run};

/// How long to look for a better schedule. Steps, never seconds, so that the same question has the
/// same answer on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The most times that jobs are taken out of a schedule and put in again.
    pub steps_max: u64,
    /// The seed of what is tried.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { steps_max: 4_000, seed: 1 }
    }
}

/// A schedule and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The runs, by job and then by time.
    pub runs: Vec<Run>,
    /// The four levels of what is optimised, in order: lateness, transition loss, harvest, changes.
    pub levels: Vec<Level>,
    /// What each job gets, in the order of the problem's jobs.
    pub late: Vec<JobOutcome>,
    /// The proof that some deadline cannot be met by any schedule, where there is one.
    pub shortage: Option<Shortage>,
}

/// What one job gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobOutcome {
    /// The slot in which its work is done; `None` where the schedule ends before that.
    pub done_slot: Option<usize>,
    /// Work that is done before its deadline, or before the end of the schedule for work without
    /// one; in the job's own unit.
    pub work_done_in_time: f64,
    /// GPU-hours that it holds, transitions included.
    pub gpu_hours: f64,
    /// Of these, the GPU-hours that its transitions take.
    pub gpu_hours_lost: f64,
}

/// Jobs that need more GPU-hours between two moments than they can get there, at each job's best
/// work per GPU-hour and with no time lost: a minimum cut of the flow of work into free GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    /// The jobs, by their place in the problem. Each must be done inside of the interval.
    pub jobs: Vec<usize>,
    /// The first slot of the interval.
    pub from_slot: usize,
    /// The slot after its last one.
    pub until_slot: usize,
    /// GPU-hours that the jobs need.
    pub needed: f64,
    /// GPU-hours that are free there and that these jobs can use: no job uses more GPUs at once
    /// than its largest mode, before its release, after its deadline, or lent ones when it must not
    /// be preempted.
    pub free: f64,
}

impl Shortage {
    /// GPU-hours that are missing, whatever the schedule.
    pub fn missing(&self) -> f64 {
        self.needed - self.free
    }
}
