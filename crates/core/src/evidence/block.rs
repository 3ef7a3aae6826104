//! One interval of a test in one condition.

use super::{
    CheckpointRecord, ChunkGaps, ClientHealth, Disturbance, EngineObservation, GpuSample,
    HandChange, HostSample, ReclaimDrill, RequestRecord, Situation, StepRecord, StressRecord,
};

/// What runs in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// Inference alone: no trainer process exists.
    A,
    /// Training alone: no engine process exists.
    B,
    /// Both.
    C,
}

impl Condition {
    /// The letter of the test.
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
        }
    }
}

/// A change of how the neighbour runs that was tested as a way to make sharing hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// The trainer runs at idle CPU priority.
    IdlePriority,
}

impl Remedy {
    /// The remedy's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::IdlePriority => "trainer at idle CPU priority",
        }
    }
}

/// The phase of the neighbour that a block of test C was made to contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Steps only.
    Steady,
    /// At least one checkpoint was written while load was judged.
    Checkpoint,
}

impl Phase {
    /// The phase's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steps only",
            Self::Checkpoint => "with a checkpoint",
        }
    }
}

/// One block of the schedule, written down before the first block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlannedBlock {
    /// Position in the order of time.
    pub index: u32,
    /// What runs.
    pub condition: Condition,
    /// Blocks of A and C with the same pair number replay the same arrivals and lengths.
    pub pair: u32,
    /// The remedy under test, if any. All three conditions of a remedy run under it.
    pub remedy: Option<Remedy>,
    /// The phase that a C block is made to contain.
    pub phase: Phase,
    /// What is done on purpose beside that.
    pub situation: Situation,
}

/// Why a block is left out. Only causes outside both tenants are here, and they are decided without
/// looking at the block's latencies.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockFault {
    /// The hypervisor took CPU away.
    Steal {
        /// Mean stolen CPU, cores.
        cores: f64,
        /// The limit it crossed, cores.
        cores_max: f64,
    },
    /// Processes that belong to neither tenant used CPU.
    ForeignCpu {
        /// Mean CPU, cores.
        cores: f64,
        /// The limit it crossed, cores.
        cores_max: f64,
    },
    /// Processes that belong to neither tenant computed on a GPU on which a tenant was: which, in words.
    ForeignGpu(String),
    /// The load client was late: its own delay is not small beside what it measured.
    ClientLate {
        /// 99th percentile of its lateness, seconds.
        lateness_p99_s: f64,
        /// The limit it crossed, seconds.
        lateness_max_s: f64,
    },
    /// The guard of a production endpoint stopped the neighbour, because an objective was broken
    /// beyond the declared bound. It is no outside cause: it decides against a pass.
    Guarded {
        /// The objective, as it stands in the site file.
        objective: String,
        /// The bound, in the objective's unit.
        bound: f64,
        /// What was seen, in the objective's unit.
        seen: f64,
    },
    /// The block could not be completed, for a reason that is told.
    Incomplete(String),
}

impl BlockFault {
    /// The reason in one sentence, without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::Steal { cores, cores_max } => format!(
                "the hypervisor took {cores:.2} cores away (limit {cores_max:.2}), which is outside \
                 both tenants"
            ),
            Self::ForeignCpu { cores, cores_max } => {
                format!("processes of neither tenant used {cores:.2} cores (limit {cores_max:.2})")
            }
            Self::ForeignGpu(what) => format!("a process of neither tenant used their GPU: {what}"),
            Self::ClientLate { lateness_p99_s, lateness_max_s } => format!(
                "the load client was late: p99 {:.1} ms (limit {:.1} ms), which is not small beside \
                 what it measured",
                lateness_p99_s * 1e3,
                lateness_max_s * 1e3
            ),
            Self::Guarded { objective, bound, seen } => format!(
                "the guard stopped the neighbour: {objective} reached {seen:.4}, beyond the declared \
                 bound of {bound:.4}"
            ),
            Self::Incomplete(why) => format!("not completed: {why}"),
        }
    }
}

/// One finished block. Times are nanoseconds from `started`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its place in the schedule.
    pub plan: PlannedBlock,
    /// Wall-clock start, for people.
    pub started: jiff::Timestamp,
    /// Requests whose intended time lies before this are warm-up and are not judged.
    pub judged_from_ns: u64,
    /// Requests whose intended time lies at or after this belong to the drill and are not judged.
    pub judged_until_ns: u64,
    /// End of the block.
    pub ended_ns: u64,
    /// Every request of the schedule, in order of index. Empty in B.
    pub requests: Vec<RequestRecord>,
    /// Gaps between chunks, in order of request. May be left unread where no question needs them.
    pub gaps: Vec<ChunkGaps>,
    /// Training steps, in order of time. Empty in A.
    pub steps: Vec<StepRecord>,
    /// Checkpoints, in order of time.
    pub checkpoints: Vec<CheckpointRecord>,
    /// The drill that ended a C block.
    pub drill: Option<ReclaimDrill>,
    /// Host readings, one a second.
    pub host: Vec<HostSample>,
    /// Waiting requests in the engine, from its own metrics: (ns, count). Empty where unknown.
    pub engine_waiting: Vec<(u64, f64)>,
    /// The load client's fitness; `None` in B.
    pub client: Option<ClientHealth>,
    /// Why the block is left out, if it is.
    pub faults: Vec<BlockFault>,
    /// What made the block noisier than it should be without making it void.
    pub remarks: Vec<String>,
    /// The block's rate as a multiple of the declared one.
    pub load_factor: f64,
    /// What was seen beside requests, steps and the host.
    pub observed: Observed,
}

/// What was seen in a block beside requests, steps and the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The engine's own accounts; `None` where it tells none.
    pub engine: Option<EngineObservation>,
    /// Readings of the GPUs; empty where there are none.
    pub gpus: Vec<GpuSample>,
    /// What was done on purpose, and how the tenants took it.
    pub disturbance: Option<Disturbance>,
    /// What a stressor reached; `None` where none ran.
    pub stress: Option<StressRecord>,
    /// Changes of hands beside the neighbour's own stop and start, in order of time.
    pub changes: Vec<HandChange>,
}

impl Block {
    /// Length of the judged interval, seconds.
    pub fn judged_s(&self) -> f64 {
        self.judged_until_ns.saturating_sub(self.judged_from_ns) as f64 / 1e9
    }

    /// The requests that count: intended inside the judged interval.
    pub fn judged_requests(&self) -> impl Iterator<Item = &RequestRecord> {
        self.requests.iter().filter(|request| {
            (self.judged_from_ns..self.judged_until_ns).contains(&request.intended_ns)
        })
    }

    /// The steps that count: finished inside the judged interval.
    pub fn judged_steps(&self) -> impl Iterator<Item = &StepRecord> {
        self.steps
            .iter()
            .filter(|step| (self.judged_from_ns..self.judged_until_ns).contains(&step.at_ns))
    }

    /// Whether the block counts.
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// The phase that the block really contained: a checkpoint inside the judged interval.
    pub fn observed_phase(&self) -> Phase {
        let seen = self.checkpoints.iter().any(|checkpoint| {
            let began =
                checkpoint.at_ns.saturating_sub((checkpoint.duration_s.max(0.0) * 1e9) as u64);
            began < self.judged_until_ns && checkpoint.at_ns > self.judged_from_ns
        });
        if seen { Phase::Checkpoint } else { Phase::Steady }
    }
}
