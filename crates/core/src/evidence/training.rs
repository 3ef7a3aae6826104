//! What a trainer (or renderer) did: steps, checkpoints, and drills of giving the machine back.

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

/// One drill: the trainer is told to stop under load, checkpoints, exits, and the next start must
/// resume. Durations in seconds; `None` means that part was not seen, never zero.
#[derive(Clone, Debug, PartialEq)]
pub struct ReclaimDrill {
    /// When the signal was sent, nanoseconds from the block's start.
    pub signal_ns: u64,
    /// Signal to the step boundary at which the trainer stopped.
    pub step_boundary_s: Option<f64>,
    /// The checkpoint itself.
    pub checkpoint_s: Option<f64>,
    /// Signal to the exit of the last process of the trainer's group.
    pub exit_s: Option<f64>,
    /// Signal to memory really free: the group's resident memory has gone from the machine.
    pub memory_free_s: Option<f64>,
    /// Last step the trainer had finished before the signal took effect.
    pub last_step: Option<u64>,
    /// Step of the checkpoint it left.
    pub checkpoint_step: Option<u64>,
    /// Why the drill failed, if it did.
    pub failure: Option<String>,
    /// The start after it, once it has happened.
    pub resume: Option<ResumeCheck>,
}

impl ReclaimDrill {
    /// The part of signal-to-exit that no log line owns, seconds.
    pub fn unexplained_s(&self) -> Option<f64> {
        let known = self.step_boundary_s? + self.checkpoint_s?;
        Some(self.exit_s? - known)
    }

    /// Whether the drill and its resume both succeeded. `None` while no resume was seen.
    pub fn succeeded(&self) -> Option<bool> {
        if self.failure.is_some() {
            return Some(false);
        }
        self.resume.as_ref().map(|resume| resume.failure.is_none())
    }
}

/// Whether a trainer really continued where it stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeCheck {
    /// Start of the process to its first finished step, seconds.
    pub first_step_s: f64,
    /// Start of the process to restored state, seconds, where the trainer says so.
    pub restore_s: Option<f64>,
    /// First step printed after the resume.
    pub first_step: u64,
    /// Steps that had been finished before the stop and had to be done again.
    pub lost_steps: u64,
    /// Mean loss of the last steps before the stop.
    pub loss_before: Option<f64>,
    /// Mean loss of the first steps after the resume.
    pub loss_after: Option<f64>,
    /// How far the loss may move and still count as continuous: from the spread before the stop.
    pub loss_tolerance: Option<f64>,
    /// Why it does not count as a resume, if it does not.
    pub failure: Option<String>,
}
