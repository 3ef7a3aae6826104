//! What a trainer (or renderer) did: steps and checkpoints.

/// One step line of a trainer. Times are nanoseconds from the block's start.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// The step counter that the trainer printed.
    pub step: u64,
    /// When the line was read.
    pub at_ns: u64,
    /// Step duration as the trainer printed it, seconds; `None` where its line has none.
    pub duration_s: Option<f64>,
    /// Loss, where the line has one.
    pub loss: Option<f64>,
    /// Tokens (or samples) of this step, where the line says so.
    pub tokens: Option<u64>,
}

/// One checkpoint. Times are nanoseconds from the block's start.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointRecord {
    /// Step whose state was saved.
    pub step: u64,
    /// When it was complete on disk.
    pub at_ns: u64,
    /// How long it took, seconds, as the trainer printed it.
    pub duration_s: f64,
    /// Bytes written, where known.
    pub bytes: Option<u64>,
}
