//! Text of `kubectl describe`, and lines of it that are pasted alone: events, conditions, labels and
//! resources of nodes.

use super::super::kind::Kind;
use super::super::model::Place;
use super::super::reading::Reading;
use super::super::stated::{Absence, count, time, word};
use super::labels::is_gpu_label;
use super::model::{Amount, Condition, Event, KubernetesNode, Pod, Workload};
use super::pod::{explain, is_shown, labels};
use super::quantity::{is_gpu, quantity_of};
use super::table::age_s;
use super::{kueue, message};

/// What a text of `describe` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Pod,
    Node,
    Workload,
}

/// Which describing text this is: `Name:` at the first column, and keys of one kind.
pub(in super::super) fn kind_of(text: &str) -> Option<Kind> {
    subject(text).map(|_| Kind::KubectlDescribe)
}

fn subject(text: &str) -> Option<Subject> {
    let mut keys: Vec<&str> = Vec::new();
    for line in text.lines().take(4000) {
        if line.starts_with(|first: char| first.is_ascii_uppercase())
            && let Some((key, _)) = line.split_once(':')
        {
            keys.push(key);
        }
    }
    let has = |key: &str| keys.contains(&key);
    if !has("Name") {
        return None;
    }
    let is_workload = text.lines().any(|line| {
        line.strip_prefix("API Version:").is_some_and(|rest| rest.contains("kueue.x-k8s.io/"))
    });
    if is_workload
        && text.lines().any(|line| line.starts_with("Kind:") && line.contains("Workload"))
    {
        Some(Subject::Workload)
    } else if has("Capacity") || has("Allocatable") || (has("Roles") && has("Labels")) {
        Some(Subject::Node)
    } else if has("Containers") || (has("Namespace") && has("Node") && has("Status")) {
        Some(Subject::Pod)
    } else {
        None
    }
}

/// Parts of a text, one for each object: `describe` puts a new `Name:` at the first column.
fn parts(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut parts: Vec<(usize, Vec<&str>)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("Name:") || parts.is_empty() {
            parts.push((index, Vec::new()));
        }
        if let Some((_, lines)) = parts.last_mut() {
            lines.push(line);
        }
    }
    parts
}

/// Reads a text of `describe`.
pub(in super::super) fn read(reading: &mut Reading, text: &str) {
    for (first, lines) in parts(text) {
        let whole = lines.join("\n");
        match subject(&whole) {
            Some(Subject::Pod) => pod(reading, first, &lines),
            Some(Subject::Node) => node(reading, first, &lines),
            Some(Subject::Workload) => workload(reading, first, &lines),
            None => reading.skip(
                Place::Line(first as u64 + 1),
                "a description of none of pod, node and workload",
                lines.first().copied().unwrap_or_default(),
            ),
        }
        let mut index = 0;
        while index < lines.len() {
            index += 1 + if lines[index].trim_start().starts_with("Events:") {
                events(reading, &lines[index + 1..], (first + index) as u64 + 2)
            } else {
                0
            };
        }
    }
}

/// The value behind a key at the first column.
fn field<'a>(lines: &[&'a str], key: &str) -> Option<&'a str> {
    lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

