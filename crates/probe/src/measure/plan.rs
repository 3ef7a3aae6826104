//! What the runner is told: the two workloads, the load, and the limits of a good block.

use std::time::Duration;

use cotenant_core::evidence::{Block, Remedy, ResumeCheck};
use cotenant_core::protocol::BlockShape;
use cotenant_core::site::Guard;

use crate::load::{Limits, Schedule, Target};
use crate::progress_log::ProgressReader;
use crate::supervisor::{Launch, Priority, Signal};

use super::gpu_memory::GpuReader;
use super::hand_over::HandOver;
use super::slurm::SlurmRig;

/// Inference, as the runner sees it.
#[derive(Clone, Debug)]
pub struct InferenceRig {
    /// The workload's name.
    pub name: String,
    /// How to start it; `None` where it runs already. What was not started is never signalled.
    pub launch: Option<Launch>,
    /// URL that answers 2xx when it is ready.
    pub ready_url: String,
    /// Longest wait for that.
    pub ready_within: Duration,
    /// The endpoint under load.
    pub target: Target,
    /// URL of its metrics, where it has any.
    pub metrics_url: Option<String>,
}

/// The neighbour, as the runner sees it.
#[derive(Clone, Debug)]
pub struct NeighbourRig {
    /// The workload's name.
    pub name: String,
    /// How to start it. Every start must resume where a checkpoint exists.
    pub launch: Launch,
    /// Its priority under a remedy.
    pub idle: Priority,
    /// Longest wait for its first steps.
    pub ready_within: Duration,
    /// How its log is read.
    pub log: ProgressReader,
    /// The signal that asks for a checkpoint while it runs.
    pub checkpoint_signal: Option<Signal>,
    /// The signal that tells it to go.
    pub stop_signal: Signal,
    /// Patience between that signal and SIGKILL.
    pub notice: Duration,
    /// Whether each finished step is saved by itself, as a renderer's frames are: then no checkpoint is
    /// awaited, the next start goes on after the last step, and an end by the signal is a proper end.
    pub saves_each_step: bool,
    /// The job of Slurm's that it is; `launch` is not used then.
    pub slurm: Option<SlurmRig>,
    /// Who is asked for memory in use on the GPUs; `None` where there is none.
    pub gpu: Option<GpuReader>,
    /// Longest wait for the memory of a neighbour whose last process is gone.
    pub memory_patience: Duration,
}

impl NeighbourRig {
    /// The launch under a remedy, or as declared.
    pub(super) fn launch_under(&self, remedy: Option<Remedy>) -> Launch {
        let mut launch = self.launch.clone();
        if let Some(Remedy::IdlePriority) = remedy {
            launch.priority = self.idle;
        }
        launch
    }
}

/// What makes a block void or noisy. Only causes outside both tenants are here, and none looks at
/// what the block measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockLimits {
    /// Mean CPU that the hypervisor may take, cores.
    pub steal_cores_max: f64,
    /// Mean CPU that processes of neither tenant may use, cores.
    pub foreign_cores_max: f64,
    /// 99th percentile of the load client's lateness, seconds: small beside the tightest objective.
    pub lateness_p99_s_max: f64,
}

impl BlockLimits {
    /// Five percent of the cores for the hypervisor, ten for strangers, and a tenth of the tightest
    /// objective for the client. Half of a limit is a remark.
    pub fn new(cores: f64, tightest_objective_s: f64) -> Self {
        Self {
            steal_cores_max: 0.05 * cores,
            foreign_cores_max: 0.10 * cores,
            lateness_p99_s_max: 0.10 * tightest_objective_s,
        }
    }
}

/// How blocks are run.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Lengths inside a block.
    pub shape: BlockShape,
    /// What makes one void.
    pub limits: BlockLimits,
    /// Limits of single requests.
    pub request_limits: Limits,
    /// Rest between two blocks.
    pub settle: Duration,
    /// Steps that the neighbour must have finished before load begins.
    pub steps_before_load: usize,
    /// Bounds beyond which the neighbour is stopped at once and the run ends.
    pub guard: Option<Guard>,
    /// What changes hands in each drill beside the neighbour; `None` where nothing does.
    pub hand_over: Option<HandOver>,
    /// How a burst goes, and what it must not break; `None` where none is made.
    pub burst: Option<BurstRules>,
}

/// How a burst goes inside the judged interval of its block.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstRules {
    /// The load while it lasts, as a multiple of the declared rate.
    pub factor: f64,
    /// From the end of the warm-up to its beginning.
    pub begins: Duration,
    /// From the end of the warm-up to its end.
    pub ends: Duration,
    /// What makes a request late, and the neighbour yield.
    pub bounds: Guard,
}

/// Where finished blocks go. Errors are sentences for people, and end the run.
pub trait Sink {
    /// A block is finished and must be safe on disk when this returns.
    fn block(&mut self, block: &Block) -> Result<(), String>;
    /// The start after the drill of block `index` has been seen.
    fn resume(&mut self, index: u32, resume: &ResumeCheck) -> Result<(), String>;
}

/// The load of each pair: the same for its A and its C.
pub trait Loads {
    /// The requests of a pair of blocks.
    fn of_pair(&self, pair: u32) -> Result<Schedule, String>;

    /// The rate of a pair's load as a multiple of the declared one. Asked after [`Loads::of_pair`].
    fn factor_of(&self, _pair: u32) -> f64 {
        1.0
    }
}
