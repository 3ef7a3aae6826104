//! Demand as a series of equal steps, in one unit of work.

use std::time::Duration;

use jiff::Timestamp;

/// A unit in which demand may bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkUnit {
    /// Requests per second.
    Requests,
    /// Requests in the engine at once.
    RequestsInFlight,
    /// Tokens in the key-value cache at once.
    KvTokens,
    /// Prompt tokens per second.
    Prefill,
    /// Output tokens per second.
    Output,
    /// GPUs: any of the others, through what one replica carries.
    Gpus,
}

impl WorkUnit {
    /// Every unit of work; GPUs are what they are turned into.
    pub const WORK: [Self; 5] =
        [Self::Requests, Self::RequestsInFlight, Self::KvTokens, Self::Prefill, Self::Output];

    /// The name for people, with its unit: `prompt tokens/s`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests/s",
            Self::RequestsInFlight => "requests in flight",
            Self::KvTokens => "KV tokens",
            Self::Prefill => "prompt tokens/s",
            Self::Output => "output tokens/s",
            Self::Gpus => "GPUs",
        }
    }
}

/// Demand in one unit, in equal steps. A step that no source covers is a gap and not silence.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Of what.
    pub unit: WorkUnit,
    /// The start of the first step.
    pub start: Timestamp,
    /// The length of a step; whole seconds, above 0.
    pub step: Duration,
    /// The highest demand of each step as far as the source shows it; `None` is a gap.
    pub values: Vec<Option<f64>>,
    /// The shortest burst that the source can show: its own interval where that is coarser than the
    /// step.
    pub resolution: Duration,
}

impl Series {
    /// The start of a step. Steps beyond the end have a start too.
    pub fn time_of(&self, index: usize) -> Timestamp {
        let seconds = i64::try_from(self.step.as_secs()).unwrap_or(i64::MAX);
        let offset = seconds.saturating_mul(i64::try_from(index).unwrap_or(i64::MAX));
        self.start.checked_add(jiff::SignedDuration::from_secs(offset)).unwrap_or(Timestamp::MAX)
    }

    /// Steps that a source covers.
    pub fn seen(&self) -> usize {
        self.values.iter().flatten().count()
    }
}
