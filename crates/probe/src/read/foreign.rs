//! What is not read: each is named, with what would be needed.

use std::io::BufRead;
use std::path::Path;

use cotenant_core::reading::FileRefusal;
use serde_json::Value;

use super::look::{Claim, Look, Outcome, short};
use crate::exposition::{ExpositionError, Format, Strictness, parse};
use crate::trace::csv_cells;

/// First bytes of formats that are no text: what it is, and what would be needed.
const SIGNATURES: [(&[u8], &str, &str); 12] = [
    (b"PK\x03\x04", "a ZIP archive", "unpack it and give the files inside"),
    (b"\xfd7zXZ", "a file compressed with xz", "unpack it: xz -d"),
    (b"BZh", "a file compressed with bzip2", "unpack it: bzip2 -d"),
    (b"PAR1", "a Parquet file", "convert it to CSV or JSONL"),
    (b"ARROW1", "an Arrow file", "convert it to CSV or JSONL"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"%PDF", "a PDF document", "give the data that it was made from"),
    (b"\x89PNG", "a picture", "give the data that it shows"),
    (b"\xff\xd8\xff", "a picture", "give the data that it shows"),
    (b"\x7fELF", "a program", "give what it prints"),
    (
        b"\x80\x04\x95",
        "a Python pickle",
        "write it as JSON or CSV: a pickle can run code when it is loaded",
    ),
    (b"!<arch>", "an archive", "unpack it and give the files inside"),
];

/// Bytes that are no text.
pub(super) fn bytes(look: &Look<'_>) -> Option<Claim> {
    let is_signed = SIGNATURES.iter().any(|(start, ..)| look.bytes.starts_with(start));
    let head = &look.bytes[..look.bytes.len().min(4096)];
    // Terminals' escapes, form feeds and the marks of progress bars stand in logs.
    let is_control = |byte: &u8| {
        *byte < 0x20
            && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x07 | 0x08 | 0x0b | 0x0c | 0x1b..=0x1f)
    };
    let is_tar = look.bytes.get(257..262) == Some(b"ustar");
    (is_signed || is_tar || head.iter().any(is_control))
        .then(|| Claim::sure("its bytes are no text", refuse_bytes))
}

fn refuse_bytes(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    let not_text = "it is no text";
    if let Some((_, seems, way_out)) =
        SIGNATURES.iter().find(|(start, ..)| look.bytes.starts_with(start))
    {
        return Err(look.refuse(*seems, not_text, *way_out));
    }
    if look.bytes.get(257..262) == Some(b"ustar") {
        return Err(look.refuse("a tar archive", not_text, "unpack it and give the files inside"));
    }
    let head = &look.bytes[..look.bytes.len().min(1 << 16)];
    if let Err(ExpositionError::NotText { what, way_out }) =
        parse(head, Format::Prometheus, Strictness::Lenient)
        && what.contains("protobuf")
    {
        return Err(look.refuse(format!("metrics as {what}"), not_text, way_out));
    }
    Err(look.refuse(
        "a binary file",
        "it holds bytes that no text has",
        "give text, or name the program that wrote it",
    ))
}

/// What a text is that nobody claims.
pub(super) fn text(look: &Look<'_>) -> FileRefusal {
    document(look).or_else(|| lines(look)).unwrap_or_else(|| unknown(look))
}

