//! From a site and its evidence to gates, and from gates to one verdict.

mod compare;
mod completion;
mod decide;
mod findings;
mod gate;
mod inference;
mod isolation;
mod judge;
mod means;
mod operations;
mod overload;
mod pool;
mod preemption;
mod series;
mod stale;

pub use gate::{
    Bounded, Comparison, Condition, Finding, Gate, GateKind, Missing, Rejected, Ruling, Sample,
    Strategy, Target, Unit, Validity, Verdict,
};
pub use isolation::AUDIT_FAULTS;
pub use judge::{Question, judge};
pub use stale::{Stale, stale};
