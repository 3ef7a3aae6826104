//! The view of files as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files for people and machines, in the order in which they were named. Every number that a
/// rendering shows is in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingReport {
    /// Always `cotenant-reading`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// Program and version that wrote it.
    pub tool: String,
    /// How many files were read.
    pub read: u64,
    /// How many were refused.
    pub refused: u64,
    /// The files.
    pub files: Vec<FileView>,
    /// What files contradict in each other.
    pub contradictions: Vec<String>,
}

/// One file: what it was read as, or why it was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileView {
    /// The name, as given.
    pub file: String,
    /// What it was read as; null where it was refused.
    pub reading: Option<ReadView>,
    /// Why it was refused; null where it was read.
    pub refusal: Option<RefusalView>,
}

/// What a file was read as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadView {
    /// The kind of file: `metrics_scrape`, `trainer_log`, `gpu_query` …
    pub kind: String,
    /// The kind for people.
    pub kind_text: String,
    /// Which of the kind's forms it has.
    pub form: String,
    /// Who wrote it, where that can be told.
    pub producer: Option<String>,
    /// The version of the producer or of its schema, where the file names one.
    pub producer_version: Option<String>,
    /// How it is stored, from outside to inside; empty for plain UTF-8.
    pub packing: Vec<String>,
    /// By what it was recognised.
    pub recognised_by: Vec<String>,
    /// Single values.
    pub facts: Vec<FactView>,
    /// What there is many of.
    pub tables: Vec<TableView>,
    /// What was passed over: the first of it.
    pub skipped: Vec<String>,
    /// How much more was passed over.
    pub skipped_left_out: u64,
    /// What a reader must know: the first of it.
    pub notes: Vec<String>,
    /// How many more notes there are.
    pub notes_left_out: u64,
    /// What the file cannot be used for.
    pub limits: Vec<LimitView>,
    /// The command that uses such a file.
    pub next: Option<String>,
}

/// A value under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactView {
    /// The name, without its unit.
    pub name: String,
    /// The value.
    pub figure: FigureView,
}

/// What kind of content a [`FigureView`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureState {
    /// A finite number: `value` holds it.
    Known,
    /// A number between two bounds: `above` and `at_most` hold them.
    Between,
    /// A number without limit: `value` is null.
    Unbounded,
    /// Nothing was seen: `text` says why.
    Missing,
    /// Words, not a number.
    Words,
}

/// A value with its unit and the text that every rendering prints for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureView {
    /// What kind of content this is.
    pub state: FigureState,
    /// The number in `unit`, where `state` is `known`.
    pub value: Option<f64>,
    /// Where `state` is `between`: it lies above this, or at it where this is 0.
    pub above: Option<f64>,
    /// Where `state` is `between`: it is at most this; null where there is no upper bound.
    pub at_most: Option<f64>,
    /// The unit: `s`, `share`, `MiB`, `req/s`; empty for a bare number and for words.
    pub unit: String,
    /// What is printed.
    pub text: String,
}

/// Rows of equal columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableView {
    /// What the rows are.
    pub title: String,
    /// The columns.
    pub columns: Vec<ColumnView>,
    /// The rows: a value for each column.
    pub rows: Vec<Vec<FigureView>>,
    /// How many further rows the file has.
    pub rows_left_out: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnView {
    /// The name.
    pub name: String,
    /// Whether it may be left out where there is little room.
    pub is_detail: bool,
}

/// Something that a file cannot be used for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitView {
    /// What cannot be concluded.
    pub claim: String,
    /// Why.
    pub why: String,
    /// The way out.
    pub way_out: String,
    /// Where in the file; empty where the whole is meant.
    pub place: String,
}

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalView {
    /// What it seems to be.
    pub seems: String,
    /// The line that stands in the way, from 1; null where the whole file is meant.
    pub line: Option<u64>,
    /// Why it cannot be read.
    pub why: String,
    /// What would be needed.
    pub way_out: String,
}
