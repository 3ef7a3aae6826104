//! Tables with a row for each load: Splitwise's performance model, tables of means and tails whose
//! columns name their statistic, and pasted spreadsheets, which are refused.

use std::collections::BTreeMap;

use super::csv;
use super::model::{Arrivals, BenchmarkFile, ImportedBenchmark, ImportedMetric, Tool};
use super::refusal::{Claim, Refusal};
use super::rules::{judge, push};

/// Where the columns of a header stand; the first one that is missing is refused.
fn positions<const N: usize>(
    file: &str,
    header: &[String],
    names: [&str; N],
) -> Result<[usize; N], Box<Refusal>> {
    let mut found = [0; N];
    for (slot, name) in found.iter_mut().zip(names) {
        *slot = header.iter().position(|cell| cell.trim() == name).ok_or_else(|| {
            Box::new(
                Refusal::new(
                    file,
                    Claim::Anything,
                    format!("the table has no column {name}; it has {}", header.join(", ")),
                    "give the table as it was published",
                )
                .line(1),
            )
        })?;
    }
    Ok(found)
}

fn whole_rows(file: &str, body: &str) -> Result<(Vec<String>, Vec<csv::Row>), Box<Refusal>> {
    let mut rows = csv::rows(file, body, ',')?;
    rows.retain(|row| row.cells.iter().any(|cell| !cell.trim().is_empty()));
    if rows.is_empty() {
        return Err(Refusal::file(file, "the table is empty", "give a table with rows"));
    }
    let header = rows.remove(0).cells;
    if let Some(row) = rows.iter().find(|row| row.cells.len() != header.len()) {
        return Err(csv::ragged(file, row, header.len()));
    }
    Ok((header, rows))
}

/// Splitwise's performance model: repeats of one batch alone, times in milliseconds (its end-to-end
/// time is the prompt's plus one token time for each further token, and its token times are those of
/// published milliseconds).
pub(super) fn splitwise(file: &str, body: &str) -> Result<BenchmarkFile, Box<Refusal>> {
    let (header, rows) = whole_rows(file, body)?;
    let [model, hardware, parallel, prompt, batch, token] = positions(
        file,
        &header,
        ["model", "hardware", "tensor_parallel", "prompt_size", "batch_size", "token_size"],
    )?;
    let times = positions(file, &header, ["prompt_time", "token_time", "e2e_time"])?;
    let mut groups: BTreeMap<Vec<String>, [Vec<f64>; 3]> = BTreeMap::new();
    for row in &rows {
        let key = [model, hardware, parallel, prompt, batch, token]
            .iter()
            .map(|at| row.cells[*at].clone())
            .collect();
        let group = groups.entry(key).or_default();
        for (values, at) in group.iter_mut().zip(times) {
            values.push(csv::amount(file, row, &header[at], &row.cells[at])?);
        }
    }
    let mut benchmarks = Vec::new();
    for (key, values) in groups {
        let [model, hardware, parallel, prompt, batch, token] = key.as_slice() else { continue };
        let mut benchmark = ImportedBenchmark::named(format!(
            "{model} on {hardware} × {parallel}, prompt {prompt}, batch {batch}, {token} tokens"
        ));
        benchmark.model = Some(model.clone());
        benchmark.hardware = Some(format!("{parallel} × {hardware}"));
        benchmark.load.arrivals = Arrivals::ClosedLoop;
        benchmark.load.concurrency_max = batch.parse().ok();
        for ((metric, values), at) in [
            ImportedMetric::TimeToFirstToken,
            ImportedMetric::TimePerOutputToken,
            ImportedMetric::EndToEnd,
        ]
        .into_iter()
        .zip(values)
        .zip(times)
        {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let field = format!("mean of {}, {} rows", header[at], values.len());
            push(&mut benchmark, metric, None, mean / 1e3, Some(values.len() as u64), field);
        }
        judge(file, &mut benchmark);
        benchmarks.push(benchmark);
    }
    Ok(BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::SplitwisePerfModel,
        form: "table",
        version: None,
        benchmarks,
        caveats: vec!["one batch at a time, with nothing else on the device".to_owned()],
    })
}

