//! The stored forms of what a block holds, requests apart (see [`super::request_columns`]).

use cotenant_core::evidence::{
    BlockFault, CgroupCpu, CheckpointRecord, ClientHealth, HeldMemory, HostSample, Pressure,
    ReclaimDrill, ResumeCheck, StepRecord,
};
use serde::{Deserialize, Serialize};

use super::mirror::{Maybe, Mirror, Real, StoredReading, mirror_struct};

mirror_struct! {
    /// One training step.
    StoredStep of StepRecord {
        step: u64,
        at_ns: u64,
        duration_s: Maybe<Real>,
        loss: Maybe<Real>,
        tokens: Maybe<u64>,
    }
}

mirror_struct! {
    /// One checkpoint.
    StoredCheckpoint of CheckpointRecord {
        step: u64,
        at_ns: u64,
        duration_s: Real,
        bytes: Maybe<u64>,
    }
}

mirror_struct! {
    /// The start after a drill.
    StoredResume of ResumeCheck {
        first_step_s: Maybe<Real>,
        restore_s: Maybe<Real>,
        steady_s: Maybe<Real>,
        step_before_s: Maybe<Real>,
        first_step: u64,
        lost_steps: u64,
        loss_before: Maybe<Real>,
        loss_after: Maybe<Real>,
        loss_tolerance: Maybe<Real>,
        failure: Maybe<String>,
    }
}

mirror_struct! {
    /// Memory that outlived an exit.
    StoredHeldMemory of HeldMemory {
        holder: String,
        bytes: u64,
        until_s: Maybe<Real>,
    }
}

mirror_struct! {
    /// One drill.
    StoredDrill of ReclaimDrill {
        driver: String,
        signal_ns: u64,
        step_boundary_s: Maybe<Real>,
        checkpoint_s: Maybe<Real>,
        exit_s: Maybe<Real>,
        memory_free_s: Maybe<Real>,
        held: Vec<StoredHeldMemory>,
        engine_ready_s: Maybe<Real>,
        first_token_s: Maybe<Real>,
        last_step: Maybe<u64>,
        checkpoint_step: Maybe<u64>,
        failure: Maybe<String>,
        resume: Maybe<StoredResume>,
    }
}

mirror_struct! {
    /// CPU bandwidth control.
    StoredCgroupCpu of CgroupCpu {
        quota_cores: Maybe<Real>,
        throttled_share: Real,
        throttled_s: Real,
    }
}

mirror_struct! {
    /// Pressure stall information.
    StoredPressure of Pressure {
        some_share: Real,
        full_share: Maybe<Real>,
    }
}

mirror_struct! {
    /// One second of the host.
    StoredHostSample of HostSample {
        at_ns: u64,
        machine_cpu_cores: StoredReading<Real>,
        steal_cores: StoredReading<Real>,
        workload_cpu_cores: Vec<(String, StoredReading<Real>)>,
        workload_memory_bytes: Vec<(String, StoredReading<u64>)>,
        own_cpu_cores: StoredReading<Real>,
        cgroup_cpu: StoredReading<StoredCgroupCpu>,
        pressure_cpu: StoredReading<StoredPressure>,
        pressure_memory: StoredReading<StoredPressure>,
        pressure_io: StoredReading<StoredPressure>,
        memory_available_bytes: StoredReading<u64>,
        dirty_bytes: StoredReading<u64>,
        disk_read_bytes_per_s: StoredReading<Real>,
        disk_write_bytes_per_s: StoredReading<Real>,
        network_receive_bytes_per_s: StoredReading<Real>,
        network_transmit_bytes_per_s: StoredReading<Real>,
        cpu_clock_mhz: StoredReading<Real>,
        run_queue: StoredReading<u32>,
    }
}

mirror_struct! {
    /// The load client's fitness.
    StoredClient of ClientHealth {
        requests_planned: u32,
        requests_sent: u32,
        lateness_p50_s: Real,
        lateness_p99_s: Real,
        lateness_max_s: Real,
        cpu_s: Real,
        run_queue_wait_s: Maybe<Real>,
        streams_open_max: u32,
    }
}

/// Why a block is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum StoredFault {
    Steal { cores: Real, cores_max: Real },
    ForeignCpu { cores: Real, cores_max: Real },
    ForeignGpu(String),
    ClientLate { lateness_p99_s: Real, lateness_max_s: Real },
    Guarded { objective: String, bound: Real, seen: Real },
    Incomplete(String),
}

impl Mirror for StoredFault {
    type Core = BlockFault;
    fn mirror(core: &BlockFault) -> Self {
        match core {
            BlockFault::Steal { cores, cores_max } => {
                Self::Steal { cores: Real(*cores), cores_max: Real(*cores_max) }
            }
            BlockFault::ForeignCpu { cores, cores_max } => {
                Self::ForeignCpu { cores: Real(*cores), cores_max: Real(*cores_max) }
            }
            BlockFault::ForeignGpu(what) => Self::ForeignGpu(what.clone()),
            BlockFault::ClientLate { lateness_p99_s, lateness_max_s } => Self::ClientLate {
                lateness_p99_s: Real(*lateness_p99_s),
                lateness_max_s: Real(*lateness_max_s),
            },
            BlockFault::Guarded { objective, bound, seen } => Self::Guarded {
                objective: objective.clone(),
                bound: Real(*bound),
                seen: Real(*seen),
            },
            BlockFault::Incomplete(why) => Self::Incomplete(why.clone()),
        }
    }
    fn restore(self) -> BlockFault {
        match self {
            Self::Steal { cores, cores_max } => {
                BlockFault::Steal { cores: cores.0, cores_max: cores_max.0 }
            }
            Self::ForeignCpu { cores, cores_max } => {
                BlockFault::ForeignCpu { cores: cores.0, cores_max: cores_max.0 }
            }
            Self::ForeignGpu(what) => BlockFault::ForeignGpu(what),
            Self::ClientLate { lateness_p99_s, lateness_max_s } => BlockFault::ClientLate {
                lateness_p99_s: lateness_p99_s.0,
                lateness_max_s: lateness_max_s.0,
            },
            Self::Guarded { objective, bound, seen } => {
                BlockFault::Guarded { objective, bound: bound.0, seen: seen.0 }
            }
            Self::Incomplete(why) => BlockFault::Incomplete(why),
        }
    }
}
