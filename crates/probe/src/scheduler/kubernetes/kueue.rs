//! Workloads, queues and flavours of Kueue, v1beta1 and v1beta2.
//!
//! Why a workload waits is told from the reason of its condition where that is a class of its own, and
//! from the message where the reason is only `Pending`. A topology that does not fit is reported at the
//! gate of quotas and is a matter of place all the same.

use serde_json::Value;

use super::super::cluster::Quota;
use super::super::model::{Place, Wait};
use super::super::reading::Reading;
use super::super::stated::{Absence, Stated};
use super::super::value::{amount, any, at, items, name, text, whole};
use super::model::{Amount, Condition, Flavor, Queue, QuotaShort, Workload};
use super::pod::{conditions, moment, taint};
use super::quantity::{amounts, quantity};

/// A workload.
pub(in super::super) fn workload(place: Place, value: &Value) -> Workload {
    let mut workload = Workload::at(place);
    let get = |path: &[&str]| at(value, path);
    workload.namespace = name(get(&["metadata", "namespace"]));
    workload.name = name(get(&["metadata", "name"]));
    workload.queue = name(get(&["spec", "queueName"]));
    workload.cluster_queue = name(get(&["status", "admission", "clusterQueue"]));
    workload.priority = amount(get(&["spec", "priority"]));
    workload.priority_class = name(
        get(&["spec", "priorityClassName"]).or_else(|| get(&["spec", "priorityClassRef", "name"])),
    );
    workload.created = moment(get(&["metadata", "creationTimestamp"]));
    workload.conditions = conditions(value.get("status"));
    if let Some(status) = value.get("status") {
        workload.checks = items(status, "admissionChecks")
            .iter()
            .map(|check| {
                (
                    text(check.get("name")).unwrap_or_default(),
                    text(check.get("state")).unwrap_or_default(),
                )
            })
            .collect();
    }
    workload.requests = requests(value);
    settle(&mut workload);
    workload
}

/// What all pods together hold, else what they ask for.
fn requests(value: &Value) -> Vec<Amount> {
    let mut sum: Vec<Amount> = Vec::new();
    let mut add = |amount: Amount, times: f64| match sum
        .iter_mut()
        .find(|one| one.resource == amount.resource)
    {
        Some(one) => {
            if let (Ok(held), Ok(more)) = (&one.value, &amount.value) {
                one.value = Ok(held + more * times);
            }
        }
        None => sum.push(Amount {
            value: amount.value.map(|value| value * times),
            resource: amount.resource,
        }),
    };
    let held =
        at(value, &["status", "admission"]).map_or(&[][..], |one| items(one, "podSetAssignments"));
    if !held.is_empty() {
        for set in held {
            for one in amounts(set.get("resourceUsage"), |_| true) {
                add(one, 1.0);
            }
        }
        return sum;
    }
    let asked = value.get("status").map_or(&[][..], |status| items(status, "resourceRequests"));
    if !asked.is_empty() {
        for set in asked {
            for one in amounts(set.get("resources"), |_| true) {
                add(one, 1.0);
            }
        }
        return sum;
    }
    for set in value.get("spec").map_or(&[][..], |spec| items(spec, "podSets")) {
        let times = whole(set.get("count")).unwrap_or(1) as f64;
        let containers =
            at(set, &["template", "spec"]).map_or(&[][..], |spec| items(spec, "containers"));
        for container in containers {
            let of = |key| amounts(at(container, &["resources", key]), |_| true);
            let asked = if at(container, &["resources", "requests"]).is_some() {
                of("requests")
            } else {
                of("limits")
            };
            for one in asked {
                add(one, times);
            }
        }
    }
    sum
}

fn holds(conditions: &[Condition], kind: &str) -> Stated<bool> {
    match conditions.iter().find(|one| one.kind == kind) {
        None => Err(Absence::NotInFile),
        Some(one) => match one.status.as_deref() {
            Ok("True") => Ok(true),
            Ok("False") => Ok(false),
            _ => Err(Absence::Unknown),
        },
    }
}

