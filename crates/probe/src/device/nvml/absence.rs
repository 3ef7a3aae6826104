//! Errors of NVML as absences with reasons.

use nvml_wrapper::error::NvmlError;

use super::super::smi::{Absence, Reading};

/// The absence that an error means.
pub(super) fn absence(error: &NvmlError) -> Absence {
    let words = match error {
        NvmlError::NotSupported => return Absence::NotSupported,
        NvmlError::NoPermission => return Absence::NoPermission,
        NvmlError::GpuLost => return Absence::Lost,
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => {
            "the driver is too old to have this call"
        }
        NvmlError::ResetRequired => {
            "the GPU must be reset before it can be used (`nvidia-smi --gpu-reset`)"
        }
        NvmlError::OperatingSystem => {
            "the operating system or a cgroup keeps this process from the device; let the container see it"
        }
        NvmlError::LibRmVersionMismatch => {
            "the library and the kernel module are of different versions; reload the module or reboot"
        }
        other => return Absence::Nvml(other.to_string().into()),
    };
    Absence::Nvml(words.into())
}

/// A value, or the absence that its error means.
pub(super) fn reading<T>(answer: Result<T, NvmlError>) -> Reading<T> {
    answer.map_err(|error| absence(&error))
}

/// The same for a number that the driver gives in thousandths.
pub(super) fn thousandths(answer: Result<u32, NvmlError>) -> Reading<f64> {
    reading(answer).map(|value| f64::from(value) / 1000.0)
}

/// The same for a whole number.
pub(super) fn number(answer: Result<u32, NvmlError>) -> Reading<f64> {
    reading(answer).map(f64::from)
}
