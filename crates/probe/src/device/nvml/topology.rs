//! How GPUs reach each other, CPUs and memory, in the words of `nvidia-smi topo -m`.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_NVLINK_LINK_COUNT, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON,
};

use super::super::smi::{Absence, Gpu, NvLink, Reading, Topology, TopologyRow};
use super::absence::reading;
use super::gpu::field_value;
use super::raw::leads_to_switch;

/// NVLinks of one GPU that are asked for; nvml.h has room for 18 in R580, and more may come.
const LINKS_MAX: u64 = 72;

/// Words of 64 bits in a mask of CPUs: 4096 of them, as many as a Linux kernel is built for.
const CPU_WORDS: usize = 64;

/// Words of 64 bits in a mask of NUMA nodes: 1024 of them, likewise.
const NODE_WORDS: usize = 16;

/// `NVML_AFFINITY_SCOPE_NODE`: what is nearest, not what shares the socket.
const SCOPE_NODE: u32 = 0;

/// The NVLinks of a GPU with their speeds.
pub(super) fn links(device: &Device<'_>) -> Reading<Vec<NvLink>> {
    let count = field_value(device, NVML_FI_DEV_NVLINK_LINK_COUNT)?.min(LINKS_MAX) as u32;
    if count == 0 {
        return Err(Absence::NotSupported);
    }
    // Links run at one speed, in megabytes per second.
    let speed = field_value(device, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON);
    let mut links = Vec::new();
    for link in 0..count {
        let gigabytes_per_second = match reading(device.link_wrapper_for(link).is_active()) {
            Ok(true) => speed.clone().map(|megabytes| megabytes as f64 / 1000.0),
            Ok(false) => Err(Absence::Said("inactive".to_owned())),
            // A card in MIG mode answers this for every link: it has none to speak of.
            Err(Absence::NotSupported) if link == 0 => return Err(Absence::NotSupported),
            Err(reason) => Err(reason),
        };
        links.push(NvLink { link, gigabytes_per_second });
    }
    Ok(links)
}

/// The other ends of a GPU's active NVLinks.
#[derive(Default)]
struct Ends {
    /// Links that lead to switches, which reach all GPUs that are joined to them.
    switched: usize,
    /// The bus ids of GPUs at the other ends, once for each link.
    gpus: Vec<String>,
}

fn ends(device: &Device<'_>, gpu: &Gpu) -> Ends {
    let mut ends = Ends::default();
    for link in gpu.links.iter().flatten().filter(|link| link.gigabytes_per_second.is_ok()) {
        if leads_to_switch(device, link.link).unwrap_or(false) {
            ends.switched += 1;
        } else if let Ok(pci) = device.link_wrapper_for(link.link).remote_pci_info() {
            ends.gpus.push(pci.bus_id);
        }
    }
    ends
}

/// The matrix of all GPUs. `devices` holds no handle of a GPU that does not answer.
pub(super) fn topology(devices: &[Option<&Device<'_>>], gpus: &[Gpu]) -> Reading<Topology> {
    if gpus.is_empty() {
        return Err(Absence::NotAvailable);
    }
    let all: Vec<Ends> = devices
        .iter()
        .zip(gpus)
        .map(|(device, gpu)| device.map_or_else(Ends::default, |device| ends(device, gpu)))
        .collect();
    let names: Vec<String> = (0..gpus.len()).map(|index| format!("GPU{index}")).collect();
    let rows = names.iter().enumerate().map(|(from, name)| {
        let links = (0..gpus.len()).map(|to| {
            if from == to {
                return "X".to_owned();
            }
            match nvlinks(&all[from], &all[to], &gpus[to]) {
                0 => way(devices[from], to as u32).to_owned(),
                links => format!("NV{links}"),
            }
        });
        let device = devices[from].ok_or(Absence::Lost);
        TopologyRow {
            device: name.clone(),
            links: links.collect(),
            cpus: device.clone().and_then(|device| near(device.cpu_affinity(CPU_WORDS))),
            numa: device
                .clone()
                .and_then(|device| near(device.memory_affinity(NODE_WORDS, SCOPE_NODE)))
                .map(|nodes| text(&nodes)),
            gpu_numa: device
                .and_then(|device| reading(device.numa_node_id()))
                .map(|node| node.to_string()),
        }
    });
    let rows = rows.collect();
    Ok(Topology { devices: names, rows })
}

/// NVLinks between two GPUs: those that join them directly, and through switches as many as both have.
fn nvlinks(from: &Ends, to: &Ends, gpu: &Gpu) -> usize {
    let is_to = |end: &&String| gpu.bus_id.as_ref().is_ok_and(|bus| end.eq_ignore_ascii_case(bus));
    from.gpus.iter().filter(is_to).count() + from.switched.min(to.switched)
}

/// The way over PCIe and between sockets.
fn way(from: Option<&Device<'_>>, to: u32) -> &'static str {
    // The wrapper wants the other handle for itself; the library gives it again without a cost.
    let level = from.map(|from| {
        from.nvml().device_by_index(to).and_then(|other| from.topology_common_ancestor(other))
    });
    match level {
        Some(Ok(TopologyLevel::Internal | TopologyLevel::Single)) => "PIX",
        Some(Ok(TopologyLevel::Multiple)) => "PXB",
        Some(Ok(TopologyLevel::HostBridge)) => "PHB",
        Some(Ok(TopologyLevel::Node)) => "NODE",
        Some(Ok(TopologyLevel::System)) => "SYS",
        Some(Err(_)) | None => "N/A",
    }
}

/// The set bits of a mask as inclusive ranges.
fn ranges(words: &[u64]) -> Vec<(u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (index, word) in (0..).zip(words) {
        for bit in (0..u64::BITS).filter(|bit| word >> bit & 1 == 1) {
            let place = index * u64::BITS + bit;
            match found.last_mut() {
                Some((_, last)) if *last + 1 == place => *last = place,
                _ => found.push((place, place)),
            }
        }
    }
    found
}

/// The same of an answer; a mask without a bit says nothing.
fn near(mask: Result<Vec<u64>, NvmlError>) -> Reading<Vec<(u32, u32)>> {
    let ranges = ranges(&reading(mask)?);
    if ranges.is_empty() { Err(Absence::NotAvailable) } else { Ok(ranges) }
}

/// `[(0, 0)]` as `0`, `[(0, 1), (4, 4)]` as `0-1,4`.
fn text(ranges: &[(u32, u32)]) -> String {
    let one = |(first, last): &(u32, u32)| match last {
        last if last == first => first.to_string(),
        last => format!("{first}-{last}"),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{ranges, text};

    #[test]
    fn masks_are_ranges() {
        assert_eq!(ranges(&[0, 0]), []);
        assert_eq!(ranges(&[0b1011, 0]), [(0, 1), (3, 3)]);
        // Of two words that touch: bits 63 and 64.
        assert_eq!(ranges(&[1 << 63, 1]), [(63, 64)]);
        assert_eq!(text(&[(0, 1), (4, 4)]), "0-1,4");
    }
}
