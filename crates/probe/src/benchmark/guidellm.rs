//! guidellm: the report of version 2, the one before it, and the CSV before that.
//!
//! Its inter-token latency is (last − first) ÷ (tokens − 1) of a request; its time per output token is
//! (last − start) ÷ tokens, with the first token's time in it. Statistics of successful requests are
//! read; the groups of the others are zeros where nothing failed.

use cotenant_core::evidence::Outcome;
use serde_json::{Map, Value};

use super::csv;
use super::model::{
    Arrivals, BenchmarkFile, Counts, ImportedBenchmark, ImportedMetric, ImportedRequest, Tool,
};
use super::node::{Node, amount, count, text};
use super::parse;
use super::refusal::{Claim, Refusal};
use super::rules::{counts_add_up, distribution, judge, meaning, push};

/// Names of metrics in JSON and in CSV, what they are, and their unit in seconds.
const METRICS: [(&str, &str, ImportedMetric, f64); 4] = [
    ("time_to_first_token_ms", "Time to first token ms", ImportedMetric::TimeToFirstToken, 1e-3),
    ("inter_token_latency_ms", "Inter token latency ms", ImportedMetric::TimePerOutputToken, 1e-3),
    (
        "time_per_output_token_ms",
        "Time per output token ms",
        ImportedMetric::TimePerTokenWithFirst,
        1e-3,
    ),
    ("request_latency", "Request latency", ImportedMetric::EndToEnd, 1.0),
];

const RATES: [(&str, &str, ImportedMetric); 2] = [
    ("requests_per_second", "Requests per second", ImportedMetric::Requests),
    ("output_tokens_per_second", "Output tokens per second", ImportedMetric::OutputTokens),
];

/// The order of values in a CSV cell whose header names it.
const CELL_QUANTILES: &str = "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]";

/// A report in JSON.
pub(super) fn report(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmarks = Vec::new();
    for node in root.get("benchmarks").map(|list| list.items()).unwrap_or_default() {
        benchmarks.push(benchmark(&node)?);
    }
    if benchmarks.is_empty() {
        return Err(
            root.refuse("the report holds no benchmark", "give the report of a finished run")
        );
    }
    let metadata = root.get("metadata");
    let of = |key: &str| metadata.as_ref().and_then(|metadata| text(metadata.get(key)));
    let version = of("guidellm_version");
    Ok(BenchmarkFile {
        file: root.file.to_owned(),
        tool: Tool::Guidellm,
        form: if of("version").as_deref() == Some("2") { "report v2" } else { "report" },
        version,
        benchmarks,
        caveats: Vec::new(),
    })
}

fn benchmark(node: &Node<'_>) -> Result<ImportedBenchmark, Box<Refusal>> {
    let config = node.any(&["config", "args"]);
    let strategy = config.as_ref().and_then(|config| config.get("strategy"));
    let kind =
        strategy.as_ref().and_then(|strategy| text(strategy.get("type_"))).unwrap_or_default();
    let mut benchmark = ImportedBenchmark::named("");
    benchmark.model = text(node.walk(&["config", "backend", "model"]))
        .or_else(|| text(node.walk(&["worker", "backend_model"])));
    benchmark.when = text(node.get("start_time")).map(|start| format!("{start} s since 1970"));
    benchmark.duration_s = amount(node.get("duration"))?;
    if let Some(strategy) = &strategy {
        set_load(&mut benchmark, &kind, strategy)?;
    }
    benchmark.name = match benchmark.load.rate_requested {
        Some(rate) => format!("{kind}@{rate}"),
        None => kind,
    };
    let metrics = node
        .get("metrics")
        .ok_or_else(|| node.refuse("the benchmark has no metrics", "give guidellm's own report"))?;
    let totals = metrics.get("request_totals").or_else(|| node.get("request_totals"));
    if let Some(totals) = &totals {
        benchmark.counts = Counts {
            total: count(totals.get("total"))?,
            succeeded: count(totals.get("successful"))?,
            failed: count(totals.get("errored"))?,
            incomplete: count(totals.get("incomplete"))?,
        };
        counts_add_up(node.file, &totals.path, &benchmark.counts)?;
    }
    for (name, _, metric, scale) in METRICS {
        let Some(at) = metrics.walk(&[name, "successful"]) else { continue };
        let samples = count(at.get("count"))?;
        if samples == Some(0) {
            continue;
        }
        let percentiles = at.get("percentiles");
        distribution(&mut benchmark, &at, percentiles.as_ref(), meaning(metric, scale), samples)?;
    }
    for (name, _, metric) in RATES {
        if let Some(mean) = metrics.walk(&[name, "successful", "mean"]) {
            push(&mut benchmark, metric, None, mean.amount()?, None, mean.path);
        }
    }
    requests(node, &mut benchmark)?;
    made(node, &mut benchmark)?;
    judge(node.file, &mut benchmark);
    Ok(benchmark)
}

