//! Several outputs in one text: what documentation and issues paste, with commands and prose between.
//! Each passage that is an output is read; prose and commands are passed over, and counted.

use serde_json::Value;

use super::kind::Kind;
use super::kubernetes::model::{Amount, KubernetesNode};
use super::kubernetes::pod::is_shown;
use super::kubernetes::quantity::quantity_of;
use super::kubernetes::{describe, labels, object, table};
use super::model::Place;
use super::reading::Reading;
use super::stated::Absence;
use super::yaml;

/// A line that parts two passages.
fn is_separator(line: &str) -> bool {
    let bare = line.trim();
    bare == "-------- block --------"
        || (bare.len() >= 8 && bare.bytes().all(|byte| byte == b'-' || byte == b'='))
}

/// Reads what a text with several passages holds; `None` where it holds nothing that is known.
pub(super) fn read(file: &str, text: &str) -> Option<Reading> {
    let mut reading = Reading::new(file, Kind::Pasted);
    let lines: Vec<&str> = text.lines().collect();
    let mut from = 0;
    while from <= lines.len() {
        let until = lines[from..]
            .iter()
            .position(|line| is_separator(line))
            .map_or(lines.len(), |at| from + at);
        passage(&mut reading, &lines[from..until], from as u64 + 1);
        from = until + 1;
    }
    if reading.records() == 0 {
        return None;
    }
    reading.kind = kind_of(&reading, lines.iter().any(|line| is_separator(line)));
    Some(reading)
}

/// A text of one kind of thing is called that; several kinds are called pasted.
fn kind_of(reading: &Reading, has_separators: bool) -> Kind {
    if has_separators {
        return Kind::Pasted;
    }
    let lists = [
        (reading.pods.len(), Kind::KubectlTable),
        (reading.events.len(), Kind::KubernetesEvents),
        (reading.workloads.len() + reading.queues.len(), Kind::KueueObjects),
        (reading.kubernetes_nodes.len(), Kind::NodeLabels),
        (reading.others.len(), Kind::KubernetesObjects),
    ];
    let mut filled = lists.iter().filter(|(number, _)| *number > 0);
    match (filled.next(), filled.next()) {
        (Some((_, kind)), None) => *kind,
        _ => Kind::Pasted,
    }
}

/// One passage: an object, or lines among which outputs stand.
fn passage(reading: &mut Reading, lines: &[&str], first_line: u64) {
    let filled = lines.iter().filter(|line| !line.trim().is_empty()).count();
    if filled == 0 {
        return;
    }
    let before = reading.records();
    if object_passage(reading, lines, first_line) {
        return;
    }
    scan(reading, lines, first_line);
    if reading.records() == before {
        let (at, text) = lines
            .iter()
            .enumerate()
            .find(|(_, line)| !line.trim().is_empty())
            .map_or((0, ""), |(at, line)| (at, *line));
        reading.skip(Place::Line(first_line + at as u64), what_is(lines), text);
    }
}

/// What a passage is that is not read.
fn what_is(lines: &[&str]) -> &'static str {
    let bare = || lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let first = bare().next().unwrap_or_default();
    let is_command = |line: &str| {
        line.starts_with("$ ")
            || ["kubectl ", "sudo ", "helm ", "nvidia-smi"]
                .iter()
                .any(|word| line.starts_with(word))
    };
    if bare().any(|line| line.contains("| NVIDIA-SMI ")) {
        "a table of nvidia-smi; give what `nvidia-smi -q -x` prints"
    } else if bare().any(|line| line.starts_with("time=\"") && line.contains("level=")) {
        "a log of nvidia-mig-manager"
    } else if bare().any(|line| line.starts_with("# HELP ") || line.starts_with("DCGM_FI_")) {
        "samples of an exporter; read them as metrics"
    } else if bare().any(|line| line.starts_with("GPU 0:") || line.starts_with("| GPU instances")) {
        "an output of nvidia-smi"
    } else if is_command(first) {
        "a command, with no output that is read"
    } else if first.starts_with('[') && first.ends_with(']') {
        "a pattern of a name and no object"
    } else {
        "prose, with no object in it"
    }
}

/// A passage that is YAML as a whole, indented or not. Dots that stand for what was left out are passed
/// over; the object ends where a line is indented less.
fn object_passage(reading: &mut Reading, lines: &[&str], first_line: u64) -> bool {
    let begins = |line: &&str| {
        let bare = line.trim_start();
        ["apiVersion:", "kind:", "status:"].iter().any(|key| bare.starts_with(key))
    };
    let Some(start) = lines.iter().position(begins) else { return false };
    let indent = indented_by(lines[start]);
    let mut dots = 0;
    let mut kept: Vec<&str> = Vec::new();
    for line in &lines[start..] {
        let bare = line.trim();
        if bare == "..." {
            dots += 1;
            kept.push("");
        } else if bare.is_empty() {
            kept.push("");
        } else if indented_by(line) < indent {
            break;
        } else {
            kept.push(line.get(indent..).unwrap_or_default());
        }
    }
    let Ok(documents) = yaml::documents(&kept.join("\n")) else { return false };
    let mut found = false;
    for document in documents {
        let line = first_line + start as u64 + document.line.saturating_sub(1);
        let is_read = object::read(reading, &document.value, Some(line))
            || status_of_another(reading, &document.value, line);
        found |= is_read;
    }
    if found && dots > 0 {
        reading.caveat("three dots stand for parts of an object that were left out");
    }
    found
}

