//! What schedulers say of the cluster rather than of a job or a node: partitions, reservations,
//! licences, limits, shares, statistics and settings.

use super::model::Place;
use super::resources::{CpuStates, Gpus, Tres};
use super::stated::{SchedulerTime, Stated};

/// A partition of Slurm.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Where it stands.
    pub place: Place,
    /// The name.
    pub name: Stated<String>,
    /// Whether jobs go there that name none.
    pub is_default: Stated<bool>,
    /// Its state: `UP`, `INACTIVE`.
    pub state: Stated<String>,
    /// The nodes, as a list of names.
    pub nodes: Stated<String>,
    /// How many nodes.
    pub node_count: Stated<u64>,
    /// Processors.
    pub cpus: Stated<u64>,
    /// Processors by state.
    pub cpu_states: Stated<CpuStates>,
    /// The longest time of a job, seconds.
    pub limit_s: Stated<u64>,
    /// The time of a job that names none, seconds.
    pub limit_default_s: Stated<u64>,
    /// Its tier: jobs of a higher one go first, and may preempt.
    pub priority_tier: Stated<u64>,
    /// What happens to a job that is preempted: `REQUEUE`, `OFF`.
    pub preempt_mode: Stated<String>,
    /// Time that a preempted job is given to end, seconds.
    pub grace_s: Stated<u64>,
    /// All that it has.
    pub tres: Stated<Vec<Tres>>,
    /// Its GPUs.
    pub gpus: Stated<Gpus>,
}

/// A reservation of Slurm.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation {
    /// Where it stands.
    pub place: Place,
    /// The name.
    pub name: Stated<String>,
    /// When it begins.
    pub start: Stated<SchedulerTime>,
    /// When it ends.
    pub end: Stated<SchedulerTime>,
    /// How long it is, seconds.
    pub duration_s: Stated<u64>,
    /// The nodes, as a list of names.
    pub nodes: Stated<String>,
    /// How many nodes.
    pub node_count: Stated<u64>,
    /// Its flags: `MAINT`, `SPEC_NODES`.
    pub flags: Vec<String>,
    /// Whether it holds now: `ACTIVE`, `INACTIVE`.
    pub state: Stated<String>,
    /// Who may use it.
    pub users: Stated<String>,
    /// Which accounts may use it.
    pub accounts: Stated<String>,
    /// The partition.
    pub partition: Stated<String>,
    /// What it holds.
    pub tres: Stated<Vec<Tres>>,
    /// The GPUs that it holds.
    pub gpus: Stated<Gpus>,
}

/// A licence of Slurm.
#[derive(Clone, Debug, PartialEq)]
pub struct License {
    /// Where it stands.
    pub place: Place,
    /// The name.
    pub name: Stated<String>,
    /// All.
    pub total: Stated<u64>,
    /// In use.
    pub used: Stated<u64>,
    /// Free.
    pub free: Stated<u64>,
    /// Reserved.
    pub reserved: Stated<u64>,
}

/// A limit of a resource: of a quality of service or an account of Slurm, or of a queue of Kueue.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// Where it stands.
    pub place: Place,
    /// Of what: "quality of service", "account", "ClusterQueue", "Cohort".
    pub owner_kind: &'static str,
    /// Whose limit.
    pub owner: String,
    /// What the limit is on, in the scheduler's words: `GrpTRES`, `MaxTRESPU`, `nominalQuota`.
    pub limit_kind: String,
    /// The resource: `gres/gpu`, `nvidia.com/gpu`.
    pub resource: String,
    /// The flavour of Kueue.
    pub flavor: Option<String>,
    /// How much; memory of Slurm in MiB, of Kueue in bytes; times in minutes.
    pub limit: Stated<f64>,
    /// How much is used.
    pub used: Stated<f64>,
    /// How much may be borrowed from others.
    pub borrowing: Stated<f64>,
    /// How much may be lent to others.
    pub lending: Stated<f64>,
}

/// A row of fair shares of Slurm.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Where it stands.
    pub place: Place,
    /// The account.
    pub account: Stated<String>,
    /// The user; not set for the account itself.
    pub user: Stated<String>,
    /// Shares as they were given; not set where they are the parent's.
    pub shares: Stated<u64>,
    /// Share of its parent's, from 0 to 1.
    pub share: Stated<f64>,
    /// Use so far, decayed, in seconds of billing.
    pub usage: Stated<f64>,
    /// Share of the use, from 0 to 1.
    pub usage_share: Stated<f64>,
    /// The factor of priority, from 0 to 1.
    pub factor: Stated<f64>,
}

/// A number that a scheduler says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Where it stands.
    pub place: Place,
    /// The part of the report: "main schedule", "backfilling"; empty for its head.
    pub group: String,
    /// What it is, in the scheduler's words.
    pub name: String,
    /// The unit: "µs", or empty for a count.
    pub unit: &'static str,
    /// The number.
    pub value: Stated<f64>,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Where it stands.
    pub place: Place,
    /// The key.
    pub key: String,
    /// The value; not set where the scheduler says `(null)`.
    pub value: Stated<String>,
}

/// A line of a log of the host's driver or fabric that says that something is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Where it stands.
    pub place: Place,
    /// When, local to the machine.
    pub time: Stated<SchedulerTime>,
    /// Who says it: "Xid", "NVSwitch".
    pub source: &'static str,
    /// The number of the error: 119.
    pub code: Stated<u64>,
    /// The device: a PCI address.
    pub device: Stated<String>,
    /// The message, shortened.
    pub message: String,
}
