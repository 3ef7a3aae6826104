//! Gates, checks, promises, certificates, candidates and the backtest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CandidateSimulation, Moment};
use crate::model::{Table, Value, Word};

/// One gate as far as a plan can decide it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanGateView {
    /// Its name.
    pub name: String,
    /// `FAIL` or `NOT PROVEN`.
    pub word: Word,
    /// Why.
    pub reason: String,
    /// What it would be conditional on.
    pub would_be_conditional_on: Vec<String>,
    /// What must be tested to prove it.
    pub to_test: Vec<String>,
}

/// The outcome of a check by arithmetic.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum CheckOutcome {
    /// It cannot hold as declared.
    #[serde(rename = "FAILS")]
    Fails,
    /// It cannot be decided.
    #[serde(rename = "OPEN")]
    Open,
    /// Arithmetic does not speak against it.
    #[serde(rename = "HOLDS")]
    Holds,
}

impl CheckOutcome {
    /// The word as printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Fails => "FAILS",
            Self::Open => "OPEN",
            Self::Holds => "HOLDS",
        }
    }

    /// A mark that tells the outcomes apart without colour.
    pub fn mark(self) -> char {
        match self {
            Self::Fails => '✗',
            Self::Open => '?',
            Self::Holds => '✓',
        }
    }
}

/// A check by arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckView {
    /// A stable key: `gpu_memory`.
    pub key: String,
    /// What is asked.
    pub title: String,
    /// The workloads that it is about.
    pub workloads: Vec<String>,
    /// The outcome.
    pub outcome: CheckOutcome,
    /// The answer in one sentence.
    pub answer: String,
    /// The arithmetic, one line each.
    pub arithmetic: Vec<String>,
    /// What would make it hold.
    pub would_be_conditional_on: Vec<String>,
    /// What is not declared.
    pub missing: Vec<String>,
    /// Sources of the rules.
    pub sources: Vec<String>,
}

/// What one job may promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromiseView {
    /// The job.
    pub job: String,
    /// The workload.
    pub workload: String,
    /// When it must be done, where it must.
    pub deadline: Option<Moment>,
    /// When the calendar has it done; none where it does not finish.
    pub done: Option<Moment>,
    /// Whether it is done by its deadline; none where it has none.
    pub in_time: Option<bool>,
    /// Done beside the deadline, in words: `34 h early`, `does not finish`.
    pub margin_text: String,
    /// Its work.
    pub gpu_hours: Value,
    /// Of it, done in time.
    pub gpu_hours_in_time: Value,
    /// Beside the work in time, in words: `of 96 GPU-h`, `and goes on`.
    pub work_text: String,
    /// Lost to its transitions.
    pub gpu_hours_lost: Value,
    /// Share of the drawn weeks in which it was on time.
    pub on_time_share: Value,
    /// The share that the site asks for.
    pub on_time_share_asked: Option<Value>,
    /// Whether the share is at least the one that is asked for, where both are known.
    pub keeps_share: Option<bool>,
    /// The share with its weeks and what is asked, in words.
    pub on_time_text: String,
    /// What must be said beside it.
    pub remarks: Vec<String>,
}

/// The proof that a deadline cannot be met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateView {
    /// The jobs that must be done inside of the interval.
    pub jobs: Vec<String>,
    /// Its start.
    pub from: Moment,
    /// Its end.
    pub until: Moment,
    /// GPU-hours that the jobs need there.
    pub needed: Value,
    /// GPU-hours that are free there.
    pub free: Value,
    /// GPU-hours that are missing.
    pub missing: Value,
    /// The proof in one sentence.
    pub sentence: String,
    /// The arithmetic on one line.
    pub arithmetic: String,
    /// The changes that would meet the deadline, cheapest first.
    pub changes: Vec<ChangeView>,
}

/// A change that would meet a deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeView {
    /// What.
    pub what: String,
    /// Its price in its own unit.
    pub price: String,
    /// Its price in money, where prices are stated.
    pub money: Option<String>,
    /// Whether a plan with it was made and meets the deadline.
    pub confirmed: bool,
    /// Price, money and whether it was planned again, in words.
    pub text: String,
}

/// One gate of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateWord {
    /// The gate.
    pub gate: String,
    /// What is said of it.
    pub word: Word,
}

/// A way of sharing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateView {
    /// Its place in the order.
    pub place: u32,
    /// Its name.
    pub name: String,
    /// The mode, as the site file names it.
    pub mode: String,
    /// Whether it was looked at.
    pub looked_at: bool,
    /// Why it was, or was not.
    pub why: String,
    /// The word, where it was looked at.
    pub word: Option<Word>,
    /// GPU-hours for training, batch and render.
    pub gpu_hours: Value,
    /// Deadlines met, of all.
    pub deadlines: Value,
    /// The gates as far as known.
    pub gates: Vec<GateWord>,
    /// What must be tested to prove it.
    pub to_test: Vec<String>,
    /// Whether its calendar is the one that is shown.
    pub chosen: bool,
    /// What came of it in the simulator, where every candidate was carried out. No word rests on it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated: Option<CandidateSimulation>,
}

/// The history under the plan and under others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BacktestView {
    /// The first instant that was replayed.
    pub from: Moment,
    /// The end.
    pub until: Moment,
    /// One row for each way of operating.
    pub table: Table,
}
