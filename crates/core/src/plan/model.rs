//! The plan as data: what is shown, exported and judged.

use std::time::Duration;

use jiff::Timestamp;

use super::grid::Grid;
use crate::demand::WorkUnit;
use crate::evidence::Origin;

/// Everything that a plan says.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The instant for which it was made; `None` where nothing names one.
    pub as_of: Option<Timestamp>,
    /// The cheap checks: arithmetic that needs no test.
    pub checks: Vec<Check>,
    /// Demand and reserve of each inference workload.
    pub reserves: Vec<InferencePlan>,
    /// The calendar of the chosen candidate; `None` where no calendar can be made, with the reason
    /// in `missing`.
    pub calendar: Option<Calendar>,
    /// What each job may promise.
    pub promises: Vec<Promise>,
    /// For each deadline that cannot be met: the proof, and what would help.
    pub certificates: Vec<Certificate>,
    /// The ways of sharing in the order in which they are to be considered.
    pub candidates: Vec<Candidate>,
    /// The history under the plan, beside others.
    pub backtest: Option<Backtest>,
    /// The gates as far as a plan can decide them.
    pub gates: Vec<PlanGate>,
    /// The word: FAIL or NOT PROVEN. A plan proves nothing.
    pub word: PlanWord,
    /// One sentence: why that word.
    pub reason: String,
    /// What the plan is conditional on, as sentences.
    pub conditions: Vec<String>,
    /// What is missing, with the line of the site file or the command that gives it.
    pub missing: Vec<String>,
    /// What was assumed, with the reason.
    pub assumptions: Vec<String>,
}

/// What a plan can say. Only evidence makes a PASS or a CONDITIONAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlanWord {
    /// It cannot work as declared.
    Fail,
    /// Nothing speaks against it that arithmetic can see; it is to be tested.
    NotProven,
}

impl PlanWord {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail => "FAIL",
            Self::NotProven => "NOT PROVEN",
        }
    }
}

/// A check by arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// A stable key: `gpu_memory`, `host_memory`, `notice`.
    pub key: &'static str,
    /// What is asked, for people: `Do weights, cache and workspace fit on GPU 0?`
    pub title: String,
    /// The workloads that it is about.
    pub workloads: Vec<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// One sentence: the answer.
    pub answer: String,
    /// The arithmetic, one line each: `weights 16 GiB + KV 48 GiB + workspace 4 GiB = 68 GiB`.
    pub arithmetic: Vec<String>,
    /// What would make it hold, where it does not: `memory_fraction at most 0.62, trainer first`.
    pub would_be_conditional_on: Vec<String>,
    /// What is not declared and would be needed, as lines of the site file.
    pub missing: Vec<String>,
    /// Sources of the rules that it rests on.
    pub sources: Vec<&'static str>,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It cannot hold as declared.
    Fails,
    /// It cannot be decided: something is not declared.
    Open,
    /// Arithmetic does not speak against it.
    Holds,
}

impl Outcome {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fails => "FAILS",
            Self::Open => "OPEN",
            Self::Holds => "HOLDS",
        }
    }
}

/// One gate as far as a plan can decide it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanGate {
    /// The gate's name, as the verdict names it.
    pub name: &'static str,
    /// FAIL or NOT PROVEN.
    pub word: PlanWord,
    /// Why.
    pub reason: String,
    /// What it would be conditional on.
    pub would_be_conditional_on: Vec<String>,
    /// What must be tested to prove it, with the command.
    pub to_test: Vec<String>,
}

