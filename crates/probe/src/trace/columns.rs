//! Which column means what.

use std::fmt;

use cotenant_core::site;

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
    /// Dates or numbers of seconds, told by the first row; a file that mixes them is refused.
    ByContent,
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
    /// Column of the time from arrival to the last token, seconds. Read where the file has it.
    pub latency_s: Option<String>,
    /// Column that says how the request ended. Read where the file has it.
    pub status: Option<String>,
    /// Whether an answer of no tokens means that the request failed.
    pub no_output_means_failed: bool,
    /// In JSONL, the key of a list whose elements are the requests of the row's time.
    pub list: Option<String>,
}

impl ColumnMap {
    /// A map from the three names. The columns `latency_s` and `status` are read where the file has
    /// them.
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
            latency_s: Some("latency_s".to_owned()),
            status: Some("status".to_owned()),
            no_output_means_failed: false,
            list: None,
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

    /// The BurstGPT traces: seconds from 0:00:00 of a first day whose date is not told, and failed
    /// requests with 0 response tokens. The newer files add the elapsed time.
    pub fn burstgpt() -> Self {
        Self {
            latency_s: Some("Elapsed time".to_owned()),
            no_output_means_failed: true,
            ..Self::new("Timestamp", TimeUnit::Seconds, "Request tokens", "Response tokens")
        }
    }

    /// The columns of a file that follows no other's names: `time_s` (seconds or dates),
    /// `prompt_tokens`, `output_tokens`.
    pub fn generic() -> Self {
        Self::new("time_s", TimeUnit::ByContent, "prompt_tokens", "output_tokens")
    }

    fn aibrix() -> Self {
        Self {
            list: Some("requests".to_owned()),
            ..Self::new("timestamp", TimeUnit::Milliseconds, "Prompt Length", "Output Length")
        }
    }

    /// The columns that a site file names; what it leaves out has the generic name. A name that
    /// ends in `_ms`, `_us` or `_ns` says the unit; any other column of times is told by its
    /// content.
    fn named(columns: &site::TraceColumns) -> Self {
        let generic = Self::generic();
        let time = columns.time.clone().unwrap_or(generic.time);
        let unit_of = |name: &str| match name.rsplit_once('_') {
            Some((_, "ms")) => TimeUnit::Milliseconds,
            Some((_, "us")) => TimeUnit::Microseconds,
            Some((_, "ns")) => TimeUnit::Nanoseconds,
            _ => TimeUnit::ByContent,
        };
        let time_unit = unit_of(&time);
        let prompt = columns.prompt_tokens.clone().unwrap_or(generic.prompt_tokens);
        let output = columns.output_tokens.clone().unwrap_or(generic.output_tokens);
        Self::new(time, time_unit, prompt, output)
    }

    /// Maps that are recognised by their names alone.
    fn known() -> [(&'static str, Self); 7] {
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
            ("AIBrix", Self::aibrix()),
            ("generic", Self::generic()),
        ]
    }

    /// The known map whose columns all stand among `names`.
    pub(crate) fn recognise<'a>(names: &(impl Iterator<Item = &'a str> + Clone)) -> Option<Self> {
        Self::known().into_iter().map(|(_, map)| map).find(|map| {
            let holds = |name: &String| names.clone().any(|known| known == name);
            holds(&map.time)
                && match &map.list {
                    Some(list) => holds(list),
                    None => holds(&map.prompt_tokens) && holds(&map.output_tokens),
                }
        })
    }

    /// Whether `names` are the columns of a known CSV trace.
    pub(crate) fn knows(names: &[&str]) -> bool {
        Self::recognise(&names.iter().copied()).is_some_and(|map| map.list.is_none())
    }

    /// Whether second 0 is the midnight of some day, as in the BurstGPT traces.
    pub(crate) fn counts_from_midnight(&self) -> bool {
        *self == Self::burstgpt()
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

impl TraceFormat {
    /// The format that a site file declares.
    pub fn of_site(demand: &site::TraceDemand) -> Self {
        let columns = || demand.columns.as_ref().map_or_else(ColumnMap::generic, ColumnMap::named);
        match demand.format {
            site::TraceFormat::Azure => Self::Csv(ColumnMap::azure()),
            site::TraceFormat::Mooncake => Self::JsonLines(ColumnMap::mooncake()),
            site::TraceFormat::BurstGpt => Self::Csv(ColumnMap::burstgpt()),
            site::TraceFormat::Csv => Self::Csv(columns()),
            site::TraceFormat::JsonLines => Self::JsonLines(columns()),
        }
    }

    /// Which column means what.
    pub fn columns(&self) -> &ColumnMap {
        match self {
            Self::Csv(map) | Self::JsonLines(map) => map,
        }
    }
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
