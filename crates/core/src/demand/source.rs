//! What a reader hands over: requests one by one, or means over intervals.

use std::time::Duration;

use jiff::Timestamp;

/// One request, as its source recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrived. Milliseconds count.
    pub at: Timestamp,
    /// Tokens of its prompt; 0 where the source does not say.
    pub prompt_tokens: u32,
    /// Tokens of its answer; 0 where there was none, or where the source does not say.
    pub output_tokens: u32,
    /// What became of it.
    pub outcome: ArrivalOutcome,
    /// Time from its arrival to its end in the engine, where the source says.
    pub service: Option<Duration>,
}

/// What became of a request. A request that was not served is demand all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrivalOutcome {
    /// It was answered, or the source does not say.
    #[default]
    Served,
    /// It was turned away: an answer of 429 or 503, or a failure before the first token.
    Refused,
    /// It was given up before its end.
    TimedOut,
}

/// Means over the time from `start` to `end`. `None` means that the source does not state the value;
/// an interval without any value is a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its start. Whole seconds count.
    pub start: Timestamp,
    /// The instant after it.
    pub end: Timestamp,
    /// Requests per second, without those of `refused_per_s`.
    pub requests_per_s: Option<f64>,
    /// Requests per second that were turned away or given up, where the source counts them apart.
    pub refused_per_s: Option<f64>,
    /// Prompt tokens per second of the requests that were served.
    pub prompt_tokens_per_s: Option<f64>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Requests in the engine at once, those that wait included.
    pub requests_in_flight: Option<f64>,
    /// Tokens in the key-value cache at once.
    pub kv_tokens: Option<f64>,
}

impl Interval {
    /// An interval of which nothing is known: a gap until values are set.
    pub fn empty(start: Timestamp, end: Timestamp) -> Self {
        Self {
            start,
            end,
            requests_per_s: None,
            refused_per_s: None,
            prompt_tokens_per_s: None,
            output_tokens_per_s: None,
            requests_in_flight: None,
            kv_tokens: None,
        }
    }

    /// An interval with a mean rate of requests and nothing else.
    pub fn rate(start: Timestamp, end: Timestamp, requests_per_s: f64) -> Self {
        Self { requests_per_s: Some(requests_per_s), ..Self::empty(start, end) }
    }

    /// Each value with its name for people.
    pub(super) fn values(&self) -> [(&'static str, Option<f64>); 6] {
        [
            ("rate of requests", self.requests_per_s),
            ("rate of refused requests", self.refused_per_s),
            ("rate of prompt tokens", self.prompt_tokens_per_s),
            ("rate of output tokens", self.output_tokens_per_s),
            ("number of requests in flight", self.requests_in_flight),
            ("number of KV tokens", self.kv_tokens),
        ]
    }
}
