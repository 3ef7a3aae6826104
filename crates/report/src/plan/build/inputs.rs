//! What a plan's report is made from.

use cotenant_core::plan::Plan;
use cotenant_core::sim::candidates::SimulatedCandidate;
use cotenant_core::site::{Server, Sharing};
use jiff::tz::TimeZone;

use crate::NextStepInput;

/// Everything that [`crate::build_plan`] needs. Nothing else is read.
#[derive(Clone, Copy, Debug)]
pub struct PlanInputs<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Name of the site.
    pub site_name: &'a str,
    /// What the site is, one line each.
    pub site_lines: &'a [String],
    /// The site's time zone: every local time is printed in it.
    pub time_zone: &'a TimeZone,
    /// Program and version: `cotenant 0.1.0`.
    pub tool_version: &'a str,
    /// Notes that narrow what may be read from the page.
    pub notes: &'a [String],
    /// What to do next.
    pub next_steps: &'a [NextStepInput],
    /// How the workloads share, as the site declares it: the exports write it.
    pub sharing: Option<&'a Sharing>,
    /// What came of each candidate in the simulator; empty where none was carried out.
    pub simulated: &'a [SimulatedCandidate],
    /// The server, where the site is one.
    pub server: Option<&'a Server>,
}
