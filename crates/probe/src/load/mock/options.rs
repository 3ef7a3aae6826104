//! How the mock answers.

use std::time::Duration;

/// A pause of every stream at once, such as a neighbour's training step can cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Time from the beginning of one pause to the beginning of the next.
    pub every: Duration,
    /// Length of a pause.
    pub length: Duration,
}

/// What goes wrong. Counts are of tokens that were sent before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status in place of a stream.
    Status(u16),
    /// The connection is closed before any answer.
    CloseBeforeAnswer,
    /// No answer at all, while the connection stays open.
    NeverAnswer,
    /// The connection is reset.
    ResetAfter(u32),
    /// The connection is closed in the middle of the stream.
    CloseAfter(u32),
    /// The stream ends properly as HTTP goes, but without its end marker.
    EndAfter(u32),
    /// No further byte, while the connection stays open.
    StallAfter(u32),
    /// A chunk that is no JSON.
    MalformedAfter(u32),
    /// An error object in a plain data event, as vLLM sends it.
    ErrorObjectAfter(u32),
    /// An event named `error`.
    ErrorEventAfter(u32),
    /// A JSON answer in place of a stream.
    PlainJson,
}

/// How the mock answers each request.
#[derive(Clone, Debug, PartialEq)]
pub struct MockOptions {
    /// Request read to first token.
    pub first_token: Duration,
    /// Added to `first_token`: between zero and this, spread evenly over the requests.
    pub first_token_spread: Duration,
    /// Time between two tokens.
    pub token_gap: Duration,
    /// Tokens in each chunk; a chunk waits for its last token.
    pub tokens_per_chunk: u32,
    /// Where set, requests are served one at a time, each taking this long before its first token.
    pub service_one_at_a_time: Option<Duration>,
    /// A chunk with a role and no content comes before the first token.
    pub role_chunk: bool,
    /// Tokens at the beginning that are sent as reasoning.
    pub reasoning_tokens: u32,
    /// A usage record at the end.
    pub usage: bool,
    /// A usage record in every chunk.
    pub usage_per_chunk: bool,
    /// Pauses of all streams.
    pub pause: Option<Pause>,
    /// The connection is closed after this many answers, without a word in their heads.
    pub answers_per_connection: Option<u32>,
    /// What goes wrong in every request.
    pub fault: Option<Fault>,
}

impl Default for MockOptions {
    /// Answers at once, one token a chunk, with usage at the end.
    fn default() -> Self {
        Self {
            first_token: Duration::ZERO,
            first_token_spread: Duration::ZERO,
            token_gap: Duration::ZERO,
            tokens_per_chunk: 1,
            service_one_at_a_time: None,
            role_chunk: false,
            reasoning_tokens: 0,
            usage: true,
            usage_per_chunk: false,
            pause: None,
            answers_per_connection: None,
            fault: None,
        }
    }
}
