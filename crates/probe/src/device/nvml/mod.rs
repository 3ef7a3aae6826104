//! The GPUs of this machine through NVML, the driver's own library, as the model that the texts of
//! `nvidia-smi` become too.
//!
//! The library is loaded when it is asked for, so that one binary serves machines with and without
//! GPUs. What the driver does not answer is an absence with the reason, never a zero.

mod absence;
mod gpu;
mod library;
mod mig;
mod processes;
mod raw;
mod report;
mod sampler;
mod topology;
mod watch;

pub use library::{NvmlLibrary, NvmlUnavailable};
pub use report::describe;
pub use sampler::GpuSampler;
pub use watch::{GpuWatch, Watched};
