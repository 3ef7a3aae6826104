//! Files of this program: what they are, and which command reads them whole. Their formats are
//! checked elsewhere; here they are told by their first lines.

use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading};
use serde_json::Value;

use super::look::{Claim, Look, Outcome, short};

/// What the `format` field of a file says, and the command that reads such a file.
const FORMATS: [(&str, FileKind, &str, Option<&str>); 10] = [
    ("cotenant-report", FileKind::Report, "report of a verdict", None),
    ("cotenant-plan", FileKind::Report, "plan", None),
    ("cotenant-demand", FileKind::Report, "view of demand", None),
    ("cotenant-reading", FileKind::Report, "what files were read as", None),
    ("cotenant block", FileKind::Evidence, "block", Some("cotenant verdict site.yaml")),
    ("cotenant gaps", FileKind::Evidence, "gaps of a block", Some("cotenant verdict site.yaml")),
    (
        "cotenant schedule",
        FileKind::Evidence,
        "schedule of a run",
        Some("cotenant verdict site.yaml"),
    ),
    ("cotenant run", FileKind::Evidence, "record of a run", Some("cotenant verdict site.yaml")),
    (
        "cotenant resume",
        FileKind::Evidence,
        "resume after a drill",
        Some("cotenant verdict site.yaml"),
    ),
    ("cotenant ledger", FileKind::Evidence, "ledger of runs", Some("cotenant status site.yaml")),
];

/// Top-level keys of a site file beside `workloads`.
const SITE_KEYS: [&str; 6] = ["server:", "pool:", "sharing:", "operations:", "time_zone:", "kind:"];

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    if let Some((format, ..)) = format_of(look) {
        return Some(Claim::sure(format!("has `format: {format}`"), read));
    }
    if look.json.is_some() || look.json_line.is_some() {
        return None;
    }
    let has = |key: &str| look.sample().lines().any(|line| line.starts_with(key));
    let key = SITE_KEYS.into_iter().find(|key| has(key))?;
    (has("workloads:") && has("name:"))
        .then(|| Claim::sure(format!("has the keys `name:`, `workloads:` and `{key}`"), read_site))
}

fn value_of<'l>(look: &'l Look<'_>) -> Option<&'l Value> {
    look.json.as_ref().or(look.json_line.as_ref())
}

fn format_of(
    look: &Look<'_>,
) -> Option<(&'static str, FileKind, &'static str, Option<&'static str>)> {
    let name = value_of(look)?.get("format")?.as_str()?;
    FORMATS.into_iter().find(|(format, ..)| *format == name)
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    let Some((_, kind, form, next)) = format_of(look) else {
        return Err(look.refuse(
            "a file of this program",
            "its format is not known",
            "use a newer version",
        ));
    };
    let mut reading = FileReading::new(look.name, kind, form);
    reading.producer = Some("cotenant".to_owned());
    let nothing = Value::Null;
    let value = value_of(look).unwrap_or(&nothing);
    let version = value.get("version").and_then(Value::as_u64);
    reading.version = version.map(|version| format!("version {version} of the format"));
    for (key, name) in [
        ("tool", "written by"),
        ("title", "title"),
        ("site", "site"),
        ("run", "run"),
        ("started", "started"),
    ] {
        if let Some(text) = value.get(key).and_then(Value::as_str) {
            reading.fact(name, Figure::text(short(text, 200)));
        }
    }
    if let Some(word) =
        value.pointer("/headline/word").or(value.get("word")).and_then(Value::as_str)
    {
        reading.fact("word", Figure::text(word));
    }
    if let Some(counts) = value.get("counts").and_then(Value::as_object) {
        for (name, count) in counts {
            if let Some(count) = count.as_u64() {
                reading.count(name.clone(), count);
            }
        }
    }
    reading.count("lines", memchr::memchr_iter(b'\n', look.bytes).count());
    if kind == FileKind::Evidence {
        reading.note("told by its first lines alone: digests and counts are verified by `verdict` and `status`");
    }
    reading.next = next.map(str::to_owned);
    Ok(reading.into())
}

fn read_site(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole("a site file")?;
    let mut reading = FileReading::new(look.name, FileKind::SiteFile, "YAML");
    reading.producer = Some("a person".to_owned());
    for key in ["name", "time_zone", "kind", "as_of"] {
        let found = look.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let value = found.map(|value| value.split(" #").next().unwrap_or_default().trim());
        reading
            .fact(key, Figure::text_or(value.map(|value| short(value, 100)), "the file is silent"));
    }
    let workloads = look
        .text
        .lines()
        .skip_while(|line| !line.starts_with("workloads:"))
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with([' ', '-', '#']))
        .filter(|line| line.trim_start().starts_with("- name:"))
        .count();
    reading.count("workloads", workloads);
    reading.note("told by its keys alone: `cotenant check` reads it whole and tells every problem");
    reading.next = Some(format!("cotenant check {}", look.name));
    Ok(reading.into())
}
