//! How the workloads share a GPU, as declared: what the exports write into the files of other tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mode of sharing with the settings that other tools take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharingView {
    /// The mode, as the site file names it; empty where none is declared.
    pub mode: String,
    /// The exact GPU model, where the server has one.
    pub gpu_model: Option<String>,
    /// GPUs of the server.
    pub gpu_count: u32,
    /// The layout of partitioned GPUs.
    pub mig: Vec<MigLayoutView>,
    /// Settings of MPS.
    pub mps: Option<MpsView>,
    /// Settings of time-slicing.
    pub time_slicing: Option<TimeSlicingView>,
}

/// The layout of some GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigLayoutView {
    /// The GPUs.
    pub gpus: Vec<u32>,
    /// Their instances, in order.
    pub instances: Vec<MigInstanceView>,
}

/// One instance of a partitioned GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigInstanceView {
    /// The profile, as the driver names it.
    pub profile: String,
    /// Where it begins, where that is fixed.
    pub placement: Option<u32>,
    /// The workload that runs in it.
    pub workload: Option<String>,
}

/// How the MPS server divides a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpsView {
    /// Whether SMs are partitioned statically.
    pub static_partitions: bool,
    /// What each workload may have.
    pub shares: Vec<WorkloadShare>,
}

/// What one workload may have of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadShare {
    /// The workload.
    pub workload: String,
    /// Percentage of the threads that its clients may use at most.
    pub percentage: Option<f64>,
    /// SM chunks of its static partition.
    pub chunks: Option<u32>,
    /// Limit of its device memory, bytes.
    pub memory_limit_bytes: Option<u64>,
}

/// Settings of time-slicing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSlicingView {
    /// Replicas that are offered of one GPU.
    pub replicas: Option<u32>,
    /// The driver's slice by its name (`default`, `short`, `medium`, `long`), where it has one.
    pub slice: Option<String>,
}
