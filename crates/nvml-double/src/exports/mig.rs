//! MIG: mode, devices, instances, profiles.

use std::os::raw::c_uint;

use nvml_wrapper_sys::bindings as sys;

use super::write::{buffer, code, device_calls, put, put_list};
use crate::description::{Mig, MigDevice, MigProfile};
use crate::state::{
    Fault, Found, INVALID_ARGUMENT, NO_PERMISSION, NOT_FOUND, NOT_SUPPORTED, find, handle,
};

/// MIG of a card; not supported on a MIG device.
fn mig(found: &Found) -> Result<&Mig, Fault> {
    if found.is_mig() { Err(NOT_SUPPORTED) } else { found.card().mig.as_ref().ok_or(NOT_SUPPORTED) }
}

/// The devices with their numbers.
fn numbered(mig: &Mig) -> impl Iterator<Item = (u32, usize)> {
    (0..).zip(&mig.devices).map(|(place, one)| (one.index.unwrap_or(place), place as usize))
}

fn profile_of<'a>(found: &'a Found, device: &MigDevice) -> Result<&'a MigProfile, Fault> {
    let name = device.profile.rsplit_once("c.").map_or(device.profile.as_str(), |(_, name)| name);
    let mig = found.card().mig.as_ref().ok_or(NOT_SUPPORTED)?;
    mig.profiles.iter().find(|profile| profile.name == name).ok_or(NOT_FOUND)
}

device_calls! {
    fn nvmlDeviceGetMigMode(found, now: *mut c_uint, then: *mut c_uint) {
        let mig = mig(&found)?;
        put(now, mig.current.into())?;
        put(then, mig.pending.into())
    }

    fn nvmlDeviceGetMaxMigDeviceCount(found, count: *mut c_uint) {
        mig(&found)?;
        put(count, 7)
    }

    fn nvmlDeviceGetMigDeviceHandleByIndex(found, index: c_uint, device: *mut sys::nvmlDevice_t) {
        let place = numbered(mig(&found)?).find(|(number, _)| *number == index);
        put(device, handle(found.index(), Some(place.ok_or(NOT_FOUND)?.1)))
    }

    fn nvmlDeviceIsMigDeviceHandle(found, is_mig: *mut c_uint) {
        put(is_mig, found.is_mig().into())
    }

    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(found, card: *mut sys::nvmlDevice_t) {
        found.mig()?;
        put(card, handle(found.index(), None))
    }

    fn nvmlDeviceGetGpuInstanceId(found, id: *mut c_uint) {
        put(id, found.mig()?.gpu_instance)
    }

    fn nvmlDeviceGetComputeInstanceId(found, id: *mut c_uint) {
        put(id, found.mig()?.compute_instance)
    }

    fn nvmlDeviceGetAttributes_v2(found, attributes: *mut sys::nvmlDeviceAttributes_t) {
        let device = found.mig()?;
        let profile = profile_of(&found, device)?;
        let slices = device.compute_slices.unwrap_or(profile.slices);
        put(attributes, sys::nvmlDeviceAttributes_t {
            multiprocessorCount: profile.sms * slices / profile.slices.max(1),
            sharedCopyEngineCount: profile.copy_engines,
            sharedDecoderCount: profile.decoders,
            sharedEncoderCount: 0,
            sharedJpegCount: profile.decoders,
            sharedOfaCount: profile.optical_flow,
            gpuInstanceSliceCount: profile.slices,
            computeInstanceSliceCount: slices,
            memorySizeMB: device.memory_mib.total,
        })
    }

    fn nvmlDeviceGetGpuInstanceProfileInfoV(
        found, number: c_uint, info: *mut sys::nvmlGpuInstanceProfileInfo_v2_t
    ) {
        let profiles = &mig(&found)?.profiles;
        let profile = profiles.iter().find(|one| one.number == number).ok_or(NOT_SUPPORTED)?;
        let version = size_of::<sys::nvmlGpuInstanceProfileInfo_v2_t>() as u32 | 2 << 24;
        if info.is_null() || (*info).version != version {
            return Err(INVALID_ARGUMENT);
        }
        put(info, sys::nvmlGpuInstanceProfileInfo_v2_t {
            version,
            id: profile.id,
            isP2pSupported: 0,
            sliceCount: profile.slices,
            instanceCount: profile.instances.unwrap_or(profile.starts.len() as u32),
            multiprocessorCount: profile.sms,
            copyEngineCount: profile.copy_engines,
            decoderCount: profile.decoders,
            encoderCount: 0,
            jpegCount: profile.decoders,
            ofaCount: profile.optical_flow,
            memorySizeMB: profile.memory_mib,
            name: buffer(&format!("MIG {}", profile.name)),
        })
    }

    fn nvmlDeviceGetGpuInstancePossiblePlacements_v2(
        found, id: c_uint, places: *mut sys::nvmlGpuInstancePlacement_t, count: *mut c_uint
    ) {
        let profiles = &mig(&found)?.profiles;
        let profile = profiles.iter().find(|profile| profile.id == id).ok_or(NOT_SUPPORTED)?;
        let size = profile.size;
        let list: Vec<_> = profile.starts.iter().map(|start| {
            sys::nvmlGpuInstancePlacement_t { start: *start, size }
        }).collect();
        if places.is_null() {
            // Without an array only the length is asked for.
            return put(count, list.len() as c_uint);
        }
        put_list(places, count, &list)
    }

    fn nvmlDeviceGetGpuInstanceById(found, id: c_uint, instance: *mut sys::nvmlGpuInstance_t) {
        let mig = mig(&found)?;
        if !mig.is_administrator {
            return Err(NO_PERMISSION);
        }
        let place = mig.devices.iter().position(|device| device.gpu_instance == id);
        put(instance, handle(found.index(), Some(place.ok_or(NOT_FOUND)?)).cast())
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpuInstanceGetInfo(
    instance: sys::nvmlGpuInstance_t,
    info: *mut sys::nvmlGpuInstanceInfo_t,
) -> Fault {
    let answer = || {
        // The handle of an instance is that of the first MIG device in it.
        let found = find(instance.cast(), "nvmlGpuInstanceGetInfo")?;
        let device = found.mig()?;
        let profile = profile_of(&found, device)?;
        let placement = sys::nvmlGpuInstancePlacement_t { start: device.start, size: profile.size };
        let answer = sys::nvmlGpuInstanceInfo_t {
            device: handle(found.index(), None),
            id: device.gpu_instance,
            profileId: profile.id,
            placement,
        };
        // SAFETY: the caller gives a pointer to such a struct, or null, which is refused.
        unsafe { put(info, answer) }
    };
    code(answer())
}
