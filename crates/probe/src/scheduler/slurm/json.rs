//! JSON of Slurm's commands and of slurmrestd, from 21.08 (v0.0.37) to 25.11 (v0.0.44).

use serde_json::Value;

use super::super::kind::Kind;
use super::super::model::Place;
use super::super::reading::Reading;
use super::super::refusal::ReadError;
use super::super::value::{any, at, items, text};
use super::{json_cluster, json_job};

/// Lists by which an answer of Slurm is known, and what each is.
const LISTS: &[(&str, Option<Kind>)] = &[
    ("jobs", None),
    ("nodes", Some(Kind::SlurmNodes)),
    ("sinfo", Some(Kind::SlurmNodes)),
    ("partitions", Some(Kind::SlurmPartitions)),
    ("reservations", Some(Kind::SlurmReservations)),
    ("statistics", Some(Kind::SlurmDiagnostics)),
    ("licenses", Some(Kind::SlurmLicenses)),
    ("qos", Some(Kind::SlurmAccounts)),
    ("QOS", Some(Kind::SlurmAccounts)),
    ("associations", Some(Kind::SlurmAccounts)),
    ("pings", Some(Kind::SlurmPing)),
];

/// Lists of Slurm that are known and hold nothing of the model.
const LISTS_NOT_READ: &[&str] =
    &["users", "accounts", "clusters", "wckeys", "tres", "TRES", "instances", "shares", "steps"];

/// Which answer of Slurm a document is.
pub(in super::super) fn kind_of(root: &Value) -> Option<Kind> {
    let list = list_of(root)?;
    let (_, kind) = LISTS.iter().find(|(name, _)| *name == list)?;
    Some(kind.unwrap_or_else(|| job_kind(root)))
}

fn list_of(root: &Value) -> Option<&'static str> {
    let is_statistics = root
        .get("statistics")
        .is_some_and(|one| one.get("jobs_submitted").is_some() || root.get("errors").is_some());
    let is_answer = is_statistics
        || root.get("errors").is_some()
        || at(root, &["meta", "Slurm"]).is_some()
        || at(root, &["meta", "slurm"]).is_some()
        || root.get("last_update").is_some();
    if !is_answer {
        return None;
    }
    LISTS
        .iter()
        .map(|(name, _)| *name)
        .chain(LISTS_NOT_READ.iter().copied())
        .find(|name| root.get(*name).is_some_and(|list| list.is_array() || list.is_object()))
}

/// Jobs of the accounting have their times in an object of their own.
fn job_kind(root: &Value) -> Kind {
    let first = items(root, "jobs").first();
    let is_accounting = if let Some(job) = first {
        job.get("time").is_some() || job.get("tres").is_some() || job.get("state").is_some()
    } else {
        let said = any(root, &["meta"]).map(Value::to_string).unwrap_or_default();
        said.contains("slurmdbd\"") && said.contains("openapi/slurmdbd")
            || said.contains("sacct")
            || said.contains("dbv0")
    };
    if is_accounting { Kind::SlurmAccounting } else { Kind::SlurmQueue }
}

/// Reads an answer of Slurm; `None` where the document is none.
pub(in super::super) fn read(file: &str, root: &Value) -> Option<Result<Reading, ReadError>> {
    let list = list_of(root)?;
    if LISTS_NOT_READ.contains(&list) {
        return Some(Err(ReadError::file(
            file,
            format!("a list of {list} of Slurm, which says nothing of jobs, nodes or limits"),
            "give jobs, nodes, partitions, reservations, qos or diag",
        )));
    }
    let mut reading = Reading::new(file, kind_of(root)?);
    reading.version = version(root);
    let messages =
        |key: &str| -> Vec<String> { items(root, key).iter().map(message).take(8).collect() };
    let is_empty = root.get(list).is_some_and(|list| match list {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => true,
    });
    let errors = messages("errors");
    if is_empty && !errors.is_empty() {
        return Some(Err(ReadError::file(
            file,
            format!("an error that Slurm answered: {}", errors.join("; ")),
            "ask for something that the controller or the database still knows",
        )));
    }
    for error in errors {
        reading.caveat(format!("Slurm reports an error: {error}"));
    }
    for warning in messages("warnings") {
        reading.caveat(format!("Slurm warns: {warning}"));
    }
    if is_empty {
        reading.caveat(format!("Slurm answers an empty list of {list}"));
    }
    let records = items(root, list).iter().enumerate();
    match list {
        "jobs" if reading.kind == Kind::SlurmAccounting => {
            for (index, job) in records {
                reading.keep_job(json_job::accounted(Place::Item("jobs", index), job));
            }
        }
        "jobs" => {
            for (index, job) in records {
                reading.keep_job(json_job::queued(Place::Item("jobs", index), job));
            }
        }
        "nodes" => {
            for (index, node) in records {
                reading.keep_node(json_cluster::node(Place::Item("nodes", index), node));
            }
        }
        "sinfo" => {
            for (index, row) in records {
                reading.keep_node(json_cluster::sinfo_row(Place::Item("sinfo", index), row));
            }
        }
        "partitions" => {
            reading.partitions = records
                .map(|(index, one)| json_cluster::partition(Place::Item("partitions", index), one))
                .collect();
        }
        "reservations" => {
            reading.reservations = records
                .map(|(index, one)| {
                    json_cluster::reservation(Place::Item("reservations", index), one)
                })
                .collect();
        }
        "licenses" => {
            reading.licenses = records
                .map(|(index, one)| json_cluster::license(Place::Item("licenses", index), one))
                .collect();
        }
        "statistics" => json_cluster::statistics(&mut reading, &root["statistics"]),
        "pings" => json_cluster::pings(&mut reading, items(root, "pings")),
        "associations" => json_cluster::associations(&mut reading, items(root, "associations")),
        _ => json_cluster::qos(&mut reading, items(root, list)),
    }
    Some(Ok(reading))
}

/// Slurm's release and the version of its data parser.
fn version(root: &Value) -> Option<String> {
    let meta = root.get("meta")?;
    let release =
        text(at(meta, &["slurm", "release"]).or_else(|| at(meta, &["Slurm", "release"]))).ok();
    let parser = text(
        at(meta, &["plugin", "data_parser"])
            .or_else(|| at(meta, &["plugins", "data_parser"]))
            .or_else(|| at(meta, &["plugin", "type"])),
    )
    .ok();
    match (release, parser) {
        (Some(release), Some(parser)) => Some(format!("Slurm {release}, {parser}")),
        (Some(release), None) => Some(format!("Slurm {release}")),
        (None, parser) => parser,
    }
}

fn message(value: &Value) -> String {
    let said = |key: &str| text(value.get(key)).ok();
    match (said("error"), said("description"), value.as_str()) {
        (Some(error), Some(description), _) => format!("{error} ({description})"),
        (Some(one), None, _) | (None, Some(one), _) => one,
        (None, None, Some(text)) => text.to_owned(),
        (None, None, None) => super::super::refusal::shortened(&value.to_string()),
    }
}
