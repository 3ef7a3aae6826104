//! The one door: what a file of a scheduler is, told by its content, and its reader.

use serde_json::Value;

use super::kind::Kind;
use super::kubernetes::{describe, object, table as kubectl};
use super::reading::Reading;
use super::refusal::{ReadError, shortened};
use super::slurm::accounts::{self, Accounts};
use super::slurm::{conf, json, pairs, sdiag, table, template};
use super::text::{Decoded, decode};
use super::{host_log, pasted, yaml};

/// Most bytes of JSON or YAML, which takes several times as much memory as text does.
const DOCUMENT_BYTES_MAX: usize = 128 << 20;

/// What a decoded file is, with what was already worked out.
enum Form {
    Json(Value),
    Template(Kind),
    Documents(Vec<yaml::Document>, Kind),
    Pairs(Kind),
    Settings(Kind),
    Diagnostics,
    Accounts(Kind, Accounts),
    Table(table::Shape),
    Describe,
    HostLog(Kind),
    Pasted(Box<Reading>),
}

/// What a file is; `None` where it is no output of a scheduler that is read, or one that is refused. The
/// name decides only between readings that the content allows.
pub fn recognise(file: &str, bytes: &[u8]) -> Option<Kind> {
    let decoded = decode(file, bytes).ok()?;
    match form(file, &decoded.body).ok()?? {
        Form::Json(root) => json::kind_of(&root).or_else(|| object::kind_of(&root)),
        Form::Template(kind)
        | Form::Documents(_, kind)
        | Form::Pairs(kind)
        | Form::Settings(kind)
        | Form::Accounts(kind, _)
        | Form::HostLog(kind) => Some(kind),
        Form::Diagnostics => Some(Kind::SlurmDiagnostics),
        Form::Table(shape) => Some(shape.kind),
        Form::Describe => Some(Kind::KubectlDescribe),
        Form::Pasted(reading) => Some(reading.kind),
    }
}

/// Reads a file of Slurm, Kubernetes or Kueue.
///
/// # Errors
///
/// A [`ReadError`] that says what the file is instead, where that shows, and the way out.
pub fn read(file: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    let Decoded { body, caveats } = decode(file, bytes)?;
    let Some(form) = form(file, &body)? else { return Err(unknown(file, &body)) };
    let mut reading = match form {
        Form::Json(root) => document(file, &root)?,
        Form::Template(kind) => template::read(file, &body, kind),
        Form::Documents(documents, kind) => {
            let mut reading = Reading::new(file, kind);
            for document in &documents {
                if !object::read(&mut reading, &document.value, Some(document.line))
                    && !document.value.is_null()
                {
                    let place = super::model::Place::Line(document.line);
                    reading.skip(place, "no object of Kubernetes", &document.value.to_string());
                }
            }
            reading
        }
        Form::Pairs(kind) => pairs::read(file, &body, kind),
        Form::Settings(kind) => conf::read(file, &body, kind),
        Form::Diagnostics => sdiag::read(file, &body),
        Form::Accounts(kind, form) => accounts::read(file, &body, kind, form)?,
        Form::Table(shape) => table::read(file, &body, &shape),
        Form::Describe => {
            let mut reading = Reading::new(file, Kind::KubectlDescribe);
            describe::read(&mut reading, &body);
            reading
        }
        Form::HostLog(kind) => host_log::read(file, &body, kind),
        Form::Pasted(reading) => *reading,
    };
    for caveat in caveats {
        reading.caveat(caveat);
    }
    Ok(reading)
}

