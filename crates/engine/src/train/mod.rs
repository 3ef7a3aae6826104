//! Training of the reference model: data, optimiser, checkpoints, and the loop that obeys signals.

mod adamw;
mod arguments;
mod checkpoint;
mod data;
mod run;

pub use arguments::TrainArgs;
pub use run::{TrainExit, train};
