//! Jobs in JSON: those of the controller (`squeue`) and those of the accounting (`sacct`).

use serde_json::Value;

use super::super::model::{ArrayOf, Exit, Job, Place};
use super::super::resources::{Gpus, Memory, MemoryPer, Tres, gpus_of_gres, gres, tres};
use super::super::stated::{Absence, Stated};
use super::super::value::{amount, any, at, minutes, name, seconds, text, texts, whole};
use super::fill::finish_job;
use super::words::is_live;

/// A job of the controller.
pub(super) fn queued(place: Place, value: &Value) -> Job {
    let mut job = Job::at(place);
    let get = |key: &str| value.get(key).filter(|value| !value.is_null());
    job.id = text(get("job_id"));
    job.array = array(get("array_job_id"), get("array_task_id"), get("array_task_string"));
    job.name = name(get("name"));
    job.user = text(get("user_name"));
    job.account = text(get("account"));
    job.partition = text(get("partition"));
    job.qos = text(get("qos"));
    job.cluster = text(get("cluster"));
    job.states = texts(get("job_state"));
    job.reason = reason(get("state_reason"));
    job.submitted = seconds(get("submit_time"), &Absence::NotSet);
    job.eligible = seconds(get("eligible_time"), &Absence::NotSet);
    job.started = seconds(get("start_time"), &Absence::NotStarted);
    job.ended = seconds(get("end_time"), &Absence::NotEnded);
    job.limit_s = minutes(get("time_limit"));
    job.nodes = text(get("nodes"));
    job.node_count = whole(get("node_count"));
    job.cpus = whole(get("cpus"));
    job.memory_requested = memory(get("memory_per_node"), get("memory_per_cpu"));
    job.tres_requested = list(get("tres_req_str"));
    job.tres_allocated = list(get("tres_alloc_str"));
    job.gpus_allocated = given(get("gres_detail"));
    job.gpus_requested = asked(value, job.node_count.as_ref().ok().copied());
    job.exit = exit(get("exit_code"), &job);
    job.restarts = whole(get("restart_cnt"));
    job.priority = amount(get("priority"));
    finish_job(&mut job);
    job
}

/// A job of the accounting.
pub(super) fn accounted(place: Place, value: &Value) -> Job {
    let mut job = Job::at(place);
    let get = |path: &[&str]| at(value, path);
    job.id = text(get(&["job_id"]));
    job.array =
        array(get(&["array", "job_id"]), get(&["array", "task_id"]), get(&["array", "task"]));
    job.name = name(get(&["name"]));
    job.user = text(get(&["user"]).or_else(|| get(&["association", "user"])));
    job.account = text(get(&["account"]).or_else(|| get(&["association", "account"])));
    job.partition = text(get(&["partition"]));
    job.qos = text(get(&["qos"]));
    job.cluster = text(get(&["cluster"]));
    job.states = texts(get(&["state", "current"]));
    job.reason = reason(get(&["state", "reason"]));
    job.cancelled_by = text(get(&["kill_request_user"]));
    job.submitted = seconds(get(&["time", "submission"]), &Absence::NotSet);
    job.eligible = seconds(get(&["time", "eligible"]), &Absence::NotSet);
    job.started = seconds(get(&["time", "start"]), &Absence::NotStarted);
    job.ended = seconds(get(&["time", "end"]), &Absence::NotEnded);
    job.elapsed_s = whole(get(&["time", "elapsed"]));
    job.limit_s = minutes(get(&["time", "limit"]));
    job.nodes = text(get(&["nodes"]));
    job.node_count = whole(get(&["allocation_nodes"]));
    job.tres_requested = counted(get(&["tres", "requested"]));
    job.tres_allocated = counted(get(&["tres", "allocated"]));
    job.cpus = of_list(&job.tres_allocated, "cpu")
        .or_else(|| of_list(&job.tres_requested, "cpu"))
        .map_or_else(|| whole(get(&["required", "CPUs"])), |cpus| Ok(cpus as u64));
    job.memory_requested =
        match memory(get(&["required", "memory_per_node"]), get(&["required", "memory_per_cpu"])) {
            Err(Absence::NotInFile) => {
                amount(get(&["required", "memory"])).map(|mib| Memory { mib, per: MemoryPer::Job })
            }
            other => other,
        };
    job.exit = exit(get(&["exit_code"]), &job);
    job.restarts = whole(get(&["restart_cnt"]));
    job.priority = amount(get(&["priority"]));
    if job.nodes.as_deref() == Ok("None assigned") {
        job.nodes = Err(Absence::NotStarted);
    }
    finish_job(&mut job);
    job
}

fn reason(value: Option<&Value>) -> Stated<String> {
    match value.and_then(Value::as_str) {
        Some("None") => Ok("None".to_owned()),
        _ => text(value),
    }
}

