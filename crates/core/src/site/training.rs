//! Training: the job, its objectives, its checkpoints and how it gives way.

use std::time::Duration;

use super::{Deadline, Launch, SlurmJob};
use crate::units::{Bytes, RatePerSecond, Share};

/// What is particular to a training workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// What kind of training it is (`type` in the site file).
    pub training_type: Option<TrainingType>,
    /// How it is spread over GPUs.
    pub parallelism: Option<Parallelism>,
    /// How to start it; `None` where Cotenant may not.
    pub launch: Option<Launch>,
    /// Time of one step with the machine to itself.
    pub step_time_alone: Option<Duration>,
    /// Throughput alone for each number of GPUs that was tried: scaling is never assumed linear.
    pub throughput_alone: Vec<ThroughputAt>,
    /// Steps of the whole job.
    pub steps: Option<u64>,
    /// Work of the whole job, where it is not counted in steps.
    pub work: Option<Work>,
    /// Jobs in a week.
    pub jobs_per_week: Option<f64>,
    /// Time of one job alone on its normal allocation.
    pub duration: Option<Duration>,
    /// What must hold.
    pub objectives: TrainingObjectives,
    /// How its state is saved.
    pub checkpoint: Option<Checkpoint>,
    /// How it gives way.
    pub preemption: Option<Preemption>,
    /// How its log is read.
    pub log: Option<TrainingLog>,
}

/// What kind of training it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrainingType {
    /// From random weights, or continued on the same objective.
    Pretrain,
    /// Fine-tuning of all weights.
    FullFineTune,
    /// Low-rank adapters.
    Lora,
    /// Reinforcement learning, which also generates.
    Rl,
    /// Another kind, as written.
    Other(String),
}

impl TrainingType {
    /// The kinds that have a name of their own.
    pub const NAMED: [Self; 4] = [Self::Pretrain, Self::FullFineTune, Self::Lora, Self::Rl];

    /// The name in the site file.
    pub fn name(&self) -> &str {
        match self {
            Self::Pretrain => "pretrain",
            Self::FullFineTune => "full_fine_tune",
            Self::Lora => "lora",
            Self::Rl => "rl",
            Self::Other(name) => name,
        }
    }
}

/// How a job is spread over GPUs. Sizes multiply; 1 means not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallelism {
    /// Data parallel replicas.
    pub dp: u32,
    /// Ranks over which parameters are sharded.
    pub fsdp: u32,
    /// Tensor parallel size.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Expert parallel size. Experts are spread over ranks that the other sizes already count, so it
    /// multiplies nothing.
    pub ep: u32,
    /// Collectives that it uses: `all_reduce`, `all_to_all`.
    pub collectives: Vec<String>,
    /// Whether GPUs must reach each other directly.
    pub needs_p2p: Option<bool>,
}

impl Parallelism {
    /// A job on one GPU.
    pub const fn single() -> Self {
        Self { dp: 1, fsdp: 1, tp: 1, pp: 1, ep: 1, collectives: Vec::new(), needs_p2p: None }
    }

    /// GPUs that the job needs.
    pub fn gpus(&self) -> u32 {
        [self.fsdp, self.tp, self.pp].into_iter().fold(self.dp, u32::saturating_mul)
    }

    /// Whether it runs on one GPU.
    pub fn is_single(&self) -> bool {
        self.gpus() == 1
    }
}

/// Throughput on a number of GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputAt {
    /// Number of GPUs.
    pub gpus: u32,
    /// Throughput alone.
    pub throughput: RatePerSecond,
}

/// An amount of work: `20 B tok`.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// How much.
    pub amount: u64,
    /// Of what: `tok`, `samples`, as written.
    pub unit: String,
}

/// What must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingObjectives {
    /// When the work must be done.
    pub deadline: Option<Deadline>,
    /// Share of the occurrences of a recurring deadline that must be met, at least.
    pub on_time_share: Option<Share>,
    /// Mean time of a step, at most.
    pub step_time_max: Option<Duration>,
    /// Throughput, at least.
    pub throughput_min: Option<RatePerSecond>,
}

impl TrainingObjectives {
    /// Whether nothing is declared.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How a job's state is saved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// How often.
    pub interval: Option<CheckpointInterval>,
    /// How long one takes.
    pub duration: Option<Duration>,
    /// How long a resume takes, from start to the first new step.
    pub resume_duration: Option<Duration>,
    /// Whether training goes on while it is written.
    pub asynchronous: Option<bool>,
    /// Host memory that is taken while it is written.
    pub host_memory: Option<Bytes>,
    /// Size on disk.
    pub size: Option<Bytes>,
    /// The signal that asks a running job for one.
    pub signal: Option<Signal>,
}

/// How often a checkpoint is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointInterval {
    /// After this time.
    Time(Duration),
    /// After this many steps.
    Steps(u64),
}

/// A signal of the operating system that a workload can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
    /// SIGHUP.
    Hup,
    /// SIGQUIT.
    Quit,
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
    /// SIGKILL: the job cannot react to it.
    Kill,
}

