//! The options of `engine train`.

use std::path::PathBuf;

use clap::Args;

use crate::EngineError;
use crate::config::{ModelArgs, ModelSize};

/// Options of the reference trainer.
#[derive(Debug, Clone, Args)]
pub struct TrainArgs {
    /// Preset size of the model
    #[arg(long, value_enum, default_value = "tiny")]
    pub model_size: ModelSize,
    /// Model overrides, threads, seed and device.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Train until this many steps are done, those before a resume included
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Sequences per step
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: u32,
    /// Tokens per sequence
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub sequence: u32,
    /// Learning rate of AdamW, reached linearly over the first 20 steps and constant from there
    #[arg(long, default_value_t = 1e-3)]
    pub learning_rate: f64,
    /// Where checkpoints are kept; without it none are written
    #[arg(long)]
    pub checkpoint_dir: Option<PathBuf>,
    /// Steps between checkpoints; 0 writes one at the end and on a signal only
    #[arg(long, default_value_t = 0, requires = "checkpoint_dir")]
    pub checkpoint_every: u64,
    /// Go on from the newest checkpoint that is whole, if there is one
    #[arg(long, requires = "checkpoint_dir")]
    pub resume: bool,
    /// How many checkpoints to keep
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub keep: u32,
}

impl TrainArgs {
    /// Checks what clap cannot.
    ///
    /// # Errors
    /// [`EngineError::Arguments`] for a learning rate that is no positive number below 1.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        if self.learning_rate > 0.0 && self.learning_rate < 1.0 {
            return Ok(());
        }
        Err(EngineError::Arguments(format!(
            "--learning-rate {} is not between 0 and 1",
            self.learning_rate
        )))
    }
}
