//! How long one pass of an engine takes: from the model's shape and the GPU's peak rates before
//! anything was measured, and in whole picoseconds for the simulator.

mod architecture;
mod integer;
mod model;
mod models;
mod prior;
mod rates;

pub use architecture::{Architecture, Experts};
pub use integer::{ExpertReads, IntegerStep, Pass};
pub use model::{Coefficient, ExpertChoice, Multipliers, StepModel};
pub use models::known_model;
pub use prior::{EFFICIENCY_NAMES, Efficiencies, prior};
pub use rates::{PeakRates, UnknownRates};
