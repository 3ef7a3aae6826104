//! What devices say of themselves: live ([`look`]), or in texts that somebody saved.

pub mod dcgm;
mod lookout;
pub mod mig_listing;
pub mod nvml;
pub mod smi;

pub use lookout::{Lookout, NoDevices, look};
pub use nvml::{GpuSampler, GpuWatch, NvmlUnavailable};
