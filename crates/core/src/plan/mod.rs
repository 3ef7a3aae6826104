//! From demand to a calendar: the reserve, who holds which GPU when, and the proof where a deadline
//! cannot be met. A plan is arithmetic: it can refuse, and it says what to test; it never proves.

mod checks;
mod grid;
mod model;
mod problem;
mod reserve;
pub mod schedule;

pub use checks::checks;
pub use grid::{Grid, MINUTES_PER_WEEK, Window, contains_minute, minute_of_week};
pub use model::{
    Backtest, BacktestRow, Calendar, Candidate, Certificate, Change, Check, Holder, InferencePlan,
    Level, Outcome, Plan, PlanGate, PlanWord, Promise, Tenant, TransitionRow, WindowNeed,
};
pub use problem::{Job, Mode, Problem, Run, Slot};
pub use reserve::{ReserveQuestion, ReserveRefusal, gpus_for, missing_for_reserve, plan_reserve};
