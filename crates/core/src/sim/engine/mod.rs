//! One replica of an engine: continuous batching with chunked prefill, as vLLM v1 schedules it.
//!
//! A pass takes every running sequence one token on, gives what is left of its budget of tokens to
//! the prompt that is not through yet, and then to waiting requests in order of arrival, as long as
//! a place and KV blocks are free. A chunk that does not fill the rest of its prompt used up the
//! budget, so at most one prompt is unfinished, and it is the last of the running ones. Where blocks
//! run out, the sequence admitted last gives its blocks up and computes everything again later; no
//! request is admitted in that pass.
//!
//! Between two passes that change the batch, the time of a pass grows by the same amount each time,
//! so the clock jumps over all of them. What is kept of the batch is sums, a heap of who finishes in
//! which pass, and how many sequences need a new block in which pass. A stepper that keeps each
//! sequence and each block, and takes one pass after the other, agrees exactly (the tests hold them
//! side by side). Times are integers for that reason.
//!
//! Not modelled: speculative decoding, swapping to the host, several LoRA adapters, and sharing of
//! blocks by other means than a declared common beginning of prompts.

mod cache;
mod decoding;
mod flight;
mod replica;
mod request;
mod spec;
mod watcher;

pub use replica::{Load, Replica};
pub use request::{Prefix, SimRequest};
pub use spec::{ReplicaSpec, Role, SpecProblem};
pub use watcher::{PassRun, RefusalReason, Tokens, Unwatched, Watcher};
