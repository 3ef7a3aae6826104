//! `sdiag` as text: numbers of the controller since its statistics began.

use super::super::cluster::Statistic;
use super::super::kind::Kind;
use super::super::model::Place;
use super::super::reading::Reading;
use super::super::stated::{Stated, absence_of, number};

/// Whether a text is what `sdiag` prints.
pub(in super::super) fn is_sdiag(text: &str) -> bool {
    text.lines().take(10).any(|line| line.starts_with("sdiag output at"))
}

/// Reads `sdiag`. The same name stands in several groups: "Last cycle" of the main schedule and of
/// backfilling are two numbers, and a row of the calls is none of them.
pub(in super::super) fn read(file: &str, text: &str) -> Reading {
    let mut reading = Reading::new(file, Kind::SlurmDiagnostics);
    let mut group = String::new();
    for (line_number, line) in (1_u64..).zip(text.lines()) {
        let place = Place::Line(line_number);
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with("***") {
            continue;
        }
        if bare.starts_with("sdiag output at") || bare.starts_with("Data since") {
            reading.caveat(bare.split_whitespace().collect::<Vec<_>>().join(" "));
            continue;
        }
        if !line.starts_with([' ', '\t']) && is_heading(bare) {
            bare.trim_end_matches(':').clone_into(&mut group);
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            group.clear();
        }
        if call(&mut reading, place, &group, bare) {
            continue;
        }
        let Some((name, value)) = bare.split_once(": ").or_else(|| bare.split_once(':')) else {
            if bare != "No pending RPCs" {
                reading.skip(place, "no number of sdiag", bare);
            }
            continue;
        };
        let name = name.trim();
        push(
            &mut reading,
            Statistic {
                place,
                group: group.clone(),
                name: name.to_owned(),
                unit: unit_of(&group, name, value),
                value: value_of(value.trim()),
            },
        );
    }
    reading
}

fn push(reading: &mut Reading, statistic: Statistic) {
    Reading::keep(&mut reading.statistics, &mut reading.records_left_out, statistic);
}

fn is_heading(line: &str) -> bool {
    ["statistics", "Backfilling stats", "scheduler exit", "Backfill exit"]
        .iter()
        .any(|word| line.contains(word))
        && line.split_once(": ").is_none()
}

/// Cycles are microseconds; counts of cycles are none.
fn unit_of(group: &str, name: &str, value: &str) -> &'static str {
    let is_time = matches!(name, "Last cycle" | "Max cycle" | "Mean cycle" | "Cycle sum");
    let is_moment = value.contains('(') && value.contains(':');
    match (is_time && (group.contains("schedule") || group.contains("Backfilling")), is_moment) {
        (_, true) => "s since 1970",
        (true, _) => "µs",
        _ if name.starts_with("Latency") => "µs",
        _ => "",
    }
}

/// A number, or a date with its seconds in parentheses: `Sun May 05 12:00:00 2024 (1714910400)`.
fn value_of(text: &str) -> Stated<f64> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    if let Some((_, seconds)) = text.rsplit_once('(')
        && let Some(seconds) = seconds.strip_suffix(')')
    {
        return number(seconds);
    }
    number(text.trim_end_matches(" microseconds"))
}

/// `REQUEST_JOB_INFO ( 2003) count:8021 ave_time:1523 total_time:12215983`.
fn call(reading: &mut Reading, place: Place, group: &str, line: &str) -> bool {
    let Some((head, tail)) = line.split_once(')') else { return false };
    if !tail.contains("count:") {
        return false;
    }
    let who = head.split('(').next().unwrap_or_default().trim();
    for part in tail.split_whitespace() {
        let Some((key, value)) = part.split_once(':') else { continue };
        let (name, unit) = match key {
            "count" => ("count", ""),
            "ave_time" => ("average time", "µs"),
            "total_time" => ("total time", "µs"),
            _ => continue,
        };
        push(
            reading,
            Statistic {
                place,
                group: group.to_owned(),
                name: format!("{who} {name}"),
                unit,
                value: number(value),
            },
        );
    }
    true
}
