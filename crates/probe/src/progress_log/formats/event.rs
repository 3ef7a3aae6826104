//! What the lines of trainers and renderers say, in one vocabulary.

use super::clean::LineClock;

/// Where the time of a step comes from. Never a guess: where a line carries no time with a unit, it
/// is the difference of clocks, and this says of which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepTimeSource {
    /// Printed as the time of a step (or its mean since the last line).
    Printed,
    /// Difference of an elapsed time that the trainer prints, over the steps between.
    Elapsed,
    /// Difference of the stamps that the lines carry, over the steps between.
    LineClock {
        /// Smallest difference that the stamps can show, seconds.
        resolution_s: f64,
    },
    /// Difference of the moments at which the lines arrived here, over the steps between.
    Arrival,
    /// A rate that a progress bar prints, which it smooths over past steps.
    SmoothedRate,
}

impl StepTimeSource {
    /// In words, for a page.
    pub fn words(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Elapsed => "difference of the printed elapsed time",
            Self::LineClock { .. } => "difference of the lines' own stamps",
            Self::Arrival => "difference of the lines' arrival",
            Self::SmoothedRate => "smoothed rate of a progress bar",
        }
    }
}

/// What one line says of time, before it is compared with the line before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineTimes {
    /// Time of a step, seconds.
    pub step_s: Option<f64>,
    /// Time since the run began, seconds, and the smallest step that its digits can show.
    pub elapsed: Option<(f64, f64)>,
    /// A smoothed time of a step, seconds.
    pub smoothed_s: Option<f64>,
    /// A clock that the format names in a place of its own.
    pub clock: Option<LineClock>,
}

/// One line of progress, as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepLine {
    /// The counter that was printed.
    pub step: u64,
    /// Steps in all.
    pub of: Option<u64>,
    /// What it says of time.
    pub times: LineTimes,
    /// Loss.
    pub loss: Option<f64>,
    /// Tokens of one step.
    pub tokens: Option<u64>,
    /// Tokens per second of the whole job.
    pub tokens_per_s: Option<f64>,
    /// Tokens per second of one GPU.
    pub tokens_per_s_per_gpu: Option<f64>,
    /// Samples of one step, of the whole job.
    pub samples: Option<u64>,
    /// Samples per second, as the format defines it.
    pub samples_per_s: Option<f64>,
}

/// Steps that are done.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEvent {
    /// The line.
    pub line: StepLine,
    /// Mean time of a step, seconds; none where no clock allows one (the first line of a run).
    pub step_s: Option<f64>,
    /// Where that time comes from.
    pub source: Option<StepTimeSource>,
    /// Steps since the line before: that many does `step_s` stand for. One where there is none.
    pub steps: u64,
    /// Lines of steps since the start, or since the last restart, before this one: 0 is the first,
    /// which compiles, allocates and fills caches. It is kept; the judge decides.
    pub position: u64,
    /// The counter went back: the job was started anew.
    pub restarted: bool,
    /// The rank whose line this is.
    pub rank: Option<u32>,
    /// When the line arrived, nanoseconds on the caller's clock.
    pub at_ns: Option<u64>,
}

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointPhase {
    /// It has begun.
    Begun,
    /// It is on its way in the background; training goes on.
    Staged,
    /// It is complete.
    Complete,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointEvent {
    /// The step whose state it holds.
    pub step: Option<u64>,
    /// How far it is.
    pub phase: CheckpointPhase,
    /// Printed duration, seconds.
    pub duration_s: Option<f64>,
    /// Printed size, bytes.
    pub bytes: Option<u64>,
    /// Whether it is written while training goes on, where the line says it.
    pub asynchronous: Option<bool>,
}

/// A rendered frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameEvent {
    /// Number of the frame.
    pub frame: u64,
    /// Time of the whole frame, saving included, seconds.
    pub time_s: f64,
    /// Time of saving it, seconds.
    pub saving_s: Option<f64>,
    /// Time of the renderer alone, seconds.
    pub render_s: Option<f64>,
    /// Highest memory of the process so far, bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Highest memory of the scene on the device in this frame, bytes.
    pub scene_memory_peak_bytes: Option<u64>,
}

/// Progress inside of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct TileEvent {
    /// Number of the frame.
    pub frame: u64,
    /// Tiles done and in all.
    pub tiles: Option<(u64, u64)>,
    /// Samples done and in all.
    pub samples: Option<(u64, u64)>,
    /// Time since the frame began, seconds.
    pub elapsed_s: Option<f64>,
}

/// What is printed at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryEvent {
    /// Steps of the run.
    pub steps: Option<u64>,
    /// Time of the run, seconds.
    pub runtime_s: Option<f64>,
    /// Steps per second, rounded as printed.
    pub steps_per_s: Option<f64>,
    /// Samples per second.
    pub samples_per_s: Option<f64>,
    /// Mean loss.
    pub loss: Option<f64>,
}

/// Something that a line of a trainer or renderer tells.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEvent {
    /// Steps are done.
    Step(StepEvent),
    /// A checkpoint.
    Checkpoint(CheckpointEvent),
    /// State was restored.
    Resumed {
        /// The step whose state was restored, where the line says it.
        step: Option<u64>,
        /// Printed duration, seconds.
        duration_s: Option<f64>,
    },
    /// The trainer has begun to stop.
    Stopping,
    /// A frame is done.
    Frame(FrameEvent),
    /// Progress inside of a frame.
    Tile(TileEvent),
    /// The end of a run.
    Summary(SummaryEvent),
}

/// What a format reads from one line, before repeated lines are dropped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LineEvent {
    Step(StepLine),
    Other(LogEvent),
}

impl LineEvent {
    pub(super) fn checkpoint(
        step: Option<u64>,
        phase: CheckpointPhase,
        duration_s: Option<f64>,
        asynchronous: Option<bool>,
    ) -> Self {
        Self::Other(LogEvent::Checkpoint(CheckpointEvent {
            step,
            phase,
            duration_s,
            bytes: None,
            asynchronous,
        }))
    }

    pub(super) fn resumed(step: Option<u64>, duration_s: Option<f64>) -> Self {
        Self::Other(LogEvent::Resumed { step, duration_s })
    }
}
