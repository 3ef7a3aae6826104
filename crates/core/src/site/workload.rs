//! What every workload has.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Batch, Inference, InferenceObjectives, Render, TokenCounts, Training};
use crate::units::{Bytes, Share};

/// One workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name, unique in the site.
    pub name: String,
    /// What it is, with what is particular to that.
    pub kind: WorkloadKind,
    /// Who answers for it.
    pub owner: Option<String>,
    /// The model that it serves or trains.
    pub model: Option<Model>,
    /// What its lateness weighs beside that of others; `None` means 1.
    pub weight: Option<f64>,
    /// How often it dies by a fault of its own, and how long it is gone.
    pub faults: Option<Faults>,
    /// The memory that it takes.
    pub memory: Option<MemoryNeed>,
    /// The GPUs that it has.
    pub allocation: Option<Allocation>,
    /// Higher goes first.
    pub priority: Option<i64>,
    /// What it admits.
    pub limits: Option<Limits>,
    /// What happens when it runs out of memory.
    pub on_out_of_memory: Option<OutOfMemoryReaction>,
    /// Classes of its requests, in the order of the file. Results are shown per class.
    pub classes: Vec<RequestClass>,
}

/// What a workload is.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadKind {
    /// Latency matters.
    Inference(Box<Inference>),
    /// Completion of steps matters.
    Training(Box<Training>),
    /// Completion of items matters.
    Batch(Box<Batch>),
    /// Completion of frames matters.
    Render(Box<Render>),
}

impl Workload {
    /// What is measured and judged of a workload that gets on in steps: a training job, or a render,
    /// whose steps are frames.
    pub fn job(&self) -> Option<&Training> {
        match &self.kind {
            WorkloadKind::Training(training) => Some(training),
            WorkloadKind::Render(render) => Some(&render.job),
            WorkloadKind::Inference(_) | WorkloadKind::Batch(_) => None,
        }
    }

    /// What one step of it is called.
    pub fn step_word(&self) -> &'static str {
        if matches!(self.kind, WorkloadKind::Render(_)) { "frame" } else { "step" }
    }
}

impl WorkloadKind {
    /// The kind's name in the site file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Inference(_) => "inference",
            Self::Training(_) => "training",
            Self::Batch(_) => "batch",
            Self::Render(_) => "render",
        }
    }
}

/// What memory arithmetic needs of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name by which requests ask for it.
    pub name: String,
    /// Parameters.
    pub parameters: Option<u64>,
    /// Transformer layers.
    pub layers: Option<u32>,
    /// Heads of the key-value cache in one layer.
    pub kv_heads: Option<u32>,
    /// Values in one head.
    pub head_size: Option<u32>,
    /// The type of its numbers.
    pub dtype: Option<Dtype>,
}

/// The type of a model's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 32 bit floating point.
    Float32,
    /// 16 bit floating point (IEEE 754 half).
    Float16,
    /// 16 bit floating point with 8 exponent bits.
    Bfloat16,
    /// 8 bit floating point.
    Fp8,
    /// 4 bit floating point, scale factors not counted.
    Fp4,
    /// 8 bit integers.
    Int8,
    /// 4 bit integers, scale factors not counted.
    Int4,
}

impl Dtype {
    /// Every type.
    pub const ALL: [Self; 7] = [
        Self::Float32,
        Self::Float16,
        Self::Bfloat16,
        Self::Fp8,
        Self::Fp4,
        Self::Int8,
        Self::Int4,
    ];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Fp8 => "fp8",
            Self::Fp4 => "fp4",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
        }
    }

    /// Bits of one number.
    pub fn bits(self) -> u32 {
        match self {
            Self::Float32 => 32,
            Self::Float16 | Self::Bfloat16 => 16,
            Self::Fp8 | Self::Int8 => 8,
            Self::Fp4 | Self::Int4 => 4,
        }
    }
}

/// Where figures that the site file states come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FigureOrigin {
    /// The user says so.
    Declared,
    /// The user measured them on the real engine.
    Measured,
}

impl FigureOrigin {
    /// Every origin.
    pub const ALL: [Self; 2] = [Self::Declared, Self::Measured];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Measured => "measured",
        }
    }
}

