//! What the load is, by time.
//!
//! A reader hands over requests or means ([`HistoryBuilder`]); a [`History`] shows them as a
//! [`Series`] in each unit of work, with gaps told from silence.

mod builder;
mod events;
mod gaps;
mod history;
mod intervals;
mod refusal;
mod series;
mod source;
mod steps;
mod tokens;

pub use builder::HistoryBuilder;
pub use gaps::{Gap, GapKind, IMPROBABLE};
pub use history::{Counts, History};
pub use refusal::DemandRefusal;
pub use series::{Series, WorkUnit};
pub use source::{Arrival, ArrivalOutcome, Interval};
pub use steps::STEPS_MAX;
pub use tokens::{TokenQuantiles, Tokens};
