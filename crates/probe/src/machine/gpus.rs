//! The GPUs: what the driver says of them, and where it says nothing, what the bus shows.

use cotenant_core::evidence::{Missing, Reading};
use cotenant_core::gpu::{self, Sku};
use cotenant_core::machine::{Card, Found, Gpus, MigFound, missing};
use cotenant_core::units::Bytes;

use super::pci::{self, PciGpu};
use super::surroundings::Surroundings;
use crate::device::smi::{Absence, DeviceReport, Gpu, MigDevice, Source};

/// The GPUs of this machine.
pub(super) fn gpus(around: &Surroundings) -> Gpus {
    match around.lookout.look() {
        Ok(report) => {
            let mut gpus = gpus_of(&report);
            let on_bus = pci::gpus(&around.root);
            if on_bus.len() > report.gpus.len() {
                gpus.problems.push(format!(
                    "the PCI bus has {} of NVIDIA's GPUs, and this process is shown {} of them: the \
                     driver or a container keeps the others back",
                    on_bus.len(),
                    report.gpus.len()
                ));
            }
            gpus
        }
        Err(why) => on_the_bus(&pci::gpus(&around.root), &why.to_string()),
    }
}

/// What a report of the driver says.
pub fn gpus_of(report: &DeviceReport) -> Gpus {
    let who = match report.source {
        Source::Nvml => "NVML",
        Source::Query | Source::Xml { .. } | Source::Csv => "nvidia-smi",
    };
    let told = |value: &Result<String, Absence>| known(value).map(|value| Found::new(value, who));
    let cards: Vec<Card> =
        (0..).zip(&report.gpus).map(|(place, gpu)| card(report, place, gpu)).collect();
    // What is wrong with a card that cannot be used stands with the card.
    let is_told = |message: &str| {
        let mut unusable = cards.iter().filter(|card| card.unusable.is_some());
        unusable.any(|card| message.starts_with(&format!("GPU {}: ", card.index)))
    };
    let messages = report.problems.iter().map(|problem| problem.message.clone());
    let mut problems: Vec<String> = messages.filter(|message| !is_told(message)).collect();
    for gpu in &report.unreachable {
        problems.push(format!("the GPU at {} is not reached: {}", gpu.bus_id, gpu.reason));
    }
    Gpus {
        source: Ok(who.to_owned()),
        driver: told(&report.driver),
        cuda: told(&report.cuda),
        cards,
        problems,
    }
}

fn silent<T>() -> Reading<T> {
    missing("the driver does not answer")
}

/// GPUs that are there, and whose driver is silent. Their model follows from their PCI number where one
/// model alone has it.
fn on_the_bus(found: &[PciGpu], why: &str) -> Gpus {
    let card = |(index, gpu): (u32, &PciGpu)| Card {
        index,
        name: silent(),
        pci_device: Ok(gpu.device.clone()),
        sku: gpu::find(&gpu.device),
        uuid: silent(),
        bus_id: Ok(gpu.place.clone()),
        memory: silent(),
        mig: silent(),
        mig_after_reset: None,
        instances: silent(),
        compute_mode: silent(),
        persistence: silent(),
        power_w: silent(),
        numa: gpu.numa.ok_or_else(|| Missing("the kernel does not say".to_owned())),
        processes: silent(),
        unusable: None,
    };
    let problems = match found.len() {
        0 => Vec::new(),
        count => vec![format!(
            "{count} of NVIDIA's GPUs are on the PCI bus, and their driver does not answer; nothing can \
             run on them from here"
        )],
    };
    Gpus {
        source: missing(why),
        driver: missing(why),
        cuda: missing(why),
        cards: (0..).zip(found).map(card).collect(),
        problems,
    }
}

