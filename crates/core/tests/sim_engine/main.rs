//! The simulator of a serving engine: against a stepper that takes each pass and keeps each block,
//! against queueing theory, and against its own invariants.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agreement;
mod behaviour;
mod fleet;
mod invariants;
mod stepper;
mod theory;
mod watching;
