//! The scheduling question behind a calendar: which job holds how many GPUs in which window.

/// A window as the schedule sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// Its length, hours.
    pub hours: f64,
    /// GPUs that inference will not ask for: not reserved, no reserve for bursts.
    pub firm: u32,
    /// GPUs beyond the firm ones that are lent and may be reclaimed. Only a job that may be
    /// preempted holds them.
    pub lendable: u32,
}

/// A way in which a job may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// GPUs that it holds together.
    pub gpus: u32,
    /// Work that it does in an hour on them, in the job's own unit.
    pub work_per_hour: f64,
}

/// One occurrence of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, unique in the problem: `fine-tune (2nd of 3, due Fri 18:00)`.
    pub name: String,
    /// The workload in the site file that it comes from.
    pub workload: String,
    /// The ways in which it may run, by GPUs ascending. Never empty. It may change between them
    /// from one window to the next, which is a change of hands like any other.
    pub modes: Vec<Mode>,
    /// Work to be done, in its own unit; infinite for work that never ends.
    pub work: f64,
    /// The first slot in which it may run.
    pub release: usize,
    /// The slot before which it must be done; `None` is work without a deadline.
    pub deadline: Option<usize>,
    /// What a GPU-hour of it that is late weighs.
    pub weight: f64,
    /// Whether it may hold lent GPUs.
    pub preemptible: bool,
    /// The fewest slots in a row for which it may be started.
    pub min_run: usize,
    /// Time at the start of a run in which its GPUs do no work of it, hours.
    pub start_hours: f64,
    /// Time at the end of a run in which its GPUs do no work of it, hours.
    pub stop_hours: f64,
}

impl Job {
    /// The most work that one of its GPUs does in an hour, over its modes.
    pub fn work_per_gpu_hour_max(&self) -> f64 {
        self.modes.iter().map(|mode| mode.work_per_hour / f64::from(mode.gpus)).fold(0.0, f64::max)
    }

    /// GPU-hours that its work takes at the least.
    pub fn gpu_hours_min(&self) -> f64 {
        self.work / self.work_per_gpu_hour_max()
    }
}

/// The whole question.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// GPUs of the place, all alike.
    pub gpus: u32,
    /// The windows, in order.
    pub slots: Vec<Slot>,
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// An unbroken stretch in which one job holds the same number of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Its place among the problem's jobs.
    pub job: usize,
    /// The first slot.
    pub from: usize,
    /// The slot after the last one.
    pub until: usize,
    /// Its place among the job's modes.
    pub mode: usize,
}
