//! What the engine says of itself, beside the client; and what was read beside the tests.

use std::collections::BTreeMap;

use cotenant_core::evidence::{Block, Missing, Reading};
use cotenant_core::observed::{
    Agreement, Answer, Covariate, Group, ReadingUnit, Spread, agreements, covariates, groups,
};
use cotenant_core::stats::QuantileBounds;
use cotenant_core::verdict::Unit;

use super::pool::{Placed, Pool};
use crate::format;
use crate::model::{Column, NOT_COMPARED, SeriesKind, Table, Value};

/// The conditions in which requests meet an engine.
const SERVED: [SeriesKind; 3] =
    [SeriesKind::InferenceAlone, SeriesKind::Together, SeriesKind::WithRemedy];

/// The tables of what was observed.
pub(super) fn tables(pool: &Pool<'_>) -> Vec<Table> {
    vec![engine(pool), counts(pool), remarks(pool), beside(pool)]
}

fn column(key: &str, title: &str, numeric: bool) -> Column {
    Column { key: key.to_owned(), title: title.to_owned(), numeric }
}

fn blocks<'a>(pool: &Pool<'a>, kind: SeriesKind) -> Vec<&'a Block> {
    pool.of(kind).into_iter().map(|placed| placed.block).collect()
}

/// The client's latencies against the engine's histograms.
fn engine(pool: &Pool<'_>) -> Table {
    let mut columns = vec![column("test", "test", false), column("latency", "latency", false)];
    for quantile in ["p50", "p95", "p99"] {
        let title = format!("{quantile}, client");
        columns.push(column(&format!("client_{quantile}_s"), &title, true));
        let title = format!("{quantile}, engine's bucket");
        columns.push(column(&format!("engine_{quantile}"), &title, true));
    }
    columns.extend([
        column("client_mean_s", "mean, client", true),
        column("engine_mean_s", "mean, engine", true),
        column("client_count", "seen by the client", true),
        column("engine_count", "counted by the engine", true),
        column("answer", "answer", false),
        column("why", "why", false),
    ]);
    let mut rows = Vec::new();
    for kind in SERVED {
        let blocks = blocks(pool, kind);
        if blocks.iter().all(|block| block.observed.engine.is_none()) {
            continue;
        }
        rows.extend(agreements(&blocks).iter().map(|agreement| row(kind, agreement)));
    }
    Table {
        key: "engine".to_owned(),
        title: "What the engine says of itself".to_owned(),
        note: "The client counts from its send, the engine from the arrival of the request inside of \
               it. A histogram says only between which bounds a quantile lies; its mean is exact. The \
               client's time in the queue is its time to first token less the engine's prefill."
            .to_owned(),
        columns,
        rows,
        empty: "not seen: the engine's metrics were read in no valid block".to_owned(),
    }
}

fn row(kind: SeriesKind, agreement: &Agreement) -> Vec<Value> {
    let time = |seconds: f64| format::measured(seconds, Unit::Seconds);
    let compared = agreement.answer != Answer::NotCompared;
    let absent = || Value::missing(if compared { "the sample has none" } else { "not compared" });
    let mut row = vec![Value::words(kind.letter()), Value::words(agreement.metric.name())];
    for share in [0.5, 0.95, 0.99] {
        let found = agreement.quantiles.iter().find(|quantile| quantile.share == share);
        match found {
            Some(found) => row.extend([time(found.client_s), bucket(found.engine)]),
            None => row.extend([absent(), absent()]),
        }
    }
    let mean = |seconds: Option<f64>| seconds.map_or_else(absent, time);
    row.extend([
        mean(agreement.client_mean_s),
        mean(agreement.engine_mean_s),
        format::counted(agreement.client_count as u64),
        format::counted(agreement.engine_count as u64),
        Value::words(answer(agreement.answer)),
        Value::words(&agreement.why),
    ]);
    row
}

fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Agrees => "agrees",
        Answer::Explained => "differs, explained",
        Answer::Unexplained => "differs, unexplained",
        Answer::NotCompared => NOT_COMPARED,
    }
}

/// A bucket in words: "250 ms to 500 ms".
fn bucket(bounds: QuantileBounds) -> Value {
    Value::words(match bounds.at_most_s {
        Some(at_most_s) if bounds.above_s > 0.0 => {
            format!("{} to {}", format::round_time(bounds.above_s), format::round_time(at_most_s))
        }
        Some(at_most_s) => format!("up to {}", format::round_time(at_most_s)),
        None => format!("above {}", format::round_time(bounds.above_s)),
    })
}

