//! From demand to a calendar: the reserve, who holds which GPU when, and the proof where a deadline
//! cannot be met. A plan is arithmetic: it can refuse, and it says what to test; it never proves.

mod assemble;
mod backtest;
mod calendar;
mod candidates;
mod carried;
mod certificates;
mod checks;
mod gates;
mod grid;
mod jobs;
mod model;
mod pace;
mod pools;
mod problem;
mod promises;
mod question;
mod reserve;
mod reserves;
pub mod schedule;

pub use assemble::{plan, plan_to_carry_out, plan_with_calendars};
pub use backtest::{BacktestQuestion, Held, backtest};
pub use candidates::Choice;
pub use checks::{checks, declared_threads};
pub use grid::{Grid, MINUTES_PER_WEEK, Window, contains_minute, minute_of_week};
pub use jobs::{JobList, Occurrence, TransitionHours, jobs, transition_hours};
pub use model::{
    Backtest, BacktestRow, Calendar, Candidate, CandidateCalendar, Certificate, Change, Check,
    Holder, InferencePlan, Level, Outcome, Plan, PlanGate, PlanWord, Promise, Tenant,
    TransitionRow, WindowNeed,
};
pub use pace::{Pace, pace};
pub use pools::{PoolNeeds, pool_needs};
pub use problem::{Job, Mode, Problem, Run, Slot};
pub use question::PlanQuestion;
pub use reserve::{ReserveQuestion, ReserveRefusal, gpus_for, missing_for_reserve, plan_reserve};
pub use reserves::drawn_replicas;
