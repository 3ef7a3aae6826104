//! Chart data: points, boxes, bars, and axes with their ticks. A renderer only places them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Value;

/// Every chart of the report. A chart without data has a `missing` text in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Charts {
    /// Latency by share of requests: one or two for each stream of requests.
    pub latency: Vec<CurveChart>,
    /// Step times by block.
    pub steps: SpreadChart,
    /// Blocks in order of time.
    pub timeline: TimelineChart,
    /// Who used the CPU.
    pub host: HostChart,
    /// What each reclaim drill took.
    pub drills: DrillChart,
}

/// Which of the conditions a mark belongs to: fixes its colour, its pattern and its letter.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Test A.
    InferenceAlone,
    /// Test B.
    TrainingAlone,
    /// Test C.
    Together,
    /// Test C with a remedy.
    WithRemedy,
}

impl SeriesKind {
    /// The letter of the test; a prime marks a remedy.
    pub fn letter(self) -> &'static str {
        match self {
            Self::InferenceAlone => "A",
            Self::TrainingAlone => "B",
            Self::Together => "C",
            Self::WithRemedy => "C′",
        }
    }
}

/// How an axis maps values to lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AxisScale {
    /// Proportional.
    Linear,
    /// Proportional to the logarithm.
    Log,
    /// For a share q of requests: proportional to −log(1 − q), so that each further nine of a
    /// percentile takes the same length.
    Nines,
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tick {
    /// Where it stands.
    pub at: f64,
    /// What is printed.
    pub text: String,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What it shows, with its unit.
    pub title: String,
    /// How it maps values.
    pub scale: AxisScale,
    /// Value at its start.
    pub min: f64,
    /// Value at its end.
    pub max: f64,
    /// Its ticks.
    pub ticks: Vec<Tick>,
}

/// A declared target drawn into a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceLine {
    /// The target on the value axis.
    pub at: f64,
    /// Where the target is a quantile: the share of requests that must keep it.
    pub share: Option<f64>,
    /// What is printed beside it.
    pub text: String,
}

/// Latency by share of requests: the quantile function, drawn so that the tail is wide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveChart {
    /// A stable key: `ttft`, `gap`.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// What it shows in words, for those who cannot see it.
    pub description: String,
    /// Share of requests.
    pub x: Axis,
    /// Latency.
    pub y: Axis,
    /// One curve a condition.
    pub series: Vec<CurveSeries>,
    /// Declared targets.
    pub lines: Vec<ReferenceLine>,
    /// Why there is no curve, where there is none.
    pub missing: Option<String>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveSeries {
    /// Its condition.
    pub kind: SeriesKind,
    /// Its name.
    pub label: String,
    /// Requests or gaps behind it.
    pub count: u64,
    /// (share of requests, latency in seconds), rising in both.
    pub points: Vec<(f64, f64)>,
    /// Share at and beyond which requests never completed, where some did not.
    pub unbounded_from: Option<f64>,
    /// That share in words.
    pub unbounded_text: Option<String>,
}

/// Step times by block, as boxes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpreadChart {
    /// Its heading.
    pub title: String,
    /// What it shows in words.
    pub description: String,
    /// Step time.
    pub x: Axis,
    /// One box a block, grouped by condition, in order of time.
    pub boxes: Vec<SpreadBox>,
    /// Declared targets.
    pub lines: Vec<ReferenceLine>,
    /// Why there is nothing to show, where there is nothing.
    pub missing: Option<String>,
}

/// The step times of one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpreadBox {
    /// Its condition.
    pub kind: SeriesKind,
    /// The block's name: `C 3`.
    pub label: String,
    /// Steps behind it.
    pub count: u64,
    /// Smallest, seconds.
    pub low: f64,
    /// First quartile, seconds.
    pub quarter: f64,
    /// Median, seconds.
    pub middle: f64,
    /// Third quartile, seconds.
    pub three_quarters: f64,
    /// Largest, seconds.
    pub high: f64,
    /// Mean, seconds.
    pub mean: f64,
    /// All that in words.
    pub text: String,
}

/// Blocks in order of time, one lane a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineChart {
    /// Its heading.
    pub title: String,
    /// What it shows in words.
    pub description: String,
    /// Minutes from each run's first block.
    pub x: Axis,
    /// One lane a run.
    pub lanes: Vec<TimelineLane>,
    /// Why there is nothing to show, where there is nothing.
    pub missing: Option<String>,
}

/// One run in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineLane {
    /// The run.
    pub run: String,
    /// Its blocks.
    pub blocks: Vec<TimelineBlock>,
}

/// One block in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineBlock {
    /// Its place in the schedule.
    pub index: u32,
    /// Its condition.
    pub kind: SeriesKind,
    /// Start, minutes from the run's first block.
    pub from_min: f64,
    /// End, minutes from the run's first block.
    pub to_min: f64,
    /// Where its judged part begins, minutes.
    pub judged_from_min: f64,
    /// Where its judged part ends, minutes.
    pub judged_to_min: f64,
    /// Whether a checkpoint fell into its judged part.
    pub checkpoint: bool,
    /// Why it is left out, where it is.
    pub rejected: Option<String>,
    /// All that in words.
    pub text: String,
}

/// Who used the CPU, by condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostChart {
    /// Its heading.
    pub title: String,
    /// What it shows in words.
    pub description: String,
    /// CPU, cores.
    pub x: Axis,
    /// One bar a condition.
    pub bars: Vec<HostBar>,
    /// Why there is nothing to show, where there is nothing.
    pub missing: Option<String>,
}

/// The mean CPU of one condition, split by who used it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostBar {
    /// Its condition.
    pub kind: SeriesKind,
    /// Its name.
    pub label: String,
    /// The parts, in the same order in every bar.
    pub segments: Vec<Segment>,
    /// CPU pressure: share of time in which some task waited.
    pub pressure_cpu: Value,
}

/// One part of a stacked bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// What it is: `inference`, `trainer`, `load client`, `others`, `steal`.
    pub name: String,
    /// Its length.
    pub value: Value,
}

/// What each reclaim drill took, as stacked bars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrillChart {
    /// Its heading.
    pub title: String,
    /// What it shows in words.
    pub description: String,
    /// Seconds from the signal.
    pub x: Axis,
    /// One bar a drill, in order of time.
    pub bars: Vec<DrillBar>,
    /// Why there is nothing to show, where there is nothing.
    pub missing: Option<String>,
}

/// One drill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrillBar {
    /// The block that it ended.
    pub label: String,
    /// The block's condition.
    pub kind: SeriesKind,
    /// Its parts, in order of time.
    pub parts: Vec<Segment>,
    /// Start of the next trainer to its first step, seconds.
    pub resume: Value,
    /// Why it failed, where it did.
    pub failure: Option<String>,
    /// All that in words.
    pub text: String,
}

/// The parts of a drill, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrillPart {
    /// Signal to the step boundary.
    StepBoundary,
    /// The checkpoint.
    Checkpoint,
    /// What no log line owns.
    Unexplained,
    /// Exit to memory really free.
    MemoryFree,
}

impl DrillPart {
    /// Every part, in order of time.
    pub const ALL: [Self; 4] =
        [Self::StepBoundary, Self::Checkpoint, Self::Unexplained, Self::MemoryFree];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::StepBoundary => "to step boundary",
            Self::Checkpoint => "checkpoint",
            Self::Unexplained => "unexplained, to exit",
            Self::MemoryFree => "exit to memory free",
        }
    }
}
