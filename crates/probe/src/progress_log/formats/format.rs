//! The formats by name, and the reader of each.

use cotenant_core::site::LogProducer;

use super::clean::CleanLine;
use super::event::LineEvent;
use super::{bars, compact, cycles, json_lines, pretraining};

/// A format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// torchtitan.
    Torchtitan,
    /// Megatron-LM and Megatron-DeepSpeed.
    Megatron,
    /// NeMo: `train_step_timing`, as text and in DLLogger's JSON.
    Nemo,
    /// The FSDP examples: `Batch 90 Loss: …, Speed: … samples/sec`.
    Fsdp,
    /// DeepSpeed's own lines.
    DeepSpeed,
    /// The Hugging Face Trainer.
    HfTrainer,
    /// Lightning's progress bar.
    Lightning,
    /// LLaMA-Factory's `trainer_log.jsonl`.
    LlamaFactory,
    /// nanoGPT and modded-nanogpt.
    NanoGpt,
    /// llm.c.
    LlmC,
    /// MLPerf's `:::MLLOG`.
    MlPerf,
    /// Blender's Cycles.
    Cycles,
    /// The trainer that is part of Cotenant.
    Embedded,
}

impl Format {
    /// All formats, in the order of their page.
    pub const ALL: [Self; 13] = [
        Self::Torchtitan,
        Self::Megatron,
        Self::Nemo,
        Self::Fsdp,
        Self::DeepSpeed,
        Self::HfTrainer,
        Self::Lightning,
        Self::LlamaFactory,
        Self::NanoGpt,
        Self::LlmC,
        Self::MlPerf,
        Self::Cycles,
        Self::Embedded,
    ];

    /// Its name, as the site file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Torchtitan => "torchtitan",
            Self::Megatron => "megatron",
            Self::Nemo => "nemo",
            Self::Fsdp => "fsdp",
            Self::DeepSpeed => "deepspeed",
            Self::HfTrainer => "hf_trainer",
            Self::Lightning => "lightning",
            Self::LlamaFactory => "llama_factory",
            Self::NanoGpt => "nanogpt",
            Self::LlmC => "llm_c",
            Self::MlPerf => "mlperf",
            Self::Cycles => "cycles",
            Self::Embedded => "cotenant",
        }
    }

    /// Whether its lines say that a checkpoint is complete; others say at most that one begins.
    pub fn says_checkpoints(self) -> bool {
        matches!(
            self,
            Self::Torchtitan | Self::Megatron | Self::Nemo | Self::DeepSpeed | Self::Embedded
        )
    }

    /// The format that the site file names; none is `auto`.
    pub fn of_site(producer: LogProducer) -> Option<Self> {
        Some(match producer {
            LogProducer::Auto => return None,
            LogProducer::Torchtitan => Self::Torchtitan,
            LogProducer::Megatron => Self::Megatron,
            LogProducer::Nemo => Self::Nemo,
            LogProducer::Fsdp => Self::Fsdp,
            LogProducer::DeepSpeed => Self::DeepSpeed,
            LogProducer::HfTrainer => Self::HfTrainer,
            LogProducer::Lightning => Self::Lightning,
            LogProducer::LlamaFactory => Self::LlamaFactory,
            LogProducer::NanoGpt => Self::NanoGpt,
            LogProducer::LlmC => Self::LlmC,
            LogProducer::MlPerf => Self::MlPerf,
            LogProducer::Cycles => Self::Cycles,
        })
    }

    /// How much its lines say of who wrote them: frameworks print lines of the libraries below them,
    /// so a format of a lower strength yields to one of a higher.
    pub(super) fn strength(self) -> u8 {
        match self {
            Self::DeepSpeed => 0,
            Self::HfTrainer | Self::Lightning | Self::MlPerf => 1,
            _ => 2,
        }
    }
}

/// The reader of one format's lines, with what it must remember between them.
#[derive(Clone, Debug)]
pub(super) enum Lines {
    Plain(fn(&CleanLine) -> Option<LineEvent>),
    HuggingFace(bars::HuggingFace),
    MlPerf(json_lines::MlPerf),
    Cycles(cycles::Cycles),
}

impl Lines {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Torchtitan => Self::Plain(pretraining::torchtitan),
            Format::Megatron => Self::Plain(pretraining::megatron),
            Format::Nemo => Self::Plain(nemo),
            Format::Fsdp => Self::Plain(pretraining::fsdp),
            Format::DeepSpeed => Self::Plain(compact::deep_speed),
            Format::HfTrainer => Self::HuggingFace(bars::HuggingFace::default()),
            Format::Lightning => Self::Plain(bars::lightning),
            Format::LlamaFactory => Self::Plain(json_lines::llama_factory),
            Format::NanoGpt => Self::Plain(compact::nano_gpt),
            Format::LlmC => Self::Plain(compact::llm_c),
            Format::MlPerf => Self::MlPerf(json_lines::MlPerf::default()),
            Format::Cycles => Self::Cycles(cycles::Cycles::default()),
            Format::Embedded => Self::Plain(pretraining::embedded),
        }
    }

    pub(super) fn read(&mut self, line: &CleanLine) -> Option<LineEvent> {
        match self {
            Self::Plain(read) => read(line),
            Self::HuggingFace(state) => state.read(line),
            Self::MlPerf(state) => state.read(line),
            Self::Cycles(state) => state.read(line),
        }
    }
}

fn nemo(line: &CleanLine) -> Option<LineEvent> {
    bars::nemo(line)
        .filter(|_| !line.text.starts_with("DLLL"))
        .or_else(|| json_lines::dllogger(line))
}
