//! What schedulers print: Slurm (`sacct`, `squeue`, `sinfo`, `scontrol`, `sdiag`, `sshare`, `sacctmgr`,
//! slurmrestd, its settings), Kubernetes (objects, tables, descriptions, events) and Kueue, told by
//! content.
//!
//! A file is read as it is. What it does not say is absent with the reason; what was not understood is
//! counted and named with its line; a file of another kind is refused by name. Local times stay without a
//! zone.

mod cluster;
mod host_log;
mod kind;
mod kubernetes;
mod model;
mod pasted;
mod read;
mod reading;
mod refusal;
mod resources;
mod show;
mod slurm;
mod stated;
mod text;
mod value;
mod yaml;

pub use cluster::{Fault, License, Partition, Quota, Reservation, Setting, Share, Statistic};
pub use kind::Kind;
pub use kubernetes::model::{
    Amount, Condition, Event, Flavor, KubernetesNode, NodesRefused, OtherObject, Pod, Queue,
    QuotaShort, RefusalClass, Unschedulable, Workload, amount_of,
};
pub use model::{ArrayOf, Exit, Job, Node, Place, Wait};
pub use read::{read, recognise};
pub use reading::{RECORDS_MAX, Reading, SKIPPED_SHOWN_MAX, Skipped};
pub use refusal::ReadError;
pub use resources::{CpuStates, Gpus, Gres, Memory, MemoryPer, Tres};
pub use show::{Row, Section, Shown};
pub use stated::{Absence, SchedulerTime, Stated};
pub use text::TEXT_BYTES_MAX;
