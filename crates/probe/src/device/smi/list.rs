//! `nvidia-smi -L`: which GPUs and MIG devices there are, with their UUIDs.

use super::error::DeviceError;
use super::model::{DeviceReport, MigDevice, Problem, Unreachable};
use super::reading::Absence;
use super::unreachable::unreachable;

const WAY_OUT: &str = "give what `nvidia-smi -L` printed, unchanged";

/// What `-L` lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceList {
    /// The GPUs, in the order of the text.
    pub gpus: Vec<ListedGpu>,
    /// GPUs that do not answer.
    pub unreachable: Vec<Unreachable>,
}

/// A GPU of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGpu {
    /// Its number.
    pub index: u32,
    /// The product's name.
    pub name: String,
    /// The UUID.
    pub uuid: String,
    /// The MIG devices on it.
    pub mig_devices: Vec<ListedMigDevice>,
}

/// A MIG device of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMigDevice {
    /// The profile's name, `1g.10gb` or `1c.3g.40gb`.
    pub profile: String,
    /// Its number on its card.
    pub index: u32,
    /// The UUID in either form.
    pub uuid: MigUuid,
}

/// The UUID of a MIG device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigUuid {
    /// `MIG-7089d0f3-293f-58c9-8f8c-5ea666eedbde`, since R470.
    Own(String),
    /// `MIG-GPU-…/7/0`: the parent's UUID with the ids of both instances, before R470.
    OfParent {
        /// As printed.
        text: String,
        /// The parent's UUID, `GPU-…`.
        gpu: String,
        /// The GPU instance.
        gpu_instance: u32,
        /// The compute instance.
        compute_instance: u32,
    },
}

impl MigUuid {
    /// Reads either form; `None` where the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("MIG-")?;
        if !rest.starts_with("GPU-") {
            return (!rest.is_empty()).then(|| Self::Own(text.to_owned()));
        }
        let mut parts = rest.split('/');
        let (gpu, gpu_instance, compute_instance) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        Some(Self::OfParent {
            text: text.to_owned(),
            gpu: gpu.to_owned(),
            gpu_instance: gpu_instance.parse().ok()?,
            compute_instance: compute_instance.parse().ok()?,
        })
    }

    /// The UUID as printed, which is what `CUDA_VISIBLE_DEVICES` takes.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Own(text) | Self::OfParent { text, .. } => text,
        }
    }
}

/// Reads `nvidia-smi -L`.
///
/// # Errors
/// The first line that is neither a GPU nor a MIG device of one.
pub(super) fn read_list(text: &str) -> Result<DeviceList, DeviceError> {
    let mut list = DeviceList::default();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(lost) = unreachable(line, index + 1) {
            list.unreachable.push(lost);
        } else if let Some((index, name, uuid)) = gpu_line(line) {
            let (name, uuid) = (name.to_owned(), uuid.to_owned());
            list.gpus.push(ListedGpu { index, name, uuid, mig_devices: Vec::new() });
        } else {
            let fault = |problem| DeviceError::line(index + 1, problem, line, WAY_OUT);
            let device = mig_line(line).ok_or_else(|| fault("this is no GPU and no MIG device"))?;
            let gpu = list.gpus.last_mut().ok_or_else(|| fault("a MIG device before any GPU"))?;
            gpu.mig_devices.push(device);
        }
    }
    if list.gpus.is_empty() && list.unreachable.is_empty() {
        Err(DeviceError::line(1, "no GPU is listed", "", WAY_OUT))
    } else {
        Ok(list)
    }
}

/// `GPU 0: NVIDIA H200 (UUID: GPU-…)`: number, name, UUID.
pub(super) fn gpu_line(line: &str) -> Option<(u32, &str, &str)> {
    let (number, rest) = line.trim().strip_prefix("GPU ")?.split_once(": ")?;
    let (name, uuid) = rest.strip_suffix(')')?.rsplit_once(" (UUID: ")?;
    (!uuid.is_empty()).then_some((number.parse().ok()?, name.trim(), uuid.trim()))
}

/// `  MIG 3g.40gb     Device  0: (UUID: MIG-…)`.
fn mig_line(line: &str) -> Option<ListedMigDevice> {
    let (profile, rest) = line.trim().strip_prefix("MIG ")?.split_once(" Device ")?;
    let (index, uuid) = rest.split_once(": (UUID: ")?;
    Some(ListedMigDevice {
        profile: profile.trim().to_owned(),
        index: index.trim().parse().ok()?,
        uuid: MigUuid::parse(uuid.strip_suffix(')')?.trim())?,
    })
}

impl DeviceReport {
    /// Adds what only a listing knows: the numbers of GPUs, and names and UUIDs of MIG devices.
    ///
    /// A GPU is found by its UUID where that is there once, else by its place in the order, which both
    /// texts share. What does not agree becomes a problem and changes nothing.
    pub fn join_list(&mut self, list: &DeviceList) {
        let mut problems = Vec::new();
        for (place, listed) in list.gpus.iter().enumerate() {
            let same = |gpu: &&mut super::model::Gpu| gpu.uuid.as_ref() == Ok(&listed.uuid);
            let places =
                self.gpus.iter().filter(|gpu| gpu.uuid.as_ref() == Ok(&listed.uuid)).count();
            let gpu = match places {
                1 => self.gpus.iter_mut().find(same),
                0 => None,
                _ => self.gpus.get_mut(place).filter(same),
            };
            let Some(gpu) = gpu else {
                problems.push(format!(
                    "GPU {} ({}) is listed and not described",
                    listed.index, listed.uuid
                ));
                continue;
            };
            gpu.index = Ok(listed.index);
            let Ok(devices) = &mut gpu.mig_devices else { continue };
            if devices.len() != listed.mig_devices.len() {
                problems.push(format!(
                    "GPU {}: {} MIG devices are listed and {} described",
                    listed.index,
                    listed.mig_devices.len(),
                    devices.len()
                ));
            }
            for device in &listed.mig_devices {
                if let Some(known) = devices.iter_mut().find(|one| one.index == Ok(device.index)) {
                    join_device(known, device);
                }
            }
        }
        self.problems.extend(problems.into_iter().map(|message| Problem {
            line: 1,
            message: format!("{message}; print both texts anew, one after the other"),
        }));
    }
}

fn join_device(known: &mut MigDevice, listed: &ListedMigDevice) {
    known.profile = Ok(listed.profile.clone());
    if matches!(known.uuid, Err(Absence::NotPrinted)) {
        known.uuid = Ok(listed.uuid.as_str().to_owned());
    }
}
