//! The head of the file, and the server.

use cotenant_core::evidence::Missing;
use cotenant_core::machine::{Card, Finding, Gpus, Machine};
use cotenant_core::site::SchedulerKind;
use jiff::tz::TimeZone;

use super::sheet::{Sheet, is_value, memory, name, numbers, quoted};

pub(super) fn head(sheet: &mut Sheet, machine: &Machine) {
    match &machine.name {
        Ok(found) => sheet.found(0, &format!("name: {}", name(&found.value)), &found.how),
        Err(Missing(why)) => {
            sheet.remark(0, &format!("not found: {why}"));
            sheet.line(0, "name: server");
        }
    }
    match &machine.time_zone {
        Ok(found) if TimeZone::get(&found.value).is_ok() => {
            sheet.found(0, &format!("time_zone: {}", quoted(&found.value)), &found.how);
        }
        Ok(found) => unknown_zone(sheet, &format!("«{}» is no time zone of IANA", found.value)),
        Err(Missing(why)) => unknown_zone(sheet, why),
    }
}

/// The file needs a zone, and a machine without a setting runs on UTC.
fn unknown_zone(sheet: &mut Sheet, why: &str) {
    sheet.remark(0, &format!("FILL IN the zone in which local times are meant; not found: {why}"));
    sheet.line(0, "time_zone: UTC");
}

pub(super) fn server(sheet: &mut Sheet, machine: &Machine) {
    sheet.line(0, "server:");
    let gpus = &machine.gpus;
    let described = gpus.described();
    if described.is_empty() {
        no_gpu(sheet, gpus);
    } else {
        with_gpus(sheet, gpus, &described);
        plain(sheet, "driver", &gpus.driver, "580.95.05");
        newest_cuda(sheet, gpus);
        plain(sheet, "nccl", &machine.nccl, "2.28.3");
    }
    plain(sheet, "kernel", &machine.kernel, "6.8.0-85-generic");
    scheduler(sheet, machine);
    cores(sheet, machine);
    match &machine.memory {
        Ok(found) => sheet.found(1, &format!("memory: {}", memory(found.value)), &found.how),
        Err(Missing(why)) => sheet.absent(1, "memory: 512 GiB", why),
    }
    storage(sheet, machine);
    numa(sheet, machine, &described);
    sheet.remark(1, "not looked for: the network to other machines");
    sheet.example(1, "network: { bandwidth: 400 Gbit/s, rdma: true }");
}

/// A field of text as it was found.
fn plain(sheet: &mut Sheet, key: &str, finding: &Finding<String>, example: &str) {
    match finding {
        Ok(found) if is_value(&found.value) => {
            sheet.found(1, &format!("{key}: {}", quoted(&found.value)), &found.how);
        }
        Ok(found) => {
            let why = format!("{} says nothing", found.how);
            sheet.absent(1, &format!("{key}: {example}"), &why);
        }
        Err(Missing(why)) => sheet.absent(1, &format!("{key}: {example}"), why),
    }
}

fn no_gpu(sheet: &mut Sheet, gpus: &Gpus) {
    let why = match (&gpus.source, gpus.cards.len()) {
        (Ok(who), 0) => format!("{who} answers and knows no GPU"),
        (Err(Missing(why)), 0) => why.clone(),
        (_, count) => {
            sheet.remark(
                1,
                &format!("WARNING: {count} GPUs are there, and none of them can be counted on:"),
            );
            "no GPU that can be counted on".to_owned()
        }
    };
    left_out(sheet, gpus, &[]);
    for problem in &gpus.problems {
        sheet.remark(1, &format!("WARNING: {problem}"));
    }
    sheet.found(1, "gpu: none", &why);
    sheet.line(1, "gpu_count: 0");
}

