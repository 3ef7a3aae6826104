//! Stressors: processes that use one resource as much as they are told, and tell what they reached.
//!
//! A stressor is this same binary under the guardian's hidden command, so it is started, weighed,
//! watched and ended like any workload: nothing about a test under stress is special but what runs.
//! They live here, beside what looks, and not in the engine: an engine is a workload that a user
//! might have, a stressor is an instrument, and it must run where no engine was built in.
//!
//! What bounds them:
//!
//! - time: each ends by itself after [`StressSettings::seconds_max`], and when its parent is gone (the
//!   launcher's parent-death signal, a look at the parent twice a second, and the closed pipe);
//! - memory: buffers and page cache stay below [`StressSettings::memory_bytes_max`] and below half of
//!   what is available; a stressor ends when the machine's available memory runs low, and it asks
//!   the kernel to be the first to go (`oom_score_adj`);
//! - disk: one file without a name, so that the kernel frees it whatever ends the process, truncated
//!   when it has [`StressSettings::disk_bytes_max`] bytes.

mod cache_size;
mod cpu;
mod disk;
#[cfg(feature = "gpu-stress")]
mod gpu;
mod line;
mod memory;
mod network;
mod pace;
mod page_cache;
mod run;
mod scratch;
mod settings;

pub use cache_size::{last_level_cache_bytes, parse_cache_size};
#[cfg(feature = "gpu-stress")]
pub use gpu::{CudaLibrary, CudaUnavailable};
pub use line::{STRESS_LINE, StressLine};
pub use pace::Pace;
pub(crate) use run::stress_main;
pub use scratch::{Scratch, ScratchError};
pub use settings::{StressSettings, stressable_gpus, unit};