fn card(report: &DeviceReport, place: usize, gpu: &Gpu) -> Card {
    let pending = gpu.mig.pending.clone().ok().filter(|_| gpu.mig.is_pending_change());
    Card {
        index: gpu.index.clone().unwrap_or(place as u32),
        name: known(&gpu.name),
        pci_device: known(&gpu.pci_device),
        sku: sku(gpu),
        uuid: known(&gpu.uuid),
        bus_id: known(&gpu.bus_id),
        memory: known(&gpu.memory.total_mib).map(|mib| Bytes((mib * 1024.0 * 1024.0) as u64)),
        mig: known(&gpu.mig.current),
        mig_after_reset: pending,
        instances: known(&gpu.mig_devices).map(|devices| instances(&devices)),
        compute_mode: known(&gpu.compute_mode),
        persistence: known(&gpu.persistence),
        power_w: known(&gpu.power.draw_w)
            .or_else(|_| known(&gpu.power.average_w))
            .or_else(|_| known(&gpu.power.instant_w)),
        numa: numa(report, place),
        processes: known(&gpu.processes).map(|processes| {
            let row = |one: crate::device::smi::DeviceProcess| {
                Some((one.pid.ok()?, one.kind.unwrap_or_default()))
            };
            processes.into_iter().filter_map(row).collect()
        }),
        unusable: unusable(gpu),
    }
}

/// Why a card cannot be counted on. A card whose name is kept back may be any card.
fn unusable(gpu: &Gpu) -> Option<String> {
    if gpu.is_lost() {
        return Some(with_way_out(&Absence::Lost));
    }
    gpu.name.as_ref().err().map(with_way_out)
}

fn with_way_out(absence: &Absence) -> String {
    absence.way_out().map_or_else(|| absence.to_string(), |way| format!("{absence}; {way}"))
}

/// The one model that name, PCI number and memory allow together.
fn sku(gpu: &Gpu) -> Option<&'static Sku> {
    let by = |text: &Result<String, Absence>| {
        text.as_ref().map(|text| gpu::candidates(text)).unwrap_or_default()
    };
    let (named, numbered) = (by(&gpu.name), by(&gpu.pci_device));
    let both: Vec<_> = named.iter().copied().filter(|sku| numbered.contains(sku)).collect();
    let fitting = match (both.is_empty(), named.is_empty()) {
        (false, _) => both,
        // A number that the catalogue lacks contradicts nothing.
        (true, false) if numbered.is_empty() => named,
        (true, true) => numbered,
        (true, false) => Vec::new(),
    };
    if let [one] = fitting.as_slice() {
        return Some(one);
    }
    let mib = gpu.memory.total_mib.as_ref().ok()?;
    let mut sized =
        fitting.into_iter().filter(|sku| sku.memory_total_mib.map(f64::from) == Some(*mib));
    let one = sized.next()?;
    sized.next().is_none().then_some(one)
}

/// The NUMA node near a card, where one alone is near.
fn numa(report: &DeviceReport, place: usize) -> Reading<u32> {
    let topology = known(&report.topology)?;
    let name = format!("GPU{place}");
    let row = topology.rows.iter().find(|row| row.device == name);
    let nodes = known(&row.ok_or_else(|| Missing(format!("{name} is not in the matrix")))?.numa)?;
    nodes.trim().parse().map_err(|_| Missing(format!("several are near: {nodes}")))
}

/// MIG devices as the GPU instances that hold them: `1c.3g.40gb` and `2c.3g.40gb` of one instance are one
/// `3g.40gb`.
fn instances(devices: &[MigDevice]) -> Vec<MigFound> {
    let mut found: Vec<(Option<u32>, MigFound)> = Vec::new();
    for device in devices {
        let id = device.gpu_instance.clone().ok();
        let inside = (known(&device.profile), known(&device.uuid));
        let same = id.and_then(|id| found.iter_mut().find(|(other, _)| *other == Some(id)));
        match same {
            Some((_, instance)) => instance.devices.push(inside),
            None => found.push((
                id,
                MigFound {
                    profile: known(&device.profile).map(|name| whole_instance(&name).to_owned()),
                    start: known(&device.placement).map(|place| place.start),
                    devices: vec![inside],
                },
            )),
        }
    }
    let mut found: Vec<MigFound> = found.into_iter().map(|(_, instance)| instance).collect();
    // Where a place is not known the driver's order is all there is.
    if found.iter().all(|instance| instance.start.is_ok()) {
        found.sort_by_key(|instance| instance.start.clone().unwrap_or_default());
    }
    found
}

/// `1c.3g.40gb` as `3g.40gb`.
fn whole_instance(name: &str) -> &str {
    match name.split_once("c.") {
        Some((count, rest)) if count.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    }
}

/// A device's reading as one of the domain.
fn known<T: Clone>(reading: &Result<T, Absence>) -> Reading<T> {
    reading.clone().map_err(|absence| Missing(absence.to_string()))
}
