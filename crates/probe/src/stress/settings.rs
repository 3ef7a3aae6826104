//! What a stressor is told when it is started, as JSON in its one argument.

use std::path::PathBuf;

use cotenant_core::evidence::Stressor;
use serde::{Deserialize, Serialize};

/// What a stressor is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StressSettings {
    /// Which resource, by [`Stressor::key`].
    pub stressor: String,
    /// Mean rate to keep, in the stressor's [`unit`](fn@super::unit); `None` for as much as goes.
    pub rate: Option<f64>,
    /// Threads that use the resource, or pairs of them for the network.
    pub threads: u32,
    /// Folder whose file system is written to or cached.
    pub folder: PathBuf,
    /// Most memory for buffers and page cache, bytes.
    pub memory_bytes_max: u64,
    /// Most bytes on disk at a time.
    pub disk_bytes_max: u64,
    /// Longest life, seconds.
    pub seconds_max: u64,
}

impl StressSettings {
    /// The resource.
    ///
    /// # Errors
    /// A sentence that names what is no stressor.
    pub fn resource(&self) -> Result<Stressor, String> {
        let found = Stressor::ALL.into_iter().find(|stressor| stressor.key() == self.stressor);
        found.ok_or_else(|| format!("`{}` is no stressor", self.stressor))
    }
}

/// How many GPUs, or parts of them, this process could stress.
///
/// # Errors
/// Why none can be, with the way out.
#[cfg(feature = "gpu-stress")]
pub fn stressable_gpus() -> Result<u32, String> {
    super::CudaLibrary::of_this_machine().gpus().map_err(|error| error.to_string())
}

/// How many GPUs, or parts of them, this process could stress.
///
/// # Errors
/// None: it was built without that part.
#[cfg(not(feature = "gpu-stress"))]
pub fn stressable_gpus() -> Result<u32, String> {
    Err("this program was built without the stressors of GPUs; build it with the feature `gpu-stress`"
        .to_owned())
}

/// The unit of a stressor's rate.
pub fn unit(stressor: Stressor) -> &'static str {
    match stressor {
        Stressor::Cpu => "cores",
        Stressor::GpuCompute => "FLOP/s",
        Stressor::MemoryBandwidth
        | Stressor::DiskSync
        | Stressor::PageCache
        | Stressor::Network
        | Stressor::GpuMemory => "B/s",
    }
}
