//! Nodes, partitions, reservations, licences, limits and statistics in Slurm's JSON.

use serde_json::Value;

use super::super::cluster::{License, Partition, Quota, Reservation, Setting, Statistic};
use super::super::model::{Node, Place};
use super::super::reading::Reading;
use super::super::resources::{CpuStates, Tres, gpus_of_tres, gres, tres};
use super::super::stated::{Absence, Stated};
use super::super::value::{amount, any, at, minutes, seconds, text, texts, whole};
use super::fill::finish_node;
use super::json_job::counted;

/// A node of the controller.
pub(super) fn node(place: Place, value: &Value) -> Node {
    let mut node = Node::at(place);
    let get = |key: &str| value.get(key).filter(|value| !value.is_null());
    node.name = text(get("name"));
    node.count = Ok(1);
    node.partition = texts(get("partitions")).map(|names| names.join(","));
    node.states = texts(get("state")).map(|states| {
        // Until 22.05 flags stand apart.
        let flags = texts(get("state_flags")).unwrap_or_default();
        states.iter().chain(&flags).map(|state| state.to_ascii_uppercase()).collect()
    });
    node.reason = text(get("reason"));
    node.reason_time = seconds(get("reason_changed_at"), &Absence::NotSet);
    node.cpus = whole(get("cpus"));
    node.cpu_states =
        states_of(get("alloc_cpus"), any(value, &["alloc_idle_cpus", "idle_cpus"]), get("cpus"));
    node.memory_mib = amount(get("real_memory"));
    node.memory_allocated_mib = amount(get("alloc_memory"));
    node.memory_free_mib = amount(any(value, &["free_mem", "free_memory"]));
    node.gres = text(get("gres")).and_then(|list| gres(&list));
    node.gres_used = text(get("gres_used")).and_then(|list| gres(&list));
    node.features =
        texts(any(value, &["active_features", "features"])).map(|names| names.join(","));
    node.version = text(any(value, &["version", "slurmd_version"]));
    node.reservation = text(get("reservation"));
    finish_node(&mut node);
    node
}

fn states_of(
    allocated: Option<&Value>,
    idle: Option<&Value>,
    total: Option<&Value>,
) -> Stated<CpuStates> {
    let (allocated, idle, total) = (whole(allocated)?, whole(idle)?, whole(total)?);
    let other = total.saturating_sub(allocated).saturating_sub(idle);
    Ok(CpuStates { allocated, idle, other, total })
}

/// A row of `sinfo --json` since 23.02: nodes that are alike.
pub(super) fn sinfo_row(place: Place, value: &Value) -> Node {
    let mut node = Node::at(place);
    let get = |path: &[&str]| at(value, path);
    node.name = texts(get(&["nodes", "nodes"])).map(|names| names.join(","));
    node.count = whole(get(&["nodes", "total"]));
    node.partition = text(get(&["partition", "name"]));
    node.states = texts(get(&["node", "state"]))
        .map(|states| states.iter().map(|state| state.to_ascii_uppercase()).collect());
    node.reason = text(get(&["reason", "description"]));
    node.reason_time = seconds(get(&["reason", "time"]), &Absence::NotSet);
    let cpus = |key| whole(get(&["cpus", key]));
    node.cpus = cpus("maximum");
    node.cpu_states = match (cpus("allocated"), cpus("idle"), cpus("other"), cpus("total")) {
        (Ok(allocated), Ok(idle), Ok(other), Ok(total)) => {
            Ok(CpuStates { allocated, idle, other, total })
        }
        _ => Err(Absence::NotInFile),
    };
    node.memory_mib = amount(get(&["memory", "maximum"]));
    node.memory_allocated_mib = amount(get(&["memory", "allocated"]));
    node.gres = text(get(&["gres", "total"])).and_then(|list| gres(&list));
    node.gres_used = text(get(&["gres", "used"])).and_then(|list| gres(&list));
    node.features = text(get(&["features", "active"]));
    finish_node(&mut node);
    node
}

