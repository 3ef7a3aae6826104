//! What is told of a simulation while it runs. Nothing is kept for later, so that a day of millions
//! of requests needs no more memory than a minute.

use super::request::SimRequest;
use crate::units::Picoseconds;

/// Passes that follow each other without a change of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassRun {
    /// Which replica.
    pub replica: u16,
    /// When the first pass begins.
    pub from: Picoseconds,
    /// When the last pass ends.
    pub until: Picoseconds,
    /// How long before that the pass before ended: a pause, or nothing to do.
    pub waited: Picoseconds,
    /// How many passes.
    pub passes: u64,
    /// How long the first takes.
    pub first: Picoseconds,
    /// How much longer each is than the one before.
    pub growth: Picoseconds,
    /// Sequences that were given a token in each pass and in the one before, so that the time
    /// between the two is that of the pass (and what the replica waited before the first).
    pub sequences: u64,
    /// Prompt tokens computed; not 0 only in a run of one pass.
    pub prefill_tokens: u64,
    /// Blocks of the KV cache in use in the last pass.
    pub kv_blocks_used: u64,
}

/// Two moments of a request's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// When its first token came.
    pub first_at: Picoseconds,
    /// When its newest token came.
    pub last_at: Picoseconds,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The KV cache, empty, is smaller than the request needs at its end.
    TooLong,
    /// As many requests run and wait as the replica takes.
    QueueFull,
    /// The replica takes no new requests.
    Draining,
}

/// What sees a simulation. Every method does nothing unless it is written. Within a replica the
/// calls come in order of time; between replicas they do not.
pub trait Watcher {
    /// A request came.
    fn arrived(&mut self, _request: &SimRequest) {}
    /// A request is in a batch for the first time, in the pass that begins now.
    fn admitted(&mut self, _request: &SimRequest, _at: Picoseconds) {}
    /// A request's first token.
    fn first_token(&mut self, _request: &SimRequest, _at: Picoseconds) {}
    /// Passes ended.
    fn passes(&mut self, _run: &PassRun) {}
    /// A token whose distance from the one before is not the time of a pass: after a preemption, or
    /// after the way to another replica. `tokens.last_at` is the one before.
    fn late_token(&mut self, _request: &SimRequest, _tokens: Tokens, _at: Picoseconds) {}
    /// A request has all of its tokens; `tokens.last_at` is when.
    fn finished(&mut self, _request: &SimRequest, _tokens: Tokens) {}
    /// A prefill replica is done with a request, and its KV tokens can go where it is decoded.
    fn handed_over(&mut self, _request: &SimRequest, _at: Picoseconds) {}
    /// A request lost its KV blocks, and computes this many tokens again.
    fn preempted(&mut self, _request: &SimRequest, _at: Picoseconds, _lost_tokens: u64) {}
    /// A request was preempted this often in a row, with less than a block of tokens in between: a
    /// livelock of preemption, in which the replica computes the same again and again.
    fn livelock(&mut self, _request: &SimRequest, _at: Picoseconds, _evictions: u32) {}
    /// A request is not served.
    fn refused(&mut self, _request: &SimRequest, _at: Picoseconds, _reason: RefusalReason) {}
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {}

impl<W: Watcher + ?Sized> Watcher for &mut W {
    fn arrived(&mut self, request: &SimRequest) {
        (**self).arrived(request);
    }
    fn admitted(&mut self, request: &SimRequest, at: Picoseconds) {
        (**self).admitted(request, at);
    }
    fn first_token(&mut self, request: &SimRequest, at: Picoseconds) {
        (**self).first_token(request, at);
    }
    fn passes(&mut self, run: &PassRun) {
        (**self).passes(run);
    }
    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        (**self).late_token(request, tokens, at);
    }
    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        (**self).finished(request, tokens);
    }
    fn handed_over(&mut self, request: &SimRequest, at: Picoseconds) {
        (**self).handed_over(request, at);
    }
    fn preempted(&mut self, request: &SimRequest, at: Picoseconds, lost_tokens: u64) {
        (**self).preempted(request, at, lost_tokens);
    }
    fn livelock(&mut self, request: &SimRequest, at: Picoseconds, evictions: u32) {
        (**self).livelock(request, at, evictions);
    }
    fn refused(&mut self, request: &SimRequest, at: Picoseconds, reason: RefusalReason) {
        (**self).refused(request, at, reason);
    }
}
