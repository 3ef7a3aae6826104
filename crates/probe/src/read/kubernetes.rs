//! Objects of Kubernetes and Kueue as tables.

use std::collections::BTreeMap;

use cotenant_core::reading::{Figure, FileReading, Table};

use super::schedulers::{counted, flag, whole, words};
use crate::scheduler::{Amount, KubernetesNode, Pod, Reading, Workload};

/// Tells pods, nodes, workloads, queues, events and what else there is.
pub(super) fn tell(reading: &mut FileReading, found: &Reading) {
    pods(reading, &found.pods);
    kubernetes_nodes(reading, &found.kubernetes_nodes);
    kueue(reading, found);
    others(reading, found);
}

fn amounts(all: &[Amount]) -> Figure {
    let gpus =
        all.iter().filter(|one| one.resource.contains("gpu") || one.resource.contains("mig-"));
    let text: Vec<String> = gpus
        .map(|one| match &one.value {
            Ok(value) => format!("{} {value}", one.resource),
            Err(absence) => format!("{} ({absence})", one.resource),
        })
        .collect();
    if text.is_empty() { Figure::absent("none is named") } else { Figure::text(text.join(", ")) }
}

fn pods(reading: &mut FileReading, all: &[Pod]) {
    if all.is_empty() {
        return;
    }
    reading.count("pods", all.len());
    let mut phases: BTreeMap<String, u64> = BTreeMap::new();
    for pod in all {
        let phase =
            pod.phase.as_ref().map_or_else(|absence| format!("phase {absence}"), Clone::clone);
        *phases.entry(phase).or_default() += 1;
    }
    for (phase, count) in phases {
        reading.count(format!("pods, {phase}"), count);
    }
    let mut table = Table::new(
        "Pods",
        &[
            "pod",
            "namespace",
            "phase",
            "node",
            "GPUs asked for",
            "ready",
            "restarts",
            "containers say",
            "why no node",
        ],
    );
    for pod in all {
        let why = pod.unschedulable.as_ref().map(|why| {
            let reasons: Vec<String> = why.reasons.iter().map(|one| one.reason.clone()).collect();
            format!("{} of {} nodes: {}", why.nodes_available, why.nodes_total, reasons.join(", "))
        });
        let says = Some(pod.container_reasons.join(", ")).filter(|text| !text.is_empty());
        table.row(vec![
            words(&pod.name),
            words(&pod.namespace),
            words(&pod.phase),
            words(&pod.node),
            amounts(&pod.gpus),
            whole(&pod.containers_ready, ""),
            whole(&pod.restarts, ""),
            Figure::text_or(says, "nothing"),
            why.map_or_else(|absence| Figure::absent(absence.to_string()), Figure::text),
        ]);
        for (name, value) in &pod.gpu_annotations {
            let pod = pod.name.as_ref().map_or("a pod", String::as_str);
            reading.note(format!(
                "{pod}: {name}={value} asks for a share of a GPU, which its resources do not show"
            ));
        }
    }
    reading.table(table);
}

fn kubernetes_nodes(reading: &mut FileReading, all: &[KubernetesNode]) {
    if all.is_empty() {
        return;
    }
    reading.count("nodes", all.len());
    let mut table = Table::new(
        "Nodes of Kubernetes",
        &[
            "node",
            "ready",
            "GPU",
            "GPUs",
            "pods may have",
            "sharing",
            "MIG strategy",
            "MIG layout",
            "layout is",
        ],
    );
    for node in all {
        table.row(vec![
            words(&node.name),
            words(&node.ready),
            words(&node.gpu_product),
            whole(&node.gpu_count, ""),
            amounts(&node.allocatable),
            words(&node.gpu_sharing),
            words(&node.mig_strategy),
            words(&node.mig_config),
            words(&node.mig_config_state),
        ]);
    }
    reading.table(table);
}

fn kueue(reading: &mut FileReading, found: &Reading) {
    let mut table = Table::new(
        "Workloads",
        &[
            "workload",
            "queue",
            "holds quota",
            "admitted",
            "waits for",
            "evicted",
            "asks for",
            "message",
        ],
    );
    for one in &found.workloads {
        table.row(workload(one));
    }
    counted(reading, "workloads", table);
    let mut table = Table::new(
        "Queues",
        &["queue", "kind", "parent", "active", "pending", "admitted", "reason"],
    );
    for one in &found.queues {
        table.row(vec![
            words(&one.name),
            Figure::text(one.kind),
            words(&one.parent),
            flag(&one.is_active),
            whole(&one.pending, ""),
            whole(&one.admitted, ""),
            words(&one.active_reason),
        ]);
    }
    counted(reading, "queues", table);
    let mut table = Table::new("Flavours", &["flavour", "labels of nodes"]);
    for one in &found.flavors {
        let labels: Vec<String> =
            one.node_labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        table.row(vec![words(&one.name), Figure::text(labels.join(", "))]);
    }
    counted(reading, "flavours", table);
}

fn workload(one: &Workload) -> Vec<Figure> {
    vec![
        words(&one.name),
        words(&one.queue),
        flag(&one.has_quota),
        flag(&one.is_admitted),
        match &one.wait {
            Ok(wait) => Figure::text(wait.name()),
            Err(absence) => Figure::absent(absence.to_string()),
        },
        words(&one.evicted),
        amounts(&one.requests),
        words(&one.wait_message),
    ]
}

fn others(reading: &mut FileReading, found: &Reading) {
    let mut table = Table::new("Events", &["object", "kind", "reason", "times", "message"]);
    for one in &found.events {
        table.row(vec![
            words(&one.object),
            words(&one.kind),
            words(&one.reason),
            whole(&one.count, ""),
            words(&one.message),
        ]);
    }
    counted(reading, "events", table);
    let mut table = Table::new("Other objects", &["kind", "name", "namespace"]);
    for one in &found.others {
        table.row(vec![Figure::text(one.kind.clone()), words(&one.name), words(&one.namespace)]);
    }
    counted(reading, "other objects", table);
}
