//! The stored forms of what a run is made of, blocks apart.

use std::collections::BTreeMap;

use cotenant_core::evidence::{
    Aspect, Condition, EnforcementAudit, Fingerprint, Origin, Phase, Pilot, PlannedBlock, Remedy,
    TestedLoad,
};
use serde::{Deserialize, Serialize};

use super::mirror::{Maybe, Mirror, Real, Stamp, mirror_enum, mirror_struct};
use super::plan::{RunPlan, RunStatus};
use super::stored_situation::StoredSituation;

mirror_enum! {
    /// Which tenants run.
    StoredCondition of Condition { A = "A", B = "B", C = "C" }
}

mirror_enum! {
    /// The remedy of a block.
    StoredRemedy of Remedy { IdlePriority = "idle priority" }
}

mirror_enum! {
    /// The phase that a block was made to contain.
    StoredPhase of Phase { Steady = "steady", Checkpoint = "checkpoint" }
}

mirror_enum! {
    /// Where a run's numbers come from.
    StoredOrigin of Origin {
        Measured = "measured",
        Imported = "imported",
        Declared = "declared",
        Simulated = "simulated",
        Assumed = "assumed",
    }
}

mirror_enum! {
    /// One aspect of a fingerprint. The names are the file's own: a report may rename its.
    StoredAspect of Aspect {
        Device = "device",
        VisibleDevices = "visible_devices",
        Driver = "driver",
        Cuda = "cuda",
        Nccl = "nccl",
        Kernel = "kernel",
        Scheduler = "scheduler",
        Engine = "engine",
        EngineArguments = "engine_arguments",
        Model = "model",
        Trainer = "trainer",
        TrainerArguments = "trainer_arguments",
        Sharing = "sharing",
        Client = "client",
    }
}

mirror_enum! {
    /// How far a run came.
    StoredStatus of RunStatus {
        Running = "running",
        Interrupted = "interrupted",
        Complete = "complete",
    }
}

/// A fingerprint: aspects that were not observed are not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredFingerprint(pub BTreeMap<StoredAspect, String>);

impl Mirror for StoredFingerprint {
    type Core = Fingerprint;
    fn mirror(core: &Fingerprint) -> Self {
        let stored = |(aspect, value): (&Aspect, &String)| (Mirror::mirror(aspect), value.clone());
        Self(core.0.iter().map(stored).collect())
    }
    fn restore(self) -> Fingerprint {
        Fingerprint(self.0.into_iter().map(|(aspect, value)| (aspect.restore(), value)).collect())
    }
}

mirror_struct! {
    /// One planned block.
    StoredPlannedBlock of PlannedBlock {
        index: u32,
        condition: StoredCondition,
        pair: u32,
        remedy: Maybe<StoredRemedy>,
        phase: StoredPhase,
        situation: StoredSituation,
    }
}

mirror_struct! {
    /// The load of A and C.
    StoredLoad of TestedLoad {
        description: String,
        digest: String,
        rate_per_s: Real,
        prompt_tokens_p50: u32,
        prompt_tokens_p95: u32,
        output_tokens_p50: u32,
        output_tokens_p95: u32,
    }
}

mirror_struct! {
    /// The pilot.
    StoredPilot of Pilot {
        requests: u32,
        ttft_p95_s: Maybe<Real>,
        itl_p95_s: Maybe<Real>,
        steps: u32,
        step_s: Maybe<Real>,
        warm_up_s: Real,
    }
}

mirror_struct! {
    /// An audit of the enforcement.
    StoredAudit of EnforcementAudit {
        mechanism: String,
        ratio_expected: Real,
        ratio_measured: Real,
        binds: bool,
        method: String,
    }
}

/// Options as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredOptions(pub BTreeMap<String, String>);

impl Mirror for StoredOptions {
    type Core = BTreeMap<String, String>;
    fn mirror(core: &Self::Core) -> Self {
        Self(core.clone())
    }
    fn restore(self) -> Self::Core {
        self.0
    }
}

mirror_struct! {
    /// What is fixed before the first block.
    StoredPlan of RunPlan {
        started: Stamp,
        origin: StoredOrigin,
        inference: String,
        neighbour: String,
        seed: u64,
        fingerprint: StoredFingerprint,
        load: StoredLoad,
        pilot: StoredPilot,
        remedies: Vec<StoredRemedy>,
        engine_supervised: bool,
        site_digest: String,
        warm_up_s: Real,
        block_s: Real,
        tail_s: Real,
        options: StoredOptions,
        schedule: Vec<StoredPlannedBlock>,
    }
}