/// A partition; its fields lie flat until 22.05 and in objects since 23.02.
pub(super) fn partition(place: Place, value: &Value) -> Partition {
    let pick = |new: &[&str], old: &str| at(value, new).or_else(|| any(value, &[old]));
    let flat = |new: &[&str], old: &str| match pick(new, old) {
        Some(Value::Object(_)) => None,
        other => other,
    };
    let is_default = match texts(value.get("flags").filter(|flags| flags.is_array())) {
        Ok(flags) => Ok(flags.iter().any(|flag| flag.eq_ignore_ascii_case("default"))),
        Err(Absence::NotInFile) => Err(Absence::NotInFile),
        Err(_) => Ok(false),
    };
    let tres: Stated<Vec<Tres>> =
        text(flat(&["tres", "configured"], "tres")).and_then(|list| tres(&list));
    Partition {
        place,
        name: text(value.get("name")),
        is_default,
        state: texts(pick(&["partition", "state"], "state")).map(|states| states.join(",")),
        nodes: text(flat(&["nodes", "configured"], "nodes")),
        node_count: whole(pick(&["nodes", "total"], "total_nodes")),
        cpus: whole(pick(&["cpus", "total"], "total_cpus")),
        cpu_states: Err(Absence::NotInFile),
        limit_s: minutes(pick(&["maximums", "time"], "max_time_limit")),
        limit_default_s: minutes(pick(&["defaults", "time"], "default_time_limit")),
        priority_tier: whole(pick(&["priority", "tier"], "priority_tier")),
        preempt_mode: texts(any(value, &["preempt_mode", "preemption_mode"]))
            .map(|modes| modes.join(",")),
        grace_s: whole(any(value, &["grace_time", "preemption_grace_time"])),
        gpus: gpus_of_tres(&tres),
        tres,
    }
}

/// A reservation.
pub(super) fn reservation(place: Place, value: &Value) -> Reservation {
    let start = seconds(value.get("start_time"), &Absence::NotSet);
    let end = seconds(value.get("end_time"), &Absence::NotSet);
    let duration_s = match (&start, &end) {
        (Ok(start), Ok(end)) => end
            .seconds_since(start)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .ok_or(Absence::NotSet),
        _ => Err(Absence::NotInFile),
    };
    let tres = text(value.get("tres")).and_then(|list| tres(&list));
    Reservation {
        place,
        name: text(value.get("name")),
        start,
        end,
        duration_s,
        nodes: text(value.get("node_list")),
        node_count: whole(value.get("node_count")),
        flags: texts(value.get("flags")).unwrap_or_default(),
        state: Err(Absence::NotInFile),
        users: text(value.get("users")),
        accounts: text(value.get("accounts")),
        partition: text(value.get("partition")),
        gpus: gpus_of_tres(&tres),
        tres,
    }
}

/// A licence.
pub(super) fn license(place: Place, value: &Value) -> License {
    License {
        place,
        name: text(any(value, &["LicenseName", "name"])),
        total: whole(any(value, &["Total", "total"])),
        used: whole(any(value, &["Used", "used"])),
        free: whole(any(value, &["Free", "free"])),
        reserved: whole(any(value, &["Reserved", "reserved"])),
    }
}

/// Controllers and whether they answer.
pub(super) fn pings(reading: &mut Reading, list: &[Value]) {
    for (index, ping) in list.iter().enumerate() {
        let host = text(ping.get("hostname")).unwrap_or_else(|_| "controller".to_owned());
        reading.keep_setting(Setting {
            place: Place::Item("pings", index),
            key: host,
            value: text(any(ping, &["pinged", "ping", "responding"])),
        });
    }
}

