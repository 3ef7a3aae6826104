//! The highest rate at which inference alone meets its objectives: a search that chooses each rate
//! from the looks before it, and what may be concluded from the looks.
//!
//! A look is one block at one rate. Shares of misses grow with the rate, so a look says something of
//! every rate on its side: what kept an objective at a rate keeps it below, what broke it breaks it
//! above. `docs/capacity.md` has the rule, the formulas, and the study of its error.

mod bounds;
mod estimate;
mod evidence;
mod fit;
mod look;
mod pooled;
mod response;
mod search;

pub use bounds::{Word, word_at};
pub use estimate::{CapacityEstimate, Carried, CurvePoint, LimitedBy, estimate};
pub use evidence::{MeasuredCapacity, StaleLooks, measured};
pub use look::{Look, SeenObjective, look};
pub use search::{Ending, SearchRule, Step, next_step};
