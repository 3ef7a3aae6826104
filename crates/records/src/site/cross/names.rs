//! Names: each once, and each that is used also declared.

use std::collections::HashMap;

use super::entries::{WorkloadEntry, key_span, mode, value_span, workloads};
use crate::site::nearest::nearest;
use crate::site::tree::Node;
use crate::site::view::View;
use crate::site::{Problem, Span};

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let workloads = workloads(root);
    unique("workloads", workloads.iter().map(|entry| (entry.name, entry.name_span)), problems);
    for workload in &workloads {
        unique("request classes", named(workload.view, "classes"), problems);
        kind_agrees(workload.view, &["inference", "training", "batch", "render"], problems);
    }
    kind_agrees(View(root), &["server", "pool"], problems);
    if let Some(pool) = View(root).group("pool") {
        for (what, key) in
            [("groups of nodes", "nodes"), ("queues", "queues"), ("serving pools", "serving_pools")]
        {
            unique(what, named(pool, key), problems);
        }
        pool_references(pool, root, &workloads, problems);
    }
    references(root, &workloads, problems);
    for workload in &workloads {
        if let Some(batch) = workload.kind("batch") {
            serving_reference(batch, &workloads, problems);
        }
    }
    same_endpoint(&workloads, problems);
}

/// Names of the items of a list, with their places.
fn named<'a>(view: View<'a>, key: &str) -> impl Iterator<Item = (&'a str, Span)> {
    view.list(key).filter_map(|item| {
        let node = item.node("name")?;
        Some((node.text()?, node.span))
    })
}

fn unique<'a>(
    what: &str,
    names: impl Iterator<Item = (&'a str, Span)>,
    problems: &mut Vec<Problem>,
) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for (name, span) in names {
        if let Some(first) = seen.get(name) {
            problems.push(
                Problem::error("duplicate-name", format!("two {what} are called `{name}`"))
                    .at(span, "used again here")
                    .beside(*first, "first used here")
                    .hint("give each a name of its own"),
            );
        } else {
            seen.insert(name, span);
        }
    }
}

/// `kind: training` above `inference:` is two answers to one question.
fn kind_agrees(view: View<'_>, kinds: &[&str], problems: &mut Vec<Problem>) {
    let Some(declared) = view.text("kind") else { return };
    let given = kinds.iter().find(|kind| view.has(kind));
    if let Some(given) = given.filter(|given| **given != declared && kinds.contains(&declared)) {
        problems.push(
            Problem::error("kind-differs", format!("`kind` says {declared}, the keys say {given}"))
                .at(value_span(view, "kind"), format!("says {declared}"))
                .beside(key_span(view, given), format!("says {given}"))
                .hint("keep the one that is meant; `kind` may be left out"),
        );
    }
}

fn unknown_workload(
    name: &str,
    span: Span,
    root: &Node,
    workloads: &[WorkloadEntry<'_>],
    problems: &mut Vec<Problem>,
) {
    if workloads.iter().any(|workload| workload.name == name) {
        return;
    }
    let names: Vec<&str> = workloads.iter().map(|workload| workload.name).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "declare it under `workloads`".to_owned(),
        None => format!("declared workloads: {}", names.join(", ")),
    };
    problems.push(
        Problem::error("unknown-workload", format!("there is no workload `{name}`"))
            .at(span, "no such workload")
            .beside(key_span(View(root), "workloads"), "workloads are declared here")
            .hint(hint),
    );
}

/// Every workload that sharing and operations name.
fn references(root: &Node, workloads: &[WorkloadEntry<'_>], problems: &mut Vec<Problem>) {
    let mut used: Vec<(&str, Span)> = Vec::new();
    let keys_of = |node: &'_ Node| -> Vec<(String, Span)> {
        node.entries().iter().map(|entry| (entry.key.clone(), entry.key_span)).collect()
    };
    let mut by_key: Vec<(String, Span)> = Vec::new();
    if let Some(entry) = mode(root, "whole_gpu") {
        by_key.extend(keys_of(&entry.value));
    }
    if let Some(entry) = mode(root, "mps") {
        by_key.extend(entry.value.entries().iter().flat_map(|entry| keys_of(&entry.value)));
    }
    if let Some(affinity) = mode(root, "host_cpu").and_then(|entry| entry.value.entry("affinity")) {
        by_key.extend(keys_of(&affinity.value));
    }
    if let Some(entry) = mode(root, "time_slicing") {
        for key in ["gpus", "booked"] {
            by_key.extend(
                entry.value.entry(key).map(|entry| keys_of(&entry.value)).unwrap_or_default(),
            );
        }
    }
    if let Some(caps) = root.entry("sharing").and_then(|entry| entry.value.entry("caps")) {
        by_key.extend(keys_of(&caps.value));
    }
    for key in ["change_cycle", "isolation"] {
        if let Some(entry) = root.entry("operations").and_then(|entry| entry.value.entry(key)) {
            by_key.extend(keys_of(&entry.value));
        }
    }
    let item_workload = |item: &'_ Node| -> Option<(String, Span)> {
        let node = &item.entry("workload")?.value;
        Some((node.text()?.to_owned(), node.span))
    };
    if let Some(entry) = mode(root, "temporal") {
        by_key.extend(entry.value.items().iter().filter_map(item_workload));
    }
    if let Some(entry) = mode(root, "mig") {
        let instances = entry.value.items().iter().filter_map(|gpu| gpu.entry("instances"));
        by_key
            .extend(instances.flat_map(|list| list.value.items().iter().filter_map(item_workload)));
    }
    used.extend(by_key.iter().map(|(name, span)| (name.as_str(), *span)));
    for (name, span) in used {
        unknown_workload(name, span, root, workloads, problems);
    }
}

