//! What can go wrong in the reference workloads.

use std::path::PathBuf;

/// Why a reference workload could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The arguments contradict one another or ask for a model that cannot exist.
    #[error("{0}")]
    Arguments(String),
    /// A checkpoint exists but was made by a run with other settings.
    #[error("the checkpoint in {path} does not fit this run: {reason}")]
    CheckpointMismatch {
        /// The checkpoint's directory.
        path: PathBuf,
        /// The first setting that differs, with both values.
        reason: String,
    },
    /// Checkpoints exist, but not one of them can be read.
    #[error("no checkpoint in {directory} can be read; newest: {reason}")]
    CheckpointsDamaged {
        /// The checkpoint directory of the run.
        directory: PathBuf,
        /// What is wrong with the newest one.
        reason: String,
    },
    /// Another trainer writes checkpoints into the same directory.
    #[error("another trainer is using the checkpoint directory {0}")]
    CheckpointDirectoryInUse(PathBuf),
    /// A file, socket or signal handler failed.
    #[error("failed to {action}: {source}")]
    Io {
        /// What was being done, as the end of "failed to …".
        action: String,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A tensor operation failed.
    #[error("the computation failed: {0}")]
    Compute(#[from] candle_core::Error),
    /// The loss is no longer a finite number, so going on would only burn time.
    #[error("the loss at step {step} is {loss}; lower --learning-rate")]
    LossNotFinite {
        /// The step whose loss it was.
        step: u64,
        /// The loss, in nats per byte.
        loss: f32,
    },
    /// A thread of the workload ended without being asked to.
    #[error("the {0} thread ended unexpectedly")]
    ThreadEnded(&'static str),
}

impl EngineError {
    /// Whether the user's input caused the error, rather than the world or a bug.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Arguments(_) | Self::CheckpointMismatch { .. })
    }

    /// Wraps an I/O error together with what was being done, phrased as the end of "failed to …".
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
