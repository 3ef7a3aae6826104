//! The report and its sections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CapacityView, Charts, SeriesKind, Value, WhyView, Word};

/// The whole answer for people and machines. Every number that a rendering shows is in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Always `cotenant-report`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// Program and version that wrote it.
    pub tool: String,
    /// Name of the site.
    pub site: String,
    /// The instant that the answer speaks of, RFC 3339 in UTC.
    pub as_of: Option<String>,
    /// The same instant for people.
    pub as_of_text: String,
    /// Notes that stand beside the verdict and narrow what may be read from it.
    pub notes: Vec<String>,
    /// The verdict.
    pub verdict: Headline,
    /// What was tested: site, machine, load, when, how long.
    pub tested: Vec<Fact>,
    /// What the user asked for, one line each.
    pub objectives: Vec<Fact>,
    /// The ways of sharing side by side.
    pub story: Story,
    /// The six gates.
    pub gates: Vec<GateView>,
    /// What searches for capacity found, one for each inference workload.
    #[serde(default)]
    pub capacity: Vec<CapacityView>,
    /// What would decide the open questions, cheapest first.
    pub missing: Vec<MissingView>,
    /// What to do next.
    pub next_steps: Vec<NextStep>,
    /// What inference is sensitive to, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhyView>,
    /// Chart data.
    pub charts: Charts,
    /// Tables of detail, in the order in which they are shown.
    pub tables: Vec<Table>,
}

/// The verdict in one glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// The word.
    pub word: Word,
    /// The question that the word answers.
    pub question: String,
    /// One sentence: why that word.
    pub reason: String,
    /// Reservations about the tests, or the reasons why they prove nothing.
    pub reservations: Vec<String>,
    /// Conditions under which the answer holds.
    pub conditions: Vec<ConditionView>,
}

/// A condition as a sentence and as a predicate that a machine can watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionView {
    /// The sentence for people.
    pub sentence: String,
    /// What is watched.
    pub watch: String,
    /// `==`, `<=` or `>=`.
    pub operator: String,
    /// The value that it is compared with.
    pub value: String,
    /// The predicate in one piece, as printed.
    pub predicate: String,
    /// Runs in which it was tested.
    pub tested_by: Vec<String>,
}

/// A named text with its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What is said of it.
    pub text: String,
    /// `measured`, `imported`, `declared`, `simulated` or `assumed`, where it has one.
    pub origin: Option<String>,
}

/// The ways of sharing side by side: alone, together, together with a remedy, apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Story {
    /// How to read it.
    pub note: String,
    /// One column for each way.
    pub columns: Vec<StoryColumn>,
    /// One row for each metric; the cells are in the columns' order.
    pub rows: Vec<StoryRow>,
}

/// One way of sharing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoryColumn {
    /// Test letters: `A`, `C`, `C′`, `A | B`.
    pub letters: String,
    /// Which series of the charts it is; none for different windows.
    pub kind: Option<SeriesKind>,
    /// Its name.
    pub title: String,
    /// How much was seen.
    pub seen: String,
    /// The ruling of its judged objectives together, where any was judged.
    pub ruling: Option<Word>,
    /// What follows for this way, one sentence.
    pub summary: String,
}

/// One metric across the ways of sharing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoryRow {
    /// The metric's key: `ttft_p95`.
    pub key: String,
    /// Heading under which it stands.
    pub group: String,
    /// The metric's name.
    pub title: String,
    /// The declared objective, where there is one.
    pub objective: Option<Value>,
    /// One cell a column.
    pub cells: Vec<StoryCell>,
}

/// One metric under one way of sharing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoryCell {
    /// What was seen.
    pub value: Value,
    /// The ruling, where an objective was judged.
    pub ruling: Option<Word>,
    /// Bounds, interval or a caution, short.
    pub detail: Option<String>,
}

/// One gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateView {
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub ruling: Word,
    /// One sentence: why.
    pub summary: String,
    /// Its findings, those that decide first.
    pub findings: Vec<FindingView>,
}

/// One line of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    /// What it is about.
    pub subject: String,
    /// Under which way of sharing.
    pub strategy: String,
    /// What is said.
    pub ruling: Word,
    /// The metric as seen.
    pub observed: Value,
    /// What the ruling was made on: share of misses, or mean.
    pub judged: Option<Value>,
    /// One-sided 95 % lower bound of `judged`.
    pub lower: Option<Value>,
    /// One-sided 95 % upper bound of `judged`.
    pub upper: Option<Value>,
    /// The judged estimate with its bounds, as printed.
    pub bound_text: String,
    /// The objective.
    pub objective: Option<Value>,
    /// Where the metric is a quantile: the share that may miss.
    pub misses_allowed: Option<Value>,
    /// Origin of the numbers.
    pub origin: Option<String>,
    /// Requests, steps or drills seen.
    pub sample_count: u64,
    /// What they are worth after autocorrelation.
    pub sample_effective: f64,
    /// Valid blocks.
    pub blocks: u32,
    /// The sample as printed.
    pub sample_text: String,
    /// Runs or lines of the site file that it rests on.
    pub evidence: Vec<String>,
    /// The reason, with the arithmetic.
    pub explanation: String,
    /// The rarest event that the test could have seen.
    pub blind_spot: Option<String>,
    /// What would decide it.
    pub missing: Vec<MissingView>,
}

/// What would decide an open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissingView {
    /// What is missing.
    pub what: String,
    /// The command, or the line of the site file.
    pub command: String,
    /// Minutes that it takes, where known.
    pub minutes: Option<f64>,
    /// The minutes as printed.
    pub minutes_text: String,
}

/// One thing to do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// Why or what.
    pub text: String,
    /// The command.
    pub command: String,
}

/// A table of detail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// A stable key: `drills`.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows; each has one value a column.
    pub rows: Vec<Vec<Value>>,
    /// What stands in its place where it has no rows.
    pub empty: String,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// A stable key: `exit_s`.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// Whether it holds numbers, which are set to the right.
    pub numeric: bool,
}
