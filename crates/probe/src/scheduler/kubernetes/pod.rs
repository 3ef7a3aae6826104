//! Pods, nodes and events as objects.

use serde_json::Value;

use super::super::model::Place;
use super::super::stated::{Absence, SchedulerTime, Stated, time};
use super::super::value::{amount, any, at, flag, items, name, text, whole};
use super::message::unschedulable;
use super::model::{Amount, Condition, Event, KubernetesNode, Pod, Unschedulable};
use super::quantity::{amounts, is_gpu};

/// A time of Kubernetes, which always names its zone.
pub(in super::super) fn moment(value: Option<&Value>) -> Stated<SchedulerTime> {
    match value {
        None => Err(Absence::NotInFile),
        Some(Value::String(text)) => time(text),
        Some(_) => Err(Absence::NotSet),
    }
}

/// The conditions of a status.
pub(in super::super) fn conditions(status: Option<&Value>) -> Vec<Condition> {
    let Some(status) = status else { return Vec::new() };
    items(status, "conditions")
        .iter()
        .map(|one| Condition {
            kind: text(one.get("type")).unwrap_or_default(),
            status: match one.get("status").and_then(Value::as_str) {
                Some(word) => Ok(word.to_owned()),
                None => text(one.get("status")),
            },
            reason: text(one.get("reason")),
            message: text(one.get("message")),
            changed: moment(one.get("lastTransitionTime")),
        })
        .collect()
}

/// Annotations by which schedulers ask for a share of a GPU, which the resources do not show.
const ANNOTATIONS: &[&str] = &[
    "gpu-fraction",
    "gpu-memory",
    "gpu-fraction-num-devices",
    "runai-allocated-gpus",
    "runai-allocated-gpu-memory",
    "runai-allocated-mig-gpus",
    "runai-mig-device",
    "run.ai/reserve_for_gpu_index",
    "received-resource-type",
    "hami.io/vgpu-devices-allocated",
    "hami.io/vgpu-devices-to-allocate",
    "nvidia.com/use-gputype",
];

/// A pod.
pub(in super::super) fn pod(place: Place, value: &Value) -> Pod {
    let mut pod = Pod::at(place);
    let get = |path: &[&str]| at(value, path);
    pod.namespace = name(get(&["metadata", "namespace"]));
    pod.name = name(get(&["metadata", "name"]));
    pod.phase = text(get(&["status", "phase"]));
    pod.node = text(get(&["spec", "nodeName"]));
    pod.scheduler = text(get(&["spec", "schedulerName"]));
    pod.priority = amount(get(&["spec", "priority"]));
    pod.priority_class = text(get(&["spec", "priorityClassName"]));
    pod.queue = text(get(&["metadata", "labels", "kueue.x-k8s.io/queue-name"]));
    pod.created = moment(get(&["metadata", "creationTimestamp"]));
    pod.started = match get(&["status", "startTime"]) {
        None => Err(Absence::NotStarted),
        started => moment(started),
    };
    pod.gpus = gpus_of_pod(value);
    pod.gpu_annotations = annotations(get(&["metadata", "annotations"]));
    pod.conditions = conditions(value.get("status"));
    containers(&mut pod, value);
    pod.unschedulable = refused(&pod.conditions);
    pod
}

/// Of containers that run one after the other a pod holds the most, of those that run together the sum.
fn gpus_of_pod(pod: &Value) -> Vec<Amount> {
    let Some(spec) = pod.get("spec") else { return Vec::new() };
    let of = |container: &Value| {
        let asked = amounts(at(container, &["resources", "requests"]), is_gpu);
        // A limit without a request is a request of as much.
        let limits = amounts(at(container, &["resources", "limits"]), is_gpu);
        let missing = limits
            .into_iter()
            .filter(|limit| asked.iter().all(|one| one.resource != limit.resource));
        asked.iter().cloned().chain(missing).collect::<Vec<Amount>>()
    };
    let mut sum: Vec<Amount> = Vec::new();
    for amount in items(spec, "containers").iter().flat_map(of) {
        merge(&mut sum, amount, |held, more| held + more);
    }
    for container in items(spec, "initContainers") {
        let stays = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        for amount in of(container) {
            merge(&mut sum, amount, |held, more| if stays { held + more } else { held.max(more) });
        }
    }
    sum
}

fn merge(list: &mut Vec<Amount>, amount: Amount, join: impl Fn(f64, f64) -> f64) {
    match list.iter_mut().find(|one| one.resource == amount.resource) {
        Some(one) => {
            one.value = match (&one.value, &amount.value) {
                (Ok(held), Ok(more)) => Ok(join(*held, *more)),
                (Err(absence), _) | (_, Err(absence)) => Err(absence.clone()),
            };
        }
        None => list.push(amount),
    }
}

