//! aiperf: `profile_export_aiperf.json`, its CSV, and `profile_export.jsonl` with every request.
//!
//! Its inter-token latency is (latency − time to first token) ÷ (tokens − 1) of a request, so it is a
//! time per output token here; its inter-chunk latency is the time between chunks. Its latencies
//! count from the sending.

use cotenant_core::evidence::Outcome;
use serde_json::Value;

use super::csv;
use super::model::{
    Arrivals, BenchmarkFile, ImportedBenchmark, ImportedMetric, ImportedRequest, Tool,
};
use super::node::{Node, amount, count, text};
use super::refusal::{Claim, Refusal};
use super::rules::{Meaning, counts_add_up, distribution, from_values, judge, meaning, push};

/// What a metric's tag, or the words before the unit in CSV, stand for.
fn metric_of(tag: &str) -> Option<ImportedMetric> {
    Some(match tag {
        "ttft" | "time_to_first_token" | "Time to First Token" => ImportedMetric::TimeToFirstToken,
        "inter_token_latency" | "Inter Token Latency" => ImportedMetric::TimePerOutputToken,
        "inter_chunk_latency" | "Inter Chunk Latency" => ImportedMetric::ChunkGap,
        "request_latency" | "Request Latency" => ImportedMetric::EndToEnd,
        "request_throughput" | "Request Throughput" => ImportedMetric::Requests,
        "output_token_throughput" | "Output Token Throughput" => ImportedMetric::OutputTokens,
        _ => return None,
    })
}

/// The scale of a unit to seconds or to "per second"; `None` where the unit is another.
fn scale_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "sec" | "s" | "requests/sec" | "tokens/sec" => 1.0,
        _ => return None,
    })
}

fn unit_refused(file: &str, field: &str, unit: &str) -> Box<Refusal> {
    Box::new(
        Refusal::new(
            file,
            Claim::Anything,
            "the unit of this metric is not known",
            "give a file of aiperf with ms, sec, requests/sec or tokens/sec",
        )
        .at(field)
        .found(unit),
    )
}

/// The JSON export.
pub(super) fn json(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    let records = root.get("records").unwrap_or_else(|| root.clone());
    let config = root.get("input_config");
    benchmark.model = config
        .as_ref()
        .and_then(|config| config.walk(&["endpoint", "model_names"]))
        .and_then(|names| text(names.items().into_iter().next()));
    benchmark.when = text(root.get("start_time"));
    if let Some(load) = config.as_ref().and_then(|config| config.get("loadgen")) {
        read_load(&mut benchmark, &load)?;
    }
    let single = |tag: &str| records.get(tag).and_then(|metric| metric.any(&["avg", "value"]));
    benchmark.duration_s = amount(single("benchmark_duration"))?;
    benchmark.counts.succeeded = count(single("request_count"))?;
    benchmark.counts.failed = count(single("error_request_count"))?;
    benchmark.counts.total = benchmark
        .counts
        .succeeded
        .and_then(|succeeded| succeeded.checked_add(benchmark.counts.failed.unwrap_or(0)));
    check_errors(root, &benchmark)?;
    for tag in records.value.as_object().into_iter().flat_map(serde_json::Map::keys) {
        let (Some(metric), Some(at)) = (metric_of(tag), records.get(tag)) else { continue };
        let unit = text(at.get("unit")).unwrap_or_default();
        let scale = scale_of(&unit).ok_or_else(|| unit_refused(root.file, &at.path, &unit))?;
        let samples = count(at.get("count"))?.filter(|_| metric.is_latency());
        distribution(&mut benchmark, &at, None, meaning(metric, scale), samples)?;
    }
    if benchmark.counts.failed.is_some_and(|failed| failed > 0) {
        benchmark.caveats.push("failed requests are in no percentile of this file".to_owned());
    }
    judge(root.file, &mut benchmark);
    Ok(file_of(root.file, "summary", text(root.get("aiperf_version")), benchmark))
}

fn read_load(benchmark: &mut ImportedBenchmark, load: &Node<'_>) -> Result<(), Box<Refusal>> {
    benchmark.load.rate_requested =
        load.get("request_rate").map(|r| r.rate()).transpose()?.flatten();
    benchmark.load.concurrency_max = count(load.get("concurrency"))?;
    let mode = text(load.any(&["request_rate_mode", "arrival_pattern"])).unwrap_or_default();
    benchmark.load.arrivals = match mode.as_str() {
        "poisson" => Arrivals::Poisson,
        "constant" => Arrivals::Constant,
        "concurrency_burst" => Arrivals::ClosedLoop,
        _ if benchmark.load.rate_requested.is_none()
            && benchmark.load.concurrency_max.is_some() =>
        {
            Arrivals::ClosedLoop
        }
        _ => Arrivals::Unknown,
    };
    Ok(())
}