/// What the conditions together say.
pub(in super::super) fn settle(workload: &mut Workload) {
    let all = workload.conditions.clone();
    let find = |kind: &str| all.iter().find(|one| one.kind == kind);
    workload.has_quota = holds(&all, "QuotaReserved");
    workload.is_admitted = holds(&all, "Admitted");
    workload.is_finished = holds(&all, "Finished");
    workload.pods_ready = holds(&all, "PodsReady");
    let reason_where_true = |kind: &str| match find(kind) {
        Some(one) if one.status.as_deref() == Ok("True") => one.reason.clone(),
        Some(_) => Err(Absence::NotSet),
        None => Err(Absence::NotInFile),
    };
    workload.evicted = reason_where_true("Evicted");
    workload.preempted = reason_where_true("Preempted");
    if workload.is_finished == Ok(true) {
        workload.wait = Err(Absence::NotSet);
        return;
    }
    let quota = find("QuotaReserved");
    if let Some(quota) = quota.filter(|one| one.status.as_deref() == Ok("False")) {
        let reason = quota.reason.clone().unwrap_or_default();
        let message = quota.message.clone().unwrap_or_default();
        workload.quota_short = shortages(&message);
        workload.wait = Ok(wait_of(&reason, &message));
        workload.wait_message.clone_from(&quota.message);
        return;
    }
    if workload.has_quota == Ok(true) && workload.is_admitted != Ok(true) {
        let pending: Vec<&str> = workload
            .checks
            .iter()
            .filter(|(_, state)| state != "Ready")
            .map(|(name, _)| name.as_str())
            .collect();
        if pending.is_empty() {
            workload.wait = Err(Absence::Unknown);
        } else {
            workload.wait = Ok(Wait::Check);
            workload.wait_message = Ok(format!("admission checks: {}", pending.join(", ")));
        }
        return;
    }
    if workload.is_admitted == Ok(true) && workload.pods_ready == Ok(false) {
        // Admitted means that quota is there; pods that are not ready wait for a place.
        workload.wait = Ok(Wait::Placement);
        workload.wait_message =
            find("PodsReady").map_or(Err(Absence::NotInFile), |one| one.message.clone());
        return;
    }
    workload.wait = if quota.is_some() { Err(Absence::NotSet) } else { Ok(Wait::NotEvaluated) };
}

/// The class of a reason and message at the gate of quotas.
pub(in super::super) fn wait_of(reason: &str, message: &str) -> Wait {
    match reason {
        "WaitingForQuota" | "ExceedsMaxQuota" => return Wait::Quota,
        "TopologyPlacementFailed" | "NoMatchingFlavor" => return Wait::Placement,
        "WaitingForPreemptedWorkloads" | "BlockedOnPreemptionGates" => return Wait::Preemption,
        "Misconfigured" => return Wait::Configuration,
        "Suspended" | "OnHold" | "AdmissionGated" => return Wait::Owner,
        "PendingEvaluation" => return Wait::NotEvaluated,
        "WaitingForPodsReady" => return Wait::Order,
        _ => {}
    }
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&["pending the preemption", "Pending the preemption", "preemption targets"]) {
        Wait::Preemption
    } else if has(&["topology \""]) {
        Wait::Placement
    } else if has(&["insufficient unused quota", "insufficient quota"]) {
        Wait::Quota
    } else if has(&["untolerated taint", "doesn't match node affinity", "node affinity"]) {
        Wait::Placement
    } else if has(&["doesn't exist", "is inactive", "not found", "FlavorNotFound"]) {
        Wait::Configuration
    } else if has(&["is stopped"]) {
        Wait::Owner
    } else if has(&["no longer fits after processing"]) {
        Wait::Order
    } else {
        Wait::Unclear
    }
}

/// The quota that a message says is lacking: `insufficient unused quota for R in flavor F, N more needed`,
/// and `insufficient quota for R in flavor F, … > maximum capacity (…)`.
pub(in super::super) fn shortages(message: &str) -> Vec<QuotaShort> {
    let mut found = Vec::new();
    for part in message.split("couldn't assign flavors to pod set ") {
        let (set, rest) = match part.split_once(": ") {
            Some((set, rest)) if !set.contains(' ') => (Some(set.to_owned()), rest),
            _ => (None, part),
        };
        for piece in rest.split("insufficient ").skip(1) {
            let Some(short) = shortage(set.as_ref(), piece) else { continue };
            if found.len() < 1024 {
                found.push(short);
            }
        }
    }
    found
}

fn shortage(pod_set: Option<&String>, piece: &str) -> Option<QuotaShort> {
    let piece = piece.strip_prefix("unused ").unwrap_or(piece);
    let rest = piece.strip_prefix("quota for ")?;
    let (resource, rest) = rest.split_once(" in flavor ")?;
    let end = rest.find([',', ' ', ';']).unwrap_or(rest.len());
    let flavor = rest[..end].to_owned();
    let tail = &rest[end..];
    let more_needed = tail
        .split_once(" more needed")
        .and_then(|(before, _)| before.rsplit([' ', ',']).next())
        .map(str::to_owned);
    Some(QuotaShort {
        pod_set: pod_set.cloned(),
        resource: resource.trim().to_owned(),
        flavor,
        more_needed,
        over_capacity: over_capacity(tail),
    })
}