/// Tells the form of a text. Everything is told by content; errors are texts that are known and refused.
fn form(file: &str, body: &str) -> Result<Option<Form>, ReadError> {
    if let Some(refusal) = said_by_a_tool(file, body) {
        return Err(refusal);
    }
    let trimmed = body.trim_start();
    if trimmed.starts_with('{')
        || trimmed.starts_with("[\n")
        || trimmed.starts_with("[{")
        || trimmed.starts_with("[ ")
        || trimmed.starts_with("[\r")
    {
        return json_form(file, body);
    }
    if let Some(kind) = pairs::kind_of(body) {
        return Ok(Some(Form::Pairs(kind)));
    }
    if sdiag::is_sdiag(body) {
        return Ok(Some(Form::Diagnostics));
    }
    if let Some(kind) = conf::kind_of(body) {
        return Ok(Some(Form::Settings(kind)));
    }
    if let Some(documents) = yaml_form(file, body)? {
        return Ok(Some(documents));
    }
    if let Some((kind, form)) = accounts::kind_of(file, body) {
        return Ok(Some(Form::Accounts(kind, form)));
    }
    if let Some(shape) = table::shape(file, body) {
        return Ok(Some(Form::Table(shape)));
    }
    if describe::kind_of(body).is_some() {
        return Ok(Some(Form::Describe));
    }
    if let Some(kind) = host_log::kind_of(body) {
        return Ok(Some(Form::HostLog(kind)));
    }
    Ok(pasted_form(file, body))
}

fn json_form(file: &str, body: &str) -> Result<Option<Form>, ReadError> {
    if let Some(kind) = template::kind_of(body) {
        return Ok(Some(Form::Template(kind)));
    }
    if body.len() > DOCUMENT_BYTES_MAX {
        return Err(ReadError::file(
            file,
            format!("JSON of more than {} MiB", DOCUMENT_BYTES_MAX >> 20),
            "ask the scheduler for fewer days, or for a table",
        ));
    }
    match serde_json::from_str::<Value>(body) {
        Ok(root) => Ok(is_known(&root).then_some(Form::Json(root))),
        // Only a text that shows whose it is is called cut off.
        Err(error) if looks_known(body) => Err(ReadError::file(
            file,
            format!("JSON that is cut off or damaged: {error}"),
            "run the command again and keep its whole output",
        )
        .at(error.line() as u64)),
        // The kernel's log begins with a bracket, too.
        Err(_) => {
            let log = host_log::kind_of(body).map(Form::HostLog);
            Ok(log.or_else(|| pasted_form(file, body)))
        }
    }
}

fn is_known(root: &Value) -> bool {
    json::kind_of(root).is_some()
        || object::kind_of(root).is_some()
        || json::read("", root).is_some()
}

fn looks_known(body: &str) -> bool {
    let head: String = body.chars().take(4096).collect();
    let has = |mark: &str| head.contains(mark);
    let is_answer =
        has("\"meta\"") && (has("\"Slurm\"") || has("\"slurm\"")) || has("\"last_update\"");
    is_answer
        || [
            "\"apiVersion\"",
            "openapi/",
            "openapi\\/",
            "data_parser",
            "\"job_state\"",
            "\"slurmd_version\"",
        ]
        .iter()
        .any(|mark| has(mark))
}

fn document(file: &str, root: &Value) -> Result<Reading, ReadError> {
    if let Some(read) = json::read(file, root) {
        return read;
    }
    let kind = object::kind_of(root).unwrap_or(Kind::KubernetesObjects);
    let mut reading = Reading::new(file, kind);
    object::read(&mut reading, root, None);
    Ok(reading)
}

/// YAML of objects alone: pasted texts with other things between are not.
fn yaml_form(file: &str, body: &str) -> Result<Option<Form>, ReadError> {
    let has = |key: &str| body.lines().any(|line| line.starts_with(key));
    let is_object = has("apiVersion:") && has("kind:");
    if !is_object && !has("status:") || body.contains("-------- block --------") {
        return Ok(None);
    }
    if body.len() > DOCUMENT_BYTES_MAX {
        return Err(ReadError::file(
            file,
            format!("YAML of more than {} MiB", DOCUMENT_BYTES_MAX >> 20),
            "ask for fewer objects",
        ));
    }
    match yaml::documents(body) {
        Ok(documents) => {
            let kinds = documents.iter().filter_map(|one| object::kind_of(&one.value));
            // The first kind names a file of several.
            let kind = kinds.min_by_key(|kind| *kind != Kind::KueueObjects);
            Ok(kind.map(|kind| Form::Documents(documents, kind)))
        }
        Err(error) if is_object && body.trim_start().starts_with("apiVersion:") => {
            match pasted::read(file, body) {
                Some(reading) => Ok(Some(Form::Pasted(Box::new(reading)))),
                None => Err(ReadError::file(
                    file,
                    format!("YAML of an object that cannot be read: {}", error.what),
                    "run kubectl again and keep its whole output",
                )
                .at(error.line)),
            }
        }
        Err(_) => Ok(None),
    }
}