/// JSON documents that are known and not read.
fn document(look: &Look<'_>) -> Option<FileRefusal> {
    let value = look.json.as_ref()?;
    let first = value.as_array().and_then(|items| items.first());
    if first.is_some_and(|first| first.get("baseLabels").is_some()) {
        return Some(look.refuse(
            "metrics as Prometheus JSON 0.0.2",
            "this format was given up in 2014 and is not read",
            "ask for `Accept: text/plain;version=0.0.4`",
        ));
    }
    let object = value.as_object();
    let is_card =
        |key: &String| key.strip_prefix("card").is_some_and(|rest| rest.parse::<u32>().is_ok());
    if object.is_some_and(|entries| entries.keys().any(is_card)) {
        return Some(look.refuse(
            "an output of rocm-smi",
            "GPUs of AMD are not read",
            "only NVIDIA's GPUs are known here; give what `nvidia-smi -q -x` prints",
        ));
    }
    let is_python = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('{'));
    let inner = object.and_then(|entries| entries.values().find_map(Value::as_object));
    if inner.is_some_and(|inner| !inner.is_empty() && inner.values().all(is_python)) {
        return Some(look.refuse(
            "distributions of lengths as ServeGen writes them",
            "its values are Python literals in text, of one client by the window",
            "give the client's table of rates (`chunk-…-trace.csv`), or a trace with lengths",
        ));
    }
    let is_tuple = |key: &String| key.starts_with('(') && key.ends_with(')');
    if inner.is_some_and(|inner| inner.keys().any(is_tuple)) {
        return Some(look.refuse(
            "throughputs of jobs, alone and in pairs, as Gavel's simulator has them",
            "its keys are Python tuples, and it says nothing of the server at hand",
            "measure the pair: cotenant measure",
        ));
    }
    let keys: Vec<&str> =
        object.into_iter().flat_map(|entries| entries.keys().map(String::as_str)).take(6).collect();
    let why = match (object, first) {
        (Some(_), _) => format!("no known tool writes its keys: {}", short(&keys.join(", "), 160)),
        (None, Some(Value::Object(entry))) => {
            let keys: Vec<&str> = entry.keys().map(String::as_str).take(6).collect();
            format!("no known tool writes a list with the keys {}", short(&keys.join(", "), 160))
        }
        _ => "it is a list of no known tool".to_owned(),
    };
    Some(look.refuse("a JSON document", why, NAME_IT))
}

const NAME_IT: &str = "name the tool that wrote it, or give another of its outputs; docs/reading.md lists \
                       what is read";

/// Texts that are known and not read.
fn lines(look: &Look<'_>) -> Option<FileRefusal> {
    let sample = look.sample();
    let (number, first) = look.first_line();
    let first = first.trim();
    let has = |text: &str| sample.lines().any(|line| line.trim_start().starts_with(text));
    let is_of_mig = |line: &str| {
        [
            "Successfully created GPU instance",
            "Unable to destroy GPU instance",
            "Failed to create GPU instances",
            "Enabled MIG Mode for GPU",
            "Successfully destroyed GPU instance",
        ]
        .iter()
        .any(|start| line.starts_with(start))
    };
    if sample.lines().any(is_of_mig) {
        return Some(look.refuse(
            "messages of nvidia-smi mig about what it did",
            "they tell of actions and not of what is there",
            "give what `nvidia-smi mig -lgi` lists afterwards",
        ));
    }
    if let Some(keys) = look.json_line.as_ref().and_then(Value::as_object) {
        let keys: Vec<&str> = keys.keys().map(String::as_str).take(6).collect();
        let why =
            format!("no known tool writes lines with the keys {}", short(&keys.join(", "), 160));
        return Some(look.refuse("lines of JSON", why, NAME_IT));
    }
    let is_named_so =
        Path::new(look.name).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
    let is_mixed =
        has(".. code-block::") || has("-------- block --------") || has(".. note::") || has("```");
    let is_markdown = has("# ") && (has("## ") || first.starts_with("# ")) && !has("apiVersion:");
    if !is_mixed && (is_named_so || is_markdown) {
        return Some(look.refuse(
            "a text in Markdown",
            "it is for people",
            "give the data that it speaks of",
        ));
    }
    if is_mixed {
        return Some(look.refuse(
            "documentation",
            "commands, their outputs and text stand mixed in it",
            "give one output in a file of its own",
        ));
    }
    if first.starts_with("<!DOCTYPE html") || first.to_ascii_lowercase().starts_with("<html") {
        return Some(look.refuse(
            "a page in HTML",
            "a page is for people",
            "give the address of the data itself, /metrics as a rule",
        ));
    }
    if first.starts_with('<') {
        return Some(look.refuse(
            "XML",
            "it is not what nvidia-smi writes",
            "give what `nvidia-smi -q -x` prints",
        ));
    }
    let in_brackets = first.strip_prefix(['{', '[']).map(str::trim_start);
    if in_brackets
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '{', '[', '}', ']']))
    {
        return Some(look.refuse(
            "JSON that is damaged",
            "it is neither a whole document nor whole lines",
            "fetch it again: it was cut off or edited",
        ));
    }
    if has("apiVersion:") {
        return Some(look.refuse(
            "a manifest of Kubernetes",
            "it says what to run, and not what is or was",
            "give what `kubectl get … -o json` answers",
        ));
    }
    table(look, number, first)
}

