//! What was measured, in memory: requests, steps, drills, host readings, blocks and runs.
//!
//! Times inside a block are nanoseconds from the block's start on one monotonic clock, so a request
//! and a training step can be compared directly. Wall-clock times stand beside them only for people.

mod block;
mod change;
mod drill;
mod engine;
mod fingerprint;
mod gpu;
mod host;
mod point;
mod request;
mod run;
mod situation;
mod training;

pub use block::{Block, BlockFault, Condition, Observed, Phase, PlannedBlock, Remedy};
pub use change::{ChangeKind, ChangePart, Direction, HandChange};
pub use drill::{HeldMemory, ReclaimDrill, ResumeCheck};
pub use engine::{EngineGauge, EngineHistogram, EngineObservation};
pub use fingerprint::{Aspect, Fingerprint};
pub use gpu::GpuSample;
pub use host::{CgroupCpu, HostSample, Missing, Pressure, Reading};
pub use point::{PointEstimate, PointMetric};
pub use request::{ChunkGaps, ClientHealth, Outcome, RequestRecord, TokenSource};
pub use run::{EnforcementAudit, Origin, Pilot, Run, TestedLoad};
pub use situation::{Disturbance, NeighbourFault, Situation, Stress, StressRecord, Stressor};
pub use training::{CheckpointRecord, StepRecord};