impl Signal {
    /// Every signal.
    pub const ALL: [Self; 7] =
        [Self::Term, Self::Int, Self::Hup, Self::Quit, Self::Usr1, Self::Usr2, Self::Kill];

    /// The name in the site file, without `SIG`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Hup => "HUP",
            Self::Quit => "QUIT",
            Self::Usr1 => "USR1",
            Self::Usr2 => "USR2",
            Self::Kill => "KILL",
        }
    }

    /// The signal with this name, with or without `SIG`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("SIG").unwrap_or(name);
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }
}

/// How a job gives way.
#[derive(Clone, Debug, PartialEq)]
pub struct Preemption {
    /// Whether it may be stopped for inference.
    pub allowed: bool,
    /// The signal that announces it; `None` where the file is silent.
    pub signal: Option<Signal>,
    /// Time between the signal and the moment when it is stopped by force.
    pub notice: Option<Duration>,
    /// Work that is done again after a preemption.
    pub lost_work: Option<LostWork>,
    /// Mean time between losses that nothing announces.
    pub mean_time_to_loss: Option<Duration>,
    /// Share of preemptions that may fail (not gone within the notice, or no resume), at most.
    pub failure_share_max: Option<Share>,
    /// The job of Slurm's that it is, where Slurm takes it away and gives it back.
    pub slurm: Option<SlurmJob>,
}

/// Work that is done again after a preemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWork {
    /// None: it saves before it goes.
    None,
    /// Everything since the last checkpoint.
    SinceCheckpoint,
    /// This many steps.
    Steps(u64),
    /// This much time.
    Time(Duration),
}

/// How a job's log is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingLog {
    /// The step line.
    pub format: LogFormat,
    /// Template of the line that says that a checkpoint is complete.
    pub checkpoint: Option<String>,
    /// Template of the line that says from which step the job resumed.
    pub resumed: Option<String>,
}

/// How step lines are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// What the embedded trainer prints; it covers checkpoints and resumes too.
    Cotenant,
    /// What a known trainer prints.
    Named(LogProducer),
    /// A template such as `step={step} loss={loss} step_s={step_s}`: text matches itself, a name in
    /// braces matches a value.
    Template(String),
}

/// A trainer whose log is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogProducer {
    /// Whichever the log shows.
    Auto,
    /// torchtitan.
    Torchtitan,
    /// Megatron-LM and Megatron-DeepSpeed.
    Megatron,
    /// NeMo.
    Nemo,
    /// The FSDP examples.
    Fsdp,
    /// DeepSpeed.
    DeepSpeed,
    /// The Hugging Face Trainer.
    HfTrainer,
    /// Lightning.
    Lightning,
    /// LLaMA-Factory's `trainer_log.jsonl`.
    LlamaFactory,
    /// nanoGPT and modded-nanogpt.
    NanoGpt,
    /// llm.c.
    LlmC,
    /// MLPerf's `:::MLLOG`.
    MlPerf,
    /// Blender's Cycles, whose steps are frames.
    Cycles,
}

impl LogProducer {
    /// The names that a site file may write.
    pub const NAMES: [(&str, Self); 13] = [
        ("auto", Self::Auto),
        ("torchtitan", Self::Torchtitan),
        ("megatron", Self::Megatron),
        ("nemo", Self::Nemo),
        ("fsdp", Self::Fsdp),
        ("deepspeed", Self::DeepSpeed),
        ("hf_trainer", Self::HfTrainer),
        ("lightning", Self::Lightning),
        ("llama_factory", Self::LlamaFactory),
        ("nanogpt", Self::NanoGpt),
        ("llm_c", Self::LlmC),
        ("mlperf", Self::MlPerf),
        ("cycles", Self::Cycles),
    ];

    /// The producer with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, producer)| producer)
    }

    /// Its name in a site file.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, known)| *known == self).map_or("auto", |(name, _)| name)
    }
}

/// The names that may stand in braces in a template of a log line. `*` matches and forgets.
pub const LOG_PLACEHOLDERS: [(&str, &str); 11] = [
    ("step", "number of the step, counted from 1"),
    ("steps", "number of steps in all"),
    ("loss", "loss of the step"),
    ("step_s", "time of the step in seconds"),
    ("step_ms", "time of the step in milliseconds"),
    ("tokens", "tokens of the step"),
    ("samples", "samples of the step"),
    ("tokens_per_s", "tokens per second"),
    ("duration_s", "time that the checkpoint took in seconds"),
    ("path", "where the checkpoint lies"),
    ("*", "anything, which is forgotten"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_parallelism_multiply_but_for_experts() {
        assert!(Parallelism::single().is_single());
        let spread = Parallelism { dp: 2, tp: 4, ep: 8, ..Parallelism::single() };
        assert_eq!(spread.gpus(), 8);
    }

    #[test]
    fn signals_are_named_with_or_without_their_prefix() {
        assert_eq!(Signal::from_name("SIGUSR1"), Some(Signal::Usr1));
        assert_eq!(Signal::from_name("TERM"), Some(Signal::Term));
        assert_eq!(Signal::from_name("term"), None);
    }
}
