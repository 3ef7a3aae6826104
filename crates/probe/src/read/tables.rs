//! Traces of requests and tables of rates.

use std::io::BufRead;
use std::time::Duration;

use cotenant_core::demand::{ArrivalOutcome, HistoryBuilder, TokenCounter, WorkUnit};
use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal};
use jiff::Timestamp;

use super::look::{Claim, Look, Outcome, short};
use super::quantiles::Values;
use crate::demand::{DemandError, RatesSource, fold_rates};
use crate::trace::{ColumnMap, TimeReader, TimeUnit, TraceError, csv_cells, decimal, stream};

const TRACE: &str = "a trace of requests";
const RATES: &str = "a table of rates";

/// A trace is known by the names of its columns or keys.
pub(super) fn trace(look: &Look<'_>) -> Option<Claim> {
    let line = look.json.as_ref().or(look.json_line.as_ref());
    let names: Vec<String> = match line {
        Some(value) => value.as_object()?.keys().cloned().collect(),
        None => cells(look.first_line().1),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let map = ColumnMap::recognise(&names.iter().copied())?;
    if map.list.is_some() && line.is_none() {
        return None;
    }
    let columns = match &map.list {
        Some(list) => format!("`{}` and `{list}`", map.time),
        None => format!("`{}`, `{}` and `{}`", map.time, map.prompt_tokens, map.output_tokens),
    };
    let clue = format!("has the columns {columns}");
    Some(Claim::sure(clue, read_trace))
}

fn cells(line: &str) -> Vec<String> {
    let cells = csv_cells(line).unwrap_or_default();
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn of_table(look: &Look<'_>, seems: &str, error: &TraceError) -> FileRefusal {
    let column = error.column.as_ref().map_or(String::new(), |name| format!("column {name}: "));
    let found = error.text.as_ref().map_or(String::new(), |text| format!(" (found {text:?})"));
    look.refuse(seems, format!("{column}{}{found}", error.problem), error.hint.clone())
        .at(error.line)
}

fn read_trace(look: &Look<'_>, rest: &mut dyn BufRead) -> Outcome {
    let (mut prompts, mut outputs) = (TokenCounter::new(), TokenCounter::new());
    let (mut refused, mut timed_out) = (0_u64, 0_u64);
    let mut times: Option<(i128, i128)> = None;
    let mut dated = false;
    let mut latencies = Values::default();
    let summary = stream(look.name, look.stream(rest), None, |row| {
        prompts.add(row.prompt_tokens);
        dated = row.dated;
        match row.outcome {
            ArrivalOutcome::Served => outputs.add(row.output_tokens),
            ArrivalOutcome::Refused => refused += 1,
            ArrivalOutcome::TimedOut => timed_out += 1,
        }
        if let Some(latency) = row.latency {
            latencies.add(latency.as_secs_f64());
        }
        let (first, last) = times.unwrap_or((row.at_ns, row.at_ns));
        times = Some((first.min(row.at_ns), last.max(row.at_ns)));
    })
    .map_err(|error| of_table(look, TRACE, &error))?;
    let mut reading =
        FileReading::new(look.name, FileKind::RequestTrace, summary.format.to_string());
    reading.count("requests", summary.rows);
    let (first_ns, last_ns) = times.unwrap_or((0, 0));
    let span_s = (last_ns - first_ns) as f64 / 1e9;
    reading.fact("span", Figure::number(span_s, "s"));
    let rate = (span_s > 0.0).then(|| summary.rows as f64 / span_s);
    reading.fact("mean rate", Figure::number_or(rate, "req/s", "all requests have one time"));
    if dated {
        reading.fact("first request", instant(first_ns));
        reading.fact("last request", instant(last_ns));
    }
    for (name, counter) in [("prompt tokens", &prompts), ("output tokens", &outputs)] {
        let Some(found) = counter.quantiles() else {
            reading.fact(name, Figure::absent("each row says 0"));
            continue;
        };
        reading.fact(format!("{name}, mean"), Figure::number(found.mean, "tokens"));
        for (word, value) in [("p50", found.p50), ("p95", found.p95), ("max", found.max)] {
            reading.fact(format!("{name}, {word}"), Figure::number(f64::from(value), "tokens"));
        }
    }
    latencies.tell(&mut reading, "latency", "s");
    if refused + timed_out > 0 {
        reading.count("refused or failed", refused);
        reading.count("timed out", timed_out);
    }
    if summary.rows_out_of_order > 0 {
        reading.note(format!("requests written after later ones: {}", summary.rows_out_of_order));
    }
    if summary.without_zone {
        reading.note("its times name no zone and are read as UTC");
    }
    if !dated {
        reading.note("its times are relative: hours of the day are not known");
    }
    if summary.last_line_has_no_end {
        reading.note(
            "its last line has no end; if the file was cut there, the last number may be too short",
        );
    }
    reading.next = Some(format!("cotenant demand {}", look.name));
    Ok(reading.into())
}

fn instant(ns: i128) -> Figure {
    Timestamp::from_nanosecond(ns).map_or_else(
        |_| Figure::absent("outside of the calendar"),
        |at| Figure::text(at.to_string()),
    )
}

/// Names of columns of rates, and what such a name may end with.
const RATE_NAMES: [&str; 4] = ["rate", "rps", "qps", "requests"];
const RATE_ENDINGS: [&str; 12] = [
    "_rps",
    "_qps",
    " rps",
    "req/s",
    "req_s",
    "reqs_per_s",
    "requests_per_s",
    "requests_per_second",
    "requests/s",
    "request_rate",
    "arrival_rate",
    "total_rate",
];
/// Names of columns of times, and what such a name may begin with.
const TIME_NAMES: [&str; 5] = ["t", "at", "date", "second", "seconds"];
const TIME_BEGINNINGS: [&str; 4] = ["time", "start", "datetime", "at_"];

/// A table of rates is known by a column of times and one of rates, or, without a header, by the rows
/// of ServeGen's clients.
pub(super) fn rates(look: &Look<'_>) -> Option<Claim> {
    if look.json.is_some() || look.json_line.is_some() {
        return None;
    }
    let (_, first) = look.first_line();
    let names = cells(first);
    if let Some((time, rate)) = rate_columns(&names) {
        let clue = format!(
            "has the columns `{}` and `{}`",
            short(&names[time], 40),
            short(&names[rate], 40)
        );
        return Some(Claim::likely(clue, &[".csv"], read_rates));
    }
    let is_number = |cell: &str| decimal(cell, 9).is_ok() || cell.parse::<f64>().is_ok();
    let rows: Vec<Vec<String>> = look.sample().lines().take(200).map(cells).collect();
    let is_shape = |cell: &str| matches!(cell, "Gamma" | "Weibull" | "Exponential" | "Poisson");
    let has_shape = rows.iter().any(|row| row.get(3).is_some_and(|cell| is_shape(cell)));
    let of_servegen = |row: &Vec<String>| {
        row.len() == 6
            && is_shape_or_empty(&row[3])
            && [0, 1, 2, 4, 5].iter().all(|at| row[*at].is_empty() || is_number(&row[*at]))
    };
    (rows.len() > 1 && rows.iter().all(of_servegen) && (has_shape || rows.len() > 10)).then(|| {
        Claim::likely(
            "each row is start, rate, spread and a distribution, as ServeGen's clients",
            &[".csv"],
            read_rates,
        )
    })
}

fn is_shape_or_empty(cell: &str) -> bool {
    cell.is_empty() || matches!(cell, "Gamma" | "Weibull" | "Exponential" | "Poisson")
}

/// Where a header has its times and its rates.
fn rate_columns(names: &[String]) -> Option<(usize, usize)> {
    let is_value = |name: &String| {
        name.parse::<f64>().is_ok() || TimeReader::new(TimeUnit::DateTime).read(name).is_ok()
    };
    if names.len() < 2 || names.iter().any(is_value) {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let time = names.iter().position(|name| {
        TIME_NAMES.contains(&name.as_str())
            || TIME_BEGINNINGS.iter().any(|start| name.starts_with(start))
    })?;
    let rate = names.iter().position(|name| {
        RATE_NAMES.contains(&name.as_str()) || RATE_ENDINGS.iter().any(|end| name.ends_with(end))
    })?;
    (time != rate).then_some((time, rate))
}

fn read_rates(look: &Look<'_>, rest: &mut dyn BufRead) -> Outcome {
    let names = cells(look.first_line().1);
    let columns = rate_columns(&names);
    let number = |at: usize| Some((at + 1).to_string());
    let source = RatesSource {
        path: look.name.into(),
        time_column: columns.and_then(|(time, _)| number(time)),
        rate_column: columns.and_then(|(_, rate)| number(rate)),
        begins: None,
        rate_factor: 1.0,
    };
    let mut builder = HistoryBuilder::new(Some(Duration::from_secs(1)));
    let part = fold_rates(look.name, look.stream(rest), &source, &mut builder).map_err(
        |error| match error {
            DemandError::File(error) => of_table(look, RATES, &error),
            other => look.refuse(RATES, other.to_string(), "mend the table"),
        },
    )?;
    let history = builder.finish().map_err(|refusal| {
        look.refuse(RATES, refusal.to_string(), "give a table with rates above 0")
    })?;
    let form = if columns.is_some() { "CSV with a header" } else { "CSV without a header" };
    let mut reading = FileReading::new(look.name, FileKind::RatesTable, form);
    if columns.is_none() {
        reading.producer = Some("ServeGen".to_owned());
    }
    reading.count("rows", part.rows);
    let (from, until) = history.span();
    reading.fact("span", Figure::number(until.duration_since(from).as_secs_f64(), "s"));
    reading.fact("step", Figure::number(history.resolution().as_secs_f64(), "s"));
    if part.time_of_week_known {
        reading.fact("from", Figure::text(from.to_string()));
        reading.fact("until", Figure::text(until.to_string()));
    }
    if let Some(series) = history.series(WorkUnit::Requests) {
        let mut values = Values::default();
        for value in series.values.iter().flatten() {
            values.add(*value);
        }
        values.tell(&mut reading, "rate", "req/s");
    }
    reading.count("gaps", history.gaps().len());
    let gaps_s: f64 =
        history.gaps().iter().map(|gap| gap.until.duration_since(gap.from).as_secs_f64()).sum();
    reading.fact("time in gaps", Figure::number(gaps_s, "s"));
    let own = format!("{}: ", look.name);
    for note in part.notes {
        reading.note(note.strip_prefix(&own).unwrap_or(&note));
    }
    for remark in history.remarks() {
        reading.note(remark.clone());
    }
    reading.next = Some(format!("cotenant demand {}", look.name));
    if columns.is_some_and(|columns| columns != (0, 1)) {
        reading.note(
            "`cotenant demand FILE` takes the first column as times and the second as rates: name these \
             in a site file (`rates:` with `time_column` and `rate_column`)",
        );
    }
    Ok(reading.into())
}
