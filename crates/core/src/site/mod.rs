//! What the user declares: one server or pool, its workloads with their objectives, how they share,
//! and how the place is operated. Field names are those of the site file.
//!
//! `None` and an empty list mean that the site file is silent: no value is assumed here. What a
//! reader of a field needs and does not find, it must name as missing.

mod completion;
mod deadline;
mod handover;
mod inference;
mod machine;
mod operations;
mod record;
mod sharing;
mod training;
mod window;
mod workload;

pub use completion::{Batch, BatchRoute, Render, RenderNeeds, RestartUnit};
pub use deadline::Deadline;
pub use handover::{EngineSleep, LayoutChange, LayoutDriver, Postcondition, SlurmJob};
pub use inference::{
    BurstReserve, Demand, DemandQuery, Guard, Inference, InferenceObjectives, LatencyMetric,
    LatencyObjective, RateSeries, ReplicaCapacity, TableRow, TokenCounts, TraceColumns,
    TraceDemand, TraceFormat, TraceWindow,
};
pub use machine::{
    Network, NodeGroup, NumaNode, Pool, PriorityClass, Queue, Scheduler, SchedulerKind, Server,
    ServingPool, ServingRole, SiteKind, Storage,
};
pub use operations::{
    CalendarShape, ChangeCycle, Cost, FailureDomain, IsolationNeed, IsolationProperty, Maintenance,
    Operations, Transition, TransitionStep, TransitionStepKind,
};
pub use record::Site;
pub use sharing::{
    DiskSpace, HostCaps, HostCpu, MemoryLimits, MigGpu, MigInstance, MpsMode, NeighbourPriority,
    SaturatingLoad, Sharing, SharingMode, SlicePeriod, TemporalWindow, TimeSlicing, WholeGpu,
};
pub use training::{
    Checkpoint, CheckpointInterval, LOG_PLACEHOLDERS, LogFormat, LogProducer, LostWork,
    Parallelism, Preemption, Signal, ThroughputAt, Training, TrainingLog, TrainingObjectives,
    TrainingType, Work,
};
pub use window::{WeekdaySet, WeeklyWindow, format_minute_of_day, parse_minute_of_day};
pub use workload::{
    Allocation, Dtype, Faults, FigureOrigin, Launch, Limits, MemoryNeed, Model,
    OutOfMemoryReaction, Ready, RequestClass, Workload, WorkloadKind,
};