fn annotations(value: Option<&Value>) -> Vec<(String, String)> {
    let Some(Value::Object(entries)) = value else { return Vec::new() };
    entries
        .iter()
        .filter(|(key, _)| {
            ANNOTATIONS.contains(&key.as_str()) || key.starts_with("nvidia.com/mig-")
        })
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn containers(pod: &mut Pod, value: &Value) {
    let Some(status) = value.get("status") else { return };
    let statuses = items(status, "containerStatuses");
    let wanted = value.get("spec").map_or(0, |spec| items(spec, "containers").len());
    if wanted > 0 {
        pod.containers = Ok(wanted as u64);
    }
    let is_ready = |one: &&Value| one.get("ready").and_then(Value::as_bool) == Some(true);
    pod.containers_ready = Ok(statuses.iter().filter(is_ready).count() as u64);
    pod.restarts = Ok(statuses.iter().filter_map(|one| whole(one.get("restartCount")).ok()).sum());
    // Of containers that prepare only those that did not get through say something.
    let got_through = |one: &&Value| {
        at(one, &["state", "terminated", "exitCode"]).and_then(Value::as_i64) != Some(0)
    };
    let prepared = items(status, "initContainerStatuses").iter().filter(got_through);
    for one in statuses.iter().chain(prepared) {
        let waiting = at(one, &["state", "waiting", "reason"]);
        let ended = at(one, &["state", "terminated", "reason"]);
        if let Ok(reason) = text(waiting.or(ended)) {
            pod.container_reasons.push(reason);
        }
        if let Some(code) = at(one, &["state", "terminated", "exitCode"]).and_then(Value::as_i64) {
            pod.exit_codes.push(code);
        }
    }
}

/// Why no node was found, from the condition that says so.
fn refused(conditions: &[Condition]) -> Stated<Unschedulable> {
    let placed = conditions.iter().find(|one| one.kind == "PodScheduled");
    match placed {
        Some(one) if one.status.as_deref() == Ok("False") => match &one.message {
            Ok(message) => unschedulable(message)
                .ok_or_else(|| Absence::Unreadable(super::super::refusal::shortened(message))),
            Err(absence) => Err(absence.clone()),
        },
        Some(_) => Err(Absence::NotSet),
        None => Err(Absence::NotInFile),
    }
}

/// A node.
pub(in super::super) fn node(place: Place, value: &Value) -> KubernetesNode {
    let mut node = KubernetesNode::at(place);
    let get = |path: &[&str]| at(value, path);
    node.name = name(get(&["metadata", "name"]));
    node.conditions = conditions(value.get("status"));
    node.ready = match node.conditions.iter().find(|one| one.kind == "Ready") {
        Some(one) => one.status.clone(),
        None => Err(Absence::NotInFile),
    };
    node.is_cordoned = match get(&["spec", "unschedulable"]) {
        None if value.get("spec").is_some() => Ok(false),
        other => flag(other),
    };
    if let Some(spec) = value.get("spec") {
        node.taints = items(spec, "taints").iter().map(taint).collect();
    }
    node.capacity = amounts(get(&["status", "capacity"]), is_shown);
    node.allocatable = amounts(get(&["status", "allocatable"]), is_shown);
    node.version = text(get(&["status", "nodeInfo", "kubeletVersion"]));
    labels(&mut node, get(&["metadata", "labels"]));
    node
}

/// Resources of a node that are shown: processors, memory, places for pods, and GPUs.
pub(in super::super) fn is_shown(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory" | "pods") || is_gpu(resource)
}

pub(in super::super) fn taint(value: &Value) -> String {
    let word = |key| text(value.get(key)).unwrap_or_default();
    let (key, content, effect) = (word("key"), word("value"), word("effect"));
    if content.is_empty() { format!("{key}:{effect}") } else { format!("{key}={content}:{effect}") }
}

/// What labels say of a node's GPUs.
pub(in super::super) fn labels(node: &mut KubernetesNode, labels: Option<&Value>) {
    let Some(labels) = labels else { return };
    let get = |key: &str| labels.get(key).filter(|value| !value.is_null());
    node.gpu_product =
        text(get("nvidia.com/gpu.product").or_else(|| get("amd.com/gpu.product-name")));
    node.gpu_count = whole_text(get("nvidia.com/gpu.count"));
    node.gpu_memory_mib = amount(get("nvidia.com/gpu.memory"));
    node.gpu_replicas = whole_text(get("nvidia.com/gpu.replicas"));
    // The label's word "none" is an answer: the GPUs are not shared.
    let word = |key: &str| {
        get(key).and_then(Value::as_str).map_or(Err(Absence::NotInFile), |word| Ok(word.to_owned()))
    };
    node.gpu_sharing = word("nvidia.com/gpu.sharing-strategy");
    node.mig_strategy = word("nvidia.com/mig.strategy");
    node.mig_config = word("nvidia.com/mig.config");
    node.mig_config_state = word("nvidia.com/mig.config.state");
}

fn whole_text(value: Option<&Value>) -> Stated<u64> {
    whole(value)
}

/// An event, of the API's old or new form.
pub(in super::super) fn event(place: Place, value: &Value) -> Event {
    let mut event = Event::at(place);
    event.kind = text(value.get("type"));
    event.reason = text(value.get("reason"));
    event.message = name(any(value, &["message", "note"]));
    let object = any(value, &["involvedObject", "regarding"]);
    event.object = match object {
        None => Err(Absence::NotInFile),
        Some(object) => {
            let kind = text(object.get("kind")).unwrap_or_default();
            text(object.get("name")).map(|name| format!("{}/{name}", kind.to_ascii_lowercase()))
        }
    };
    event.from = text(
        at(value, &["source", "component"])
            .or_else(|| any(value, &["reportingComponent", "reportingController"])),
    );
    event.last_seen = [
        any(value, &["lastTimestamp", "deprecatedLastTimestamp"]),
        at(value, &["series", "lastObservedTime"]),
        value.get("eventTime"),
    ]
    .into_iter()
    .map(moment)
    .find(Result::is_ok)
    .unwrap_or(Err(Absence::NotInFile));
    event.count = whole(
        any(value, &["count", "deprecatedCount"]).or_else(|| at(value, &["series", "count"])),
    );
    explain(&mut event);
    event
}

/// Reads the sentence of an event that no node was found.
pub(in super::super) fn explain(event: &mut Event) {
    event.unschedulable = match (&event.reason, &event.message) {
        (Ok(reason), Ok(message)) if reason == "FailedScheduling" || reason == "Unschedulable" => {
            unschedulable(message)
                .ok_or_else(|| Absence::Unreadable(super::super::refusal::shortened(message)))
        }
        _ => Err(Absence::NotSet),
    };
}
