//! Calls of NVML that the safe wrapper does not have, or has wrong.
//!
//! - `Device::possible_placements` fills the memory of an empty `Vec` and never sets its length: it always
//!   returns nothing.
//! - `NvLink::remote_device_type` lets the driver write into a copy, and always returns «unknown».
//! - The ids of a MIG device's instances, the place of a GPU instance, the names of profiles and the
//!   margin of temperature have no safe form.
//!
//! Each call goes through a function that the wrapper loaded from the library, with a handle that the
//! wrapper got from it, and writes into memory that lives on this stack or in a `Vec` of the length that
//! is told to the driver.

#![expect(
    unsafe_code,
    reason = "the safe wrapper lacks these calls or has them wrong; each block says why it is sound"
)]

use std::ffi::CStr;
use std::os::raw::{c_char, c_uint};

use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_v2_t, nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
    nvmlIntNvLinkDeviceType_t, nvmlMarginTemperature_v1_t, nvmlReturn_t,
};

use super::super::smi::MigPlacement;

/// Placements that a driver may list for one profile. The largest grid that is known has twelve units.
const PLACEMENTS_MAX: c_uint = 64;

/// A profile of GPU instances as the driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawProfile {
    pub id: u32,
    pub name: String,
    pub is_p2p_supported: bool,
    pub slices: u32,
    pub instances_max: u32,
    pub sms: u32,
    pub copy_engines: u32,
    pub decoders: u32,
    pub encoders: u32,
    pub jpeg: u32,
    pub optical_flow: u32,
    pub memory_mib: u64,
}

/// `NVML_STRUCT_VERSION` of nvml.h: the size, and the version in the highest byte.
const fn version_of<T>(version: u32) -> u32 {
    size_of::<T>() as u32 | version << 24
}

/// Lets a call write into `value`, and gives it where the call succeeds.
fn ask<T>(mut value: T, call: impl FnOnce(&mut T) -> nvmlReturn_t) -> Result<T, NvmlError> {
    nvml_try(call(&mut value))?;
    Ok(value)
}

fn handle(device: &Device<'_>) -> nvmlDevice_t {
    // SAFETY: the handle is only passed to functions of the library that it came from, while `device`,
    // and with it the library, is borrowed by the caller.
    unsafe { device.handle() }
}

/// The id of the GPU instance that a MIG device lies in.
pub(super) fn gpu_instance_id(device: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    // SAFETY: the function has this signature in nvml.h, and writes one unsigned int.
    ask(0, |id: &mut c_uint| unsafe { call(handle(device), id) })
}

/// The id of the compute instance that a MIG device is.
pub(super) fn compute_instance_id(device: &Device<'_>) -> Result<u32, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetComputeInstanceId.as_ref())?;
    // SAFETY: the function has this signature in nvml.h, and writes one unsigned int.
    ask(0, |id: &mut c_uint| unsafe { call(handle(device), id) })
}

/// Where a GPU instance of a card lies. The driver tells it to administrators alone.
pub(super) fn instance_placement(
    card: &Device<'_>,
    gpu_instance: u32,
) -> Result<MigPlacement, NvmlError> {
    let library = card.nvml().lib();
    let find = nvml_sym(library.nvmlDeviceGetGpuInstanceById.as_ref())?;
    let describe = nvml_sym(library.nvmlGpuInstanceGetInfo.as_ref())?;
    let nothing: nvmlGpuInstance_t = std::ptr::null_mut();
    // SAFETY: the function has this signature in nvml.h, and writes one handle.
    let instance = ask(nothing, |instance| unsafe { find(handle(card), gpu_instance, instance) })?;
    let empty = nvmlGpuInstanceInfo_t {
        device: std::ptr::null_mut(),
        id: 0,
        profileId: 0,
        placement: nvmlGpuInstancePlacement_t { start: 0, size: 0 },
    };
    // SAFETY: the handle came from the call before, and the function writes one struct, whose layout
    // bindgen took from nvml.h.
    let info = ask(empty, |info| unsafe { describe(instance, info) })?;
    Ok(MigPlacement { start: info.placement.start, size: info.placement.size })
}