/// Fields of the statistics that are microseconds.
fn unit_of(name: &str) -> &'static str {
    let is_time = name.contains("cycle_max")
        || name.contains("cycle_last")
        || name.ends_with("cycle_mean")
        || name.ends_with("cycle_sum")
        || name.contains("latency")
        || name.contains("_time_us");
    let is_moment =
        name.ends_with("_ts") || name.starts_with("req_time") || name.contains("when_last");
    match (is_time, is_moment) {
        (true, _) => "µs",
        (_, true) => "s since 1970",
        _ => "",
    }
}

/// The numbers of `sdiag`.
pub(super) fn statistics(reading: &mut Reading, value: &Value) {
    let Value::Object(entries) = value else { return };
    for (index, (name, value)) in entries.iter().enumerate() {
        let place = Place::Item("statistics", index);
        match value {
            Value::Array(rows) => {
                for (row, call) in rows.iter().enumerate() {
                    calls(reading, Place::Item("statistics", index), name, row, call);
                }
            }
            Value::Object(parts) if !parts.contains_key("number") => {
                for (part, value) in parts {
                    reading.statistics.push(Statistic {
                        place,
                        group: name.clone(),
                        name: part.clone(),
                        unit: "",
                        value: amount(Some(value)),
                    });
                }
            }
            Value::Bool(_) | Value::String(_) | Value::Null => {}
            number => reading.statistics.push(Statistic {
                place,
                group: String::new(),
                name: name.clone(),
                unit: unit_of(name),
                value: amount(Some(number)),
            }),
        }
    }
}

fn calls(reading: &mut Reading, place: Place, group: &str, row: usize, call: &Value) {
    let Ok(who) = text(any(call, &["message_type", "user"])) else {
        if row == 0 && !call.as_object().is_some_and(serde_json::Map::is_empty) {
            reading.skip(place, "a list of the statistics that is not read", group);
        }
        return;
    };
    for (key, name, unit) in [
        ("count", "count", ""),
        ("average_time", "average time", "µs"),
        ("total_time", "total time", "µs"),
    ] {
        let value = amount(call.get(key));
        if reading.statistics.len() < super::super::reading::RECORDS_MAX {
            let name = format!("{who} {name}");
            reading.statistics.push(Statistic {
                place,
                group: group.to_owned(),
                name,
                unit,
                value,
            });
        }
    }
}

/// Lists of TRES of a quality of service, and their names in `sacctmgr`.
const QOS_LIMITS: &[(&[&str], &str)] = &[
    (&["limits", "max", "tres", "total"], "GrpTRES"),
    (&["limits", "max", "tres", "minutes", "total"], "GrpTRESRunMins"),
    (&["limits", "max", "tres", "minutes", "per", "qos"], "GrpTRESMins"),
    (&["limits", "max", "tres", "minutes", "per", "job"], "MaxTRESMinsPerJob"),
    (&["limits", "max", "tres", "minutes", "per", "account"], "MaxTRESRunMinsPerAccount"),
    (&["limits", "max", "tres", "minutes", "per", "user"], "MaxTRESRunMinsPerUser"),
    (&["limits", "max", "tres", "per", "account"], "MaxTRESPerAccount"),
    (&["limits", "max", "tres", "per", "job"], "MaxTRESPerJob"),
    (&["limits", "max", "tres", "per", "node"], "MaxTRESPerNode"),
    (&["limits", "max", "tres", "per", "user"], "MaxTRESPerUser"),
    (&["limits", "min", "tres", "per", "job"], "MinTRESPerJob"),
];

/// Numbers of a quality of service, their names in `sacctmgr`, and what they count.
const QOS_NUMBERS: &[(&[&str], &str, &str)] = &[
    (&["limits", "max", "active_jobs", "count"], "GrpJobs", "jobs"),
    (&["limits", "max", "jobs", "count"], "GrpSubmitJobs", "jobs"),
    (&["limits", "max", "jobs", "active_jobs", "per", "user"], "MaxJobsPerUser", "jobs"),
    (&["limits", "max", "jobs", "active_jobs", "per", "account"], "MaxJobsPerAccount", "jobs"),
    (&["limits", "max", "jobs", "per", "user"], "MaxSubmitJobsPerUser", "jobs"),
    (&["limits", "max", "jobs", "per", "account"], "MaxSubmitJobsPerAccount", "jobs"),
    (&["limits", "max", "wall_clock", "per", "job"], "MaxWall", "minutes"),
    (&["limits", "max", "wall_clock", "per", "qos"], "GrpWall", "minutes"),
];