fn with_gpus(sheet: &mut Sheet, gpus: &Gpus, described: &[(usize, &Card)]) {
    let first = described[0].1;
    let told = match (&gpus.source, &first.name) {
        (Ok(who), Ok(name)) => format!("{who}: «{name}»"),
        _ => "the PCI bus".to_owned(),
    };
    let pci = first.pci_device.as_ref().map(|id| format!(", PCI {id}")).unwrap_or_default();
    let product = match first.sku {
        Some(sku) => format!(", the catalogue's {} ({})", sku.id, sku.product),
        None => ", which is not one model of the catalogue".to_owned(),
    };
    sheet.found(1, &format!("gpu: {}", quoted(first.model())), &format!("{told}{pci}{product}"));
    let left = gpus.cards.len() - described.len();
    let how = match left {
        0 => "each of them answers".to_owned(),
        left => format!("of {}; {left} not counted, see the warnings", gpus.cards.len()),
    };
    let how = if gpus.source.is_ok() { how } else { "on the PCI bus".to_owned() };
    sheet.found(1, &format!("gpu_count: {}", described.len()), &how);
    for (number, (_, card)) in described.iter().enumerate() {
        sheet.remark(1, &card_line(number, card));
    }
    left_out(sheet, gpus, described);
    for problem in &gpus.problems {
        sheet.remark(1, &format!("WARNING: {problem}"));
    }
    let sizes: Vec<_> = described.iter().map(|(_, card)| card.memory.clone()).collect();
    match &sizes[0] {
        Ok(size) if sizes.iter().all(|other| other.as_ref() == Ok(size)) => {
            let who = gpus.source.as_deref().unwrap_or("the driver");
            let how = format!("{who}, the same for each");
            sheet.found(1, &format!("gpu_memory: {}", memory(*size)), &how);
        }
        Ok(_) => sheet.absent(1, "gpu_memory: 80 GiB", "the GPUs have different amounts"),
        Err(Missing(why)) => sheet.absent(1, "gpu_memory: 80 GiB", why),
    }
}

