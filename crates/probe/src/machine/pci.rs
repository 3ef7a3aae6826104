//! NVIDIA's GPUs on the PCI bus: what shows without a driver.

use crate::host::Root;

/// NVIDIA's number as a maker.
const NVIDIA: &str = "0x10de";

/// Classes of devices that compute or draw: display controllers (03), of which a GPU without a monitor is
/// one too, and processing accelerators (12).
const CLASSES: [&str; 2] = ["0x03", "0x12"];

/// A GPU on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PciGpu {
    /// Its place: `0000:1b:00.0`.
    pub(super) place: String,
    /// Its device number: `0x2330`.
    pub(super) device: String,
    /// The NUMA node that is near.
    pub(super) numa: Option<u32>,
}

/// NVIDIA's GPUs that the kernel lists, by their places.
pub(super) fn gpus(root: &Root) -> Vec<PciGpu> {
    let folder = "/sys/bus/pci/devices";
    let entries = std::fs::read_dir(root.path(folder)).into_iter().flatten().flatten();
    let mut found: Vec<PciGpu> = entries
        .filter_map(|entry| {
            let place = entry.file_name().to_str()?.to_owned();
            let read = |name: &str| {
                Some(root.read(&format!("{folder}/{place}/{name}")).ok()?.trim().to_owned())
            };
            let class = read("class")?;
            let is_gpu = read("vendor")?.eq_ignore_ascii_case(NVIDIA)
                && CLASSES.iter().any(|start| class.starts_with(start));
            let device = read("device").filter(|_| is_gpu)?;
            // −1 means that the firmware does not say.
            let numa = read("numa_node").and_then(|text| text.parse().ok());
            Some(PciGpu { place, device, numa })
        })
        .collect();
    found.sort_by(|one, other| one.place.cmp(&other.place));
    found
}
