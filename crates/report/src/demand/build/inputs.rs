//! What the view of demand is made from.

use cotenant_core::demand::{Forecast, History, Profile};
use cotenant_core::plan::Grid;
use jiff::tz::TimeZone;

/// Everything that [`crate::build_demand`] needs. Nothing else is read.
#[derive(Clone, Copy, Debug)]
pub struct DemandInputs<'a> {
    /// The sources that were read as one history, in order.
    pub sources: &'a [String],
    /// The workload of a site file whose demand this is.
    pub workload: Option<&'a str>,
    /// What was read.
    pub history: &'a History,
    /// The units of work to show, in order.
    pub units: &'a [DemandUnit],
    /// The zone in which hours and days are told, and in which the profiles were made.
    pub time_zone: &'a TimeZone,
    /// Whether hours of the day and days of the week can be told.
    pub time_of_week_known: bool,
    /// Rows of the sources; `None` where the demand is declared.
    pub rows: Option<u64>,
    /// Notes on the sources that narrow what may be read from the figures.
    pub notes: &'a [String],
    /// Program and version: `cotenant 0.1.0`.
    pub tool_version: &'a str,
}

/// One unit of work, looked at in three ways.
#[derive(Clone, Debug)]
pub struct DemandUnit {
    /// By bins of the asked length.
    pub bins: Profile,
    /// By hours of the week.
    pub hours: Profile,
    /// By days of the week.
    pub days: Profile,
    /// The forecast of the windows of a calendar, or why there is none.
    pub forecast: Result<(Grid, Forecast), String>,
}
