//! Functions of a card. Those that have a meaning on a MIG device too answer for it.

use std::os::raw::{c_char, c_int, c_uint, c_ulong, c_ulonglong};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::field_id;

use super::write::{buffer, device_calls, milli, put, put_list, put_text};
use crate::description::{Clocks, Memory, Process};
use crate::state::{Fault, Found, INVALID_ARGUMENT, NOT_SUPPORTED, fault_in, find};

fn bytes(memory: Memory) -> sys::nvmlMemory_v2_t {
    sys::nvmlMemory_v2_t {
        version: 0,
        total: memory.total << 20,
        reserved: memory.reserved << 20,
        free: memory.free << 20,
        used: memory.used << 20,
    }
}

fn clock(clocks: Option<Clocks>, kind: sys::nvmlClockType_t) -> Result<u32, Fault> {
    let clocks = clocks.ok_or(NOT_SUPPORTED)?;
    match kind {
        sys::nvmlClockType_enum_NVML_CLOCK_GRAPHICS => Ok(clocks.graphics),
        sys::nvmlClockType_enum_NVML_CLOCK_SM => Ok(clocks.sm),
        sys::nvmlClockType_enum_NVML_CLOCK_MEM => Ok(clocks.memory),
        sys::nvmlClockType_enum_NVML_CLOCK_VIDEO => Ok(clocks.video),
        _ => Err(INVALID_ARGUMENT),
    }
}

/// `00000000:53:00.0` as domain, bus, device.
fn place(bus_id: &str) -> Option<(u32, u32, u32)> {
    let (domain, rest) = bus_id.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, _) = rest.split_once('.')?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    Some((number(domain)?, number(bus)?, number(device)?))
}

fn pci(bus_id: &str, pci_device: &str) -> Result<sys::nvmlPciInfo_t, Fault> {
    let (domain, bus, device) = place(bus_id).ok_or(INVALID_ARGUMENT)?;
    let hex = pci_device.trim_start_matches("0x");
    Ok(sys::nvmlPciInfo_t {
        busIdLegacy: buffer(bus_id.get(4..).unwrap_or_default()),
        domain,
        bus,
        device,
        pciDeviceId: u32::from_str_radix(hex, 16).map_err(|_| INVALID_ARGUMENT)?,
        pciSubSystemId: 0,
        busId: buffer(bus_id),
    })
}

/// The processes of one kind: of a card all, of a MIG device its own.
fn listed(found: &Found, kind: char) -> Result<Vec<sys::nvmlProcessInfo_t>, Fault> {
    let instance = if found.is_mig() { Some(found.mig()?.gpu_instance) } else { None };
    let is_of = |process: &&Process| {
        process.kind == kind && (instance.is_none() || process.gpu_instance == instance)
    };
    let info = |process: &Process| sys::nvmlProcessInfo_t {
        pid: process.pid,
        // NVML_VALUE_NOT_AVAILABLE is −1.
        usedGpuMemory: process.memory_mib.map_or(u64::MAX, |mib| mib << 20),
        gpuInstanceId: process.gpu_instance.unwrap_or(u32::MAX),
        computeInstanceId: process.compute_instance.unwrap_or(u32::MAX),
    };
    Ok(found.card().processes.iter().filter(is_of).map(info).collect())
}

/// A mask with the bits from the first to the last set.
///
/// # Safety
/// `mask` is null or has room for `words`.
unsafe fn put_mask(mask: *mut c_ulong, words: c_uint, first: u32, last: u32) -> Result<(), Fault> {
    for word in 0..words {
        let bits =
            (0..c_ulong::BITS).filter(|bit| (first..=last).contains(&(word * c_ulong::BITS + bit)));
        let value = bits.fold(0, |all: c_ulong, bit| all | 1 << bit);
        if mask.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller says that there is room for all words.
        unsafe { mask.add(word as usize).write(value) };
    }
    Ok(())
}

/// A value that has a number instead of a function.
fn field(found: &Found, number: u32) -> Result<u64, Fault> {
    let card = found.card();
    let nvlink = || card.nvlink.as_ref().filter(|_| !found.is_divided()).ok_or(NOT_SUPPORTED);
    let value = match number {
        field_id::NVML_FI_DEV_MEMORY_TEMP => card.memory_temperature_c.map(u64::from),
        field_id::NVML_FI_DEV_POWER_AVERAGE => card.power_average_w.map(|w| milli(w).into()),
        field_id::NVML_FI_DEV_POWER_INSTANT => card.power_instant_w.map(|w| milli(w).into()),
        field_id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION => card.recovery.map(u64::from),
        field_id::NVML_FI_DEV_NVLINK_LINK_COUNT => Some(nvlink()?.count.into()),
        field_id::NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON => Some(nvlink()?.megabytes_per_s.into()),
        _ => None,
    };
    fault_in(&card.errors, &format!("field {number}"))?;
    value.ok_or(NOT_SUPPORTED)
}