/// Whether a header names statistics of latencies, as `ttft_p99`.
pub(super) fn names_statistics(header: &[&str]) -> bool {
    let statistic = |name: &str| column_of(name).is_some();
    header.iter().filter(|name| statistic(name.trim())).count() >= 2
}

/// What a column as `ttft_p99`, `ttft_p99_ms` or `itl_mean_s` holds: metric, quantile, and its unit in
/// seconds where it names one.
fn column_of(name: &str) -> Option<(ImportedMetric, Option<f64>, Option<f64>)> {
    let (name, unit_s) = match name.rsplit_once('_') {
        Some((name, "ms")) => (name, Some(1e-3)),
        Some((name, "s")) => (name, Some(1.0)),
        _ => (name, None),
    };
    let (metric, statistic) = name.rsplit_once('_')?;
    let metric = match metric {
        "ttft" => ImportedMetric::TimeToFirstToken,
        "e2e" => ImportedMetric::EndToEnd,
        "tpot" => ImportedMetric::TimePerOutputToken,
        "itl" => ImportedMetric::InterTokenUnclear,
        _ => return None,
    };
    let quantile = match statistic {
        "mean" | "avg" => None,
        "median" => Some(0.5),
        _ => {
            let percent = statistic.strip_prefix('p')?.parse::<f64>().ok()?;
            Some(percent / 100.0).filter(|quantile| *quantile > 0.0 && *quantile < 1.0)
        }
    };
    Some((metric, quantile, unit_s))
}

/// A table whose columns name statistics. A unit that is not in the names must be told.
pub(super) fn statistics(
    file: &str,
    body: &str,
    times_in_s: Option<f64>,
) -> Result<BenchmarkFile, Box<Refusal>> {
    let (header, rows) = whole_rows(file, body)?;
    let mut columns = Vec::new();
    for (at, name) in header.iter().enumerate() {
        let Some((metric, quantile, unit_s)) = column_of(name.trim()) else { continue };
        let unit_s = unit_s.or(times_in_s).ok_or_else(|| {
            Box::new(
                Refusal::new(
                    file,
                    Claim::Anything,
                    "the column names no unit, and units are not guessed",
                    "say the unit of the times, or rename the column as ttft_p99_ms",
                )
                .line(1)
                .at(name.clone()),
            )
        })?;
        columns.push((at, metric, quantile, unit_s));
    }
    let of = |row: &csv::Row, name: &str| -> Option<String> {
        let at = header.iter().position(|cell| cell.trim() == name)?;
        row.cells.get(at).filter(|cell| !cell.trim().is_empty()).cloned()
    };
    let mut benchmarks = Vec::new();
    for row in &rows {
        let label = ["run", "stage"].map(|name| of(row, name).unwrap_or_default());
        let mut benchmark = ImportedBenchmark::named(label.join(" stage ").trim().to_owned());
        benchmark.model = of(row, "model");
        benchmark.hardware = of(row, "hardware");
        // A row over several stages names several rates; it is a row all the same.
        benchmark.load.rate_requested = of(row, "rate").and_then(|rate| rate.parse().ok());
        benchmark.duration_s = of(row, "duration_s").and_then(|time| time.parse().ok());
        for (at, metric, quantile, unit_s) in &columns {
            let value = csv::amount(file, row, &header[*at], &row.cells[*at])? * unit_s;
            let field = format!("line {}, {}", row.line, header[*at]);
            push(&mut benchmark, *metric, *quantile, value, None, field);
        }
        judge(file, &mut benchmark);
        benchmarks.push(benchmark);
    }
    Ok(BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::Table,
        form: "table of statistics",
        version: None,
        benchmarks,
        caveats: Vec::new(),
    })
}

/// A pasted spreadsheet: metrics over columns of statistics, loads in a column without a name.
pub(super) fn pasted(file: &str) -> Box<Refusal> {
    Box::new(
        Refusal::new(
            file,
            Claim::Anything,
            "a pasted spreadsheet: its times have no unit, and the column of loads has no name, so it \
             could be a rate or a concurrency",
            "give guidellm's own report, or a table whose header names each column with its unit, as \
             rate,ttft_mean_ms,ttft_p99_ms",
        )
        .line(1),
    )
}