/// Limits of qualities of service. Those that do not exist are left out.
pub(super) fn qos(reading: &mut Reading, list: &[Value]) {
    for (index, one) in list.iter().enumerate() {
        let place = Place::Item("qos", index);
        let owner = text(one.get("name")).unwrap_or_default();
        limits(reading, place, "quality of service", &owner, one, QOS_LIMITS);
        for (path, kind, resource) in QOS_NUMBERS {
            if let Ok(limit) = amount(at(one, path)) {
                keep(reading, place, "quality of service", &owner, kind, resource, limit);
            }
        }
        if let Ok(priority) = amount(one.get("priority")) {
            reading.keep_setting(setting(
                place,
                format!("{owner} priority"),
                &priority.to_string(),
            ));
        }
        if let Ok(mode) = texts(at(one, &["preempt", "mode"])) {
            reading.keep_setting(setting(place, format!("{owner} preempt mode"), &mode.join(",")));
        }
        if let Ok(victims) = texts(at(one, &["preempt", "list"])) {
            reading.keep_setting(setting(place, format!("{owner} preempts"), &victims.join(",")));
        }
    }
}

/// Lists of TRES of an association, and their names in `sacctmgr`.
const ASSOCIATION_LIMITS: &[(&[&str], &str)] = &[
    (&["max", "tres", "total"], "GrpTRES"),
    (&["max", "tres", "group", "minutes"], "GrpTRESMins"),
    (&["max", "tres", "group", "active"], "GrpTRESRunMins"),
    (&["max", "tres", "per", "job"], "MaxTRESPerJob"),
    (&["max", "tres", "per", "node"], "MaxTRESPerNode"),
    (&["max", "tres", "minutes", "per", "job"], "MaxTRESMinsPerJob"),
];

/// Limits of associations.
pub(super) fn associations(reading: &mut Reading, list: &[Value]) {
    for (index, one) in list.iter().enumerate() {
        let account = text(one.get("account")).unwrap_or_default();
        let owner = match text(one.get("user")) {
            Ok(user) => format!("{account}/{user}"),
            Err(_) => account,
        };
        limits(
            reading,
            Place::Item("associations", index),
            "account",
            &owner,
            one,
            ASSOCIATION_LIMITS,
        );
    }
}

fn limits(
    reading: &mut Reading,
    place: Place,
    owner_kind: &'static str,
    owner: &str,
    value: &Value,
    lists: &[(&[&str], &str)],
) {
    for (path, kind) in lists {
        for entry in counted(at(value, path)).unwrap_or_default() {
            if let Ok(limit) = entry.amount {
                keep(reading, place, owner_kind, owner, kind, &entry.name, limit);
            }
        }
    }
}

fn keep(
    reading: &mut Reading,
    place: Place,
    owner_kind: &'static str,
    owner: &str,
    limit_kind: &str,
    resource: &str,
    limit: f64,
) {
    let quota = Quota {
        place,
        owner_kind,
        owner: owner.to_owned(),
        limit_kind: limit_kind.to_owned(),
        resource: resource.to_owned(),
        flavor: None,
        limit: Ok(limit),
        used: Err(Absence::NotInFile),
        borrowing: Err(Absence::NotInFile),
        lending: Err(Absence::NotInFile),
    };
    Reading::keep(&mut reading.quotas, &mut reading.records_left_out, quota);
}

fn setting(place: Place, key: String, value: &str) -> Setting {
    Setting { place, key, value: super::super::stated::word(value) }
}