/// The memory that a workload takes: real allocations, not the size of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryNeed {
    /// Where the figures come from.
    pub origin: FigureOrigin,
    /// Weights, on the GPU.
    pub weights: Option<Bytes>,
    /// Key-value cache, on the GPU.
    pub kv: Option<Bytes>,
    /// Activations and work buffers, on the GPU.
    pub workspace: Option<Bytes>,
    /// Captured graphs, on the GPU.
    pub graphs: Option<Bytes>,
    /// The highest use of one GPU that was seen on the device while it ran, everything included.
    pub peak: Option<Bytes>,
    /// The part of a GPU's total memory that the engine takes for itself
    /// (`gpu_memory_utilization`): of the total, not of what is free.
    pub fraction_of_total: Option<Share>,
    /// Memory of one of its processes on the host.
    pub host: Option<Bytes>,
    /// Its processes on one server.
    pub processes: Option<u32>,
    /// How deep it sleeps: at level 1 its weights are kept on the host, at level 2 they are not.
    pub sleep_level: Option<u32>,
    /// What a checkpoint takes for a while on the host.
    pub checkpoint_transient: Option<Bytes>,
}

/// Faults of a workload's own making.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// Mean number in 30 days.
    pub per_month: f64,
    /// Time until what it took with it serves again.
    pub recovery: Option<Duration>,
}

/// GPUs of a workload; a fraction where a GPU is split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation {
    /// What it has in normal operation.
    pub normal: Option<f64>,
    /// The least with which it is of use.
    pub minimum_useful: Option<f64>,
    /// Whether it runs on its normal allocation or not at all. `None` means that it may run on
    /// fewer where its throughput there is declared.
    pub gang: Option<bool>,
    /// The shortest time for which it is worth starting.
    pub minimum_run: Option<Duration>,
}

/// What a workload admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests or jobs at once.
    pub concurrent: Option<u32>,
    /// Requests or jobs that may wait.
    pub queued: Option<u32>,
}

/// What happens when a workload runs out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutOfMemoryReaction {
    /// New requests are refused.
    Refuse,
    /// Running requests are dropped, lowest priority first.
    Shed,
    /// The workload restarts.
    Restart,
    /// The neighbour is stopped.
    StopNeighbour,
}

impl OutOfMemoryReaction {
    /// Every reaction.
    pub const ALL: [Self; 4] = [Self::Refuse, Self::Shed, Self::Restart, Self::StopNeighbour];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Shed => "shed",
            Self::Restart => "restart",
            Self::StopNeighbour => "stop_neighbour",
        }
    }
}

/// A class of requests. Results are shown per class, never averaged over classes.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestClass {
    /// The class's name, unique in its workload.
    pub name: String,
    /// Its part of all requests.
    pub share: Option<Share>,
    /// Tokens of its prompts.
    pub prompt_tokens: Option<TokenCounts>,
    /// Tokens of its answers.
    pub output_tokens: Option<TokenCounts>,
    /// Its own objectives, beside those of the whole workload.
    pub objectives: Option<InferenceObjectives>,
}

/// How a workload is started. Cotenant stops only what it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments; no shell reads them. Never empty.
    pub argv: Vec<String>,
    /// Working directory as written, relative to the site file; `None` means the site file's own.
    pub cwd: Option<String>,
    /// Variables added to the environment.
    pub env: BTreeMap<String, String>,
    /// How readiness is seen.
    pub ready: Ready,
}

/// How readiness is seen. An inference engine is ready when an HTTP GET of `path` answers 2xx; a
/// training job is ready when its first step line appears, and `path` is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Path on the endpoint's host and port.
    pub path: String,
    /// The workload has failed to start when it is not ready within this time.
    pub time_limit: Duration,
}

impl Ready {
    /// The path that is asked where the site file names none.
    pub const PATH_DEFAULT: &'static str = "/health";
    /// The time that is allowed where the site file names none: large engines compile and capture
    /// graphs for several minutes.
    pub const TIME_LIMIT_DEFAULT: Duration = Duration::from_mins(10);
}

impl Default for Ready {
    fn default() -> Self {
        Self { path: Self::PATH_DEFAULT.to_owned(), time_limit: Self::TIME_LIMIT_DEFAULT }
    }
}
