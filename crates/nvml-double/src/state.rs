//! The host that was read, and what handles mean.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nvml_wrapper_sys::bindings as sys;

use crate::description::{Gpu, Host, MigDevice};

/// What a call ends with where it fails: a number of `nvmlReturn_t`.
pub(crate) type Fault = sys::nvmlReturn_t;

/// A host with the calls that its GPUs have answered.
#[derive(Debug)]
pub(crate) struct Running {
    pub host: Host,
    calls: Vec<AtomicU64>,
}

static RUNNING: RwLock<Option<Arc<Running>>> = RwLock::new(None);

/// Reads the description and starts.
pub(crate) fn start() -> Result<(), Fault> {
    let text = std::fs::read_to_string(description_path().ok_or(UNKNOWN)?);
    let host = text.map_err(|_| LIBRARY_NOT_FOUND).and_then(|text| {
        Host::read(&text).map_err(|error| {
            eprint(&error.to_string());
            UNKNOWN
        })
    })?;
    let calls = host.gpus.iter().map(|_| AtomicU64::new(0)).collect();
    let started = fault_in(&host.errors, "nvmlInit_v2");
    *RUNNING.write().unwrap_or_else(PoisonError::into_inner) =
        Some(Arc::new(Running { host, calls }));
    started
}

/// Whoever writes a description must see why it is not read.
#[expect(clippy::print_stderr, reason = "a C function has no other way to say what is wrong")]
fn eprint(message: &str) {
    eprintln!("the double of libnvidia-ml cannot read its description: {message}");
}

pub(crate) fn stop() {
    *RUNNING.write().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The host, while the library is started.
pub(crate) fn running() -> Result<Arc<Running>, Fault> {
    let running = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
    running.clone().ok_or(UNINITIALIZED)
}

/// The description beside the file that this code was loaded from, which the kernel's map of this
/// process names.
fn description_path() -> Option<PathBuf> {
    let here = description_path as fn() -> Option<PathBuf> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (first, end) = range.split_once('-')?;
        let first = usize::from_str_radix(first, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        (first..end).contains(&here).then(|| rest.find('/').map(|at| &rest[at..]))?
    })?;
    Some(PathBuf::from(format!("{path}.json")))
}

/// A GPU or a MIG device that a handle means.
pub(crate) struct Found {
    running: Arc<Running>,
    gpu: usize,
    mig: Option<usize>,
}

/// Handles are numbers that no address has: the GPU from 1 above, the MIG device from 1 below.
pub(crate) fn handle(gpu: usize, mig: Option<usize>) -> sys::nvmlDevice_t {
    std::ptr::without_provenance_mut((gpu + 1) << 16 | mig.map_or(0, |mig| mig + 1))
}

/// What a handle means, if the function may be called on it.
pub(crate) fn find(handle: sys::nvmlDevice_t, function: &str) -> Result<Found, Fault> {
    let running = running()?;
    let number = handle as usize;
    let gpu = (number >> 16).checked_sub(1).ok_or(INVALID_ARGUMENT)?;
    let mig = (number & 0xffff).checked_sub(1);
    let described = running.host.gpus.get(gpu).ok_or(INVALID_ARGUMENT)?;
    let before = running.calls[gpu].fetch_add(1, Ordering::Relaxed);
    if described.lost_after_calls.is_some_and(|calls| before >= calls) {
        return Err(LOST);
    }
    fault_in(&described.errors, "*")?;
    fault_in(&described.errors, function)?;
    let is_there = mig
        .is_none_or(|mig| described.mig.as_ref().is_some_and(|all| all.devices.get(mig).is_some()));
    if is_there { Ok(Found { running, gpu, mig }) } else { Err(INVALID_ARGUMENT) }
}

impl Found {
    pub(crate) fn index(&self) -> usize {
        self.gpu
    }

    /// The card, or the parent of a MIG device.
    pub(crate) fn card(&self) -> &Gpu {
        &self.running.host.gpus[self.gpu]
    }

    /// The MIG device; not supported on a card.
    pub(crate) fn mig(&self) -> Result<&MigDevice, Fault> {
        let mig = self.mig.ok_or(NOT_SUPPORTED)?;
        self.card().mig.as_ref().and_then(|all| all.devices.get(mig)).ok_or(INVALID_ARGUMENT)
    }

    pub(crate) fn is_mig(&self) -> bool {
        self.mig.is_some()
    }

    /// Whether it is a card in MIG mode, of which much cannot be asked.
    pub(crate) fn is_divided(&self) -> bool {
        self.card().mig.as_ref().is_some_and(|mig| mig.current)
    }
}

/// The fault that a description gives to a function.
pub(crate) fn fault_in(
    errors: &std::collections::BTreeMap<String, String>,
    function: &str,
) -> Result<(), Fault> {
    errors.get(function).map_or(Ok(()), |name| Err(fault(name)))
}

pub(crate) const UNINITIALIZED: Fault = sys::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED;
pub(crate) const INVALID_ARGUMENT: Fault = sys::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT;
pub(crate) const NOT_SUPPORTED: Fault = sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED;
pub(crate) const NOT_FOUND: Fault = sys::nvmlReturn_enum_NVML_ERROR_NOT_FOUND;
pub(crate) const NO_PERMISSION: Fault = sys::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION;
pub(crate) const TOO_SMALL: Fault = sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE;
const LIBRARY_NOT_FOUND: Fault = sys::nvmlReturn_enum_NVML_ERROR_LIBRARY_NOT_FOUND;
const LOST: Fault = sys::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST;
const UNKNOWN: Fault = sys::nvmlReturn_enum_NVML_ERROR_UNKNOWN;

/// The number of an error that a description names.
fn fault(name: &str) -> Fault {
    match name {
        "not_supported" => NOT_SUPPORTED,
        "no_permission" => NO_PERMISSION,
        "not_found" => NOT_FOUND,
        "gpu_is_lost" => LOST,
        "invalid_argument" => INVALID_ARGUMENT,
        "driver_not_loaded" => sys::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED,
        "version_mismatch" => sys::nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        "reset_required" => sys::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED,
        "operating_system" => sys::nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM,
        "function_not_found" => sys::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND,
        "timeout" => sys::nvmlReturn_enum_NVML_ERROR_TIMEOUT,
        _ => UNKNOWN,
    }
}
