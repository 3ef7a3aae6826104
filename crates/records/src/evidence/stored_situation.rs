//! The stored forms of what is done on purpose in a block.

use cotenant_core::evidence::{
    ChangeKind, ChangePart, Direction, Disturbance, HandChange, NeighbourFault, Situation, Stress,
    StressRecord, Stressor,
};
use serde::{Deserialize, Serialize};

use super::mirror::{Maybe, Mirror, Real, mirror_enum, mirror_struct};

mirror_enum! {
    /// A stressed resource.
    StoredStressor of Stressor {
        Cpu = "cpu",
        MemoryBandwidth = "memory_bandwidth",
        DiskSync = "disk_sync",
        PageCache = "page_cache",
        Network = "network",
        GpuCompute = "gpu_compute",
        GpuMemory = "gpu_memory",
    }
}

mirror_enum! {
    /// A fault of the neighbour.
    StoredNeighbourFault of NeighbourFault {
        Killed = "killed",
        OutOfMemory = "out_of_memory",
        DiskFull = "disk_full",
    }
}

/// What is done on purpose in a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum StoredSituation {
    Ordinary,
    Stressed { stressor: StoredStressor, dose: u8 },
    Search { look: u32 },
    Burst,
    Fault(StoredNeighbourFault),
    Drill,
}

impl Mirror for StoredSituation {
    type Core = Situation;
    fn mirror(core: &Situation) -> Self {
        match core {
            Situation::Ordinary => Self::Ordinary,
            Situation::Stressed(Stress { stressor, dose }) => {
                Self::Stressed { stressor: Mirror::mirror(stressor), dose: *dose }
            }
            Situation::Search(look) => Self::Search { look: *look },
            Situation::Burst => Self::Burst,
            Situation::Fault(fault) => Self::Fault(Mirror::mirror(fault)),
            Situation::Drill => Self::Drill,
        }
    }
    fn restore(self) -> Situation {
        match self {
            Self::Ordinary => Situation::Ordinary,
            Self::Stressed { stressor, dose } => {
                Situation::Stressed(Stress { stressor: stressor.restore(), dose })
            }
            Self::Search { look } => Situation::Search(look),
            Self::Burst => Situation::Burst,
            Self::Fault(fault) => Situation::Fault(fault.restore()),
            Self::Drill => Situation::Drill,
        }
    }
}

mirror_struct! {
    /// Something that was done on purpose.
    StoredDisturbance of Disturbance {
        what: String,
        began_ns: u64,
        ended_ns: Maybe<u64>,
        yielded_ns: Maybe<u64>,
        inference_recovered_ns: Maybe<u64>,
        neighbour_recovered_ns: Maybe<u64>,
        requests_late: Maybe<(u64, u64)>,
        remarks: Vec<String>,
    }
}

mirror_struct! {
    /// What a stressor reached.
    StoredStress of StressRecord {
        unit: String,
        calibrated: Real,
        asked: Maybe<Real>,
        reached: Vec<(u64, Real)>,
        remarks: Vec<String>,
    }
}

mirror_enum! {
    /// Whom a change of hands makes ready.
    StoredDirection of Direction {
        ToInference = "to_inference",
        ToNeighbour = "to_neighbour",
    }
}

mirror_enum! {
    /// What is changed.
    StoredChangeKind of ChangeKind {
        EngineSleep = "engine_sleep",
        EngineWake = "engine_wake",
        EngineStop = "engine_stop",
        EngineStart = "engine_start",
        Layout = "layout",
    }
}

mirror_struct! {
    /// A part of a change of hands.
    StoredChangePart of ChangePart {
        name: String,
        seconds: Real,
        logged: bool,
    }
}

mirror_struct! {
    /// A change of hands.
    StoredHandChange of HandChange {
        kind: StoredChangeKind,
        what: String,
        direction: StoredDirection,
        began_ns: u64,
        total_s: Maybe<Real>,
        parts: Vec<StoredChangePart>,
        failure: Maybe<String>,
        remarks: Vec<String>,
    }
}
