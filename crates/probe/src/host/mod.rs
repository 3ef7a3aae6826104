//! Observation of the host: each source on its own, and what cannot be read is never a zero.
//!
//! [`Sampler`] takes one sample a second for the blocks of a test; [`facts`] says what the host is, for
//! the fingerprint. Every parser is a pure function of a text; where the text comes from is one
//! [`Root`], so that a folder of copies can stand for a machine.

mod accounting;
mod cgroup;
mod cpu;
mod disk;
mod facts;
mod listener;
mod memory;
mod memory_limit;
mod network;
mod pressure;
mod process;
mod root;
mod sampler;

pub use cgroup::{
    CgroupMount, CgroupState, ControlGroup, OwnCgroups, Throttling, parse_cgroup_mounts,
    parse_own_cgroups, parse_quota_v1, parse_quota_v2, parse_throttling, read_cgroup,
};
pub use cpu::{MachineCpu, parse_clock_mhz, parse_machine_cpu, parse_runnable};
pub use disk::{Transferred, parse_disks};
pub use facts::{
    HostFacts, UsableCores, facts, facts_at, parse_affinity, parse_allowed_cpus, parse_cpu_list,
    parse_cpu_model,
};
pub use listener::{listeners, parse_listening_inodes};
pub use memory::parse_memory;
pub use memory_limit::memory_limit;
pub use network::parse_network;
pub use pressure::{PressureTotals, parse_pressure};
pub(crate) use process::run_ns;
pub use process::{Identity, ProcessStat, ProcessTable, parse_process_stat, read_process};
pub use root::Root;
pub use sampler::{SampledWorkload, Sampler};
