//! The open-loop load client: plans every request before a block begins, sends each at its time
//! whatever the server does, stamps each chunk at the read, and names how each request ended.

mod alarm;
mod arrivals;
mod cancel;
mod chunk;
mod client;
mod connection;
mod exchange;
mod failure;
mod health;
mod lengths;
mod live;
pub mod mock;
mod progress;
mod prompt;
mod schedule;
mod sse;
mod target;
mod triton;
mod walk;
mod watchdog;

pub use arrivals::{Arrivals, TraceWindow};
pub use cancel::Cancel;
pub use chunk::{Chunk, MalformedChunk, Usage, classify, classify_slowly};
pub use client::{
    FailureDetail, Limits, LoadResult, pin_thread, run, run_on_thread, run_on_thread_watched,
};
pub use lengths::{LengthDistribution, LengthScale, Lengths};
pub use live::Live;
pub use prompt::PromptForm;
pub use schedule::{LoadSpec, Pacing, PlannedRequest, Schedule, ScheduleError, schedule};
pub use sse::{Continue, EVENT_BYTES_MAX, SseError, SseEvent, SseParser};
pub use target::{Api, Target, TargetError, TargetSpec};
