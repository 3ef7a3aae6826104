//! Embedded reference workloads that really compute: a small transformer served over the OpenAI API, and a trainer.
//!
//! Both run the same Llama-like decoder (RMSNorm, rotary positions, grouped-query attention, SwiGLU) with seeded random
//! weights in `f32` on candle. They exist so that the method can be shown and tested on any machine; nothing that a
//! verdict depends on lives here. The two entry points are [`serve()`] and [`train()`]; both block until they are done.

mod config;
mod error;
mod model;
mod serve;
mod threads;
mod tokenizer;
mod train;

pub use config::{ModelArgs, ModelConfig, ModelSize};
pub use error::EngineError;
pub use model::{DecoderWeights, InferenceModel, KeyValueCache, Segment, initial_tensors};
pub use serve::{ServeArgs, serve};
pub use tokenizer::{Role, TokenId, Tokenizer, VOCABULARY_SIZE};
pub use train::{TrainArgs, TrainExit, train};
