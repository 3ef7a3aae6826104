//! The quantities of the canonical set.

/// A quantity that engines report about serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Requests that are being computed now.
    Running,
    /// Requests that wait in the engine now.
    Waiting,
    /// Share of the key-value cache in use, 0 to 1; of several engines that of the fullest.
    KvUseShare,
    /// Tokens of prompts.
    PromptTokens,
    /// Tokens generated.
    OutputTokens,
    /// Requests that ended, in whatever way.
    Finished,
    /// Requests that ended well.
    Succeeded,
    /// Requests that the client gave up.
    Aborted,
    /// Requests that ended in an error.
    Failed,
    /// Requests that were turned away on arrival.
    Refused,
    /// Times that a running request was put back.
    Preempted,
    /// Tokens of prompts that were looked up in the prefix cache.
    PrefixQueried,
    /// Tokens of prompts that the prefix cache held.
    PrefixHit,
    /// From arrival to first scheduling.
    QueueTime,
    /// From arrival to first token.
    FirstToken,
    /// From one token to the next.
    InterToken,
    /// A request's mean time to a token after the first.
    TimePerOutputToken,
    /// From arrival to last token.
    WholeRequest,
    /// From first scheduling to first token.
    Prefill,
    /// From first token to last.
    Decode,
}

/// How a quantity is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A value of now.
    Gauge,
    /// A count that only rises.
    Counter,
    /// A distribution of seconds.
    Duration,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Running,
        Self::Waiting,
        Self::KvUseShare,
        Self::PromptTokens,
        Self::OutputTokens,
        Self::Finished,
        Self::Succeeded,
        Self::Aborted,
        Self::Failed,
        Self::Refused,
        Self::Preempted,
        Self::PrefixQueried,
        Self::PrefixHit,
        Self::QueueTime,
        Self::FirstToken,
        Self::InterToken,
        Self::TimePerOutputToken,
        Self::WholeRequest,
        Self::Prefill,
        Self::Decode,
    ];

    /// How it is kept.
    pub fn shape(self) -> Shape {
        match self {
            Self::Running | Self::Waiting | Self::KvUseShare => Shape::Gauge,
            Self::QueueTime
            | Self::FirstToken
            | Self::InterToken
            | Self::TimePerOutputToken
            | Self::WholeRequest
            | Self::Prefill
            | Self::Decode => Shape::Duration,
            _ => Shape::Counter,
        }
    }

    /// Its name in output, with the unit last.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running_requests",
            Self::Waiting => "waiting_requests",
            Self::KvUseShare => "kv_use_share",
            Self::PromptTokens => "prompt_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Finished => "finished_requests",
            Self::Succeeded => "succeeded_requests",
            Self::Aborted => "aborted_requests",
            Self::Failed => "failed_requests",
            Self::Refused => "refused_requests",
            Self::Preempted => "preemptions",
            Self::PrefixQueried => "prefix_queried_tokens",
            Self::PrefixHit => "prefix_hit_tokens",
            Self::QueueTime => "queue_time_s",
            Self::FirstToken => "ttft_s",
            Self::InterToken => "itl_s",
            Self::TimePerOutputToken => "tpot_s",
            Self::WholeRequest => "e2e_s",
            Self::Prefill => "prefill_s",
            Self::Decode => "decode_s",
        }
    }
}