/// Tables that are known by their columns and not read. They are named before anybody takes them
/// for what they resemble.
pub(super) fn tables(look: &Look<'_>) -> Option<Claim> {
    if look.json.is_some() || look.json_line.is_some() {
        return None;
    }
    named_table(look)
        .map(|_| Claim::sure("its columns are of a table that is not read", refuse_table))
}

fn refuse_table(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    Err(named_table(look).unwrap_or_else(|| unknown(look)))
}

fn named_table(look: &Look<'_>) -> Option<FileRefusal> {
    let first = look.first_line().1.trim();
    let cells = csv_cells(first).unwrap_or_default();
    let names: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
    let has = |wanted: &[&str]| wanted.iter().all(|name| names.contains(name));
    let refuse = |seems: &str, why: &str, way_out: &str| Some(look.refuse(seems, why, way_out));
    if has(&["num_prefill_tokens", "num_decode_tokens"]) {
        return refuse(
            "lengths of requests",
            "it has no column of times, so it is no trace",
            "add a column of arrivals (`arrived_at`), or use it for lengths alone",
        );
    }
    if has(&["step_time", "sync_time"]) {
        return refuse(
            "a profile of step times by batch and placement",
            "its columns name no unit and no run",
            "measure the trainer, or give its log",
        );
    }
    if has(&["worker", "batch_time_norm"]) {
        return refuse(
            "times of mini-batches, normalised",
            "a time that is divided by an unknown one is no time",
            "give the times as they were measured, or the trainer's log",
        );
    }
    let of_jobs = [
        &["num_gpu", "gpu_milli"][..],
        &["gpu_request", "gpu_limit"],
        &["application", "num_replicas"],
        &["job_name", "inst_id"],
        &["job_name", "task_name"],
        &["inst_id", "gpu_type_spec"],
    ];
    if of_jobs.iter().any(|wanted| has(wanted)) {
        return refuse(
            "a trace of jobs of a cluster",
            "it tells of jobs and not of requests",
            "declare jobs in the site file; for the load of an engine give a trace of requests",
        );
    }
    let of_machines = [
        &["worker_name", "machine"][..],
        &["machine", "gpu_type"],
        &["sn", "cpu_milli", "gpu"],
        &["gpu_model", "gpu_capacity_num"],
        &["job_name", "worker_name"],
    ];
    if of_machines.iter().any(|wanted| has(wanted)) {
        return refuse(
            "a table of machines of a cluster",
            "it is no inventory of the server at hand",
            "declare the server in the site file; `cotenant init` looks at the machine it runs on",
        );
    }
    let tabs = first.matches('\t').count();
    if tabs >= 3 && first.contains("python") {
        return refuse(
            "a trace of jobs as Gavel's simulator has them",
            "it tells of jobs and not of requests",
            "declare jobs in the site file",
        );
    }
    None
}

/// Tables by their columns.
fn table(look: &Look<'_>, number: u64, first: &str) -> Option<FileRefusal> {
    let cells = csv_cells(first).unwrap_or_default();
    let names: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
    let refuse = |seems: &str, why: &str, way_out: &str| Some(look.refuse(seems, why, way_out));
    if names.iter().any(|name| name.contains("oken")) && names.len() > 1 {
        return refuse(
            "a table with tokens",
            &format!("its columns are of no known trace: {}", short(&names.join(", "), 160)),
            "name the columns of time, prompt tokens and output tokens in a site file (`trace:` with `columns`)",
        );
    }
    let tabs = first.matches('\t').count();
    if tabs >= 1 && first.contains(['{', '(']) {
        return refuse(
            "a list of queries",
            "it holds no values",
            "ask the queries and give the answers",
        );
    }
    if names.len() > 1 {
        let why =
            format!("no known tool has a table with the columns {}", short(&names.join(", "), 160));
        return Some(look.refuse("a table", why, NAME_IT).at(Some(number)));
    }
    let is_column =
        look.sample().lines().skip(1).take(20).all(|line| line.trim().parse::<f64>().is_ok());
    if is_column && look.sample().lines().count() > 2 {
        return refuse(
            "one column of numbers",
            "nothing says what they measure",
            "give the table that the column is from",
        );
    }
    None
}

fn unknown(look: &Look<'_>) -> FileRefusal {
    let (number, first) = look.first_line();
    let why = format!("no known tool begins with «{}»", short(first, 80));
    look.refuse("a text", why, NAME_IT).at(Some(number))
}
