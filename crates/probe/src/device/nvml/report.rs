//! Everything that NVML says of this machine.

use nvml_wrapper::Nvml;
use nvml_wrapper::{cuda_driver_version_major, cuda_driver_version_minor};

use super::super::smi::{Absence, DeviceReport, Gpu, Problem, Reading, Source};
use super::absence::{absence, reading};
use super::gpu::{describe_gpu, silent};
use super::topology::topology;

/// GPUs that are asked about, at most. No machine is known to have more than 16 in one system.
const GPUS_MAX: u32 = 256;

/// Asks for everything that the model holds, of every GPU that the driver counts.
///
/// A GPU that does not answer is in the list under its number, with the reason in each value.
pub fn describe(nvml: &Nvml) -> DeviceReport {
    let mut problems = Vec::new();
    let attached = reading(nvml.device_count());
    let count = attached.clone().unwrap_or_else(|reason| {
        problems.push(problem(format!("the number of GPUs: {reason}")));
        0
    });
    if count > GPUS_MAX {
        problems.push(problem(format!(
            "the driver counts {count} GPUs, and the first {GPUS_MAX} are described"
        )));
    }
    let numbers = 0..count.min(GPUS_MAX);
    let handles: Vec<_> = numbers.map(|index| nvml.device_by_index(index)).collect();
    let gpus = (0..).zip(&handles).map(|(index, handle)| match handle {
        Ok(device) => describe_gpu(device, index, &mut problems),
        Err(error) => silent(index, &absence(error)),
    });
    let gpus: Vec<Gpu> = gpus.collect();
    for (index, gpu) in gpus.iter().enumerate() {
        if let Some(reason) = gpu.uuid.as_ref().err().or_else(|| gpu.name.as_ref().err()) {
            let way_out = reason.way_out().map_or_else(String::new, |text| format!("; {text}"));
            problems.push(problem(format!("GPU {index}: {reason}{way_out}")));
        }
    }
    let devices: Vec<_> = handles.iter().map(|handle| handle.as_ref().ok()).collect();
    DeviceReport {
        source: Source::Nvml,
        printed_at: Err(Absence::NotPrinted),
        driver: reading(nvml.sys_driver_version()),
        cuda: cuda(nvml),
        gpus_attached: attached,
        topology: topology(&devices, &gpus).map(Box::new),
        gpus,
        unreachable: Vec::new(),
        problems,
    }
}

pub(super) fn problem(message: String) -> Problem {
    Problem { line: 0, message }
}

/// `13010` as `13.1`.
fn cuda(nvml: &Nvml) -> Reading<String> {
    let version = reading(nvml.sys_cuda_driver_version())?;
    Ok(format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version)))
}
