//! Results of other tools: what their numbers are, and what they cannot prove.

use std::io::BufRead;

use cotenant_core::evidence::StepRecord;
use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal, Limit, Table};

use super::door::ReadFile;
use super::look::{Claim, Look, Outcome};
use super::quantiles::Values;
use crate::benchmark::{
    self, Arrivals, BenchmarkFile, ImportedBenchmark, ImportedMetric, ImportedRequest, Refusal,
};

const SEEMS: &str = "a result of a benchmark";

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    let clue = benchmark::clue(look.sample(), look.json.as_ref(), look.json_line.as_ref())?;
    Some(Claim::sure(clue, read))
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole(SEEMS)?;
    let file = benchmark::read(look.name, look.bytes).map_err(|refusal| refused(look, &refusal))?;
    Ok(ReadFile { reading: told(&file), benchmark: Some(file) })
}

fn refused(look: &Look<'_>, refusal: &Refusal) -> FileRefusal {
    let place = refusal.field.as_ref().map_or(String::new(), |field| format!("field {field}: "));
    let found = refusal.found.as_ref().map_or(String::new(), |text| format!(" (found {text:?})"));
    look.refuse(SEEMS, format!("{place}{}{found}", refusal.rule), refusal.hint.clone())
        .at(refusal.line)
}

/// The reading of a result.
fn told(file: &BenchmarkFile) -> FileReading {
    let mut reading = FileReading::new(&file.file, FileKind::BenchmarkResult, file.form);
    reading.producer = Some(file.tool.name().to_owned());
    reading.version.clone_from(&file.version);
    reading.count("results", file.benchmarks.len());
    for caveat in &file.caveats {
        reading.note(caveat.clone());
    }
    match &file.benchmarks[..] {
        [one] => alone(&mut reading, one),
        several => reading.table(loads(several)),
    }
    reading.table(points(&file.benchmarks));
    for benchmark in &file.benchmarks {
        let at = |text: &str| match benchmark.name.as_str() {
            "" => text.to_owned(),
            name => format!("{name}: {text}"),
        };
        for caveat in &benchmark.caveats {
            reading.note(at(caveat));
        }
        for refusal in &benchmark.refusals {
            limit(&mut reading, benchmark, refusal);
        }
    }
    reading
}

/// The same limit of several results is told once.
fn limit(reading: &mut FileReading, benchmark: &ImportedBenchmark, refusal: &Refusal) {
    let (claim, why) = (refusal.claim.name(), &refusal.rule);
    if let Some(known) =
        reading.limits.iter_mut().find(|limit| limit.claim == claim && limit.why == *why)
    {
        if !known.place.is_empty() && !known.place.ends_with(", and others") {
            known.place.push_str(", and others");
        }
        return;
    }
    let place = refusal.field.clone().unwrap_or_else(|| benchmark.name.clone());
    reading.limits.push(Limit {
        claim: claim.to_owned(),
        why: why.clone(),
        way_out: refusal.hint.clone(),
        place,
    });
}

fn arrivals(arrivals: Arrivals) -> Figure {
    match arrivals {
        Arrivals::Constant => Figure::text("at constant distances"),
        Arrivals::Poisson => Figure::text("Poisson"),
        Arrivals::Gamma(shape) => Figure::text(format!("Gamma, shape {shape}")),
        Arrivals::ClosedLoop => Figure::text("closed loop: a request is sent when another ends"),
        Arrivals::AllAtOnce => Figure::text("all at once"),
        Arrivals::Trace => Figure::text("at the times of a trace"),
        Arrivals::Unknown => Figure::absent("the file does not say"),
    }
}

const NOT_SAID: &str = "the file does not say";

fn whole(value: Option<u64>) -> Figure {
    value.map_or_else(|| Figure::absent(NOT_SAID), Figure::count)
}

