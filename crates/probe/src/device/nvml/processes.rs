//! The processes on a GPU.

use nvml_wrapper::Device;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::super::smi::{Absence, DeviceProcess, Problem, Reading};
use super::absence::{absence, reading};
use super::report::problem;

/// Bytes of a process's name that are asked for; what is longer comes cut.
const NAME_BYTES_MAX: usize = 256;

/// The processes, each once, with the kinds that `nvidia-smi` prints: `C` computes, `G` draws, `C+G`
/// does both, `M+C` computes through MPS.
pub(super) fn processes(
    device: &Device<'_>,
    index: u32,
    problems: &mut Vec<Problem>,
) -> Reading<Vec<DeviceProcess>> {
    let computing = reading(device.running_compute_processes())?;
    let mut others = |what: &str, answer: Result<Vec<ProcessInfo>, NvmlError>| match answer {
        Ok(list) => list,
        // Cards without graphics, and drivers before R510, which know no MPS here.
        Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => Vec::new(),
        Err(error) => {
            let reason = absence(&error);
            problems.push(problem(format!("GPU {index}: processes that {what}: {reason}")));
            Vec::new()
        }
    };
    let drawing = others("draw", device.running_graphics_processes());
    let through_mps = others("compute through MPS", device.mps_running_compute_processes());

    let mut all: Vec<(ProcessInfo, &str)> = Vec::new();
    let is_in = |list: &[ProcessInfo], pid| list.iter().any(|one| one.pid == pid);
    for one in &computing {
        let kind = match (is_in(&through_mps, one.pid), is_in(&drawing, one.pid)) {
            (true, _) => "M+C",
            (false, true) => "C+G",
            (false, false) => "C",
        };
        all.push((one.clone(), kind));
    }
    let more = through_mps.into_iter().map(|one| (one, "M+C"));
    for (one, kind) in more.chain(drawing.into_iter().map(|one| (one, "G"))) {
        if !all.iter().any(|(known, _)| known.pid == one.pid) {
            all.push((one, kind));
        }
    }
    let uuid = reading(device.uuid());
    Ok(all.iter().map(|(one, kind)| process(device, one, kind, &uuid)).collect())
}

fn process(
    device: &Device<'_>,
    info: &ProcessInfo,
    kind: &str,
    uuid: &Reading<String>,
) -> DeviceProcess {
    let name = reading(device.nvml().sys_process_name(info.pid, NAME_BYTES_MAX));
    DeviceProcess {
        pid: Ok(info.pid),
        kind: Ok(kind.to_owned()),
        name,
        memory_mib: match info.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Ok(bytes as f64 / f64::from(1 << 20)),
            UsedGpuMemory::Unavailable => Err(Absence::NotAvailable),
        },
        gpu_instance: info.gpu_instance_id.ok_or(Absence::NotAvailable),
        compute_instance: info.compute_instance_id.ok_or(Absence::NotAvailable),
        gpu_uuid: uuid.clone(),
    }
}
