//! The design of tests A, B and C: which block runs when, decided before the first one runs.
//!
//! Blocks are randomised and interleaved (Abedi and Brecht, ICPE 2017), and pairs come in mirrored
//! twos (A C, then C A), so that a slow drift of the machine weighs on both conditions alike. The
//! unit of inference is the block: requests inside one are autocorrelated and are no replicates
//! (Kalibera and Jones, ISMM 2013).

mod budget;
mod campaign;
mod design;
mod sensitivity;

pub use budget::{BlockShape, Budget, Fit, PAIRS_WANTED, REQUESTS_WANTED};
pub use campaign::{Campaign, FieldTest};
pub use design::{Design, Tests, schedule};
pub use sensitivity::{
    ROUNDS_MIN, ROUNDS_WANTED, SensitivityBudget, SensitivityDesign, SensitivityFit,
    sensitivity_schedule,
};
