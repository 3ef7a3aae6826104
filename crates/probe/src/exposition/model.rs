//! What a scrape says, as data. Text is borrowed from the scrape wherever it holds no escapes.

use std::borrow::Cow;

/// A format of exposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text format 0.0.4: timestamps are whole milliseconds, no exemplars.
    Prometheus,
    /// OpenMetrics 1.0: timestamps are seconds, exemplars, units, `# EOF` at the end.
    OpenMetrics,
}

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `counter`: only rises, or begins anew.
    Counter,
    /// `gauge`: a value of now.
    Gauge,
    /// `histogram`: cumulative buckets, a sum and a count.
    Histogram,
    /// `gaugehistogram`: buckets of now, which may fall.
    GaugeHistogram,
    /// `summary`: quantiles that the exporter computed, a sum and a count.
    Summary,
    /// `stateset`: one series to a state, 1 or 0.
    StateSet,
    /// `info`: labels that say something; the value is 1.
    Info,
    /// `untyped` or `unknown`, or no `# TYPE` line at all.
    Unknown,
}

impl Kind {
    /// The type that a word of a `# TYPE` line names.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "counter" => Self::Counter,
            "gauge" => Self::Gauge,
            "histogram" => Self::Histogram,
            "gaugehistogram" => Self::GaugeHistogram,
            "summary" => Self::Summary,
            "stateset" => Self::StateSet,
            "info" => Self::Info,
            "untyped" | "unknown" => Self::Unknown,
            _ => return None,
        })
    }

    /// What may follow the family's name in the name of a sample.
    pub fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Counter => &["_total", "_created"],
            Self::Histogram => &["_bucket", "_sum", "_count", "_created"],
            Self::GaugeHistogram => &["_bucket", "_gsum", "_gcount"],
            Self::Summary => &["_sum", "_count", "_created"],
            Self::Info => &["_info"],
            Self::Gauge | Self::StateSet | Self::Unknown => &[],
        }
    }
}

/// Labels in the order in which they stand.
pub type Labels<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// An exemplar of OpenMetrics: one observation that a sample counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar<'a> {
    /// What points at the observation, a trace's identifier as a rule.
    pub labels: Labels<'a>,
    /// The observed value.
    pub value: f64,
    /// When, seconds since 1970.
    pub time_s: Option<f64>,
}

/// One line with a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// The whole name, with its suffix.
    pub name: Cow<'a, str>,
    /// The labels.
    pub labels: Labels<'a>,
    /// The value; may be NaN or infinite.
    pub value: f64,
    /// The exporter's own time, seconds since 1970, where it gives one.
    pub time_s: Option<f64>,
    /// The exemplar, where one is attached.
    pub exemplar: Option<Exemplar<'a>>,
    /// The line, from 1.
    pub line: usize,
}

impl Sample<'_> {
    /// The value of a label. A label that is absent and one that is empty are the same thing to
    /// Prometheus; both give `None`.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, v)| &**v)
    }
}

/// Samples that share a name, but for the suffix.
#[derive(Debug, Clone, PartialEq)]
pub struct Family<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The type; `Unknown` where no line names it.
    pub kind: Kind,
    /// Whether a `# TYPE` line names the type.
    pub typed: bool,
    /// The text of the `# HELP` line, escapes resolved.
    pub help: Option<Cow<'a, str>>,
    /// The word of the `# UNIT` line.
    pub unit: Option<Cow<'a, str>>,
    /// The samples, in the order of the scrape.
    pub samples: Vec<Sample<'a>>,
}

/// Something that a lenient reading passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The line, from 1.
    pub line: usize,
    /// What was wrong and what was done about it.
    pub text: String,
}

/// A whole scrape.
#[derive(Debug, Clone, PartialEq)]
pub struct Exposition<'a> {
    /// The format that it was read as.
    pub format: Format,
    /// The families, in the order of their first line.
    pub families: Vec<Family<'a>>,
    /// What a lenient reading passed over; the first [`super::NOTES_MAX`] of it.
    pub notes: Vec<Note>,
    /// How many notes did not find room.
    pub notes_left_out: usize,
}

impl<'a> Exposition<'a> {
    /// The family of this name.
    pub fn family(&self, name: &str) -> Option<&Family<'a>> {
        self.families.iter().find(|family| family.name == name)
    }

    /// How many samples there are.
    pub fn sample_count(&self) -> usize {
        self.families.iter().map(|family| family.samples.len()).sum()
    }
}