fn set_load(
    benchmark: &mut ImportedBenchmark,
    kind: &str,
    strategy: &Node<'_>,
) -> Result<(), Box<Refusal>> {
    let rate = match strategy.get("rate") {
        Some(rate) if rate.value.is_array() => rate.items().into_iter().next(),
        other => other,
    };
    let cap = count(strategy.any(&["max_concurrency", "streams"]))?;
    benchmark.load.concurrency_max = cap;
    benchmark.load.arrivals = match kind {
        "constant" => Arrivals::Constant,
        "poisson" => Arrivals::Poisson,
        "synchronous" => {
            benchmark.load.concurrency_max = Some(1);
            Arrivals::ClosedLoop
        }
        "concurrent" => Arrivals::ClosedLoop,
        "throughput" if cap.is_some() => Arrivals::ClosedLoop,
        "throughput" => Arrivals::AllAtOnce,
        "replay" | "trace" => Arrivals::Trace,
        _ => Arrivals::Unknown,
    };
    if matches!(benchmark.load.arrivals, Arrivals::Constant | Arrivals::Poisson) {
        benchmark.load.rate_requested = amount(rate)?;
    }
    Ok(())
}

/// What the scheduler made cannot be less than what was measured of it.
fn made(node: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let made = node
        .walk(&["run_stats", "requests_made"])
        .or_else(|| node.walk(&["scheduler_metrics", "requests_made"]));
    let Some(made) = made else { return Ok(()) };
    let total = count(made.get("total"))?;
    if let (Some(total), Some(measured)) = (total, benchmark.counts.total)
        && total < measured
    {
        benchmark.refusals.push(
            Refusal::new(
                node.file,
                Claim::Anything,
                format!(
                    "the counts do not add up: {total} requests were made and {measured} were \
                     measured"
                ),
                "give guidellm's own report: this one was edited or cut",
            )
            .at(made.path),
        );
    }
    Ok(())
}

/// The single requests, where all of them are there: guidellm may keep a sample only.
fn requests(node: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let Some(groups) = node.get("requests") else { return Ok(()) };
    let mut rows: Vec<(Node<'_>, Outcome)> = Vec::new();
    for (group, outcome) in [
        ("successful", Outcome::Completed),
        ("errored", Outcome::Reset),
        ("incomplete", Outcome::Cancelled),
    ] {
        let items = groups.get(group).map(|group| group.items()).unwrap_or_default();
        rows.extend(items.into_iter().map(|item| (item, outcome)));
    }
    if rows.is_empty() {
        return Ok(());
    }
    if Some(rows.len() as u64) != benchmark.counts.total {
        let total = benchmark.counts.total.unwrap_or(0);
        benchmark.caveats.push(format!(
            "{} of {total} requests are in the file: a sample, which is not used",
            rows.len()
        ));
        return Ok(());
    }
    let time = |row: &Node<'_>, names: &[&str]| -> Result<Option<f64>, Box<Refusal>> {
        let places = [
            row.get("scheduler_info"),
            row.walk(&["info", "timings"]),
            row.get("timings"),
            Some(row.clone()),
        ];
        amount(places.into_iter().flatten().find_map(|place| place.any(names)))
    };
    let mut read = Vec::new();
    let mut first = f64::INFINITY;
    for (row, outcome) in &rows {
        let mut times = [
            time(row, &["targeted_start_time", "targeted_start"])?,
            time(row, &["request_start", "start_time"])?,
            time(row, &["first_token_time", "first_token_iteration", "first_iteration"])?,
            time(row, &["last_token_time", "last_token_iteration", "last_iteration"])?,
            time(row, &["request_end", "end_time"])?,
        ];
        // The turn of a conversation is wanted when the turn before it ends: that is no schedule.
        let follows = time(row, &["predecessor_completed"])?.is_some();
        if follows {
            times[0] = None;
        }
        first = times.iter().flatten().copied().fold(first, f64::min);
        read.push((row, *outcome, times));
    }
    let mut requests = Vec::new();
    for (row, outcome, times) in read {
        let [intended_ns, sent_ns, first_token_ns, last_token_ns, end_ns] =
            times.map(|time| time.map(|time| ((time - first) * 1e9).round() as u64));
        let tokens = |key: &str| -> Result<Option<u32>, Box<Refusal>> {
            Ok(count(row.get(key))?.and_then(|tokens| u32::try_from(tokens).ok()))
        };
        requests.push(ImportedRequest {
            id: text(row.get("request_id")).unwrap_or_default(),
            intended_ns,
            sent_ns,
            first_token_ns,
            last_token_ns,
            end_ns,
            prompt_tokens: tokens("prompt_tokens")?,
            output_tokens: tokens("output_tokens")?,
            gap_longest_ns: None,
            outcome,
        });
    }
    benchmark.requests = Some(requests);
    Ok(())
}

