//! Which column means what.

use std::fmt;

/// How a trace writes the time of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// A number of seconds from any origin, the Unix epoch included.
    Seconds,
    /// A number of milliseconds.
    Milliseconds,
    /// A number of microseconds.
    Microseconds,
    /// A number of nanoseconds.
    Nanoseconds,
    /// Date and time as ISO 8601 writes them, with `T` or a space between; without a zone it is
    /// read as UTC, which changes no distance between two rows.
    DateTime,
}

/// The columns (CSV) or keys (JSONL) of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    /// Column of the arrival time.
    pub time: String,
    /// How that column writes time.
    pub time_unit: TimeUnit,
    /// Column of the prompt's tokens.
    pub prompt_tokens: String,
    /// Column of the output's tokens.
    pub output_tokens: String,
}

impl ColumnMap {
    /// A map from the three names.
    pub fn new(
        time: impl Into<String>,
        time_unit: TimeUnit,
        prompt_tokens: impl Into<String>,
        output_tokens: impl Into<String>,
    ) -> Self {
        Self {
            time: time.into(),
            time_unit,
            prompt_tokens: prompt_tokens.into(),
            output_tokens: output_tokens.into(),
        }
    }

    /// The Azure traces of 2023 and 2024 (both write the same three columns; 2024 adds a zone to
    /// the time).
    pub fn azure() -> Self {
        Self::new("TIMESTAMP", TimeUnit::DateTime, "ContextTokens", "GeneratedTokens")
    }

    /// The Mooncake traces.
    pub fn mooncake() -> Self {
        Self::new("timestamp", TimeUnit::Milliseconds, "input_length", "output_length")
    }

    /// The BurstGPT traces.
    pub fn burstgpt() -> Self {
        Self::new("Timestamp", TimeUnit::Seconds, "Request tokens", "Response tokens")
    }

    /// Maps that are recognised by their names alone.
    fn known() -> [(&'static str, Self); 5] {
        [
            ("Azure", Self::azure()),
            ("Mooncake", Self::mooncake()),
            ("BurstGPT", Self::burstgpt()),
            (
                "vidur",
                Self::new(
                    "arrived_at",
                    TimeUnit::Seconds,
                    "num_prefill_tokens",
                    "num_decode_tokens",
                ),
            ),
            (
                "LLMServingSim",
                Self::new("arrival_time_ns", TimeUnit::Nanoseconds, "input_toks", "output_toks"),
            ),
        ]
    }

    /// The known map whose columns all stand among `names`.
    pub(super) fn recognise<'a>(names: &(impl Iterator<Item = &'a str> + Clone)) -> Option<Self> {
        Self::known().into_iter().map(|(_, map)| map).find(|map| {
            let holds = |name: &String| names.clone().any(|known| known == name);
            holds(&map.time) && holds(&map.prompt_tokens) && holds(&map.output_tokens)
        })
    }

    /// Name of the family whose columns these are.
    fn family(&self) -> Option<&'static str> {
        Self::known().into_iter().find(|(_, map)| map == self).map(|(name, _)| name)
    }
}

/// The format of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Comma-separated with a header line.
    Csv(ColumnMap),
    /// One JSON object a line.
    JsonLines(ColumnMap),
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, map) = match self {
            Self::Csv(map) => ("CSV", map),
            Self::JsonLines(map) => ("JSONL", map),
        };
        match map.family() {
            Some(family) => write!(f, "{family} {kind}"),
            None => f.write_str(kind),
        }
    }
}