/// The errors that are listed must be as many as are counted.
fn check_errors(root: &Node<'_>, benchmark: &ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let Some(errors) = root.get("error_summary") else { return Ok(()) };
    let mut listed = 0_u64;
    for error in errors.items() {
        listed = listed.saturating_add(count(error.get("count"))?.unwrap_or(0));
    }
    let counted = benchmark.counts.failed.unwrap_or(0);
    if listed == counted {
        return Ok(());
    }
    Err(errors.refuse(
        format!("the counts do not add up: {listed} errors are listed and {counted} are counted"),
        "fetch the tool's own file again, or repeat the run",
    ))
}

fn file_of(
    file: &str,
    form: &'static str,
    version: Option<String>,
    benchmark: ImportedBenchmark,
) -> BenchmarkFile {
    BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::Aiperf,
        form,
        version,
        benchmarks: vec![benchmark],
        caveats: Vec::new(),
    }
}

/// The CSV export: a table of distributions, a blank line, a table of single values. Rows are as wide
/// as their table.
pub(super) fn table(file: &str, body: &str) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    let mut header: Vec<String> = Vec::new();
    let mut rows: Vec<(u64, String, Value)> = Vec::new();
    for row in csv::rows(file, body, ',')? {
        if row.cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        if row.cells.first().is_some_and(|cell| cell == "Metric") {
            header = row.cells;
            continue;
        }
        if row.cells.len() != header.len() {
            return Err(csv::ragged(file, &row, header.len()));
        }
        let mut values = serde_json::Map::new();
        for (name, cell) in header.iter().zip(&row.cells).skip(1) {
            if cell.trim().is_empty() {
                continue;
            }
            let value = cell.trim().parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.map_or_else(|| Value::from(cell.as_str()), Value::from);
            values.insert(name.to_lowercase(), value);
        }
        rows.push((row.line, row.cells.into_iter().next().unwrap_or_default(), values.into()));
    }
    for (line, label, values) in &rows {
        let (name, unit) = match label.rsplit_once(" (") {
            Some((name, unit)) => (name, unit.trim_end_matches(')')),
            None => (label.as_str(), ""),
        };
        let mut at = Node::root(file, Some(*line), values);
        at.path.clone_from(label);
        let value = at.get("value");
        match name {
            "Request Count" => benchmark.counts.succeeded = count(value)?,
            "Error Request Count" => benchmark.counts.failed = count(value)?,
            "Benchmark Duration" => benchmark.duration_s = amount(value)?,
            _ => {
                let Some(metric) = metric_of(name) else { continue };
                let scale = scale_of(unit).ok_or_else(|| unit_refused(file, label, unit))?;
                let meaning: Meaning = meaning(metric, scale);
                distribution(&mut benchmark, &at, None, meaning, None)?;
                if let Some(value) = value {
                    push(&mut benchmark, metric, None, value.amount()? * scale, None, value.path);
                }
            }
        }
    }
    benchmark.counts.total = benchmark
        .counts
        .succeeded
        .and_then(|succeeded| succeeded.checked_add(benchmark.counts.failed.unwrap_or(0)));
    benchmark.caveats.push(
        "the CSV says nothing of the load and rounds to two decimals; the JSON beside it says more"
            .to_owned(),
    );
    judge(file, &mut benchmark);
    Ok(file_of(file, "summary table", None, benchmark))
}