/// The CSV, one benchmark a row.
pub(super) fn table(file: &str, body: &str) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut rows = csv::rows(file, body, ',')?.into_iter();
    let header = rows.next().map(|row| row.cells).unwrap_or_default();
    let mut benchmarks = Vec::new();
    for row in rows {
        if row.cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        if row.cells.len() != header.len() {
            return Err(csv::ragged(file, &row, header.len()));
        }
        benchmarks.push(table_row(file, &header, &row)?);
    }
    if benchmarks.is_empty() {
        return Err(Refusal::file(
            file,
            "the table has a header and no row",
            "give a finished run",
        ));
    }
    Ok(BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::Guidellm,
        form: "table",
        version: None,
        benchmarks,
        caveats: Vec::new(),
    })
}

fn table_row(
    file: &str,
    header: &[String],
    row: &csv::Row,
) -> Result<ImportedBenchmark, Box<Refusal>> {
    let mut cells = Map::new();
    for (name, cell) in header.iter().zip(&row.cells) {
        let value = if cell.starts_with(['[', '{']) {
            parse::json(cell).unwrap_or_else(|_| cell.as_str().into())
        } else {
            match cell.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => Value::from(number),
                _ if cell.is_empty() => Value::Null,
                _ => Value::from(cell.as_str()),
            }
        };
        cells.insert(name.clone(), value);
    }
    let cells = Value::Object(cells);
    let node = Node::root(file, Some(row.line), &cells);
    let mut benchmark = ImportedBenchmark::named(text(node.get("Name")).unwrap_or_default());
    benchmark.when = text(node.get("Start Time"));
    benchmark.duration_s = amount(node.get("Duration"))?;
    benchmark.model = text(node.walk(&["Worker", "backend_model"]));
    if let Some(profile) = node.walk(&["Args", "profile"]) {
        let kind = text(profile.any(&["strategy_type", "type_"])).unwrap_or_default();
        set_load(&mut benchmark, &kind, &profile)?;
    }
    let counted = |name: &str| count(node.get(&format!("{name} Requests")));
    benchmark.counts = Counts {
        total: counted("Total")?,
        succeeded: counted("Successful")?,
        failed: counted("Errored")?,
        incomplete: counted("Incomplete")?,
    };
    counts_add_up(file, "Total Requests", &benchmark.counts)?;
    let samples = benchmark.counts.succeeded;
    for (_, name, metric, scale) in METRICS {
        let values = statistics(&node, &format!("Successful {name}"));
        let Some(values) = values else { continue };
        let mut at = Node::root(file, Some(row.line), &values);
        at.path = format!("Successful {name}");
        distribution(&mut benchmark, &at, None, meaning(metric, scale), samples)?;
    }
    for (_, name, metric) in RATES {
        if let Some(mean) = node.get(&format!("Successful {name} mean")) {
            push(&mut benchmark, metric, None, mean.amount()?, None, mean.path);
        }
    }
    judge(file, &mut benchmark);
    Ok(benchmark)
}

/// Mean, median and the cell of quantiles under one name, as one object.
fn statistics(node: &Node<'_>, name: &str) -> Option<Value> {
    let mut values = Map::new();
    values.insert("mean".into(), node.get(&format!("{name} mean"))?.value.clone());
    values.insert("median".into(), node.get(&format!("{name} median"))?.value.clone());
    if let Some(list) = node.get(&format!("{name} {CELL_QUANTILES}"))
        && let Some([low, .., p75, p90, p95, p99, high]) = list.value.as_array().map(Vec::as_slice)
    {
        for (key, value) in
            [("min", low), ("p75", p75), ("p90", p90), ("p95", p95), ("p99", p99), ("max", high)]
        {
            values.insert(key.into(), value.clone());
        }
    }
    Some(Value::Object(values))
}
