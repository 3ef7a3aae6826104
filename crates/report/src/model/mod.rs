//! The report as data.

mod capacity;
mod chart;
mod report;
mod value;
mod why;

pub use capacity::{CapacityView, RateChart, RateLine};
pub use chart::{
    Axis, AxisScale, Charts, CurveChart, CurveSeries, DrillBar, DrillChart, DrillPart, HostBar,
    HostChart, ReferenceLine, Segment, SeriesKind, SpreadBox, SpreadChart, Tick, TimelineBlock,
    TimelineChart, TimelineLane,
};
pub use report::{
    Column, ConditionView, Fact, FindingView, GateView, Headline, MissingView, NextStep, Report,
    Story, StoryCell, StoryColumn, StoryRow, Table,
};
pub(crate) use value::NOT_COMPARED;
pub use value::{State, Value, Word};
pub use why::{ResponseChart, ResponsePoint, ResponseSeries, WhyOutcome, WhyView};
