//! What was tested, in words: the site, the machine, the load, when and how long.

use std::collections::BTreeSet;

use cotenant_core::evidence::{Aspect, Run, TestedLoad};
use cotenant_core::verdict::Unit;

use super::inputs::{DeclaredLoad, ReportInputs};
use super::pool::Pool;
use crate::format;
use crate::model::{Fact, SeriesKind};

/// An instant for people, to the minute, in UTC.
pub(super) fn instant(instant: jiff::Timestamp) -> String {
    instant.strftime("%-d %B %Y, %H:%M UTC").to_string()
}

/// Notes of the caller, then remarks of the verdict, each once.
pub(super) fn notes(inputs: &ReportInputs<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    inputs
        .notes
        .iter()
        .chain(&inputs.verdict.remarks)
        .filter(|note| seen.insert(note.as_str()))
        .cloned()
        .collect()
}

/// The objectives, one line each.
pub(super) fn objectives(inputs: &ReportInputs<'_>) -> Vec<Fact> {
    inputs
        .objectives
        .iter()
        .map(|objective| fact(&objective.workload, &objective.sentence, Some("declared")))
        .collect()
}

fn fact(name: &str, text: &str, origin: Option<&str>) -> Fact {
    Fact { name: name.to_owned(), text: text.to_owned(), origin: origin.map(str::to_owned) }
}

/// What was tested.
pub(super) fn tested(inputs: &ReportInputs<'_>, pool: &Pool<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if !inputs.site_lines.is_empty() {
        facts.push(fact("site", &inputs.site_lines.join(" · "), Some("declared")));
    }
    facts.push(machine(inputs.runs));
    facts.extend(load(inputs));
    facts.push(when(inputs.runs));
    facts.push(length(pool));
    facts
}

fn machine(runs: &[Run]) -> Fact {
    let texts: BTreeSet<_> = runs
        .iter()
        .map(|run| {
            [Aspect::Device, Aspect::VisibleDevices, Aspect::Driver, Aspect::Kernel]
                .iter()
                .filter_map(|aspect| run.fingerprint.0.get(aspect))
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" · ")
        })
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() {
        return fact("machine", "not seen: no run names it", None);
    }
    let text = texts.into_iter().collect::<Vec<_>>().join("; ");
    fact("machine", &text, runs.first().map(|run| run.origin.name()))
}

fn load(inputs: &ReportInputs<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut seen = BTreeSet::new();
    for run in inputs.runs {
        if !run.inference.is_empty() && seen.insert((&run.inference, &run.load.digest)) {
            let name = format!("load tested, {}", run.inference);
            facts.push(fact(&name, &tested_load(&run.load), Some(run.origin.name())));
        }
    }
    if facts.is_empty() {
        facts.push(fact("load tested", "not seen: no run has a load", None));
    }
    for declared in inputs.loads {
        let name = format!("load declared, {}", declared.workload);
        facts.push(fact(&name, &declared_load(declared), Some("declared")));
    }
    if inputs.loads.is_empty() {
        facts.push(fact("load declared", "not seen: the site declares none", None));
    }
    facts
}

fn tested_load(load: &TestedLoad) -> String {
    format!(
        "{} · {} · prompt p50 {} / p95 {} tokens · output p50 {} / p95 {} tokens",
        load.description,
        format::text(load.rate_per_s, Unit::RequestsPerSecond, None),
        format::count(load.prompt_tokens_p50.into()),
        format::count(load.prompt_tokens_p95.into()),
        format::count(load.output_tokens_p50.into()),
        format::count(load.output_tokens_p95.into()),
    )
}

fn declared_load(load: &DeclaredLoad) -> String {
    let tokens = |count: Option<u32>| {
        count.map_or_else(|| "not declared".to_owned(), |count| format::count(count.into()))
    };
    let rate = load.rate_per_s.map_or_else(
        || "peak rate not declared".to_owned(),
        |rate| format!("peak {}", format::declared(rate, Unit::RequestsPerSecond).text),
    );
    format!(
        "{} · {rate} · prompt p50 {} / p95 {} tokens · output p50 {} / p95 {} tokens",
        load.description,
        tokens(load.prompt_tokens_p50),
        tokens(load.prompt_tokens_p95),
        tokens(load.output_tokens_p50),
        tokens(load.output_tokens_p95),
    )
}

fn when(runs: &[Run]) -> Fact {
    let first = runs.iter().map(|run| run.started).min();
    let last = runs.iter().map(|run| run.started).max();
    let text = match (first, last) {
        (Some(first), Some(last)) if first == last => instant(first),
        (Some(first), Some(last)) => format!(
            "{}, from {} to {}",
            format::plural(runs.len() as u64, "run", "runs"),
            instant(first),
            instant(last)
        ),
        _ => "not seen: there is no run".to_owned(),
    };
    fact("when", &text, None)
}

fn length(pool: &Pool<'_>) -> Fact {
    let all_s: f64 = pool.blocks.iter().map(|placed| placed.block.ended_ns as f64 / 1e9).sum();
    let judged_s: f64 = pool.valid().map(|placed| placed.block.judged_s()).sum();
    let counts: Vec<_> = [
        SeriesKind::InferenceAlone,
        SeriesKind::TrainingAlone,
        SeriesKind::Together,
        SeriesKind::WithRemedy,
    ]
    .into_iter()
    .map(|kind| (kind, pool.valid().filter(|placed| placed.kind == kind).count()))
    .filter(|(_, count)| *count > 0)
    .map(|(kind, count)| format!("{} of {}", format::count(count as u64), kind.letter()))
    .collect();
    if pool.blocks.is_empty() {
        return fact("how long", "not seen: no block was finished", None);
    }
    let left_out = pool.blocks.iter().filter(|placed| placed.rejected.is_some()).count();
    let text = format!(
        "{} of blocks, {} of them judged · valid blocks: {} · left out: {}",
        format::minutes(all_s / 60.0),
        format::minutes(judged_s / 60.0),
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") },
        format::count(left_out as u64),
    );
    fact("how long", &text, None)
}
