//! One request as the load client saw it.

/// How a request ended. Only [`Outcome::Completed`] and [`Outcome::CompletedWithoutUsage`] have a
/// latency; every other outcome is a miss of every latency objective (its latency is +∞).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The whole answer arrived, with the server's own token counts.
    Completed,
    /// The whole answer arrived, but the server sent no usage record: token counts are estimates.
    CompletedWithoutUsage,
    /// The server refused because it is full (429 or 503).
    Refused(u16),
    /// Any other HTTP status that is not 2xx.
    HttpError(u16),
    /// No connection could be made.
    ConnectFailed,
    /// The connection was reset or broke before the answer began or while it came.
    Reset,
    /// The connection closed cleanly before the stream's end marker.
    Truncated,
    /// No byte arrived for longer than the stall limit.
    Stalled,
    /// The whole request took longer than its time limit.
    TimedOut,
    /// A chunk could not be understood.
    Malformed,
    /// The server reported an error inside a stream that began with 200.
    StreamError,
    /// The test ended before the request did.
    Cancelled,
}

impl Outcome {
    /// Whether the whole answer arrived.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Completed | Self::CompletedWithoutUsage)
    }

    /// The outcome's name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::CompletedWithoutUsage => "completed without usage",
            Self::Refused(_) => "refused",
            Self::HttpError(_) => "HTTP error",
            Self::ConnectFailed => "connect failed",
            Self::Reset => "connection reset",
            Self::Truncated => "truncated stream",
            Self::Stalled => "stalled",
            Self::TimedOut => "timed out",
            Self::Malformed => "malformed chunk",
            Self::StreamError => "error inside the stream",
            Self::Cancelled => "cancelled at the end of the test",
        }
    }
}

/// Where a token count comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// The server's usage record.
    Usage,
    /// Counted chunks: an estimate.
    Chunks,
}

/// One request. All times are nanoseconds from the block's start; the latency objectives count
/// from `intended_ns`, never from `sent_ns`.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// Position in the block's schedule. The same index is the same request in paired blocks.
    pub index: u32,
    /// Index of the request class of the workload, 0 where it declares none.
    pub class: u16,
    /// When the schedule wanted it sent.
    pub intended_ns: u64,
    /// When the client began to write it; `None` if it never did.
    pub sent_ns: Option<u64>,
    /// When the read returned that held the first token of any kind (reasoning included).
    pub first_token_ns: Option<u64>,
    /// When the read returned that held the first token a user sees, if it differs in kind.
    pub first_visible_ns: Option<u64>,
    /// When the read returned that held the last token.
    pub last_token_ns: Option<u64>,
    /// When the last byte arrived, or when the failure was known.
    pub end_ns: u64,
    /// Prompt tokens: the server's count, else the number asked for.
    pub prompt_tokens: u32,
    /// Output tokens: the server's count, else the estimate.
    pub output_tokens: u32,
    /// Where `output_tokens` comes from.
    pub token_source: TokenSource,
    /// Longest time between two chunks that carry tokens; `None` with fewer than two.
    pub gap_longest_ns: Option<u64>,
    /// Number of gaps longer than the client's stall threshold.
    pub stalls: u32,
    /// Total length of those gaps.
    pub stalled_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
}

impl RequestRecord {
    /// Time to first token from the intended send time, seconds; +∞ unless the request completed.
    pub fn ttft_s(&self) -> f64 {
        self.complete_since_intended(self.first_token_ns)
    }

    /// End-to-end latency from the intended send time to the last byte, seconds; +∞ unless the
    /// request completed.
    pub fn e2e_s(&self) -> f64 {
        self.complete_since_intended(Some(self.end_ns))
    }

    /// Time per output token, (last − first) ÷ (tokens − 1), seconds. `None` where it has no
    /// meaning (fewer than two tokens, or not completed).
    pub fn tpot_s(&self) -> Option<f64> {
        let (first, last) = (self.first_token_ns?, self.last_token_ns?);
        if !self.outcome.is_complete() || self.output_tokens < 2 {
            return None;
        }
        Some(seconds(last.saturating_sub(first)) / f64::from(self.output_tokens - 1))
    }

    /// The client's own lateness: actual send minus intended send, seconds.
    pub fn lateness_s(&self) -> Option<f64> {
        self.sent_ns.map(|sent| seconds(sent.saturating_sub(self.intended_ns)))
    }

    fn complete_since_intended(&self, at_ns: Option<u64>) -> f64 {
        match at_ns {
            Some(at) if self.outcome.is_complete() => seconds(at.saturating_sub(self.intended_ns)),
            _ => f64::INFINITY,
        }
    }
}

/// The times between chunks of one request, kept apart from the request because they are many and
/// most questions do not need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGaps {
    /// The request's index.
    pub request: u32,
    /// Whether every chunk carried exactly one token, so that a gap is an inter-token latency.
    /// Where it is false the gaps are chunk gaps and say nothing of single tokens.
    pub single_token: bool,
    /// Gaps in order, microseconds.
    pub gaps_us: Vec<u32>,
}

/// What the load client knows about its own fitness in one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientHealth {
    /// Requests the schedule asked for.
    pub requests_planned: u32,
    /// Requests really sent.
    pub requests_sent: u32,
    /// Lateness (actual minus intended send), median, seconds.
    pub lateness_p50_s: f64,
    /// Lateness, 99th percentile, seconds.
    pub lateness_p99_s: f64,
    /// Largest lateness, seconds.
    pub lateness_max_s: f64,
    /// CPU time the client's thread used, seconds.
    pub cpu_s: f64,
    /// Time the client's thread waited on a run queue, seconds; `None` where the kernel hides it.
    pub run_queue_wait_s: Option<f64>,
    /// Most streams open at once.
    pub streams_open_max: u32,
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
