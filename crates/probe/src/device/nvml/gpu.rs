//! One GPU.

use nvml_wrapper::Device;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{
    Clock, ComputeMode, EccCounter, MemoryError, PerformanceState, TemperatureSensor,
};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::struct_wrappers::device::MemoryInfo;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_POWER_AVERAGE,
    NVML_FI_DEV_POWER_INSTANT,
};

use super::super::smi::{
    Absence, ClockLimit, Clocks, Ecc, Gpu, LimitState, Memory, Power, Problem, Reading, Switch,
    Temperature, Utilization,
};
use super::absence::{absence, number, reading, thousandths};
use super::mig::{mig_devices, mig_mode, mig_profiles};
use super::processes::processes;
use super::topology::links;

/// The limits of clocks that are known, in the order in which `nvidia-smi` lists them.
pub(super) const LIMITS: [(ThrottleReasons, ClockLimit); 9] = [
    (ThrottleReasons::GPU_IDLE, ClockLimit::Idle),
    (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, ClockLimit::ApplicationClocks),
    (ThrottleReasons::SW_POWER_CAP, ClockLimit::SoftwarePowerCap),
    (ThrottleReasons::HW_SLOWDOWN, ClockLimit::HardwareSlowdown),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, ClockLimit::HardwareThermal),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, ClockLimit::HardwarePowerBrake),
    (ThrottleReasons::SYNC_BOOST, ClockLimit::SyncBoost),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, ClockLimit::SoftwareThermal),
    (ThrottleReasons::DISPLAY_CLOCK_SETTING, ClockLimit::DisplayClocks),
];

/// What a GPU says of itself. What it says and is not understood goes into `problems`.
pub(super) fn describe_gpu(device: &Device<'_>, index: u32, problems: &mut Vec<Problem>) -> Gpu {
    let pci = reading(device.pci_info());
    let mig = mig_mode(device);
    let profiles = mig_profiles(device, index, &mig);
    Gpu {
        line: 0,
        index: Ok(index),
        uuid: reading(device.uuid()),
        name: reading(device.name()),
        bus_id: pci.clone().map(|pci| pci.bus_id),
        pci_device: pci.map(|pci| format!("0x{:08X}", pci.pci_device_id)),
        memory: memory(device.memory_info()),
        utilization: utilization(device, &mig),
        power: power(device),
        temperature: temperature(device),
        clocks: clocks(device),
        performance_state: performance_state(device.performance_state()),
        clock_limits: clock_limits(device),
        persistence: reading(device.is_in_persistent_mode()),
        compute_mode: reading(device.compute_mode()).map(|mode| name_of(mode).to_owned()),
        mig_devices: mig_devices(device, &mig, profiles.as_deref().unwrap_or_default()),
        mig_profiles: profiles,
        mig,
        ecc: ecc(device),
        recovery: recovery(device),
        processes: processes(device, index, problems),
        links: links(device),
    }
}

/// A GPU of which nothing but its number is known, and why.
pub(super) fn silent(index: u32, reason: &Absence) -> Gpu {
    fn no<T>(reason: &Absence) -> Reading<T> {
        Err(reason.clone())
    }
    let off = || Switch { current: no(reason), pending: no(reason) };
    Gpu {
        line: 0,
        index: Ok(index),
        uuid: no(reason),
        name: no(reason),
        bus_id: no(reason),
        pci_device: no(reason),
        memory: Memory {
            total_mib: no(reason),
            reserved_mib: no(reason),
            used_mib: no(reason),
            free_mib: no(reason),
        },
        utilization: no_utilization(reason),
        power: Power {
            draw_w: no(reason),
            average_w: no(reason),
            instant_w: no(reason),
            limit_w: no(reason),
            default_limit_w: no(reason),
            limit_min_w: no(reason),
            limit_max_w: no(reason),
        },
        temperature: Temperature {
            gpu_c: no(reason),
            gpu_margin_c: no(reason),
            memory_c: no(reason),
        },
        clocks: Clocks {
            graphics_mhz: no(reason),
            sm_mhz: no(reason),
            memory_mhz: no(reason),
            video_mhz: no(reason),
            sm_max_mhz: no(reason),
            memory_max_mhz: no(reason),
        },
        performance_state: no(reason),
        clock_limits: all_limits(reason),
        persistence: no(reason),
        compute_mode: no(reason),
        mig: off(),
        mig_devices: no(reason),
        mig_profiles: no(reason),
        ecc: Ecc { mode: off(), corrected: no(reason), uncorrected: no(reason) },
        recovery: no(reason),
        processes: no(reason),
        links: no(reason),
    }
}