fn pool_references(
    pool: View<'_>,
    root: &Node,
    workloads: &[WorkloadEntry<'_>],
    problems: &mut Vec<Problem>,
) {
    for queue in pool.list("queues") {
        for item in queue.list("workloads") {
            if let Some(name) = item.0.text() {
                unknown_workload(name, item.0.span, root, workloads, problems);
            }
        }
    }
    let queues: Vec<&str> = named(pool, "queues").map(|(name, _)| name).collect();
    for serving in pool.list("serving_pools") {
        if let Some(name) = serving.text("workload") {
            unknown_workload(name, value_span(serving, "workload"), root, workloads, problems);
        }
        if let Some(name) = serving.text("queue").filter(|name| !queues.contains(name)) {
            let near = nearest(name, queues.iter().copied());
            let problem = Problem::error("unknown-queue", format!("there is no queue `{name}`"))
                .at(value_span(serving, "queue"), "no such queue");
            problems.push(match near {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem.hint("declare it under `queues`"),
            });
        }
        if let (Some(min), Some(max)) =
            (serving.whole("replicas_min"), serving.whole("replicas_max"))
            && min > max
        {
            problems.push(
                Problem::error("replicas", "more replicas always run than may run")
                    .at(value_span(serving, "replicas_min"), format!("at least {min}"))
                    .beside(value_span(serving, "replicas_max"), format!("at most {max}"))
                    .hint("swap the two, or raise `replicas_max`"),
            );
        }
    }
}

/// A batch through a serving engine needs that engine.
fn serving_reference(
    batch: View<'_>,
    workloads: &[WorkloadEntry<'_>],
    problems: &mut Vec<Problem>,
) {
    let Some(name) = batch.text("serving") else { return };
    let span = value_span(batch, "serving");
    let target = workloads.iter().find(|workload| workload.name == name);
    if target.is_some_and(|workload| workload.kind("inference").is_some()) {
        return;
    }
    let engines = workloads.iter().filter(|workload| workload.kind("inference").is_some());
    let engines: Vec<&str> = engines.map(|workload| workload.name).collect();
    let hint = match engines.as_slice() {
        [] => "declare the inference workload, or give the batch its own `job`".to_owned(),
        names => format!("inference workloads: {}", names.join(", ")),
    };
    let problem = match target {
        Some(target) => Problem::error("not-inference", format!("`{name}` serves no requests"))
            .at(span, "this is not an inference workload")
            .beside(target.name_span, "declared here"),
        None => Problem::error("unknown-workload", format!("there is no workload `{name}`"))
            .at(span, "no such workload"),
    };
    problems.push(problem.hint(hint));
}

/// Two workloads at one endpoint cannot be told apart by what is measured.
fn same_endpoint(workloads: &[WorkloadEntry<'_>], problems: &mut Vec<Problem>) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for workload in workloads {
        let Some(inference) = workload.kind("inference") else { continue };
        let Some(endpoint) = inference.text("endpoint") else { continue };
        let span = value_span(inference, "endpoint");
        if let Some(first) = seen.get(endpoint.trim_end_matches('/')) {
            problems.push(
                Problem::warning("same-endpoint", "two workloads have one endpoint")
                    .at(span, "asked here too")
                    .beside(*first, "first named here")
                    .hint(
                        "one engine with several kinds of requests is one workload with `classes`",
                    ),
            );
        } else {
            seen.insert(endpoint.trim_end_matches('/'), span);
        }
    }
}
