//! Objects of Kubernetes: which kind each is, and its reader.

use serde_json::Value;

use super::super::kind::Kind;
use super::super::model::Place;
use super::super::reading::Reading;
use super::super::value::{at, items, name, text};
use super::model::OtherObject;
use super::pod::conditions;
use super::{kueue, labels, pod};

/// Which objects a document holds; `None` where it holds none.
pub(in super::super) fn kind_of(root: &Value) -> Option<Kind> {
    let first = objects(root).next().map(|(_, object)| object);
    let object = match first {
        Some(object) => object,
        None if is_list(root) => return Some(Kind::KubernetesObjects),
        None => return None,
    };
    if is_kueue(object) || is_workload(object) || is_kueue_status(object) {
        return Some(Kind::KueueObjects);
    }
    if labels::is_labels(object) {
        return Some(Kind::NodeLabels);
    }
    is_object(object).then_some(Kind::KubernetesObjects)
}

/// An object, or a list of them, with the places of its items.
fn objects(root: &Value) -> Box<dyn Iterator<Item = (Option<usize>, &Value)> + '_> {
    match root {
        Value::Array(list) => {
            Box::new(list.iter().enumerate().map(|(index, one)| (Some(index), one)))
        }
        _ if is_list(root) => {
            Box::new(items(root, "items").iter().enumerate().map(|(index, one)| (Some(index), one)))
        }
        _ => Box::new(std::iter::once((None, root))),
    }
}

fn is_list(root: &Value) -> bool {
    let kind = root.get("kind").and_then(Value::as_str).unwrap_or_default();
    root.get("items").is_some_and(Value::is_array)
        && (kind.ends_with("List") || root.get("apiVersion").is_some())
}

fn is_object(object: &Value) -> bool {
    object.get("kind").is_some_and(Value::is_string)
        && object.get("apiVersion").is_some_and(Value::is_string)
}

fn is_kueue(object: &Value) -> bool {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    is_object(object) && version.contains("kueue.x-k8s.io/")
}

/// A workload of Kueue whose kind was left out, as items of lists have it.
fn is_workload(object: &Value) -> bool {
    at(object, &["spec", "queueName"]).is_some()
        && (at(object, &["status", "conditions"]).is_some()
            || at(object, &["spec", "podSets"]).is_some())
}

/// The status of a workload or of a queue alone, as documentation and issues paste it.
fn is_kueue_status(object: &Value) -> bool {
    let Some(status) = object.get("status").filter(|_| object.get("kind").is_none()) else {
        return false;
    };
    let has = |kinds: &[&str]| {
        items(status, "conditions").iter().any(|one| {
            one.get("type").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind))
        })
    };
    has(&["QuotaReserved", "Admitted"])
        || (has(&["Active"]) && status.get("admittedWorkloads").is_some())
}

/// Reads a document; `false` where it holds no object.
pub(in super::super) fn read(reading: &mut Reading, root: &Value, line: Option<u64>) -> bool {
    if kind_of(root).is_none() {
        return false;
    }
    if reading.version.is_none() {
        reading.version = text(root.get("apiVersion")).ok();
    }
    let mut is_empty = true;
    for (index, object) in objects(root) {
        is_empty = false;
        let place = match (index, line) {
            (Some(index), _) => Place::Item("items", index),
            (None, Some(line)) => Place::Line(line),
            (None, None) => Place::Item("objects", 0),
        };
        one(reading, place, object);
    }
    if is_empty {
        reading.caveat("Kubernetes answers an empty list");
    }
    true
}

fn one(reading: &mut Reading, place: Place, object: &Value) {
    let left_out = &mut reading.records_left_out;
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "Pod" => Reading::keep(&mut reading.pods, left_out, pod::pod(place, object)),
        "Node" => Reading::keep(&mut reading.kubernetes_nodes, left_out, pod::node(place, object)),
        "Event" => Reading::keep(&mut reading.events, left_out, pod::event(place, object)),
        "Workload" => {
            Reading::keep(&mut reading.workloads, left_out, kueue::workload(place, object));
        }
        "ClusterQueue" => kueue::queue(reading, place, "ClusterQueue", object),
        "LocalQueue" => kueue::queue(reading, place, "LocalQueue", object),
        "Cohort" => kueue::queue(reading, place, "Cohort", object),
        "ResourceFlavor" => {
            Reading::keep(&mut reading.flavors, left_out, kueue::flavor(place, object));
        }
        "" if is_workload(object) => {
            Reading::keep(&mut reading.workloads, left_out, kueue::workload(place, object));
        }
        "" if is_kueue_status(object) => status_alone(reading, place, object),
        "" if labels::is_labels(object) => {
            Reading::keep(&mut reading.kubernetes_nodes, left_out, labels::node(place, object));
        }
        "" => reading.skip(place, "an object without a kind", &object.to_string()),
        _ => {
            let other = OtherObject {
                place,
                kind: kind.to_owned(),
                namespace: name(at(object, &["metadata", "namespace"])),
                name: name(at(object, &["metadata", "name"])),
                conditions: conditions(object.get("status")),
            };
            Reading::keep(&mut reading.others, left_out, other);
        }
    }
}

fn status_alone(reading: &mut Reading, place: Place, object: &Value) {
    reading.caveat("a status without its object: whose it is, the file does not say");
    let is_queue = at(object, &["status", "admittedWorkloads"]).is_some();
    if is_queue {
        kueue::queue(reading, place, "ClusterQueue", object);
    } else {
        let workload = kueue::workload(place, object);
        Reading::keep(&mut reading.workloads, &mut reading.records_left_out, workload);
    }
}
