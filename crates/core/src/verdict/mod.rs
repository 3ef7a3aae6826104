//! From a site and its evidence to gates, and from gates to one verdict.

mod gate;

pub use gate::{
    Bounded, Comparison, Condition, Finding, Gate, GateKind, Missing, Rejected, Ruling, Sample,
    Strategy, Target, Unit, Validity, Verdict,
};
