//! What came of it.

use std::collections::BTreeMap;

use crate::policy::admission::Refusal;
use crate::sim::job::Ledger;
use crate::sim::transition::StepKind;
use crate::units::Picoseconds;

/// What came of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The services by number.
    pub services: Vec<ServiceOutcome>,
    /// The jobs by number.
    pub jobs: Vec<JobOutcome>,
    /// Each time that lent GPUs were asked back and somebody was stopped for it.
    pub reclaims: Vec<ReclaimOutcome>,
    /// Where the GPUs' time went.
    pub gpu_time: GpuTime,
    /// The end of the simulated time.
    pub until: Picoseconds,
    /// Things that happened.
    pub events: u64,
    /// The moment at which so many things happened at once that it was given up; what else is here
    /// ends there.
    pub stuck_at: Option<Picoseconds>,
}

/// GPU-time. Where jobs run beside a service, a GPU that both hold is counted for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuTime {
    /// All GPUs over the whole time.
    pub total: Picoseconds,
    /// Replicas that serve.
    pub serving: Picoseconds,
    /// Replicas that come or go: start, drain, stop.
    pub changing: Picoseconds,
    /// Jobs that work.
    pub working: Picoseconds,
    /// Jobs that start, save or leave.
    pub job_overhead: Picoseconds,
    /// Nobody holds it.
    pub free: Picoseconds,
}

/// What came of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceOutcome {
    /// Its name.
    pub name: String,
    /// Replicas that were started.
    pub starts: u64,
    /// GPU-time of replicas that served.
    pub serving: Picoseconds,
    /// GPU-time of replicas that came or went.
    pub changing: Picoseconds,
    /// Time of each step of its changes, all replicas together.
    pub steps: BTreeMap<StepKind, Picoseconds>,
    /// Where demand is stated in replicas: the time in which fewer served than it asked for.
    pub short: Picoseconds,
    /// The same, each moment times the replicas that were missing.
    pub missing: Picoseconds,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that replicas were done with.
    pub finished: u64,
    /// Requests that were refused.
    pub refused: BTreeMap<Refusal, u64>,
    /// Requests that had to begin again elsewhere, since their replica left.
    pub moved: u64,
    /// Requests that had no replica to go to at the end.
    pub held: u64,
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// Its name.
    pub name: String,
    /// When its work was done and saved.
    pub finished_at: Option<Picoseconds>,
    /// Whether that was by its deadline; `None` where it has none, or where the simulated time ended
    /// before it.
    pub on_time: Option<bool>,
    /// Units that are done and not lost at the end.
    pub done: u64,
    /// Units that it has; `None` where it never ends.
    pub units: Option<u64>,
    /// Units that a loss at the end would have left.
    pub kept: u64,
    /// Where its time went.
    pub ledger: Ledger,
}

/// One time that lent GPUs were asked back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReclaimOutcome {
    /// The service that asked.
    pub service: u32,
    /// When.
    pub asked_at: Picoseconds,
    /// The GPUs of the jobs that were stopped for it.
    pub gpus: Vec<u32>,
    /// When all of them were free; `None` where that was not seen.
    pub free_at: Option<Picoseconds>,
    /// When replicas served on all of them; `None` where that was not seen, as when a window took
    /// them before.
    pub ready_at: Option<Picoseconds>,
}
