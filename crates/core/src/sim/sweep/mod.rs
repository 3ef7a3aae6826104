//! What if: the same site under other rates, GPU counts, times to reclaim and rules, one simulated plan
//! for each combination.
//!
//! A point is a pure function of the question, the sweep and its index. Every point has the question's
//! seed, so that two points see the same drawn weeks and the same losses, and differ by their settings
//! alone.

mod axes;
mod change;
mod front;
mod lines;
mod pays;
mod point;

pub use axes::{Axis, AxisKind, Mode, POINTS_MAX, Setting, Sweep, SweepError};
pub use front::{Aim, front, fronts};
pub use lines::{Line, lines};
pub use pays::{PoolsAt, enough_up_to, pools_at, stops_paying};
pub use point::{
    PointFigures, PointJob, PointLatency, PointOutcome, PointService, SweepQuestion, simulate_point,
};