/// Demand and reserve of one inference workload, in each window of the calendar.
#[derive(Clone, Debug, PartialEq)]
pub struct InferencePlan {
    /// The workload.
    pub workload: String,
    /// The unit that binds in most windows.
    pub binding: WorkUnit,
    /// GPUs of one replica.
    pub replica_gpus: f64,
    /// Demand and reserve, one for each window of the grid.
    pub windows: Vec<WindowNeed>,
    /// Time to reclaim, and where it comes from.
    pub reclaim_time: Option<(Duration, Origin)>,
    /// Share of the exposures in which the reserve may be short; `None` where the site declares
    /// none, and the highest that the history shows stands in its place.
    pub risk_tolerance: Option<f64>,
    /// The most GPUs that a window needs for what is reserved and kept hot, before the number of
    /// GPUs of the place caps it.
    pub gpus_needed_max: u32,
    /// Sentences that a reader must know: what the history supports, what was assumed, how the
    /// forecast scored.
    pub remarks: Vec<String>,
    /// Whether the bursts inside of a reclaim were seen; where not, the reserve is assumed and the
    /// gate stays NOT PROVEN.
    pub bursts_seen: bool,
    /// Whether the history supports the risk tolerance that is asked for.
    pub risk_supported: bool,
}

/// Demand and reserve in one window, GPUs. Whole replicas, so it may be more than was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowNeed {
    /// Mean demand that is expected, in the binding unit.
    pub demand: f64,
    /// The highest demand that is to be expected at the risk tolerance, in the binding unit.
    pub demand_peak: f64,
    /// GPUs for the demand as it stands at any moment of the window.
    pub reserved: u32,
    /// GPUs beside them that must stay free: a burst may need them before a reclaim can finish.
    pub hot: u32,
    /// GPUs beyond those that the window's peak may need: lent, and reclaimed in time.
    pub lent: u32,
}

/// Who holds which GPU in each window.
#[derive(Clone, Debug, PartialEq)]
pub struct Calendar {
    /// The windows.
    pub grid: Grid,
    /// GPUs of the place.
    pub gpus: u32,
    /// The holder of each GPU in each window: `holders[window][gpu]`.
    pub holders: Vec<Vec<Holder>>,
    /// The names of the workloads and jobs that holders refer to.
    pub tenants: Vec<Tenant>,
    /// Every change of hands, with its cost.
    pub transitions: Vec<TransitionRow>,
    /// Each level of what is optimised, with its bound.
    pub levels: Vec<Level>,
}

/// A workload or one occurrence of a job that holds GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Its name: `chat`, `fine-tune (1st of 3)`.
    pub name: String,
    /// The workload in the site file.
    pub workload: String,
    /// The kind of workload: `inference`, `training`, `batch`, `render`.
    pub kind: &'static str,
}

/// What a GPU is for in one window. Tenants by their place in [`Calendar::tenants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// Reserved for an inference workload.
    Inference(u32),
    /// Kept free for its bursts.
    HotReserve(u32),
    /// A job runs on it; inference does not ask for it.
    Job(u32),
    /// A job runs on it, and gives it back when inference asks.
    Lent(u32),
    /// Nobody holds it.
    Idle,
    /// The place is maintained.
    Maintenance,
}

/// A change of hands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitionRow {
    /// When it begins.
    pub at: Timestamp,
    /// The GPUs that change hands.
    pub gpus: u32,
    /// The job that starts or stops, by its place among the tenants.
    pub tenant: u32,
    /// Whether the job starts; else it stops.
    pub starts: bool,
    /// How long the GPUs do no work.
    pub hours: f64,
}

/// One level of what is optimised, in order: later levels never worsen earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What it is: `weighted late GPU-hours`.
    pub name: &'static str,
    /// Its unit: `GPU-h`, `changes`.
    pub unit: &'static str,
    /// What the calendar reaches.
    pub value: f64,
    /// What no calendar can be better than, given the levels above; `None` where none was proven.
    pub bound: Option<f64>,
    /// Whether more is better.
    pub maximise: bool,
}

impl Level {
    /// Distance between value and bound, as a share of the larger of value, bound and one unit.
    pub fn gap(&self) -> Option<f64> {
        let bound = self.bound?;
        Some((self.value - bound).abs() / self.value.abs().max(bound.abs()).max(1.0))
    }
}