/// The engine's counters, per second between its scrapes.
fn counts(pool: &Pool<'_>) -> Table {
    let seen: Vec<(SeriesKind, BTreeMap<&str, f64>)> = SERVED
        .into_iter()
        .map(|kind| (kind, per_second(&blocks(pool, kind))))
        .filter(|(_, counts)| !counts.is_empty())
        .collect();
    let mut names: Vec<&str> = seen.iter().flat_map(|(_, counts)| counts.keys().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let mut columns = vec![column("counter", "per second", false)];
    columns.extend(seen.iter().map(|(kind, _)| column(kind.letter(), kind.letter(), true)));
    let rows = names.into_iter().map(|name| {
        let cells = seen.iter().map(|(_, counts)| {
            counts.get(name).map_or_else(
                || Value::missing("the engine did not tell it"),
                |rate| format::value_with_text(*rate, "1/s", format::number(*rate)),
            )
        });
        std::iter::once(Value::words(name.replace('_', " "))).chain(cells).collect()
    });
    Table {
        key: "engine_counts".to_owned(),
        title: "What the engine counted".to_owned(),
        note: "Differences of its counters between the scrapes around the judged part, per second."
            .to_owned(),
        columns,
        rows: rows.collect(),
        empty: "not seen: no counter of an engine was read".to_owned(),
    }
}

fn per_second<'b>(blocks: &[&'b Block]) -> BTreeMap<&'b str, f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for engine in blocks.iter().filter_map(|block| block.observed.engine.as_ref()) {
        let length_s = engine.until_ns.saturating_sub(engine.from_ns) as f64 / 1e9;
        for (name, count) in &engine.counters {
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + count, sum.1 + length_s);
        }
    }
    let rates = sums.into_iter().filter(|(_, (_, length_s))| *length_s > 0.0);
    rates.map(|(name, (count, length_s))| (name, count / length_s)).collect()
}

/// What was reset, missing or told twice, each once with the blocks in which it was seen.
fn remarks(pool: &Pool<'_>) -> Table {
    let mut seen: BTreeMap<&str, Vec<&Placed<'_>>> = BTreeMap::new();
    for placed in pool.valid() {
        let engine = placed.block.observed.engine.iter();
        for remark in engine.flat_map(|engine| &engine.remarks) {
            seen.entry(remark).or_default().push(placed);
        }
    }
    let rows = seen.into_iter().map(|(remark, blocks)| {
        let first = blocks.first().map_or(String::new(), |placed| placed.label());
        let more = blocks.len().saturating_sub(1);
        let place = if more == 0 { first } else { format!("{first} and {more} more") };
        vec![Value::words(place), Value::words(remark)]
    });
    Table {
        key: "engine_remarks".to_owned(),
        title: "About the engine's metrics".to_owned(),
        note: String::new(),
        columns: vec![column("block", "block", false), column("remark", "remark", false)],
        rows: rows.collect(),
        empty: "Nothing was reset, told twice or missing, as far as metrics were read.".to_owned(),
    }
}

/// Everything that was read beside the tests, condition by condition and phase by phase.
fn beside(pool: &Pool<'_>) -> Table {
    let members: Vec<(&Block, &str, &str)> = pool
        .valid()
        .map(|placed| (placed.block, placed.run.inference.as_str(), placed.run.neighbour.as_str()))
        .collect();
    let groups = groups(&members);
    let mut columns = vec![column("reading", "reading", false)];
    for group in &groups {
        let label = group.label();
        columns.push(column(&format!("{label} mean"), &format!("{label}: mean"), true));
        columns.push(column(&format!("{label} p95"), &format!("{label}: p95"), true));
    }
    let rows = if groups.is_empty() {
        Vec::new()
    } else {
        covariates(&groups).iter().map(|covariate| reading(covariate, &groups)).collect()
    };
    Table {
        key: "covariates".to_owned(),
        title: "What was read beside the tests".to_owned(),
        note: "One reading a second over the judged part of the valid blocks; «saving» is while a \
               checkpoint was written. What the neighbour causes here explains a block and never \
               removes it; only steal and strangers on the CPU or a GPU do."
            .to_owned(),
        columns,
        rows,
        empty: "not seen: no valid block".to_owned(),
    }
}

fn reading(covariate: &Covariate, groups: &[Group<'_>]) -> Vec<Value> {
    let mut row = vec![Value::words(&covariate.name)];
    debug_assert_eq!(covariate.groups.len(), groups.len());
    for spread in &covariate.groups {
        row.push(shown(spread, covariate.unit, |spread| spread.mean));
        row.push(shown(spread, covariate.unit, |spread| spread.p95));
    }
    row
}

fn shown(spread: &Reading<Spread>, unit: ReadingUnit, of: fn(&Spread) -> f64) -> Value {
    match spread {
        Ok(spread) => printed(of(spread), unit),
        Err(Missing(reason)) => Value::missing(reason),
    }
}

fn printed(value: f64, unit: ReadingUnit) -> Value {
    let with = |name: &str, text: String| format::value_with_text(value, name, text);
    match unit {
        ReadingUnit::Cores => with("cores", format!("{value:.2} cores")),
        // A tenth of a percent is all that a reading a second can claim.
        ReadingUnit::Share => with("share", format::share((value * 1e3).round() / 1e3)),
        ReadingUnit::Count => with("count", format::number(value)),
        ReadingUnit::Megahertz => with("MHz", format!("{} MHz", format::number(value))),
        ReadingUnit::Watts => with("W", format!("{} W", format::number(value))),
        ReadingUnit::Celsius => with("°C", format!("{} °C", format::number(value))),
        ReadingUnit::Bytes => with("B", format::bytes(value)),
        ReadingUnit::BytesPerSecond => with("B/s", format!("{}/s", format::bytes(value))),
    }
}
