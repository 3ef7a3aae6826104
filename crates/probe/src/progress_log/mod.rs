//! What a trainer or renderer prints about its progress, read by templates or as a known format.

pub mod formats;
mod live;
mod template;
mod trainer;

pub use live::ProgressReader;
pub use template::{Template, TemplateError};
pub use trainer::{TrainerEvent, TrainerLog, TrainerPatterns};