/// What one job may promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The job.
    pub job: String,
    /// The workload.
    pub workload: String,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// When the calendar has it done; `None` where it does not finish.
    pub done: Option<Timestamp>,
    /// Its work in GPU-hours at the allocation that it gets, and of it what is done in time.
    pub gpu_hours: f64,
    /// Of these, done by the deadline (or by the end of the calendar).
    pub gpu_hours_in_time: f64,
    /// GPU-hours lost to its transitions.
    pub gpu_hours_lost: f64,
    /// Share of the bootstrap weeks in which it was on time.
    pub on_time_share: Option<f64>,
    /// Weeks that were drawn.
    pub weeks: u32,
    /// The share that the site asks for.
    pub on_time_share_asked: Option<f64>,
    /// What must be said beside it, such as that it does not survive a week without a free window.
    pub remarks: Vec<String>,
}

/// The proof that a deadline cannot be met: an interval in which more work must be done than the
/// free GPUs can do, at each job's best efficiency and with no time lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The jobs that must be done inside of the interval.
    pub jobs: Vec<String>,
    /// Its start.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
    /// GPU-hours that the jobs need there.
    pub needed: f64,
    /// GPU-hours that are free there.
    pub free: f64,
    /// The least change of each kind that would meet the deadline. Their prices have different
    /// units, so they stand in a fixed order.
    pub changes: Vec<Change>,
}

impl Certificate {
    /// GPU-hours that are missing.
    pub fn missing(&self) -> f64 {
        self.needed - self.free
    }
}

/// A change that would meet the deadline, found by planning again with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What: `one more GPU`, `deadline 9 h later`.
    pub what: String,
    /// What it costs, in the words of its own unit: `14 GPU-h`, `2.1 h later`.
    pub price: String,
    /// The price in money, where the site states prices.
    pub money: Option<String>,
    /// Whether a plan with it was made and meets the deadline.
    pub confirmed: bool,
}

/// A way of sharing.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name: `whole-GPU split 5 + 3`.
    pub name: String,
    /// The mode, as the site file names it.
    pub mode: &'static str,
    /// Whether it was looked at.
    pub looked_at: bool,
    /// Why it was, or was not.
    pub why: String,
    /// The word, where it was looked at.
    pub word: Option<PlanWord>,
    /// GPU-hours that training, batch and render get in the calendar.
    pub gpu_hours: Option<f64>,
    /// Deadlines met, of all.
    pub deadlines_met: Option<(u32, u32)>,
    /// Each gate as far as known: name and word.
    pub gates: Vec<(String, PlanWord)>,
    /// What must be tested to prove it.
    pub to_test: Vec<String>,
    /// Whether it is the one whose calendar is shown.
    pub chosen: bool,
}

/// The calendar of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateCalendar {
    /// Who holds which GPU. Where jobs have a share of each GPU it holds jobs alone.
    pub calendar: Calendar,
    /// The share of each GPU that jobs have, beside inference on the same GPUs or, where it is 1, on
    /// a server of their own; `None` where whole GPUs are shared out.
    pub job_share: Option<f64>,
}

/// The history under the plan and under others.
#[derive(Clone, Debug, PartialEq)]
pub struct Backtest {
    /// The first instant of the history that was replayed.
    pub from: Timestamp,
    /// Its end.
    pub until: Timestamp,
    /// The plan first, then an oracle, a static split, a night shift, and a utilisation threshold.
    pub rows: Vec<BacktestRow>,
}

/// One way of operating, on the history.
#[derive(Clone, Debug, PartialEq)]
pub struct BacktestRow {
    /// Its name.
    pub name: String,
    /// What it does, one sentence.
    pub what: String,
    /// Steps of the history in which demand was above what inference held and could get back.
    pub violation_minutes: f64,
    /// The same as a share of the time that the history covers.
    pub violation_share: f64,
    /// Times that a job was stopped for inference.
    pub evictions: u64,
    /// GPU-hours of work that were done.
    pub gpu_hours_harvested: f64,
    /// GPU-hours lost to transitions and evictions.
    pub gpu_hours_lost: f64,
}
