//! The judge against made evidence whose truth is known.

#![expect(clippy::unwrap_used, reason = "a test may stop where its own evidence is not as made")]
#![expect(clippy::format_push_string, reason = "the text of a verdict is short, and clarity wins")]

mod cases;
mod checkpoints;
mod drills;
mod faults;
mod gates;
mod observed;
mod pooling;
mod properties;
mod queue_time;
mod sentences;
mod support;