/// The requests, one a line.
pub(super) fn requests(file: &str, lines: &[(u64, Value)]) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    let nodes: Vec<Node<'_>> =
        lines.iter().map(|(line, value)| Node::root(file, Some(*line), value)).collect();
    let mut starts = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let at = node.walk(&["metadata", "request_start_ns"]);
        let at = at.or_else(|| node.walk(&["metadata", "timestamp_ns"]));
        starts.push(at.ok_or_else(|| missing(node, "metadata.timestamp_ns"))?.count_of_ns()?);
    }
    let first = starts.iter().copied().min().unwrap_or(0);
    let mut requests = Vec::new();
    for (node, start) in nodes.iter().zip(&starts) {
        let end = node.walk(&["metadata", "request_end_ns"]);
        let end = end.map(|end| end.count_of_ns()).transpose()?;
        let phase = text(node.walk(&["metadata", "credit_phase"]))
            .or_else(|| text(node.walk(&["metadata", "benchmark_phase"])));
        if phase.as_deref() == Some("warmup") {
            continue;
        }
        let mut read = request(node, start - first)?;
        read.end_ns = read.end_ns.or(end.and_then(|end| end.checked_sub(first)));
        requests.push(read);
    }
    let succeeded = requests.iter().filter(|request| request.outcome.is_complete()).count() as u64;
    benchmark.counts.total = Some(requests.len() as u64);
    benchmark.counts.succeeded = Some(succeeded);
    benchmark.counts.failed = Some(requests.len() as u64 - succeeded);
    counts_add_up(file, "error", &benchmark.counts)?;
    let times = |at: fn(&ImportedRequest) -> Option<u64>| -> Vec<f64> {
        requests
            .iter()
            .filter(|request| request.outcome.is_complete())
            .filter_map(|request| Some(at(request)?.saturating_sub(request.sent_ns?) as f64 / 1e9))
            .collect()
    };
    let first_tokens = times(|request| request.first_token_ns);
    let ends = times(|request| request.end_ns);
    from_values(&mut benchmark, ImportedMetric::TimeToFirstToken, first_tokens, "ttft");
    from_values(&mut benchmark, ImportedMetric::EndToEnd, ends, "request_latency");
    benchmark.requests = Some(requests);
    judge(file, &mut benchmark);
    Ok(file_of(file, "requests", None, benchmark))
}

fn missing(node: &Node<'_>, field: &str) -> Box<Refusal> {
    node.refuse(
        format!("the request has no {field}"),
        "give profile_export.jsonl as aiperf wrote it",
    )
}

fn request(node: &Node<'_>, sent_ns: u64) -> Result<ImportedRequest, Box<Refusal>> {
    let value = |tag: &str| node.get("metrics").and_then(|metrics| metrics.walk(&[tag, "value"]));
    let nanoseconds = |tag: &str| -> Result<Option<u64>, Box<Refusal>> {
        let Some(metric) = node.get("metrics").and_then(|metrics| metrics.get(tag)) else {
            return Ok(None);
        };
        let unit = text(metric.get("unit")).unwrap_or_default();
        let scale = scale_of(&unit).ok_or_else(|| unit_refused(node.file, &metric.path, &unit))?;
        Ok(amount(metric.get("value"))?.map(|time| (time * scale * 1e9).round() as u64))
    };
    let tokens = |tag: &str| -> Result<Option<u32>, Box<Refusal>> {
        Ok(count(value(tag))?.and_then(|tokens| u32::try_from(tokens).ok()))
    };
    let latency = nanoseconds("request_latency")?;
    let first = match nanoseconds("ttft")? {
        Some(first) => Some(first),
        None => nanoseconds("time_to_first_token")?,
    };
    let mut gap_longest_ns = None;
    for gap in value("inter_chunk_latency").map(|gaps| gaps.items()).unwrap_or_default() {
        let gap_ns = (gap.amount()? * 1e6).round() as u64;
        gap_longest_ns = gap_longest_ns.max(Some(gap_ns));
    }
    let outcome = match node.get("error") {
        None if latency.is_none() => return Err(missing(node, "metrics.request_latency")),
        None => Outcome::CompletedWithoutUsage,
        Some(error) => match count(error.get("code"))? {
            Some(499) => Outcome::Cancelled,
            Some(code @ (429 | 503)) => Outcome::Refused(code as u16),
            Some(code) if code < 600 => Outcome::HttpError(code as u16),
            _ => Outcome::Reset,
        },
    };
    Ok(ImportedRequest {
        id: text(node.walk(&["metadata", "x_request_id"])).unwrap_or_default(),
        intended_ns: None,
        sent_ns: Some(sent_ns),
        first_token_ns: first.map(|first| sent_ns.saturating_add(first)),
        last_token_ns: latency.map(|latency| sent_ns.saturating_add(latency)),
        end_ns: latency.map(|latency| sent_ns.saturating_add(latency)),
        prompt_tokens: tokens("input_sequence_length")?,
        output_tokens: tokens("output_sequence_length")?,
        gap_longest_ns,
        outcome,
    })
}
