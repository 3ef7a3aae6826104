//! How the machine is divided now.

use cotenant_core::evidence::Missing;
use cotenant_core::machine::{Card, Machine, MigFound};

use super::sheet::{Sheet, numbers, quoted};
use super::workloads::engines;

pub(super) fn sharing(sheet: &mut Sheet, machine: &Machine, names: &[String]) {
    sheet.line(0, "sharing:");
    let described = machine.gpus.described();
    if described.is_empty() {
        return sheet.found(1, "mode: host_cpu", "there is no GPU to share");
    }
    sheet.line(1, "mode:");
    let is_divided = described.iter().any(|(_, card)| has_layout(card));
    match &machine.mps {
        _ if is_divided => mig(sheet, &described),
        Ok(found) if found.value.is_some() => mps(sheet, machine, &found.how, &names[0]),
        _ => whole(sheet, machine, names, &described),
    }
    sheet.remark(
        1,
        "versions of what enforces it, such as a device plugin, are part of the evidence",
    );
    sheet.example(1, "versions: { nvidia-device-plugin: 0.18.0 }");
}

fn has_layout(card: &Card) -> bool {
    let instances = card.instances.as_ref().map_or(&[][..], Vec::as_slice);
    card.mig == Ok(true) && instances.iter().any(|instance| instance.profile.is_ok())
}

/// The exact layout of each divided card. A card without MIG stays whole.
fn mig(sheet: &mut Sheet, described: &[(usize, &Card)]) {
    sheet.found(2, "mig:", "the layout as it is; `workload: NAME` says who runs in an instance");
    for (number, (_, card)) in described.iter().enumerate() {
        match (&card.mig, &card.instances) {
            (Ok(true), Ok(instances)) if has_layout(card) => layout(sheet, number, card, instances),
            (Ok(true), Ok(_)) => sheet.remark(
                3,
                &format!(
                    "GPU {number}: MIG is on and no instance exists, so that nothing can run on it"
                ),
            ),
            (Ok(true), Err(Missing(why))) => {
                sheet.remark(3, &format!("GPU {number}: MIG is on; its instances: {why}"));
            }
            (Ok(false), _) => sheet.remark(3, &format!("GPU {number}: MIG is off, it is whole")),
            (Err(Missing(why)), _) => {
                sheet.remark(3, &format!("GPU {number}: whether MIG is on is not known: {why}"));
            }
        }
    }
}

fn layout(sheet: &mut Sheet, number: usize, card: &Card, instances: &[MigFound]) {
    sheet.line(3, &format!("- gpus: {}", numbers(&[number])));
    if let Ok(uuid) = &card.uuid {
        sheet.remark(4, uuid);
    }
    sheet.line(4, "instances:");
    for instance in instances {
        for (name, uuid) in &instance.devices {
            let uuid = match uuid {
                Ok(uuid) => uuid.clone(),
                Err(Missing(why)) => format!("UUID: {why}"),
            };
            let inside = match (name, &instance.profile) {
                (Ok(name), Ok(profile)) if name != profile => format!("{name}: {uuid}"),
                _ => uuid,
            };
            sheet.remark(5, &inside);
        }
        match (&instance.profile, &instance.start) {
            (Ok(profile), Ok(start)) => {
                sheet.line(5, &format!("- {{ profile: {}, placement: {start} }}", quoted(profile)));
            }
            (Ok(profile), Err(Missing(why))) => {
                sheet.remark(5, &format!("its placement: {why}"));
                sheet.line(5, &format!("- {{ profile: {} }}", quoted(profile)));
            }
            (Err(Missing(why)), _) => sheet.absent(5, "- { profile: 3g.40gb }", why),
        }
    }
}

fn mps(sheet: &mut Sheet, machine: &Machine, how: &str, name: &str) {
    sheet.found(2, "mps: default", how);
    sheet.remark(
        2,
        "limits of clients are in their environment and in the daemon; write those that hold",
    );
    sheet.example(2, &format!("mps: {{ default: {{ {name}: {{ percentage: 70 % }} }} }}"));
    // One daemon per GPU and one for all differ in what a fault takes along; the count tells only of one.
    let daemons = machine.mps.as_ref().ok().and_then(|found| found.value.as_ref());
    let one = daemons.is_some_and(|mps| mps.daemons.len() == 1);
    if one {
        sheet.found(1, "mps_server: per_node", "one control daemon runs");
    } else {
        sheet.absent(1, "mps_server: per_gpu", "not exactly one control daemon is seen");
    }
}

/// Whole GPUs, to whom they were seen to belong.
fn whole(sheet: &mut Sheet, machine: &Machine, names: &[String], described: &[(usize, &Card)]) {
    let mut held: Vec<(&String, Vec<usize>)> = Vec::new();
    for (engine, name) in engines(machine).iter().zip(names) {
        match &engine.cards {
            Ok(places) => {
                let places =
                    described.iter().enumerate().filter(|(_, (at, _))| places.contains(at));
                held.push((name, places.map(|(number, _)| number).collect()));
            }
            Err(Missing(why)) => sheet.remark(2, &format!("GPUs of {name} not found: {why}")),
        }
    }
    held.retain(|(_, places)| !places.is_empty());
    let mut owners = vec![0_usize; described.len()];
    for place in held.iter().flat_map(|(_, places)| places) {
        owners[*place] += 1;
    }
    let is_shared = owners.iter().any(|count| *count > 1);
    let how = mig_and_mps(machine, described);
    if held.is_empty() || is_shared {
        sheet.found(2, "whole_gpu: {}", &how);
        if is_shared {
            sheet.remark(
                2,
                "WARNING: several engines were seen on one GPU, which whole GPUs do not allow:",
            );
        }
    } else {
        sheet.found(2, "whole_gpu:", &format!("{how}; GPUs by the engines' processes"));
    }
    for (name, places) in &held {
        let line = format!("{}: {}", quoted(name), numbers(places));
        if is_shared {
            sheet.remark(3, &line);
        } else {
            sheet.line(3, &line);
        }
    }
    sheet.remark(2, "FILL IN who holds which GPU, such as:");
    let last = described.len() - 1;
    sheet.example(2, &format!("whole_gpu: {{ {}: [0], tune: [{last}] }}", names[0]));
}

fn mig_and_mps(machine: &Machine, described: &[(usize, &Card)]) -> String {
    let on = described.iter().filter(|(_, card)| card.mig == Ok(true)).count();
    let silent = described.iter().filter(|(_, card)| card.mig.is_err()).count();
    let mig = match (on, silent) {
        (0, 0) => "no GPU is in MIG mode".to_owned(),
        (0, _) => "no GPU says that it is in MIG mode".to_owned(),
        (on, _) => format!("{on} GPUs are in MIG mode and have no instance that can be told"),
    };
    let mps = match &machine.mps {
        Ok(found) => found.how.clone(),
        Err(Missing(why)) => format!("whether MPS runs is not known: {why}"),
    };
    format!("{mig}; {mps}")
}
