//! A double of `libnvidia-ml.so.1`, for tests on machines without a GPU.
//!
//! The shared library has the functions that the product calls, under the driver's names. It answers as
//! the host that a file beside it describes: `libnvidia-ml.so.1` reads `libnvidia-ml.so.1.json` when it is
//! started. So the whole way from the loading of the library on is the one that a real machine takes,
//! and several hosts can stand beside each other in one process:
//!
//! ```text
//! let library = nvml_double::install(folder, nvml_double::hosts::H100_8)?;   // tests
//! COTENANT_NVML=host/libnvidia-ml.so.1 cotenant …                              # by hand
//! ```
//!
//! Under the name of `libcuda.so.1` the same library has what a stressor of the GPU calls of the CUDA
//! driver: a kernel takes the time that the description's peak rates say, and computes nothing.
//!
//! Each description in `hosts/` says what it shows. Its fields are those of [`description`]: a value that
//! is left out is one that the driver does not support, `errors` gives any call another answer, and
//! `each` holds what all GPUs share.

pub mod description;
mod exports;
pub mod hosts;
mod install;
mod state;

pub use install::{install, install_cuda, library};
