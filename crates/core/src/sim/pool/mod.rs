//! A shared pool of GPUs above the engines: quota, then placement, then work, and the three waits
//! apart.
//!
//! Queues own quota and lend it to each other in cohorts. A workload waits until quota admits it,
//! then until its whole gang finds places on nodes, then it works. Which of these it waits for
//! decides what helps: more quota does not shorten a wait for places.
//!
//! Admission follows the rules in the source of Kueue (0.19 line) without fair sharing: one head of each queue in a
//! cycle, those that need not borrow first, then by priority, then by age; the order of victims and
//! the way a smallest set of them is looked for are Kueue's too, and so is that a workload stays at
//! the head of its queue while others are stopped for it. Not modelled: nested cohorts,
//! borrowing while reclaiming (`borrowWithinCohort`), preemption of equals, choice among flavours,
//! partial admission, topology, admission checks and fair sharing.

mod cycle;
mod outcome;
mod pending;
mod placement;
mod problem;
mod quota;
mod run;
mod spec;
mod victims;
mod workload;

pub use outcome::{Ending, GpuTime, PoolOutcome, QueueOutcome, Record, Tally};
pub use problem::PoolProblem;
pub use run::simulate;
pub use spec::{
    Flavour, NodeGroup, Packing, PlacementTimeout, PoolSpec, QueueSpec, Quota, Reclaim, Strategy,
    Within,
};
pub use workload::Workload;
