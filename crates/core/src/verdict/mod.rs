//! From a site and its evidence to gates, and from gates to one verdict.

mod checkpoints;
mod claims;
mod compare;
mod completion;
mod cpu_limit;
mod deadline;
mod decide;
mod drift;
mod expected;
mod faults;
mod findings;
mod gate;
mod inference;
mod isolation;
mod judge;
mod load;
mod means;
mod missing;
mod objectives;
mod operations;
mod overload;
mod phases;
mod points;
mod pool;
mod preemption;
mod progress;
mod queue_time;
mod resume;
pub(crate) mod series;
mod stale;
mod transition;

pub use checkpoints::{CheckpointKind, CheckpointLook, checkpoint_looks};
pub use gate::{
    Bounded, Comparison, Condition, Finding, Gate, GateKind, Missing, Rejected, Ruling, Sample,
    Strategy, Target, Unit, Validity, Verdict,
};
pub use isolation::{AUDIT_FAULTS, audit_of_cap};
pub use judge::{Question, judge};
pub use stale::{Stale, stale};

pub(crate) use expected::{Expected, load_words};
pub(crate) use inference::declared_classes;
pub(crate) use objectives::latency_of;
pub(crate) use overload::growth;
pub(crate) use series::{Latency, NoSeries, in_flight, latencies, mean};