/// What a card says of itself, for people: `GPU 0: GPU-…, at 00000000:1B:00.0`.
fn card_line(number: usize, card: &Card) -> String {
    let mut parts = vec![match &card.uuid {
        Ok(uuid) => uuid.clone(),
        Err(Missing(why)) => format!("UUID: {why}"),
    }];
    if number != card.index as usize {
        parts.push(format!("which the driver calls {}", card.index));
    }
    if let Ok(bus) = &card.bus_id {
        parts.push(format!("at {bus}"));
    }
    if let Ok(node) = card.numa {
        parts.push(format!("NUMA node {node}"));
    }
    if let Ok(mode) = card.compute_mode.as_ref()
        && mode != "Default"
    {
        parts.push(format!("compute mode {mode}"));
    }
    if card.persistence == Ok(false) {
        parts.push("persistence off: the first use wakes it".to_owned());
    }
    if let Err(Missing(why)) = &card.power_w
        && card.name.is_ok()
    {
        parts.push(format!("power sensor: {why}"));
    }
    match (&card.mig, card.mig_after_reset) {
        (_, Some(on)) => parts.push(format!("MIG {} after its next reset", on_off(on))),
        (Ok(true), None) => parts.push("MIG on".to_owned()),
        _ => {}
    }
    format!("GPU {number}: {}", parts.join(", "))
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Cards that are there and not counted, each with its reason.
fn left_out(sheet: &mut Sheet, gpus: &Gpus, described: &[(usize, &Card)]) {
    for (place, card) in gpus.cards.iter().enumerate() {
        if described.iter().any(|(other, _)| *other == place) {
            continue;
        }
        let uuid = card.uuid.as_deref().map(|uuid| format!(" ({uuid})")).unwrap_or_default();
        let why = match &card.unusable {
            Some(why) => why.clone(),
            None => format!(
                "it is another model, {}; one server holds one model: describe the others in a file of \
                 their own",
                card.model()
            ),
        };
        sheet.remark(
            1,
            &format!("WARNING: the driver's GPU {}{uuid} is not counted: {why}", card.index),
        );
    }
}

/// The driver tells the newest CUDA that it serves, which is not what a program was built with.
fn newest_cuda(sheet: &mut Sheet, gpus: &Gpus) {
    match &gpus.cuda {
        Ok(found) => {
            let how =
                format!("{}, the newest that the driver serves; write the one in use", found.how);
            sheet.found(1, &format!("cuda: {}", quoted(&found.value)), &how);
        }
        Err(Missing(why)) => sheet.absent(1, "cuda: 13.0", why),
    }
}

fn scheduler(sheet: &mut Sheet, machine: &Machine) {
    let found = match &machine.scheduler {
        Ok(found) => found,
        Err(Missing(why)) => {
            return sheet.absent(1, "scheduler: { name: slurm, version: 25.05.3 }", why);
        }
    };
    let kind = found.value.kind;
    match &found.value.version {
        Ok(version) if is_value(version) => {
            let field =
                format!("scheduler: {{ name: {}, version: {} }}", kind.name(), quoted(version));
            sheet.found(1, &field, &found.how);
        }
        version => {
            sheet.found(1, &format!("scheduler: {}", kind.name()), &found.how);
            if kind != SchedulerKind::None {
                let why = version.as_ref().err().map_or("it is empty", |Missing(why)| why);
                sheet.remark(1, &format!("its version was not found: {why}"));
                sheet
                    .example(1, &format!("scheduler: {{ name: {}, version: 1.2.3 }}", kind.name()));
            }
        }
    }
    for note in &found.value.notes {
        sheet.remark(1, note);
    }
}

fn cores(sheet: &mut Sheet, machine: &Machine) {
    match &machine.cores_usable {
        Ok(found) => {
            let text = format!("{:.2}", found.value);
            let text = text.trim_end_matches('0').trim_end_matches('.');
            sheet.found(1, &format!("cpu_cores: {text}"), &found.how);
        }
        Err(Missing(why)) => sheet.absent(1, "cpu_cores: 96", why),
    }
    match &machine.cores_visible {
        Ok(found) => sheet.found(1, &format!("cpu_cores_visible: {}", found.value), &found.how),
        Err(Missing(why)) => sheet.absent(1, "cpu_cores_visible: 128", why),
    }
    if let Ok(model) = &machine.cpu_model {
        sheet.remark(1, &format!("CPU: {}", model.value));
    }
}

fn storage(sheet: &mut Sheet, machine: &Machine) {
    match &machine.filesystems {
        Ok(found) => {
            for one in &found.value {
                let space = match &one.space {
                    Ok((size, free)) => format!("{size}, {free} free"),
                    Err(Missing(why)) => format!("size: {why}"),
                };
                let disk = match &one.disk {
                    Ok(disk) => disk.clone(),
                    Err(Missing(why)) => format!("kind of disk: {why}"),
                };
                sheet.remark(1, &format!("{} ({}): {space}; {disk}", one.point, one.kind));
            }
        }
        Err(Missing(why)) => sheet.remark(1, &format!("filesystems not found: {why}")),
    }
    sheet.remark(
        1,
        "not measured: bandwidths of the disk that checkpoints go to; write what a test of it shows",
    );
    sheet.example(1, "storage: { read_bandwidth: 6 GB/s, write_bandwidth: 3 GB/s }");
}

fn numa(sheet: &mut Sheet, machine: &Machine, described: &[(usize, &Card)]) {
    let example = "numa: [{ node: 0, cpus: 0-47, gpus: 0-3 }]";
    let found = match &machine.numa {
        Ok(found) => found,
        Err(Missing(why)) => return sheet.absent(1, example, why),
    };
    sheet.found(1, "numa:", &found.how);
    for node in &found.value {
        let near = described.iter().enumerate().filter(|(_, (_, card))| card.numa == Ok(node.node));
        let near: Vec<usize> = near.map(|(number, _)| number).collect();
        let mut parts = vec![format!("node: {}", node.node)];
        if !node.cpus.is_empty() {
            parts.push(format!("cpus: {}", quoted(&node.cpus)));
        }
        if !near.is_empty() {
            parts.push(format!("gpus: {}", numbers(&near)));
        }
        if let Ok(bytes) = node.memory {
            parts.push(format!("memory: {}", memory(bytes)));
        }
        sheet.line(2, &format!("- {{ {} }}", parts.join(", ")));
    }
}
