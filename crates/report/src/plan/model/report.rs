//! The plan and its sections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BacktestView, CalendarView, CandidateView, CertificateView, CheckView, Moment, PlanGateView,
    PromiseView, ReserveView, SharingView,
};
use crate::model::{Fact, NextStep, Word};

/// The whole plan for people and machines. Every number that a rendering shows is in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReport {
    /// Always `cotenant-plan`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// Program and version that wrote it.
    pub tool: String,
    /// Name of the site.
    pub site: String,
    /// The site's time zone, in which every local time is printed.
    pub time_zone: String,
    /// The instant for which the plan was made.
    pub as_of: Option<Moment>,
    /// Notes that stand beside the answer and narrow what may be read from it.
    pub notes: Vec<String>,
    /// The answer.
    pub headline: PlanHeadline,
    /// The few figures that are read first.
    pub glance: Vec<Fact>,
    /// What was planned: the place, the horizon, the tenants.
    pub facts: Vec<Fact>,
    /// Demand and reserve of each inference workload.
    pub reserves: Vec<ReserveView>,
    /// Who holds which GPU when; none where no calendar could be made.
    pub calendar: Option<CalendarView>,
    /// Why there is no calendar, where there is none.
    pub calendar_missing: Option<String>,
    /// What each job may promise.
    pub promises: Vec<PromiseView>,
    /// The proofs that a deadline cannot be met, with what would help.
    pub certificates: Vec<CertificateView>,
    /// The ways of sharing, in the order in which they are to be considered.
    pub candidates: Vec<CandidateView>,
    /// The history under the plan and under others.
    pub backtest: Option<BacktestView>,
    /// The checks by arithmetic, those that fail first.
    pub checks: Vec<CheckView>,
    /// The gates as far as a plan can decide them.
    pub gates: Vec<PlanGateView>,
    /// What is missing.
    pub missing: Vec<String>,
    /// What was assumed.
    pub assumptions: Vec<String>,
    /// What to do next.
    pub next_steps: Vec<NextStep>,
    /// How the workloads share a GPU, as declared: what the exports write.
    pub sharing: SharingView,
}

/// The answer in one glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanHeadline {
    /// `FAIL` or `NOT PROVEN`. A plan proves nothing.
    pub word: Word,
    /// The question that the word answers.
    pub question: String,
    /// One sentence: why that word.
    pub reason: String,
    /// What the answer would be conditional on.
    pub would_be_conditional_on: Vec<String>,
}
