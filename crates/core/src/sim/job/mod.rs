//! One job: steps of a training, items of a batch, frames of a render. It saves, is stopped, loses
//! work, comes back and goes on.

mod ledger;
mod run;
mod site;
mod spec;

pub use ledger::Ledger;
pub use run::{JobRun, Phase};
pub use spec::{Every, JobSpec, ONE_PPM, Pace, Saving, Stop};