device_calls! {
    fn nvmlDeviceGetName(found, name: *mut c_char, room: c_uint) {
        let card = &found.card().name;
        match found.mig() {
            Ok(mig) if mig.is_named => put_text(name, room, &format!("{card} MIG {}", mig.profile)),
            _ => put_text(name, room, card),
        }
    }

    fn nvmlDeviceGetUUID(found, uuid: *mut c_char, room: c_uint) {
        put_text(uuid, room, found.mig().map_or(&found.card().uuid, |mig| &mig.uuid))
    }

    fn nvmlDeviceGetIndex(found, index: *mut c_uint) {
        put(index, found.index() as c_uint)
    }

    fn nvmlDeviceGetPciInfo_v3(found, info: *mut sys::nvmlPciInfo_t) {
        put(info, pci(&found.card().bus_id, &found.card().pci_device)?)
    }

    fn nvmlDeviceGetMemoryInfo_v2(found, memory: *mut sys::nvmlMemory_v2_t) {
        put(memory, bytes(found.mig().map_or(found.card().memory_mib, |mig| mig.memory_mib)))
    }

    fn nvmlDeviceGetUtilizationRates(found, rates: *mut sys::nvmlUtilization_t) {
        if found.is_divided() {
            return Err(NOT_SUPPORTED);
        }
        let (gpu, memory) = found.card().utilization_percent.ok_or(NOT_SUPPORTED)?;
        put(rates, sys::nvmlUtilization_t { gpu, memory })
    }

    fn nvmlDeviceGetEncoderUtilization(found, share: *mut c_uint, period_us: *mut c_uint) {
        let share_of = found.card().video_percent.filter(|_| !found.is_divided());
        put(share, share_of.ok_or(NOT_SUPPORTED)?.0)?;
        put(period_us, 167_000)
    }

    fn nvmlDeviceGetDecoderUtilization(found, share: *mut c_uint, period_us: *mut c_uint) {
        let share_of = found.card().video_percent.filter(|_| !found.is_divided());
        put(share, share_of.ok_or(NOT_SUPPORTED)?.1)?;
        put(period_us, 167_000)
    }

    fn nvmlDeviceGetPowerUsage(found, power_mw: *mut c_uint) {
        put(power_mw, milli(found.card().power_w.ok_or(NOT_SUPPORTED)?))
    }

    fn nvmlDeviceGetEnforcedPowerLimit(found, limit_mw: *mut c_uint) {
        put(limit_mw, milli(found.card().power_limit_w.ok_or(NOT_SUPPORTED)?))
    }

    fn nvmlDeviceGetPowerManagementDefaultLimit(found, limit_mw: *mut c_uint) {
        put(limit_mw, milli(found.card().power_limits_w.ok_or(NOT_SUPPORTED)?.0))
    }

    fn nvmlDeviceGetPowerManagementLimitConstraints(found, least_mw: *mut c_uint, most_mw: *mut c_uint) {
        let (_, least, most) = found.card().power_limits_w.ok_or(NOT_SUPPORTED)?;
        put(least_mw, milli(least))?;
        put(most_mw, milli(most))
    }

    fn nvmlDeviceGetTemperature(found, sensor: sys::nvmlTemperatureSensors_t, degrees: *mut c_uint) {
        if sensor != sys::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU {
            return Err(INVALID_ARGUMENT);
        }
        put(degrees, found.card().temperature_c.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetMarginTemperature(found, margin: *mut sys::nvmlMarginTemperature_t) {
        let degrees = found.card().margin_c.ok_or(NOT_SUPPORTED)?;
        put(margin, sys::nvmlMarginTemperature_t { version: 0, marginTemperature: degrees })
    }

    fn nvmlDeviceGetClockInfo(found, kind: sys::nvmlClockType_t, mhz: *mut c_uint) {
        put(mhz, clock(found.card().clocks_mhz, kind)?)
    }

    fn nvmlDeviceGetMaxClockInfo(found, kind: sys::nvmlClockType_t, mhz: *mut c_uint) {
        put(mhz, clock(found.card().clocks_max_mhz, kind)?)
    }

    fn nvmlDeviceGetPerformanceState(found, state: *mut sys::nvmlPstates_t) {
        put(state, found.card().performance_state.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetCurrentClocksThrottleReasons(found, bits: *mut c_ulonglong) {
        put(bits, found.card().clock_limits.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetSupportedClocksThrottleReasons(found, bits: *mut c_ulonglong) {
        put(bits, found.card().clock_limits_supported.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetPersistenceMode(found, mode: *mut sys::nvmlEnableState_t) {
        put(mode, found.card().persistence.ok_or(NOT_SUPPORTED)?.into())
    }

    fn nvmlDeviceGetComputeMode(found, mode: *mut sys::nvmlComputeMode_t) {
        put(mode, found.card().compute_mode.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetEccMode(found, now: *mut sys::nvmlEnableState_t, then: *mut sys::nvmlEnableState_t) {
        let ecc = found.card().ecc.ok_or(NOT_SUPPORTED)?;
        put(now, ecc.current.into())?;
        put(then, ecc.pending.into())
    }

    fn nvmlDeviceGetTotalEccErrors(
        found,
        kind: sys::nvmlMemoryErrorType_t,
        counter: sys::nvmlEccCounterType_t,
        count: *mut c_ulonglong
    ) {
        let ecc = found.card().ecc.filter(|ecc| ecc.current).ok_or(NOT_SUPPORTED)?;
        if counter != sys::nvmlEccCounterType_enum_NVML_VOLATILE_ECC {
            return Err(NOT_SUPPORTED);
        }
        let is_corrected = kind == sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED;
        put(count, if is_corrected { ecc.corrected } else { ecc.uncorrected })
    }

    fn nvmlDeviceGetFieldValues(found, count: c_int, values: *mut sys::nvmlFieldValue_t) {
        if values.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        for place in 0..count.max(0) as usize {
            let one = &mut *values.add(place);
            one.valueType = sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
            match field(&found, one.fieldId) {
                Ok(value) => {
                    one.nvmlReturn = sys::nvmlReturn_enum_NVML_SUCCESS;
                    one.value = sys::nvmlValue_t { ullVal: value };
                }
                Err(fault) => one.nvmlReturn = fault,
            }
        }
        Ok(())
    }

    fn nvmlDeviceGetComputeRunningProcesses_v3(
        found, count: *mut c_uint, list: *mut sys::nvmlProcessInfo_t
    ) {
        put_list(list, count, &listed(&found, 'C')?)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v3(
        found, count: *mut c_uint, list: *mut sys::nvmlProcessInfo_t
    ) {
        put_list(list, count, &listed(&found, 'G')?)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
        found, count: *mut c_uint, list: *mut sys::nvmlProcessInfo_t
    ) {
        put_list(list, count, &listed(&found, 'M')?)
    }

    fn nvmlDeviceGetNvLinkState(found, link: c_uint, active: *mut sys::nvmlEnableState_t) {
        let links = found.card().nvlink.as_ref().filter(|_| !found.is_divided());
        let links = links.ok_or(NOT_SUPPORTED)?;
        if link >= links.count {
            return Err(INVALID_ARGUMENT);
        }
        put(active, (!links.inactive.contains(&link)).into())
    }

    fn nvmlDeviceGetNvLinkRemoteDeviceType(
        found, link: c_uint, kind: *mut sys::nvmlIntNvLinkDeviceType_t
    ) {
        let links = found.card().nvlink.as_ref().filter(|links| link < links.count);
        put(kind, if links.ok_or(NOT_SUPPORTED)?.to.is_empty() {
            sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH
        } else {
            sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU
        })
    }

    fn nvmlDeviceGetNvLinkRemotePciInfo_v2(found, link: c_uint, info: *mut sys::nvmlPciInfo_t) {
        let links = found.card().nvlink.as_ref().filter(|links| link < links.count);
        let to = &links.ok_or(NOT_SUPPORTED)?.to;
        let end = to.get(link as usize % to.len().max(1)).ok_or(NOT_SUPPORTED)?;
        put(info, pci(end, &found.card().pci_device)?)
    }

    fn nvmlDeviceGetTopologyCommonAncestor(
        found, other: sys::nvmlDevice_t, level: *mut sys::nvmlGpuTopologyLevel_t
    ) {
        let other = find(other, "nvmlDeviceGetTopologyCommonAncestor")?;
        let (one, two) = (found.card(), other.card());
        put(level, if one.pcie_switch.is_some() && one.pcie_switch == two.pcie_switch {
            sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_SINGLE
        } else if one.numa == two.numa {
            sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_NODE
        } else {
            sys::nvmlGpuLevel_enum_NVML_TOPOLOGY_SYSTEM
        })
    }

    fn nvmlDeviceGetCpuAffinity(found, words: c_uint, mask: *mut c_ulong) {
        let (first, last) = found.card().cpus.ok_or(NOT_SUPPORTED)?;
        put_mask(mask, words, first, last)
    }

    fn nvmlDeviceGetMemoryAffinity(
        found, words: c_uint, mask: *mut c_ulong, _scope: sys::nvmlAffinityScope_t
    ) {
        let node = found.card().numa.ok_or(NOT_SUPPORTED)?;
        put_mask(mask, words, node, node)
    }

    fn nvmlDeviceGetNumaNodeId(found, node: *mut c_uint) {
        put(node, found.card().gpu_numa.ok_or(NOT_SUPPORTED)?)
    }
}
