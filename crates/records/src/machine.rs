//! What was found on a machine, as JSON.

use cotenant_core::evidence::{Missing, Reading};
use cotenant_core::machine::{
    Card, EngineFound, Filesystem, Finding, Machine, MigFound, NumaFound, SchedulerFound,
};
use serde_json::{Value, json};

/// The version of the form. A field that is added does not raise it; one that changes its meaning does.
pub const MACHINE_VERSION: u32 = 1;

/// The machine as JSON. A fact is `{ "value", "found" }`, one that is not known `{ "missing" }` with the
/// reason; memory is in bytes, power in watts.
pub fn machine_to_json(machine: &Machine) -> String {
    let gpus = &machine.gpus;
    let document = json!({
        "format": "cotenant machine",
        "version": MACHINE_VERSION,
        "name": text(&machine.name),
        "time_zone": text(&machine.time_zone),
        "kernel": text(&machine.kernel),
        "cpu_model": text(&machine.cpu_model),
        "cores_usable": finding(&machine.cores_usable, |cores| json!(cores)),
        "cores_visible": finding(&machine.cores_visible, |cores| json!(cores)),
        "memory_bytes": finding(&machine.memory, |memory| json!(memory.0)),
        "numa": finding(&machine.numa, |nodes| list(nodes, numa)),
        "filesystems": finding(&machine.filesystems, |all| list(all, filesystem)),
        "gpus": {
            "source": reading(&gpus.source, |source| json!(source)),
            "driver": text(&gpus.driver),
            "cuda": text(&gpus.cuda),
            "cards": list(&gpus.cards, card),
            "problems": gpus.problems,
        },
        "nccl": text(&machine.nccl),
        "mps": finding(&machine.mps, |mps| match mps {
            Some(mps) => json!({ "daemons": mps.daemons, "servers": mps.servers }),
            None => Value::Null,
        }),
        "scheduler": finding(&machine.scheduler, scheduler),
        "engines": finding(&machine.engines, |engines| list(engines, engine)),
    });
    // The alternate form of a value is its indented text.
    format!("{document:#}\n")
}

fn list<T>(all: &[T], one: impl Fn(&T) -> Value) -> Value {
    Value::Array(all.iter().map(one).collect())
}

fn reading<T>(reading: &Reading<T>, value: impl Fn(&T) -> Value) -> Value {
    match reading {
        Ok(found) => value(found),
        Err(Missing(why)) => json!({ "missing": why }),
    }
}

fn finding<T>(finding: &Finding<T>, value: impl Fn(&T) -> Value) -> Value {
    reading(finding, |found| json!({ "value": value(&found.value), "found": found.how }))
}

fn text(of: &Finding<String>) -> Value {
    finding(of, |text| json!(text))
}

fn string(of: &Reading<String>) -> Value {
    reading(of, |text| json!(text))
}

fn numa(node: &NumaFound) -> Value {
    json!({
        "node": node.node,
        "cpus": node.cpus,
        "memory_bytes": reading(&node.memory, |memory| json!(memory.0)),
    })
}

fn filesystem(one: &Filesystem) -> Value {
    json!({
        "point": one.point,
        "kind": one.kind,
        "source": one.source,
        "disk": string(&one.disk),
        "space": reading(&one.space, |(size, free)| {
            json!({ "size_bytes": size.0, "free_bytes": free.0 })
        }),
    })
}

fn card(card: &Card) -> Value {
    json!({
        "index": card.index,
        "name": string(&card.name),
        "pci_device": string(&card.pci_device),
        "sku": card.sku.map(|sku| sku.id),
        "uuid": string(&card.uuid),
        "bus_id": string(&card.bus_id),
        "memory_bytes": reading(&card.memory, |memory| json!(memory.0)),
        "mig": reading(&card.mig, |on| json!(on)),
        "mig_after_reset": card.mig_after_reset,
        "mig_instances": reading(&card.instances, |all| list(all, instance)),
        "compute_mode": string(&card.compute_mode),
        "persistence": reading(&card.persistence, |on| json!(on)),
        "power_w": reading(&card.power_w, |watts| json!(watts)),
        "numa_node": reading(&card.numa, |node| json!(node)),
        "processes": reading(&card.processes, |all| {
            list(all, |(pid, kind)| json!({ "pid": pid, "kind": kind }))
        }),
        "unusable": card.unusable,
    })
}

fn instance(instance: &MigFound) -> Value {
    json!({
        "profile": string(&instance.profile),
        "placement": reading(&instance.start, |start| json!(start)),
        "devices": list(&instance.devices, |(name, uuid)| {
            json!({ "name": string(name), "uuid": string(uuid) })
        }),
    })
}

fn scheduler(found: &SchedulerFound) -> Value {
    json!({ "name": found.kind.name(), "version": string(&found.version), "notes": found.notes })
}

fn engine(engine: &EngineFound) -> Value {
    json!({
        "endpoint": engine.endpoint,
        "engine": string(&engine.engine),
        "version": string(&engine.version),
        "models": engine.models,
        "metrics": string(&engine.metrics),
        "clues": engine.clues,
        "arguments": reading(&engine.arguments, |all| json!(all)),
        "cards": reading(&engine.cards, |all| json!(all)),
    })
}