/// The lines below a heading at the first column that are indented.
fn section<'a, 'b>(lines: &'b [&'a str], heading: &str) -> &'b [&'a str] {
    let is_heading =
        |line: &&str| line.strip_prefix(heading).is_some_and(|rest| rest.starts_with(':'));
    let Some(start) = lines.iter().position(is_heading) else { return &[] };
    let rest = &lines[start + 1..];
    let end = rest
        .iter()
        .position(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
        .unwrap_or(rest.len());
    &rest[..end]
}

fn pod(reading: &mut Reading, first: usize, lines: &[&str]) {
    let mut pod = Pod::at(Place::Line(first as u64 + 1));
    let get = |key: &str| field(lines, key).map_or(Err(Absence::NotInFile), word);
    pod.name = get("Name");
    pod.namespace = get("Namespace");
    pod.phase = get("Status");
    pod.node = get("Node").map(|node| node.split('/').next().unwrap_or_default().to_owned());
    pod.priority_class = get("Priority Class Name");
    pod.priority =
        field(lines, "Priority").map_or(Err(Absence::NotInFile), super::super::stated::number);
    pod.started = field(lines, "Start Time").map_or(Err(Absence::NotInFile), rfc2822);
    pod.queue = lines
        .iter()
        .find_map(|line| line.split_once("kueue.x-k8s.io/queue-name="))
        .map_or(Err(Absence::NotInFile), |(_, queue)| word(queue));
    pod.conditions = condition_table(section(lines, "Conditions"));
    let containers = section(lines, "Containers");
    let is_ready = |line: &&&str| line.trim() == "Ready:          True";
    let states: Vec<&&str> =
        containers.iter().filter(|line| line.trim_start().starts_with("Ready:")).collect();
    if !states.is_empty() {
        pod.containers = Ok(states.len() as u64);
        pod.containers_ready = Ok(states
            .iter()
            .filter(|line| is_ready(line) || line.trim_end().ends_with("True"))
            .count() as u64);
    }
    let restarts: Vec<u64> = containers
        .iter()
        .filter_map(|line| line.trim_start().strip_prefix("Restart Count:"))
        .filter_map(|number| count(number).ok())
        .collect();
    if !restarts.is_empty() {
        pod.restarts = Ok(restarts.iter().sum());
    }
    for line in containers {
        if let Some(reason) = line.trim_start().strip_prefix("Reason:") {
            pod.container_reasons.extend(word(reason));
        }
        if let Some(code) = line.trim_start().strip_prefix("Exit Code:") {
            pod.exit_codes.extend(code.trim().parse::<i64>());
        }
    }
    pod.gpus = gpus_of_containers(containers);
    pod.unschedulable = Err(Absence::NotInFile);
    for line in lines.iter().filter(|line| line.contains("FailedScheduling")) {
        if let Some(read) = message::unschedulable(line) {
            pod.unschedulable = Ok(read);
        }
    }
    Reading::keep(&mut reading.pods, &mut reading.records_left_out, pod);
}

/// GPUs below `Requests:`; below `Limits:` where a container states no request.
fn gpus_of_containers(lines: &[&str]) -> Vec<Amount> {
    let mut limits: Vec<Amount> = Vec::new();
    let mut requests: Vec<Amount> = Vec::new();
    let mut block = "";
    for line in lines {
        let bare = line.trim();
        match bare {
            "Limits:" | "Requests:" => block = bare,
            _ => {
                let Some((key, value)) = bare.split_once(':') else { continue };
                if !is_gpu(key) {
                    if bare.ends_with(':') {
                        block = "";
                    }
                    continue;
                }
                let list = match block {
                    "Limits:" => &mut limits,
                    "Requests:" => &mut requests,
                    _ => continue,
                };
                add(list, key, value);
            }
        }
    }
    if requests.is_empty() { limits } else { requests }
}

fn add(list: &mut Vec<Amount>, resource: &str, text: &str) {
    let value = quantity_of(text);
    match list.iter_mut().find(|one| one.resource == resource) {
        Some(one) => {
            if let (Ok(held), Ok(more)) = (&one.value, &value) {
                one.value = Ok(held + more);
            }
        }
        None => list.push(Amount { resource: resource.to_owned(), value }),
    }
}

/// `Mon, 30 Nov 2026 12:00:00 +0000`.
fn rfc2822(text: &str) -> super::super::stated::Stated<super::super::stated::SchedulerTime> {
    if let Ok(zoned) = jiff::fmt::rfc2822::parse(text) {
        return Ok(super::super::stated::SchedulerTime::Instant(zoned.timestamp()));
    }
    time(text)
}

/// A table of conditions: type and status, with more columns for nodes.
fn condition_table(lines: &[&str]) -> Vec<Condition> {
    let rows = lines.iter().filter(|line| {
        let bare = line.trim_start();
        !bare.is_empty() && !bare.starts_with("Type") && !bare.starts_with("----")
    });
    rows.filter_map(|line| {
        let mut words = line.split_whitespace();
        let kind = words.next()?.to_owned();
        let status = words.next()?;
        Some(Condition {
            kind,
            status: if status == "Unknown" { Ok(status.to_owned()) } else { word(status) },
            reason: Err(Absence::NotInFile),
            message: Err(Absence::NotInFile),
            changed: Err(Absence::NotInFile),
        })
    })
    .collect()
}

fn node(reading: &mut Reading, first: usize, lines: &[&str]) {
    let mut node = KubernetesNode::at(Place::Line(first as u64 + 1));
    node.name = field(lines, "Name").map_or(Err(Absence::NotInFile), word);
    node.conditions = condition_table(section(lines, "Conditions"));
    if let Some(ready) = node.conditions.iter().find(|one| one.kind == "Ready") {
        node.ready.clone_from(&ready.status);
    }
    node.is_cordoned = match field(lines, "Unschedulable") {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err(Absence::NotInFile),
    };
    if let Some(taint) = field(lines, "Taints").filter(|taint| *taint != "<none>") {
        node.taints.push(taint.to_owned());
        let more = lines.iter().skip_while(|line| !line.starts_with("Taints:")).skip(1);
        node.taints.extend(
            more.take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned()),
        );
    }
    node.capacity = amounts(section(lines, "Capacity"));
    node.allocatable = amounts(section(lines, "Allocatable"));
    let pairs = lines
        .iter()
        .map(|line| line.strip_prefix("Labels:").unwrap_or(line).trim())
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| is_gpu_label(key))
        .map(|(key, value)| (key.to_owned(), serde_json::Value::from(value)))
        .collect();
    labels(&mut node, Some(&serde_json::Value::Object(pairs)));
    Reading::keep(&mut reading.kubernetes_nodes, &mut reading.records_left_out, node);
}