/// Where instances of a profile may lie on a card.
pub(super) fn possible_placements(
    card: &Device<'_>,
    profile_id: u32,
) -> Result<Vec<MigPlacement>, NvmlError> {
    let library = card.nvml().lib();
    let call = nvml_sym(library.nvmlDeviceGetGpuInstancePossiblePlacements_v2.as_ref())?;
    let device = handle(card);
    // SAFETY: with no array the function only writes the count (nvml.h).
    let count = ask(0, |count: &mut c_uint| unsafe {
        call(device, profile_id, std::ptr::null_mut(), count)
    })?;
    if count > PLACEMENTS_MAX {
        return Err(NvmlError::InsufficientSize(Some(count as usize)));
    }
    let mut placements = vec![nvmlGpuInstancePlacement_t { start: 0, size: 0 }; count as usize];
    if placements.is_empty() {
        return Ok(Vec::new());
    }
    // SAFETY: the array has `count` elements that are initialised, and the function writes at most as
    // many as `count` says, which it then sets to the number that it wrote.
    let written =
        ask(count, |count| unsafe { call(device, profile_id, placements.as_mut_ptr(), count) })?;
    placements.truncate(written as usize);
    Ok(placements.iter().map(|one| MigPlacement { start: one.start, size: one.size }).collect())
}

/// A profile of a card, by its number among NVML's (`NVML_GPU_INSTANCE_PROFILE_*`).
pub(super) fn profile(card: &Device<'_>, number: u32) -> Result<RawProfile, NvmlError> {
    let call = nvml_sym(card.nvml().lib().nvmlDeviceGetGpuInstanceProfileInfoV.as_ref())?;
    let empty = nvmlGpuInstanceProfileInfo_v2_t {
        version: version_of::<nvmlGpuInstanceProfileInfo_v2_t>(2),
        id: 0,
        isP2pSupported: 0,
        sliceCount: 0,
        instanceCount: 0,
        multiprocessorCount: 0,
        copyEngineCount: 0,
        decoderCount: 0,
        encoderCount: 0,
        jpegCount: 0,
        ofaCount: 0,
        memorySizeMB: 0,
        name: [0; 96],
    };
    // SAFETY: the function has this signature in nvml.h, and writes a struct of the size and version that
    // the struct itself names.
    let info = ask(empty, |info| unsafe { call(handle(card), number, info) })?;
    Ok(RawProfile {
        id: info.id,
        name: text(&info.name),
        is_p2p_supported: info.isP2pSupported != 0,
        slices: info.sliceCount,
        instances_max: info.instanceCount,
        sms: info.multiprocessorCount,
        copy_engines: info.copyEngineCount,
        decoders: info.decoderCount,
        encoders: info.encoderCount,
        jpeg: info.jpegCount,
        optical_flow: info.ofaCount,
        memory_mib: info.memorySizeMB,
    })
}

/// The text of a buffer up to its first zero; all of it where none is there.
fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().map(|one| one.cast_unsigned()).collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Degrees that are left until the GPU slows down for heat, °C.
pub(super) fn margin_temperature(device: &Device<'_>) -> Result<i32, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetMarginTemperature.as_ref())?;
    let version = version_of::<nvmlMarginTemperature_v1_t>(1);
    let empty = nvmlMarginTemperature_v1_t { version, marginTemperature: 0 };
    // SAFETY: the function has this signature in nvml.h, and writes a struct of the size and version that
    // the struct itself names.
    Ok(ask(empty, |margin| unsafe { call(handle(device), margin) })?.marginTemperature)
}

/// Whether a switch is at the other end of an NVLink.
pub(super) fn leads_to_switch(device: &Device<'_>, link: u32) -> Result<bool, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetNvLinkRemoteDeviceType.as_ref())?;
    // SAFETY: the function has this signature in nvml.h, and writes one enum, which is an unsigned int.
    let kind =
        ask(0, |kind: &mut nvmlIntNvLinkDeviceType_t| unsafe { call(handle(device), link, kind) })?;
    Ok(kind == nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH)
}
