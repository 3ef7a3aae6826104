//! Where the library is, and how it is opened.

use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use thiserror::Error;

/// The name under which the driver installs the library.
const NAME: &str = "libnvidia-ml.so.1";

/// The environment variable that names another library.
const VARIABLE: &str = "COTENANT_NVML";

/// Why NVML cannot be asked on this machine, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}; {way_out}")]
pub struct NvmlUnavailable {
    /// What happened.
    pub reason: String,
    /// What to do about it.
    pub way_out: &'static str,
}

/// The library of the driver that is to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmlLibrary {
    path: PathBuf,
}

impl NvmlLibrary {
    /// `libnvidia-ml.so.1` where the dynamic linker finds it, or what the environment variable
    /// `COTENANT_NVML` names.
    pub fn of_this_machine() -> Self {
        let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        Self { path: path.map_or_else(|| PathBuf::from(NAME), PathBuf::from) }
    }

    /// The library at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path or name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the library and starts it.
    ///
    /// # Errors
    /// The reason why it cannot be loaded or does not start, with the way out.
    pub fn open(&self) -> Result<Nvml, NvmlUnavailable> {
        Nvml::builder().lib_path(self.path.as_os_str()).init().map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &NvmlError) -> NvmlUnavailable {
        let path = self.path.display();
        let (reason, way_out) = match error {
            NvmlError::LibloadingError(cause) => (
                format!("{path} cannot be loaded ({})", text_of(cause)),
                "on a machine with NVIDIA GPUs install the driver's libraries, or let the container's \
                 runtime mount them (capability `utility`)",
            ),
            NvmlError::DriverNotLoaded => (
                format!("{path}: the NVIDIA kernel module is not loaded"),
                "load it (`modprobe nvidia`) and look at the kernel's log",
            ),
            NvmlError::LibRmVersionMismatch => (
                format!("{path}: the library and the kernel module are of different versions"),
                "reload the kernel module, or reboot after the driver's update",
            ),
            NvmlError::NoPermission => (
                format!("{path}: no permission to talk to the driver"),
                "run it as a user who may open /dev/nvidiactl",
            ),
            other => (
                format!("{path}: {other}"),
                "see whether `nvidia-smi` answers, and look at the kernel's log",
            ),
        };
        NvmlUnavailable { reason, way_out }
    }
}

/// An error of the loader with its cause, which holds the linker's own words.
fn text_of(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