/// Memory, of a card or of a MIG device.
pub(super) fn memory(answer: Result<MemoryInfo, NvmlError>) -> Memory {
    let info = reading(answer);
    let of = |bytes: fn(&MemoryInfo) -> u64| {
        info.as_ref().map(|info| bytes(info) as f64 / f64::from(1 << 20)).map_err(Clone::clone)
    };
    Memory {
        total_mib: of(|info| info.total),
        reserved_mib: of(|info| info.reserved),
        used_mib: of(|info| info.used),
        free_mib: of(|info| info.free),
    }
}

fn no_utilization(reason: &Absence) -> Utilization {
    Utilization {
        gpu_percent: Err(reason.clone()),
        memory_percent: Err(reason.clone()),
        encoder_percent: Err(reason.clone()),
        decoder_percent: Err(reason.clone()),
    }
}

fn utilization(device: &Device<'_>, mig: &Switch) -> Utilization {
    if mig.current == Ok(true) {
        // nvml.h: not supported on GPUs in MIG mode. Whatever a driver answers is no number of the card.
        return no_utilization(&Absence::NotAvailable);
    }
    let rates = reading(device.utilization_rates());
    let encoder = reading(device.encoder_utilization());
    let decoder = reading(device.decoder_utilization());
    Utilization {
        gpu_percent: rates.clone().map(|rates| f64::from(rates.gpu)),
        memory_percent: rates.map(|rates| f64::from(rates.memory)),
        encoder_percent: encoder.map(|info| f64::from(info.utilization)),
        decoder_percent: decoder.map(|info| f64::from(info.utilization)),
    }
}

fn power(device: &Device<'_>) -> Power {
    let watts = |field| field_value(device, field).map(|milliwatts| milliwatts as f64 / 1000.0);
    let range = reading(device.power_management_limit_constraints());
    Power {
        draw_w: thousandths(device.power_usage()),
        average_w: watts(NVML_FI_DEV_POWER_AVERAGE),
        instant_w: watts(NVML_FI_DEV_POWER_INSTANT),
        limit_w: thousandths(device.enforced_power_limit()),
        default_limit_w: thousandths(device.power_management_limit_default()),
        limit_min_w: range.clone().map(|range| f64::from(range.min_limit) / 1000.0),
        limit_max_w: range.map(|range| f64::from(range.max_limit) / 1000.0),
    }
}

fn temperature(device: &Device<'_>) -> Temperature {
    Temperature {
        gpu_c: number(device.temperature(TemperatureSensor::Gpu)),
        gpu_margin_c: reading(super::raw::margin_temperature(device)).map(f64::from),
        memory_c: field_value(device, NVML_FI_DEV_MEMORY_TEMP).map(|degrees| degrees as f64),
    }
}

fn clocks(device: &Device<'_>) -> Clocks {
    let now = |clock| number(device.clock_info(clock));
    let most = |clock| number(device.max_clock_info(clock));
    Clocks {
        graphics_mhz: now(Clock::Graphics),
        sm_mhz: now(Clock::SM),
        memory_mhz: now(Clock::Memory),
        video_mhz: now(Clock::Video),
        sm_max_mhz: most(Clock::SM),
        memory_max_mhz: most(Clock::Memory),
    }
}

fn performance_state(answer: Result<PerformanceState, NvmlError>) -> Reading<String> {
    match reading(answer)?.as_c() {
        // nvml.h: 32 is «unknown».
        number if number < 16 => Ok(format!("P{number}")),
        _ => Err(Absence::Nvml("the performance state is not known".into())),
    }
}

