//! Lines of JSON that collectors make `squeue -o` and `sinfo -o` print by writing JSON into the format.

use serde_json::Value;

use super::super::kind::Kind;
use super::super::model::{Job, Node, Place};
use super::super::reading::Reading;
use super::super::value::text;
use super::field::Field;
use super::fill::{finish_job, finish_node, set_job, set_node};

/// Short keys of such templates for jobs.
const JOB_KEYS: &[(&str, Field)] = &[
    ("a", Field::Account),
    ("id", Field::JobId),
    ("end_time", Field::EndTime),
    ("state", Field::JobState),
    ("p", Field::Partition),
    ("cpu", Field::Cpus),
    ("mem", Field::Memory),
    ("array_id", Field::ArrayJob),
    ("r", Field::NodeListOrReason),
    ("u", Field::User),
];

/// Short keys of such templates for nodes.
const NODE_KEYS: &[(&str, Field)] = &[
    ("s", Field::NodeState),
    ("mem", Field::MemoryOfNode),
    ("n", Field::NodeName),
    ("l", Field::Ignored),
    ("p", Field::Partition),
    ("fmem", Field::MemoryFree),
    ("cstate", Field::CpuStates),
    ("w", Field::Ignored),
    ("gres", Field::GresTotal),
];

/// Which lines these are: told by the first that is an object.
pub(in super::super) fn kind_of(text: &str) -> Option<Kind> {
    let first = text.lines().find(|line| line.trim_start().starts_with('{'))?;
    let value: Value = serde_json::from_str(first.trim()).ok()?;
    let has = |keys: &[&str]| keys.iter().all(|key| value.get(*key).is_some());
    let get = |key: &str| text_of(&value, key);
    if has(&["id", "state", "p"]) && Field::JobState.fits(&get("state")) {
        Some(Kind::SlurmQueue)
    } else if has(&["n", "s", "cstate"]) && Field::CpuStates.fits(&get("cstate")) {
        Some(Kind::SlurmNodes)
    } else {
        None
    }
}

fn text_of(value: &Value, key: &str) -> String {
    match value.get(key) {
        Some(Value::String(text)) => text.clone(),
        other => text(other).unwrap_or_default(),
    }
}

/// Reads such lines. A line that is no JSON is skipped with its number.
pub(in super::super) fn read(file: &str, body: &str, kind: Kind) -> Reading {
    let mut reading = Reading::new(file, kind);
    let keys = if kind == Kind::SlurmQueue { JOB_KEYS } else { NODE_KEYS };
    for (number, line) in (1_u64..).zip(body.lines()) {
        let place = Place::Line(number);
        if line.trim().is_empty() {
            continue;
        }
        if line.trim_start().starts_with('#') {
            reading.skip(place, "a comment", line);
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(line.trim()) else {
            reading.skip(place, "the line is no JSON", line);
            continue;
        };
        let cells = keys.iter().filter(|(key, _)| value.get(*key).is_some());
        if kind == Kind::SlurmQueue {
            let mut job = Job::at(place);
            cells.for_each(|(key, field)| set_job(&mut job, *field, &text_of(&value, key)));
            if job.nodes.is_err() && job.reason.is_err() {
                // A reason without the parentheses of squeue.
                set_job(&mut job, Field::Reason, text_of(&value, "r").trim_matches(['(', ')']));
            }
            finish_job(&mut job);
            reading.keep_job(job);
        } else {
            let mut node = Node::at(place);
            cells.for_each(|(key, field)| set_node(&mut node, *field, &text_of(&value, key)));
            finish_node(&mut node);
            reading.keep_node(node);
        }
    }
    reading
}