/// A status of an object that is neither of a workload nor of a queue.
fn status_of_another(reading: &mut Reading, value: &Value, line: u64) -> bool {
    if value.get("status").is_none() {
        return false;
    }
    reading.skip(
        Place::Line(line),
        "a status without its object and without conditions of Kueue",
        &value.to_string(),
    );
    true
}

/// Looks for outputs among lines.
fn scan(reading: &mut Reading, lines: &[&str], first_line: u64) {
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index];
        let bare = line.trim();
        let number = first_line + index as u64;
        index += 1;
        if let Some(heading) = table::heading(line) {
            index += table::read(reading, &heading, &lines[index..], number + 1);
        } else if bare == "Events:" {
            let indented = indented_by(line);
            let below: Vec<&str> =
                lines[index..].iter().map(|line| line.get(indented..).unwrap_or("")).collect();
            index += describe::events(reading, &below, number + 1);
        } else if bare == "Capacity:" || bare == "Allocatable:" || bare.starts_with("nvidia.com/") {
            index = resources(reading, lines, index - 1, first_line);
        } else if is_label(bare) {
            index = label_lines(reading, lines, index - 1, first_line);
        }
    }
}

fn indented_by(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// `"nvidia.com/gpu.count": "7",`
fn is_label(line: &str) -> bool {
    label(line).is_some_and(|(key, _)| labels::is_gpu_label(key))
}

fn label(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().trim_end_matches(',').strip_prefix('"')?;
    let (key, rest) = rest.split_once("\":")?;
    let value = rest.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some((key, value))
}

/// Labels one a line, of one node: a key that comes again begins the next.
fn label_lines(reading: &mut Reading, lines: &[&str], start: usize, first_line: u64) -> usize {
    let mut found = serde_json::Map::new();
    let mut index = start;
    while let Some((key, value)) = lines.get(index).and_then(|line| label(line)) {
        if found.contains_key(key) {
            break;
        }
        found.insert(key.to_owned(), Value::from(value));
        index += 1;
    }
    let node = labels::node(Place::Line(first_line + start as u64), &Value::Object(found));
    Reading::keep(&mut reading.kubernetes_nodes, &mut reading.records_left_out, node);
    index
}

/// Lines `resource: number` below `Capacity:` and `Allocatable:`, with dots between.
fn resources(reading: &mut Reading, lines: &[&str], start: usize, first_line: u64) -> usize {
    let mut node = KubernetesNode::at(Place::Line(first_line + start as u64));
    let (mut index, mut in_allocatable, mut has_heading) = (start, false, false);
    while let Some(line) = lines.get(index) {
        let bare = line.trim();
        match bare {
            "Capacity:" if node.capacity.is_empty() => {
                (in_allocatable, has_heading) = (false, true);
            }
            "Allocatable:" => (in_allocatable, has_heading) = (true, true),
            "..." => {}
            _ => {
                let Some((resource, value)) = bare.split_once(':') else { break };
                if !is_shown(resource) || quantity_of(value).is_err() {
                    if let (
                        "nvidia.com/gpu.workload.config"
                        | "nvidia.com/mig.config.state"
                        | "nvidia.com/mig.config",
                        word,
                    ) = (resource, value.trim())
                    {
                        let one = serde_json::json!({ resource: word });
                        super::kubernetes::pod::labels(&mut node, Some(&one));
                        index += 1;
                        continue;
                    }
                    break;
                }
                let amount = Amount { resource: resource.to_owned(), value: quantity_of(value) };
                // Without headings `grep` leaves capacity first and then what may be given.
                let is_second = in_allocatable
                    || (!has_heading && node.capacity.iter().any(|one| one.resource == resource));
                if is_second { node.allocatable.push(amount) } else { node.capacity.push(amount) }
            }
        }
        index += 1;
    }
    let says_something = !node.capacity.is_empty()
        || !node.allocatable.is_empty()
        || node.mig_config.is_ok()
        || node.mig_config_state.is_ok();
    if says_something {
        node.name = Err(Absence::NotInFile);
        Reading::keep(&mut reading.kubernetes_nodes, &mut reading.records_left_out, node);
    }
    index.max(start + 1)
}
