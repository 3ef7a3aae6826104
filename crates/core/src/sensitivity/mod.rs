//! Why inference is slower beside its neighbour: which resource it is sensitive to, how much the
//! neighbour presses on each, and what both together predict of test C.
//!
//! For an objective's quantile `q`, a stressor `s` and a round `r` of the same arrivals,
//! `y(s, d, r) = ln q(s, d, r) − mean over the reference blocks of r of ln q`. Over rounds the mean
//! `y(s, d)` stands against the pressure `x(s, d)` that was measured in the same blocks, never
//! against the pressure that was asked for.
//!
//! 1. *CPU.* `f_cpu` is the isotonic regression of `y(cpu, ·)` on `x(cpu, ·)`, held at or above 0 and
//!    at 0 for no pressure, linear between its points (Robertson, Wright and Dykstra, *Order
//!    Restricted Statistical Inference*, 1988: with bounds, it is the unbounded one, cut off).
//! 2. *Others.* A stressor of memory, disk, cache or network runs on cores too, `c(s, d)` of them.
//!    What those cores cost is taken off: `f_s` is the same regression of
//!    `y(s, ·) − f_cpu(c(s, ·))`.
//! 3. *The prediction* is additive in logarithms: `ln C/A = Σ f_s(b(s))` over the resources, `b(s)`
//!    being what the neighbour alone (test B) presses on each. Beyond the largest tested pressure
//!    nothing is extrapolated: the part stays at its last value, and the sum is a floor.
//! 4. *Unexplained* is measured − predicted, `ln C/A` being the mean over pairs of A and C.
//!
//! Intervals are percentile bootstraps (95 %) that draw rounds, B blocks and pairs anew, each as
//! wholes. The model explains and never judges: no gate looks at it.

mod cause;
mod curve;
mod estimate;
mod explain;
mod gather;
mod model;
mod pressure;

pub use curve::{Curve, isotonic};
pub use explain::{Question, explain};
pub use model::{
    Cause, Dose, Effect, Explained, Explanation, MissingTest, NeighbourPressure, Part, PartState,
    Prediction, Resource, Response,
};
