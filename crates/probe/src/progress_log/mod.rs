//! What a trainer prints about its progress, read by templates.

mod template;
mod trainer;

pub use template::{Template, TemplateError};
pub use trainer::{TrainerEvent, TrainerLog, TrainerPatterns};
