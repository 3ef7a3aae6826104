//! Who holds which GPU when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WeekFigure;
use crate::model::{Axis, Value};

/// An instant for machines and for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// RFC 3339 in UTC.
    pub at: String,
    /// Local time of the site: `Fri 6 Nov 18:00`.
    pub text: String,
}

/// The calendar. Windows, tenants and holders are referred to by their place in the lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarView {
    /// GPUs of the place.
    pub gpus: u32,
    /// Length of a window, minutes.
    pub window_minutes: u32,
    /// The start of the first window.
    pub from: Moment,
    /// The end of the last one.
    pub until: Moment,
    /// The windows, in order and without a gap.
    pub windows: Vec<WindowView>,
    /// The workloads and jobs that hold GPUs.
    pub tenants: Vec<TenantView>,
    /// What a GPU may be for. This is the legend.
    pub holders: Vec<HolderView>,
    /// The calendar as rectangles of GPUs and windows. Each GPU of each window lies in exactly one.
    pub blocks: Vec<BlockView>,
    /// What each tenant holds, as stretches in which it stays the same, in order of time.
    pub holds: Vec<HoldView>,
    /// Every change of hands.
    pub transitions: Vec<TransitionView>,
    /// How many there are, in words.
    pub transitions_text: String,
    /// Each level of what was optimised, with its bound.
    pub levels: Vec<LevelView>,
    /// How the two kinds of workload meet.
    pub overlap: OverlapView,
    /// The calendar as text, one entry a day.
    pub days: Vec<CalendarDay>,
    /// How to read the text.
    pub days_note: String,
    /// One drawing for each week.
    pub weeks: Vec<WeekFigure>,
}

/// One window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowView {
    /// Its start.
    pub start: Moment,
    /// Its length, hours.
    pub hours: f64,
    /// Who holds how many GPUs in it, in words.
    pub text: String,
}

/// A workload or one occurrence of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TenantView {
    /// Its name.
    pub name: String,
    /// The workload in the site file.
    pub workload: String,
    /// `inference`, `training`, `batch` or `render`.
    pub kind: String,
}

/// What a GPU may be for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// Reserved for an inference workload.
    Reserved,
    /// Kept free for its bursts.
    HotReserve,
    /// A job runs on it.
    Job,
    /// A job runs on it, and gives it back when inference asks.
    Lent,
    /// Nobody holds it.
    Idle,
    /// The place is maintained.
    Maintenance,
}

impl HolderKind {
    /// The word in exports: as in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::HotReserve => "hot_reserve",
            Self::Job => "job",
            Self::Lent => "lent",
            Self::Idle => "idle",
            Self::Maintenance => "maintenance",
        }
    }

    /// Whether the GPU may be asked back, or stands free for that: drawn hatched.
    pub fn is_loose(self) -> bool {
        matches!(self, Self::HotReserve | Self::Lent)
    }
}

/// One entry of the legend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderView {
    /// What the GPU is for.
    pub kind: HolderKind,
    /// The workload, where there is one.
    pub workload: Option<String>,
    /// The letter that stands for it in the text. A capital holds firmly.
    pub letter: String,
    /// Which colour it has: a place in the palette, the same for every holder of one workload.
    pub color: u32,
    /// In words.
    pub text: String,
}

/// A rectangle of the calendar: some adjacent GPUs in some adjacent windows, all with one holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockView {
    /// Its place among the holders.
    pub holder: u32,
    /// The tenant, where there is one.
    pub tenant: Option<u32>,
    /// The first window.
    pub from: u32,
    /// The window after the last one.
    pub until: u32,
    /// The first GPU.
    pub gpu: u32,
    /// How many GPUs.
    pub gpus: u32,
    /// All that in words.
    pub text: String,
}

/// A stretch of time in which one tenant holds the same GPUs in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldView {
    /// The tenant; none for maintenance.
    pub tenant: Option<u32>,
    /// Its start.
    pub from: Moment,
    /// Its end.
    pub until: Moment,
    /// The GPUs that it holds firmly: reserved for inference, or a job runs on them.
    pub gpus: Vec<u32>,
    /// Further GPUs that are kept free for its bursts (inference), or that it gives back when
    /// inference asks (a job).
    pub loose_gpus: Vec<u32>,
    /// GPU-hours of both.
    pub gpu_hours: Value,
    /// All that in words.
    pub text: String,
}

/// A change of hands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransitionView {
    /// When it begins.
    pub at: Moment,
    /// The job, by its place among the tenants.
    pub tenant: u32,
    /// Whether the job starts; else it stops.
    pub starts: bool,
    /// GPUs that change hands.
    pub gpus: u32,
    /// How long they do no work.
    pub lost: Value,
    /// All that in words.
    pub text: String,
}

/// One level of what was optimised. A later level never worsens an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelView {
    /// Its place in the order.
    pub place: u32,
    /// What it is.
    pub name: String,
    /// What the calendar reaches.
    pub value: Value,
    /// What no calendar can be better than, given the levels above.
    pub bound: Value,
    /// Distance between both as a share of the larger of value, bound and one unit.
    pub gap: Value,
    /// Whether more is better.
    pub maximise: bool,
}

/// How inference and the jobs meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverlapView {
    /// Hours in which both hold GPUs.
    pub both: Value,
    /// Hours in which inference alone holds GPUs.
    pub inference_alone: Value,
    /// Hours in which jobs alone hold GPUs.
    pub jobs_alone: Value,
    /// Hours in which nobody does.
    pub neither: Value,
    /// GPU-hours of the whole calendar, by what the GPUs are for, in the order of the legend.
    pub parts: Vec<OverlapPart>,
    /// All GPU-hours.
    pub total: Value,
    /// What it means, one sentence each.
    pub sentences: Vec<String>,
}

/// One part of the calendar's GPU-hours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverlapPart {
    /// Its place among the holders.
    pub holder: u32,
    /// Its GPU-hours.
    pub gpu_hours: Value,
    /// Its share of all.
    pub share: Value,
}

/// One day as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarDay {
    /// `Mon 2 Nov`.
    pub label: String,
    /// Its first window.
    pub from: u32,
    /// The window after its last one.
    pub until: u32,
    /// Hours of the clock on the wall, above the rows.
    pub scale: String,
    /// Its rows: GPUs that have the same holder all day stand in one.
    pub rows: Vec<DayRow>,
    /// For the drawing: hours from its first window, with ticks by the clock on the wall.
    pub x: Axis,
}

/// Some GPUs on one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DayRow {
    /// `GPU 0–4`.
    pub label: String,
    /// One letter for each step of the day.
    pub letters: String,
}
