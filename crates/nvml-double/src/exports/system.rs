//! Functions of no device.

use std::os::raw::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings as sys;

use super::write::{code, put, put_text, system_calls};
use crate::state::{
    Fault, INVALID_ARGUMENT, NO_PERMISSION, NOT_FOUND, NOT_SUPPORTED, fault_in, handle, running,
    start, stop,
};

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Fault {
    code(start())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Fault {
    code(running().map(|_| stop()))
}

system_calls! {
    fn nvmlSystemGetDriverVersion(version: *mut c_char, room: c_uint) {
        let running = running()?;
        fault_in(&running.host.errors, "nvmlSystemGetDriverVersion")?;
        put_text(version, room, &running.host.driver)
    }

    fn nvmlSystemGetNVMLVersion(version: *mut c_char, room: c_uint) {
        put_text(version, room, &running()?.host.nvml)
    }

    fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) {
        let running = running()?;
        fault_in(&running.host.errors, "nvmlSystemGetCudaDriverVersion_v2")?;
        put(version, running.host.cuda.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, room: c_uint) {
        let running = running()?;
        let mut processes = running.host.gpus.iter().flat_map(|gpu| &gpu.processes);
        let process = processes.find(|process| process.pid == pid).ok_or(NOT_FOUND)?;
        put_text(name, room, process.name.as_deref().ok_or(NO_PERMISSION)?)
    }

    fn nvmlDeviceGetCount_v2(count: *mut c_uint) {
        let running = running()?;
        fault_in(&running.host.errors, "nvmlDeviceGetCount_v2")?;
        put(count, running.host.gpus.len() as c_uint)
    }

    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut sys::nvmlDevice_t) {
        let running = running()?;
        let gpu = running.host.gpus.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        fault_in(&gpu.errors, "handle")?;
        put(device, handle(index as usize, None))
    }

    fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut sys::nvmlDevice_t) {
        if uuid.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let wanted = std::ffi::CStr::from_ptr(uuid).to_str().map_err(|_| INVALID_ARGUMENT)?;
        let running = running()?;
        for (index, gpu) in running.host.gpus.iter().enumerate() {
            if gpu.uuid == wanted {
                fault_in(&gpu.errors, "handle")?;
                return put(device, handle(index, None));
            }
            let devices = gpu.mig.iter().flat_map(|mig| &mig.devices);
            if let Some(mig) = devices.map(|one| &one.uuid).position(|one| one == wanted) {
                return put(device, handle(index, Some(mig)));
            }
        }
        Err(NOT_FOUND)
    }
}
