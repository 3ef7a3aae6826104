//! Step times from what was measured: the requests of a test are served again by the simulator, and
//! the coefficients of its step are moved until it answers as the real engine did.

mod fit;
mod served;

pub use fit::{Fit, FitOptions, Form, fit, held_out};
pub(crate) use served::mean;
pub use served::{Answer, GroupTimes, NOT_JUDGED, ServedRun, Simulated, group_times, serve};