fn amounts(lines: &[&str]) -> Vec<Amount> {
    lines
        .iter()
        .filter_map(|line| line.trim().split_once(':'))
        .filter(|(resource, _)| is_shown(resource))
        .map(|(resource, value)| Amount {
            resource: resource.to_owned(),
            value: quantity_of(value),
        })
        .collect()
}

/// Fields of a condition, which `describe` prints one a line and in the order of their names.
fn workload(reading: &mut Reading, first: usize, lines: &[&str]) {
    let mut workload = Workload::at(Place::Line(first as u64 + 1));
    let get = |key: &str| field(lines, key).map_or(Err(Absence::NotInFile), word);
    workload.name = get("Name");
    workload.namespace = get("Namespace");
    let nested = |key: &str| {
        lines
            .iter()
            .find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(':'))
            .map_or(Err(Absence::NotInFile), word)
    };
    workload.queue = nested("Queue Name");
    workload.cluster_queue = nested("Cluster Queue");
    workload.priority_class = nested("Priority Class Name");
    let mut open = Condition {
        kind: String::new(),
        status: Err(Absence::NotInFile),
        reason: Err(Absence::NotInFile),
        message: Err(Absence::NotInFile),
        changed: Err(Absence::NotInFile),
    };
    let in_conditions = lines.iter().skip_while(|line| line.trim() != "Conditions:").skip(1);
    for line in in_conditions.take_while(|line| line.starts_with("    ")) {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim();
        match key {
            "Last Transition Time" => open.changed = time(value),
            "Message" => open.message = word(value),
            "Reason" => open.reason = word(value),
            "Status" => open.status = Ok(value.to_owned()),
            // The last field of each condition.
            "Type" => {
                value.clone_into(&mut open.kind);
                workload.conditions.push(open.clone());
            }
            _ => {}
        }
    }
    kueue::settle(&mut workload);
    Reading::keep(&mut reading.workloads, &mut reading.records_left_out, workload);
}

/// Reads a table of events below `Events:`; the number of lines that were read.
pub(in super::super) fn events(reading: &mut Reading, lines: &[&str], first_line: u64) -> usize {
    let mut used = 0;
    for (index, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        if bare.is_empty() || bare == "<none>" || !line.starts_with([' ', '\t']) {
            break;
        }
        used = index + 1;
        if bare.starts_with("Type") || bare.starts_with("----") {
            continue;
        }
        match event(Place::Line(first_line + index as u64), bare) {
            Some(event) => Reading::keep(&mut reading.events, &mut reading.records_left_out, event),
            None => reading.skip(Place::Line(first_line + index as u64), "no event", line),
        }
    }
    used
}

/// `Warning  FailedScheduling   13s (x2 over 15s)  default-scheduler   0/9 nodes …`.
pub(in super::super) fn event(place: Place, line: &str) -> Option<Event> {
    let mut rest = line.trim();
    let mut next = || {
        let end = rest.find("  ").unwrap_or(rest.len());
        let (phrase, tail) = rest.split_at(end);
        rest = tail.trim_start();
        phrase.trim()
    };
    let kind = next();
    if kind != "Normal" && kind != "Warning" {
        return None;
    }
    let reason = next();
    let age = next();
    let from = next();
    let mut event = Event::at(place);
    event.kind = Ok(kind.to_owned());
    event.reason = word(reason);
    event.age_s = if age == "..." { Err(Absence::CutOff) } else { age_s(age) };
    event.count = match age.split_once("(x") {
        Some((_, times)) => count(times.split(' ').next().unwrap_or_default()),
        None => Ok(1),
    };
    event.from = word(from);
    event.message = word(rest);
    explain(&mut event);
    Some(event)
}
