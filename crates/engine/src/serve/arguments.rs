//! The options of `engine serve`.

use std::net::IpAddr;

use clap::Args;

use crate::EngineError;
use crate::config::{ModelArgs, ModelSize};

/// Options of the reference server.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Preset size of the model
    #[arg(long, value_enum, default_value = "medium")]
    pub model_size: ModelSize,
    /// Model overrides, threads, seed and device.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Name under which the model is served [default: cotenant-SIZE]
    #[arg(long)]
    pub served_model_name: Option<String>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    pub port: u16,
    /// Longest sequence, prompt and output together, in tokens
    #[arg(long, default_value_t = 2048, value_parser = clap::value_parser!(u32).range(2..=1_048_576))]
    pub max_model_len: u32,
    /// Tokens that the key-value caches of all running sequences may hold together
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(2..))]
    pub kv_tokens: u32,
    /// Sequences that run at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_sequences: u32,
    /// Tokens of one forward pass; longer prompts are computed in chunks
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub max_batched_tokens: u32,
    /// Requests that may wait; a further one is refused with 429
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub queue_max: u32,
    /// Seconds that running requests get to finish after SIGTERM
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub grace_s: u64,
}

impl ServeArgs {
    /// The name under which the model is served.
    pub(crate) fn model_name(&self) -> String {
        self.served_model_name
            .clone()
            .unwrap_or_else(|| format!("cotenant-{:?}", self.model_size).to_lowercase())
    }

    /// Checks what clap cannot.
    ///
    /// # Errors
    /// [`EngineError::Arguments`] when one pass could not hold a token of each sequence.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        if self.max_batched_tokens < self.max_sequences {
            return Err(EngineError::Arguments(format!(
                "--max-batched-tokens {} is less than --max-sequences {}, so not every sequence could advance",
                self.max_batched_tokens, self.max_sequences
            )));
        }
        Ok(())
    }
}