/// The bits of what holds clocks down, those without a name too.
pub(super) fn limit_bits(device: &Device<'_>) -> Reading<u64> {
    match device.current_throttle_reasons_strict() {
        Ok(reasons) => Ok(reasons.bits()),
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
        Err(error) => Err(absence(&error)),
    }
}

/// A limit without a name here, by its bit.
pub(super) fn unnamed_limits(bits: u64) -> Vec<ClockLimit> {
    let named = LIMITS.iter().fold(0, |all, (flag, _)| all | flag.bits());
    let unnamed = (0..u64::BITS).map(|bit| 1 << bit).filter(|bit| bits & !named & bit != 0);
    unnamed.map(|bit: u64| ClockLimit::Other(format!("0x{bit:x}"))).collect()
}

fn all_limits(reason: &Absence) -> Vec<LimitState> {
    let absent =
        |limit: &ClockLimit| LimitState { limit: limit.clone(), is_active: Err(reason.clone()) };
    LIMITS.iter().map(|(_, limit)| absent(limit)).collect()
}

fn clock_limits(device: &Device<'_>) -> Vec<LimitState> {
    let bits = match limit_bits(device) {
        Ok(bits) => bits,
        Err(reason) => return all_limits(&reason),
    };
    // A driver that does not say what it can tell is taken at its word about what it does tell.
    let can_tell = device.supported_throttle_reasons().unwrap_or(ThrottleReasons::all());
    let known = LIMITS.iter().map(|(flag, limit)| {
        let is_active = bits & flag.bits() != 0;
        let told = is_active || can_tell.contains(*flag);
        LimitState {
            limit: limit.clone(),
            is_active: if told { Ok(is_active) } else { Err(Absence::NotSupported) },
        }
    });
    let others = unnamed_limits(bits).into_iter();
    known.chain(others.map(|limit| LimitState { limit, is_active: Ok(true) })).collect()
}

/// The modes under the names that `nvidia-smi` prints.
fn name_of(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "Default",
        ComputeMode::ExclusiveThread => "Exclusive_Thread",
        ComputeMode::Prohibited => "Prohibited",
        ComputeMode::ExclusiveProcess => "Exclusive_Process",
    }
}

fn ecc(device: &Device<'_>) -> Ecc {
    let mode = reading(device.is_ecc_enabled());
    let errors = |kind| {
        reading(device.total_ecc_errors(kind, EccCounter::Volatile)).map(|count| count as f64)
    };
    Ecc {
        mode: Switch {
            current: mode.clone().map(|mode| mode.currently_enabled),
            pending: mode.map(|mode| mode.pending_enabled),
        },
        corrected: errors(MemoryError::Corrected),
        uncorrected: errors(MemoryError::Uncorrected),
    }
}

/// What must be done to make the GPU usable again, in the words of `nvidia-smi`.
fn recovery(device: &Device<'_>) -> Reading<Option<String>> {
    let action = field_value(device, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)?;
    Ok(match action {
        0 => None,
        1 => Some("Reset".to_owned()),
        2 => Some("Reboot".to_owned()),
        3 => Some("Drain P2P".to_owned()),
        4 => Some("Drain and Reset".to_owned()),
        other => Some(format!("action {other} of nvmlDeviceGpuRecoveryAction_t")),
    })
}

/// One of the values that have a number instead of a call.
pub(super) fn field_value(device: &Device<'_>, field: u32) -> Reading<u64> {
    let mut samples = reading(device.field_values_for(&[FieldId(field)]))?;
    let sample = samples.pop().ok_or(Absence::NotAvailable)?;
    match reading(sample.and_then(|sample| sample.value))? {
        SampleValue::U32(value) => Ok(u64::from(value)),
        SampleValue::U64(value) => Ok(value),
        SampleValue::I64(value) if value >= 0 => Ok(value.cast_unsigned()),
        other => Err(Absence::Nvml(format!("field {field} has the value {other:?}").into())),
    }
}