/// `request > maximum capacity (16 > 8)`, and since 0.9 `requests (A) + current podset request (B) >
/// maximum capacity (C)`.
fn over_capacity(tail: &str) -> Option<(String, String)> {
    let (before, after) = tail.split_once("maximum capacity (")?;
    let inside = after.split(')').next()?;
    if let Some((asked, most)) = inside.split_once(" > ") {
        return Some((asked.trim().to_owned(), most.trim().to_owned()));
    }
    let asked = before.rsplit_once("request (").and_then(|(_, rest)| rest.split(')').next())?;
    Some((asked.trim().to_owned(), inside.trim().to_owned()))
}

/// A cluster queue, a local queue or a cohort, and its quotas.
pub(in super::super) fn queue(
    reading: &mut Reading,
    place: Place,
    kind: &'static str,
    value: &Value,
) {
    let get = |path: &[&str]| at(value, path);
    let all = conditions(value.get("status"));
    let active = all.iter().find(|one| one.kind == "Active");
    let parent = match kind {
        "ClusterQueue" => get(&["spec", "cohortName"]).or_else(|| get(&["spec", "cohort"])),
        "LocalQueue" => get(&["spec", "clusterQueue"]),
        _ => get(&["spec", "parentName"]).or_else(|| get(&["spec", "parent"])),
    };
    let queue = Queue {
        place,
        kind,
        namespace: name(get(&["metadata", "namespace"])),
        name: name(get(&["metadata", "name"])),
        parent: name(parent),
        is_active: holds(&all, "Active"),
        active_reason: active.map_or(Err(Absence::NotInFile), |one| one.reason.clone()),
        pending: whole(get(&["status", "pendingWorkloads"])),
        reserving: whole(get(&["status", "reservingWorkloads"])),
        admitted: whole(get(&["status", "admittedWorkloads"])),
    };
    let owner = queue.name.clone().unwrap_or_default();
    Reading::keep(&mut reading.queues, &mut reading.records_left_out, queue);
    for group in value.get("spec").map_or(&[][..], |spec| items(spec, "resourceGroups")) {
        for flavor in items(group, "flavors") {
            for resource in items(flavor, "resources") {
                let quota = quota(place, kind, &owner, flavor, resource, value);
                Reading::keep(&mut reading.quotas, &mut reading.records_left_out, quota);
            }
        }
    }
}

fn quota(
    place: Place,
    kind: &'static str,
    owner: &str,
    flavor: &Value,
    resource: &Value,
    queue: &Value,
) -> Quota {
    let number = |key: &str| match resource.get(key).filter(|value| !value.is_null()) {
        Some(value) => quantity(value),
        None => Err(Absence::NotInFile),
    };
    let flavor_name = text(flavor.get("name")).unwrap_or_default();
    let resource_name = text(resource.get("name")).unwrap_or_default();
    let status = queue.get("status");
    let usage = status
        .and_then(|status| any(status, &["flavorsUsage", "flavorUsage", "flavorsReservation"]))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|one| text(one.get("name")).ok().as_deref() == Some(flavor_name.as_str()))
        .flat_map(|one| items(one, "resources"))
        .find(|one| text(one.get("name")).ok().as_deref() == Some(resource_name.as_str()))
        .and_then(|one| one.get("total"));
    Quota {
        place,
        owner_kind: kind,
        owner: owner.to_owned(),
        limit_kind: "nominalQuota".to_owned(),
        resource: resource_name,
        flavor: Some(flavor_name),
        limit: number("nominalQuota"),
        used: usage.map_or(Err(Absence::NotInFile), quantity),
        borrowing: number("borrowingLimit"),
        lending: number("lendingLimit"),
    }
}

/// A flavour.
pub(in super::super) fn flavor(place: Place, value: &Value) -> Flavor {
    let labels = match at(value, &["spec", "nodeLabels"]) {
        Some(Value::Object(labels)) => labels
            .iter()
            .map(|(key, value)| (key.clone(), text(Some(value)).unwrap_or_default()))
            .collect(),
        _ => Vec::new(),
    };
    let taints = value.get("spec").map_or(&[][..], |spec| items(spec, "nodeTaints"));
    Flavor {
        place,
        name: name(at(value, &["metadata", "name"])),
        node_labels: labels,
        node_taints: taints.iter().map(taint).collect(),
    }
}
