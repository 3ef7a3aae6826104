//! The reference transformer: its weights, and one forward pass each for inference and for training.

mod inference;
mod training;
mod weights;

pub use inference::{InferenceModel, KeyValueCache, Segment};
pub(crate) use training::training_loss;
pub use weights::{DecoderWeights, initial_tensors};