fn pasted_form(file: &str, body: &str) -> Option<Form> {
    let is_worth_it = body.contains("-------- block --------")
        || body.lines().any(|line| kubectl::heading(line).is_some() || line.trim() == "Events:")
        || body.contains("\"nvidia.com/")
        || body.contains("Allocatable:");
    if !is_worth_it {
        return None;
    }
    pasted::read(file, body).map(|reading| Form::Pasted(Box::new(reading)))
}

/// Programs whose errors are known by their first word.
const TOOLS: &[&str] = &[
    "sacct",
    "squeue",
    "sinfo",
    "scontrol",
    "sdiag",
    "sprio",
    "sshare",
    "sacctmgr",
    "srun",
    "sbatch",
    "slurmrestd",
    "slurm_load_jobs",
    "slurm_load_node",
    "slurm_load_partitions",
    "kubectl",
];

/// A text that a program printed in place of what it was asked for.
fn said_by_a_tool(file: &str, body: &str) -> Option<ReadError> {
    let first = body.lines().find(|line| !line.trim().is_empty())?.trim();
    let way_out = "mend what the program complains of and run it again";
    let tool = TOOLS.iter().find(|tool| {
        first
            .strip_prefix(**tool)
            .is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(" error: "))
    });
    if tool.is_some() {
        return Some(
            ReadError::file(file, format!("an error message: «{}»", shortened(first)), way_out)
                .at(1),
        );
    }
    let is_kubectl = first.starts_with("Error from server")
        || first.starts_with("error: ")
            && (body.contains("server") || body.contains("resource") || body.contains("kubectl"))
        || first.starts_with("The connection to the server")
        || first.starts_with("Unable to connect to the server");
    if is_kubectl {
        return Some(
            ReadError::file(
                file,
                format!("an error message of kubectl: «{}»", shortened(first)),
                way_out,
            )
            .at(1),
        );
    }
    if first.starts_with("No resources found") && body.lines().count() <= 2 {
        return Some(ReadError::file(
            file,
            format!("an answer that there is nothing: «{}»", shortened(first)),
            "ask in the namespace that has the objects, or in all: kubectl get … -A",
        ));
    }
    let is_heading_alone = body.lines().filter(|line| !line.trim().is_empty()).count() == 1
        && (kubectl::heading(first).is_some() || table::is_heading(first));
    is_heading_alone.then(|| {
        ReadError::file(
            file,
            format!("a heading without rows: «{}»", shortened(first)),
            "the scheduler had nothing to list; ask for all states, or at another time",
        )
    })
}

fn unknown(file: &str, body: &str) -> ReadError {
    let way_out = "give what sacct -P, squeue, sinfo, scontrol show, sdiag, sshare or sacctmgr print (as text or \
                   JSON), or what kubectl get -o json, -o yaml, kubectl get or kubectl describe print";
    let trimmed = body.trim_start();
    if trimmed.starts_with('{')
        && let Ok(Value::Object(entries)) = serde_json::from_str::<Value>(body)
    {
        let keys: Vec<&str> = entries.keys().map(String::as_str).take(6).collect();
        return ReadError::file(
            file,
            format!("JSON of no scheduler that is known; its keys are {}", keys.join(", ")),
            way_out,
        );
    }
    if body.contains("-------- block --------")
        || body.lines().any(|line| line.starts_with("# ") || line.starts_with("## "))
    {
        return ReadError::file(
            file,
            "prose, with no object or table of a scheduler in it",
            way_out,
        );
    }
    let first = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_list_of_commands = body.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words == ["command", "status", "invocation"]
    });
    if is_list_of_commands {
        return ReadError::file(
            file,
            "a record of which commands were run, without what they printed",
            "give the files that it names",
        );
    }
    ReadError::file(
        file,
        format!("a text of no scheduler that is known, which begins «{}»", shortened(first)),
        way_out,
    )
}
