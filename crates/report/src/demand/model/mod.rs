//! What a person and a machine see of demand.

mod forecast;
mod report;
mod unit;
mod week;

pub use forecast::{ForecastDay, ForecastView, ForecastWindowView, ScoreView};
pub use report::{DemandReport, FiguresRow, GapView, GapsView, RequestCounts, SpanView};
pub use unit::{DriftView, OutlierView, PeakView, SlotFigures, SlotView, UnitView};
pub use week::{CourseRow, CourseView, PeakHour, ShadeView, WeekDay, WeekHour, WeekView};
