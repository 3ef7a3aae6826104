//! One report value and its three renderings: terminal, HTML and JSON.
//!
//! [`build`] computes every number once. The renderers print the texts that it made and place its
//! points on paper: any number that a reader sees in the page or in the terminal is in the JSON. A
//! plan has a report of its own, [`build_plan`], which [`export`] turns into files of other tools, and
//! so has demand by time, [`build_demand`], so have files that
//! somebody looks at, [`build_reading`], what would happen, [`build_simulation`], and what-ifs side by side,
//! [`build_sweep`].

mod build;
mod demand;
mod export;
mod format;
mod html;
mod json;
mod model;
mod plan;
mod reading;
mod simulation;
mod sweep;
mod terminal;

pub use build::{
    DeclaredCheckpoint, DeclaredLoad, DeclaredObjective, NextStepInput, ReportInputs, RequestClass,
    build,
};
pub use demand::{
    DEMAND_FORMAT, DEMAND_VERSION, DemandInputs, DemandReport, DemandUnit, build_demand,
    demand_from_json, demand_schema, demand_to_json, model as demand_model, render_demand_terminal,
};
pub use export::{Export, ExportFormat, ExportOptions, ExportRefusal, export};
pub use html::render_html;
pub use json::{ReadError, from_json, schema, to_json};
pub use model::{
    Axis, AxisScale, CapacityView, Charts, Column, ConditionView, CurveChart, CurveSeries,
    DrillBar, DrillChart, DrillPart, Fact, FindingView, GateView, Headline, HostBar, HostChart,
    MissingView, NextStep, RateChart, RateLine, ReferenceLine, Report, ResponseChart,
    ResponsePoint, ResponseSeries, Segment, SeriesKind, SpreadBox, SpreadChart, State, Story,
    StoryCell, StoryColumn, StoryRow, Table, Tick, TimelineBlock, TimelineChart, TimelineLane,
    Value, WhyOutcome, WhyView, Word,
};
pub use plan::{
    PLAN_FORMAT, PLAN_VERSION, PlanInputs, PlanReport, build_checks, build_plan,
    model as plan_model, plan_from_json, plan_schema, plan_to_json, render_checks_terminal,
    render_plan_html, render_plan_terminal,
};
pub use reading::{
    READING_FORMAT, READING_VERSION, ReadInput, ReadingReport, build_reading,
    model as reading_model, reading_from_json, reading_schema, reading_to_json,
    render_reading_terminal,
};
pub use simulation::{
    LatencySection, SIMULATION_FORMAT, SIMULATION_VERSION, SimulationInputs, SimulationReport,
    build_simulation, render_simulation_terminal, simulation_from_json, simulation_schema,
    simulation_to_json,
};
pub use sweep::{
    IndexedJob, SWEEP_FORMAT, SWEEP_MOUNT, SWEEP_VERSION, SweepAxisView, SweepChart, SweepInputs,
    SweepJobView, SweepLine, SweepPointView, SweepReport, SweepServiceView, build_sweep,
    indexed_job_yaml, render_sweep_html, render_sweep_terminal, sweep_from_json, sweep_schema,
    sweep_to_json,
};
pub use terminal::{TerminalOptions, render_terminal};

/// The `format` field of every report.
pub const FORMAT: &str = "cotenant-report";

/// The `version` field of the reports that this crate writes. It grows when a field changes its
/// meaning or goes; a new field leaves it as it is.
pub const VERSION: u32 = 1;
