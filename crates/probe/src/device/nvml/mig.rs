//! MIG: mode, profiles, devices.

use cotenant_core::gpu::{Engines, ListedProfile};
use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::DeviceAttributes;

use super::super::smi::{Absence, MigDevice, Reading, Switch};
use super::absence::{absence, reading};
use super::gpu::memory;
use super::raw::{
    RawProfile, compute_instance_id, gpu_instance_id, instance_placement, possible_placements,
    profile,
};

/// Numbers of profiles that are asked for. nvml.h of R580 has 17; later drivers may have more.
const PROFILES_MAX: u32 = 32;

/// MIG devices of one card that are asked for. The most that a card can hold is 12.
const DEVICES_MAX: u32 = 64;

/// Mebibytes in a gibibyte, and the hundredths to which `nvidia-smi mig -lgip` rounds.
const MIB_PER_GIB: f64 = 1024.0;

pub(super) fn mig_mode(device: &Device<'_>) -> Switch {
    let mode = reading(device.mig_mode());
    Switch {
        current: mode.clone().map(|mode| mode.current != 0),
        pending: mode.map(|mode| mode.pending != 0),
    }
}

/// The profiles that a card offers. A card that does not know MIG, or is not in MIG mode and says
/// nothing then, has none, with the reason.
pub(super) fn mig_profiles(
    card: &Device<'_>,
    index: u32,
    mode: &Switch,
) -> Reading<Vec<ListedProfile>> {
    mode.current.clone()?;
    let mut profiles = Vec::new();
    let mut reason = Absence::NotSupported;
    for number in 0..PROFILES_MAX {
        match profile(card, number) {
            Ok(found) => profiles.push(listed(card, index, &found)),
            // A number that this card, or this driver, has no profile for.
            Err(NvmlError::NotSupported | NvmlError::InvalidArg | NvmlError::NotFound) => {}
            Err(error) => {
                reason = absence(&error);
                break;
            }
        }
    }
    if profiles.is_empty() { Err(reason) } else { Ok(profiles) }
}

fn listed(card: &Device<'_>, index: u32, profile: &RawProfile) -> ListedProfile {
    let placements = possible_placements(card, profile.id).ok().and_then(|mut places| {
        places.sort_by_key(|place| place.start);
        let size = places.first()?.size;
        let is_one_size = places.iter().all(|place| place.size == size);
        is_one_size.then(|| (places.iter().map(|place| place.start).collect(), size))
    });
    let name = without_word(&profile.name);
    ListedProfile {
        gpu: index,
        name: (!name.is_empty()).then(|| name.to_owned()),
        id: profile.id,
        instances_free: None,
        instances_max: Some(profile.instances_max),
        memory_gib: Some((profile.memory_mib as f64 / MIB_PER_GIB * 100.0).trunc() / 100.0),
        peer_to_peer: Some(profile.is_p2p_supported),
        sms: Some(profile.sms),
        engines: Some(Engines {
            copy: profile.copy_engines,
            decoders: profile.decoders,
            encoders: profile.encoders,
            jpeg: profile.jpeg,
            optical_flow: profile.optical_flow,
        }),
        placements,
    }
}

/// `MIG 1g.10gb` as `1g.10gb`.
fn without_word(name: &str) -> &str {
    name.strip_prefix("MIG ").unwrap_or(name).trim()
}

/// The MIG devices of a card, in the order of their numbers.
pub(super) fn mig_devices(
    card: &Device<'_>,
    mode: &Switch,
    profiles: &[ListedProfile],
) -> Reading<Vec<MigDevice>> {
    if !mode.current.clone()? {
        return Ok(Vec::new());
    }
    let count = reading(card.mig_device_count())?.min(DEVICES_MAX);
    let mut devices = Vec::new();
    for index in 0..count {
        match card.mig_device_by_index(index) {
            Ok(device) => devices.push(mig_device(card, &device, index, profiles)),
            // No device has this number: numbers go up to what the card could hold.
            Err(NvmlError::NotFound | NvmlError::InvalidArg) => {}
            Err(error) => return Err(absence(&error)),
        }
    }
    Ok(devices)
}

fn mig_device(
    card: &Device<'_>,
    device: &Device<'_>,
    index: u32,
    profiles: &[ListedProfile],
) -> MigDevice {
    let gpu_instance = reading(gpu_instance_id(device));
    let attributes = reading(device.attributes());
    let placement = gpu_instance.clone().and_then(|id| reading(instance_placement(card, id)));
    MigDevice {
        index: Ok(index),
        compute_instance: reading(compute_instance_id(device)),
        profile: profile_name(device, attributes.as_ref(), profiles),
        placement,
        uuid: reading(device.uuid()),
        memory: memory(device.memory_info()),
        sms: attributes.clone().map(|all| all.multiprocessor_count),
        copy_engines: attributes.map(|all| all.shared_copy_engine_count),
        gpu_instance,
    }
}

/// The profile's name: the driver puts it behind the product's name, as in `NVIDIA H100 80GB HBM3 MIG
/// 3g.40gb`. Where it does not, the one profile of the card with these multiprocessors and this memory has
/// it; where several have them, or a compute instance is only a part, nothing is guessed.
fn profile_name(
    device: &Device<'_>,
    attributes: Result<&DeviceAttributes, &Absence>,
    profiles: &[ListedProfile],
) -> Reading<String> {
    let name = reading(device.name())?;
    if let Some((_, profile)) = name.rsplit_once(" MIG ") {
        return Ok(profile.trim().to_owned());
    }
    let attributes = attributes.map_err(Clone::clone)?;
    let unclear = Absence::Nvml(
        format!("«{name}» names no profile, and its memory and multiprocessors fit no single one")
            .into(),
    );
    if attributes.compute_instance_slice_count != attributes.gpu_instance_slice_count {
        return Err(unclear);
    }
    let memory_gib = (attributes.memory_size_mb as f64 / MIB_PER_GIB * 100.0).trunc() / 100.0;
    let fits = |profile: &&ListedProfile| {
        profile.sms == Some(attributes.multiprocessor_count)
            && profile.memory_gib == Some(memory_gib)
    };
    let mut fitting = profiles.iter().filter(fits).filter_map(|profile| profile.name.clone());
    match (fitting.next(), fitting.next()) {
        (Some(profile), None) => Ok(profile),
        _ => Err(unclear),
    }
}