fn array(number: Option<&Value>, task: Option<&Value>, tasks: Option<&Value>) -> Stated<ArrayOf> {
    let job = match whole(number)? {
        0 => return Err(Absence::NotSet),
        job => job.to_string(),
    };
    let tasks = match (amount(task), text(tasks)) {
        (Ok(task), _) => task.to_string(),
        (Err(_), Ok(tasks)) => tasks,
        (Err(_), Err(absence)) => return Err(absence),
    };
    Ok(ArrayOf { job, tasks })
}

fn memory(per_node: Option<&Value>, per_cpu: Option<&Value>) -> Stated<Memory> {
    let none = match (per_node, per_cpu) {
        (None, None) => return Err(Absence::NotInFile),
        _ => Err(Absence::NotSet),
    };
    let set =
        |value, per| amount(value).ok().filter(|mib| *mib > 0.0).map(|mib| Ok(Memory { mib, per }));
    set(per_cpu, MemoryPer::Cpu).or_else(|| set(per_node, MemoryPer::Node)).unwrap_or(none)
}

fn list(value: Option<&Value>) -> Stated<Vec<Tres>> {
    match value {
        Some(Value::String(text)) => tres(text),
        Some(_) => counted(value),
        None => Err(Absence::NotInFile),
    }
}

/// A list of `{type, name, count}`.
pub(super) fn counted(value: Option<&Value>) -> Stated<Vec<Tres>> {
    let Some(Value::Array(entries)) = value else { return Err(Absence::NotInFile) };
    let entry = |one: &Value| -> Option<Tres> {
        let kind = one.get("type")?.as_str()?;
        let name = match one.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            Some(name) => format!("{kind}/{name}"),
            None => kind.to_owned(),
        };
        // Negative counts are Slurm's marks for "not counted".
        let amount = match amount(one.get("count").filter(|count| !count.is_null())) {
            Ok(count) if count < 0.0 => Err(Absence::NotSet),
            Err(Absence::NotInFile) => Err(Absence::NotSet),
            other => other,
        };
        Some(Tres { name, amount })
    };
    let list: Vec<Tres> = entries.iter().filter_map(entry).collect();
    if list.is_empty() { Err(Absence::NotSet) } else { Ok(list) }
}

fn of_list(list: &Stated<Vec<Tres>>, name: &str) -> Option<f64> {
    list.as_ref().ok()?.iter().find(|one| one.name == name)?.amount.clone().ok()
}

/// The GPUs that a job was given, node by node: `gpu:h100:4(IDX:0-3)`.
fn given(details: Option<&Value>) -> Stated<Gpus> {
    let nodes = details.and_then(Value::as_array).ok_or(Absence::NotInFile)?;
    let mut all: Option<Gpus> = None;
    for node in nodes.iter().filter_map(Value::as_str) {
        if let Ok(gpus) = gpus_of_gres(&gres(node)) {
            all.get_or_insert_default().plus(&gpus);
        }
    }
    all.ok_or(Absence::NoGpuNamed)
}

/// The GPUs that a job asks for: for all of it, or for each node or task.
fn asked(value: &Value, nodes: Option<u64>) -> Stated<Gpus> {
    let gpus = |key: &str| {
        value.get(key).and_then(Value::as_str).and_then(|text| gpus_of_gres(&gres(text)).ok())
    };
    let times = |key: &str, number: Option<u64>| {
        gpus(key).map(|mut gpus| match number {
            Some(number) => {
                gpus.times(number as f64);
                Ok(gpus)
            }
            None => Err(Absence::Ambiguous),
        })
    };
    if any(value, &["tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket"]).is_none()
    {
        return Err(Absence::NotInFile);
    }
    gpus("tres_per_job")
        .map(Ok)
        .or_else(|| times("tres_per_node", nodes))
        .or_else(|| times("tres_per_task", whole(value.get("tasks")).ok()))
        // How many sockets a job gets is not in the file.
        .or_else(|| times("tres_per_socket", None))
        .unwrap_or(Err(Absence::NoGpuNamed))
}

/// How a job ended; a job that has not ended has no exit code, though zero stands there.
fn exit(value: Option<&Value>, job: &Job) -> Stated<Exit> {
    if job.states.as_ref().is_ok_and(|states| is_live(states)) {
        return Err(Absence::NotEnded);
    }
    match value {
        // Until 22.05 the number is that of wait(2).
        Some(Value::Number(status)) => {
            let status = status.as_u64().ok_or(Absence::NotSet)? as u32;
            Ok(Exit { code: (status >> 8) & 0xff, signal: status & 0x7f })
        }
        Some(object) => {
            let code = whole(object.get("return_code").filter(|code| !code.is_null()));
            let signal = whole(at(object, &["signal", "id"]))
                .or_else(|_| whole(at(object, &["signal", "signal_id"])));
            match (code, signal) {
                (Ok(code), signal) => {
                    Ok(Exit { code: code as u32, signal: signal.unwrap_or(0) as u32 })
                }
                (Err(_), Ok(signal)) if signal > 0 => Ok(Exit { code: 0, signal: signal as u32 }),
                (Err(absence), _) => Err(absence),
            }
        }
        None => Err(Absence::NotInFile),
    }
}
