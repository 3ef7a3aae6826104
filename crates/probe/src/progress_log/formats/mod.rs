//! The logs of the trainers and renderers that people run, read as events.
//!
//! One reader a format takes a line, without colours and rank prefixes ([`CleanLine`]), and says what
//! it tells. [`LogReader`] gives each step once, whoever printed it, and its time with the clock that
//! it comes from. A finished file is read with [`read_text`], which also tells its format
//! ([`detect`]). What each format gives and lacks is in `docs/trainer-logs.md`.

mod bars;
mod clean;
mod compact;
mod cycles;
mod detect;
mod document;
mod event;
mod format;
mod json_lines;
mod number;
mod pretraining;
mod reader;
mod track;

pub use clean::{CleanLine, LineClock, without_escapes};
pub use detect::{Candidate, DetectError, detect};
pub use event::{
    CheckpointEvent, CheckpointPhase, FrameEvent, LineTimes, LogEvent, StepEvent, StepLine,
    StepTimeSource, SummaryEvent, TileEvent,
};
pub use format::Format;
pub use number::{leading_clock, leading_number};
pub use reader::{LogReader, LogReading, read_bytes, read_text};
pub use track::LogNotes;
