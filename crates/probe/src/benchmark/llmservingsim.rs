//! The vLLM runs that calibrate LLMServingSim: every request, the engine's state each second, and what
//! was run.
//!
//! `arrival_time` is the time of day and the other times are a monotonic clock, so they are never
//! subtracted from each other. What can be learned of both is how much their difference varies: so much
//! longer did one request wait before the engine queued it than another.

use cotenant_core::evidence::Outcome;
use serde_json::Value;

use super::csv;
use super::model::{
    BenchmarkFile, Counts, ImportedBenchmark, ImportedMetric, ImportedRequest, Tool,
};
use super::node::{Node, count, text};
use super::refusal::{Claim, Refusal};
use super::rules::{from_values, judge};

fn file_of(
    file: &str,
    form: &'static str,
    version: Option<String>,
    benchmark: ImportedBenchmark,
) -> BenchmarkFile {
    BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::LlmServingSim,
        form,
        version,
        benchmarks: vec![benchmark],
        caveats: Vec::new(),
    }
}

/// Times of one request in seconds: of day, then monotonic.
struct Times {
    arrival: f64,
    queued: f64,
    scheduled: f64,
    first: f64,
    last: f64,
}

fn times(node: &Node<'_>) -> Result<Times, Box<Refusal>> {
    let time = |key: &str| {
        node.get(key)
            .ok_or_else(|| node.refuse(format!("the request has no {key}"), "give the whole file"))?
            .amount()
    };
    let times = Times {
        arrival: time("arrival_time")?,
        queued: time("queued_ts")?,
        scheduled: time("scheduled_ts")?,
        first: time("first_token_ts")?,
        last: time("last_token_ts")?,
    };
    let in_order = [times.queued, times.scheduled, times.first, times.last];
    if in_order.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err(node.refuse(
            "queued, scheduled, first token and last token must follow each other",
            "repeat the run",
        ));
    }
    Ok(times)
}

/// The requests, one a line.
pub(super) fn requests(file: &str, lines: &[(u64, Value)]) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    let nodes: Vec<Node<'_>> =
        lines.iter().map(|(line, value)| Node::root(file, Some(*line), value)).collect();
    let mut all = Vec::with_capacity(nodes.len());
    for node in &nodes {
        all.push(times(node)?);
    }
    let origin = all.iter().map(|times| times.queued).fold(f64::INFINITY, f64::min);
    let since = |time: f64| Some(((time - origin) * 1e9).round() as u64);
    let mut requests = Vec::with_capacity(nodes.len());
    let mut per_token = Vec::new();
    for (node, times) in nodes.iter().zip(&all) {
        let tokens = |key: &str| -> Result<Option<u32>, Box<Refusal>> {
            Ok(count(node.get(key))?.and_then(|tokens| u32::try_from(tokens).ok()))
        };
        let output_tokens = tokens("output_toks")?;
        if let Some(tokens) = output_tokens.filter(|tokens| *tokens > 1) {
            per_token.push((times.last - times.first) / f64::from(tokens - 1));
        }
        requests.push(ImportedRequest {
            id: text(node.get("request_id")).unwrap_or_default(),
            intended_ns: None,
            sent_ns: since(times.queued),
            first_token_ns: since(times.first),
            last_token_ns: since(times.last),
            end_ns: since(times.last),
            prompt_tokens: tokens("input_toks")?,
            output_tokens,
            gap_longest_ns: None,
            outcome: Outcome::Completed,
        });
    }
    let offsets = all.iter().map(|times| times.queued - times.arrival);
    let (low, high) = offsets.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), offset| {
        (low.min(offset), high.max(offset))
    });
    benchmark.caveats.push(format!(
        "arrival_time and queued_ts are two clocks; between them one request waited up to {:.3} s \
         longer than another, which is in no time here: times count from queued_ts, inside the engine",
        high - low
    ));
    let total = requests.len() as u64;
    benchmark.counts =
        Counts { total: Some(total), succeeded: Some(total), failed: None, incomplete: None };
    let queued: Vec<f64> = all.iter().map(|times| times.scheduled - times.queued).collect();
    let longest = queued.iter().copied().fold(0.0, f64::max);
    benchmark.facts.push(("longest queue, s".to_owned(), format!("{longest:.6}")));
    let first = all.iter().map(|times| times.first - times.queued).collect();
    let whole = all.iter().map(|times| times.last - times.queued).collect();
    from_values(
        &mut benchmark,
        ImportedMetric::TimeToFirstToken,
        first,
        "first_token_ts − queued_ts",
    );
    from_values(
        &mut benchmark,
        ImportedMetric::TimePerOutputToken,
        per_token,
        "(last_token_ts − first_token_ts) ÷ (output_toks − 1)",
    );
    from_values(&mut benchmark, ImportedMetric::EndToEnd, whole, "last_token_ts − queued_ts");
    benchmark.requests = Some(requests);
    judge(file, &mut benchmark);
    Ok(file_of(file, "requests", None, benchmark))
}

/// What was run: no measurement.
pub(super) fn meta(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    benchmark.model = text(root.get("model"));
    benchmark.hardware = text(root.walk(&["hardware", "device_name"]));
    benchmark.when = text(root.get("started_at"));
    benchmark.counts.total = count(root.get("num_requests"))?;
    for key in ["dataset_path", "dataset_hash", "finished_at"] {
        benchmark.facts.extend(text(root.get(key)).map(|value| (key.to_owned(), value)));
    }
    for key in ["max_num_seqs", "max_num_batched_tokens", "tensor_parallel_size", "dtype"] {
        let value = text(root.walk(&["engine_kwargs", key]));
        benchmark.facts.extend(value.map(|value| (key.to_owned(), value)));
    }
    benchmark.refusals.push(Refusal::new(
        root.file,
        Claim::Anything,
        "the file says what was run and holds no measurement",
        "give the requests.jsonl beside it",
    ));
    let version = text(root.get("vllm_version")).map(|version| format!("vLLM {version}"));
    Ok(file_of(root.file, "description of the run", version, benchmark))
}

/// The engine's state each second.
pub(super) fn series(file: &str, body: &str) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    let mut rows = csv::rows(file, body, ',')?.into_iter();
    let header = rows.next().map(|row| row.cells).unwrap_or_default();
    let mut seconds = 0_u64;
    let mut highest = vec![0.0_f64; header.len()];
    for row in rows {
        if row.cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        if row.cells.len() != header.len() {
            return Err(csv::ragged(file, &row, header.len()));
        }
        seconds += 1;
        for ((cell, name), highest) in row.cells.iter().zip(&header).zip(&mut highest) {
            *highest = csv::amount(file, &row, name, cell)?.max(*highest);
        }
    }
    benchmark.duration_s = header.first().and(highest.first()).copied();
    benchmark.facts.push(("samples".to_owned(), seconds.to_string()));
    for (name, highest) in header.iter().zip(&highest).skip(1) {
        benchmark.facts.push((format!("highest {name}"), highest.to_string()));
    }
    benchmark.refusals.push(Refusal::new(
        file,
        Claim::Anything,
        "the engine's state each second holds no latency",
        "give the requests.jsonl beside it",
    ));
    Ok(file_of(file, "engine state", None, benchmark))
}
