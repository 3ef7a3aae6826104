//! Latencies foretold from what was measured on the same site: alone at any load, and beside the
//! neighbour that it was tested with.

mod alone;
mod basis;
mod beside;
mod evidence;
mod limits;
mod other_loads;
mod shape;

pub use alone::{LatencyForecast, Level, foretell};
pub use basis::{Foretold, LatencyBasis, Mix, latencies_at};
pub use beside::{BesideForecast, StepTimes};
pub use evidence::{Comparison, Figure};
pub use limits::{EngineLimits, engine_limits, engine_words};
pub use other_loads::{PredictedLoad, predict_loads};