fn alone(reading: &mut FileReading, one: &ImportedBenchmark) {
    let word = |text: &Option<String>| Figure::text_or(text.clone(), NOT_SAID);
    if !one.name.is_empty() {
        reading.fact("name", Figure::text(one.name.clone()));
    }
    reading.fact("model", word(&one.model));
    reading.fact("device", word(&one.hardware));
    reading.fact("when", word(&one.when));
    reading.fact("duration", Figure::number_or(one.duration_s, "s", NOT_SAID));
    reading.fact("arrivals", arrivals(one.load.arrivals));
    reading.fact("rate asked for", Figure::number_or(one.load.rate_requested, "req/s", NOT_SAID));
    reading.fact("rate sent", Figure::number_or(one.load.rate_sent, "req/s", NOT_SAID));
    reading.fact("open at once, at most", whole(one.load.concurrency_max));
    for (name, value) in [
        ("requests", one.counts.total),
        ("succeeded", one.counts.succeeded),
        ("failed", one.counts.failed),
        ("cut off by the end", one.counts.incomplete),
    ] {
        reading.fact(name, whole(value));
    }
    if let Some(requests) = &one.requests {
        of_requests(reading, requests);
    }
    if !one.steps.is_empty() {
        reading.count("steps told one by one", one.steps.len());
        of_steps(reading, &one.steps);
    }
    for (name, text) in &one.facts {
        reading.fact(name.clone(), Figure::text(text.clone()));
    }
}

/// Times of steps: as they are told, else by their distances over the steps between. Where a time
/// begins with the run and not with a step, it is not taken.
fn of_steps(reading: &mut FileReading, steps: &[StepRecord]) {
    let mut told = Values::default();
    for step in steps {
        if let Some(duration_s) = step.duration_s {
            told.add(duration_s);
        }
    }
    if told.len() > 0 {
        told.tell(reading, "step time", "s");
        return;
    }
    let mut between = Values::default();
    for pair in steps.windows(2) {
        let [before, now] = pair else { continue };
        let steps = now.step.saturating_sub(before.step);
        if steps > 0 {
            between.add(now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9 / steps as f64);
        }
    }
    between.tell(reading, "step time, from the distances of lines", "s");
}

/// Times of requests that the file tells one by one. The times are from sending, since few files
/// know when a request was wanted.
fn of_requests(reading: &mut FileReading, requests: &[ImportedRequest]) {
    reading.count("requests told one by one", requests.len());
    let wanted = requests.iter().filter(|one| one.intended_ns.is_some()).count();
    reading.count("of these with the time at which they were wanted", wanted);
    let mut firsts = Values::default();
    let mut wholes = Values::default();
    for one in requests {
        let Some(sent_ns) = one.sent_ns else { continue };
        let since = |at_ns: Option<u64>| {
            at_ns.and_then(|at_ns| at_ns.checked_sub(sent_ns)).map(|ns| ns as f64 / 1e9)
        };
        if let Some(first_s) = since(one.first_token_ns) {
            firsts.add(first_s);
        }
        if let Some(end_s) = since(one.end_ns) {
            wholes.add(end_s);
        }
    }
    firsts.tell(reading, "time to first token, from sending", "s");
    wholes.tell(reading, "whole request, from sending", "s");
}

fn loads(all: &[ImportedBenchmark]) -> Table {
    let mut table = Table::new(
        "Results",
        &[
            "name",
            "model",
            "device",
            "rate asked for",
            "rate sent",
            "open at most",
            "requests",
            "duration",
        ],
    );
    for one in all {
        table.row(vec![
            Figure::text(one.name.clone()),
            Figure::text_or(one.model.clone(), NOT_SAID),
            Figure::text_or(one.hardware.clone(), NOT_SAID),
            Figure::number_or(one.load.rate_requested, "req/s", NOT_SAID),
            Figure::number_or(one.load.rate_sent, "req/s", NOT_SAID),
            whole(one.load.concurrency_max),
            whole(one.counts.total),
            Figure::number_or(one.duration_s, "s", NOT_SAID),
        ]);
    }
    table
}

fn points(all: &[ImportedBenchmark]) -> Table {
    let mut table = Table::new("Numbers", &["result", "metric", "statistic", "value", "*field"]);
    for one in all {
        for point in &one.points {
            let statistic = match point.quantile {
                Some(quantile) => format!("p{}", trimmed(quantile * 100.0)),
                None if is_rate(point.metric) => "rate".to_owned(),
                None => "mean".to_owned(),
            };
            table.row(vec![
                Figure::text(one.name.clone()),
                Figure::text(point.metric.name()),
                Figure::text(statistic),
                Figure::number(point.value, point.unit.clone()),
                Figure::text(point.field.clone()),
            ]);
        }
    }
    table
}

fn is_rate(metric: ImportedMetric) -> bool {
    matches!(
        metric,
        ImportedMetric::Requests
            | ImportedMetric::OutputTokens
            | ImportedMetric::TrainingSamples
            | ImportedMetric::Throughput
    )
}

/// `99.9` and not `99.90000000000001`.
fn trimmed(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}
