//! The plan as data: everything that its renderings and exports show.

mod calendar;
mod figures;
mod parts;
mod report;
mod sharing;
mod simulated;

pub use calendar::{
    BlockView, CalendarDay, CalendarView, DayRow, HoldView, HolderKind, HolderView, LevelView,
    Moment, OverlapPart, OverlapView, TenantView, TransitionView, WindowView,
};
pub use figures::{DemandStep, ReserveView, ReserveWindow, WeekFigure, WeekdayReserve};
pub use parts::{
    BacktestView, CandidateView, CertificateView, ChangeView, CheckOutcome, CheckView, GateWord,
    PlanGateView, PromiseView,
};
pub use report::{PlanHeadline, PlanReport};
pub use sharing::{
    MigInstanceView, MigLayoutView, MpsView, SharingView, TimeSlicingView, WorkloadShare,
};
pub use simulated::{CandidateSimulation, PeakLatencies, PeakLatency};
