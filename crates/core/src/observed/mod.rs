//! What engine, GPUs and host say beside the tests: whether the engine's own account agrees with the
//! client's, and what else was different between conditions.
//!
//! Nothing here judges an objective, and nothing here removes a block: what the neighbour causes is
//! the interference, and explains.

mod agreement;
mod causes;
mod covariates;

pub use agreement::{Agreement, Answer, ClientMetric, ComparedQuantile, agreements};
pub use causes::causes;
pub use covariates::{
    Covariate, Group, ReadingUnit, Spread, covariates, groups, is_saving, spread_of,
};
