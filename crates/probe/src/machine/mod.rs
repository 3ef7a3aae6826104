//! A look at the machine as a whole: what a site file can be begun with. Everything is read, asked with
//! GETs or printed by tools that change nothing; each source is bounded in time, and what does not answer
//! is an absence with its reason.

mod engines;
mod gpus;
mod host;
mod nccl;
mod pci;
mod processes;
mod scheduler;
mod storage;
mod surroundings;
mod survey;

pub use engines::{EnginePorts, without_secrets};
pub use gpus::gpus_of;
pub use surroundings::Surroundings;
pub use survey::survey;
