//! `vllm bench serve` and `sglang.bench_serving`: one flat object a run, times in milliseconds.
//!
//! Both call the pooled time between chunks inter-token latency, and (latency − time to first token) ÷
//! (tokens − 1) the time per output token. Neither says when a request was
//! wanted: vLLM's `queue_times` begin when its own loop came to a request, however late that was.

use cotenant_core::evidence::Outcome;
use serde_json::{Map, Value};

use super::model::{
    Arrivals, BenchmarkFile, Counts, ImportedBenchmark, ImportedMetric, ImportedRequest, Tool,
};
use super::node::{Node, amount, count, text};
use super::refusal::{Claim, Refusal};
use super::rules::{counts_add_up, distribution, from_values, judge, meaning, push};

const LATENCIES: [(&[&str], ImportedMetric); 4] = [
    (&["ttft_ms"], ImportedMetric::TimeToFirstToken),
    (&["tpot_ms"], ImportedMetric::TimePerOutputToken),
    (&["itl_ms"], ImportedMetric::ChunkGap),
    (&["e2el_ms", "e2e_latency_ms"], ImportedMetric::EndToEnd),
];

/// A rate that is computed from count and duration may differ by this share, for rounding.
const RATE_SHARE_MAX: f64 = 0.01;

/// Whether an object is such a result, and whose.
pub(super) fn tool_of(value: &Value) -> Option<Tool> {
    let has = |key: &str| value.get(key).is_some();
    if !has("completed") || !(has("mean_ttft_ms") || has("request_throughput")) {
        return None;
    }
    let is_sglang = has("total_output_tokens_retokenized")
        || has("mean_e2e_latency_ms")
        || has("sharegpt_output_len");
    Some(if is_sglang { Tool::SglangBenchServing } else { Tool::VllmBenchServe })
}

/// All runs of a file.
pub(super) fn runs(
    file: &str,
    tool: Tool,
    nodes: &[Node<'_>],
) -> Result<BenchmarkFile, Box<Refusal>> {
    let benchmarks = nodes.iter().map(run).collect::<Result<Vec<_>, _>>()?;
    let form = if nodes.len() == 1 { "run" } else { "runs" };
    Ok(BenchmarkFile {
        file: file.to_owned(),
        tool,
        form,
        version: nodes.first().and_then(|node| text(node.any(&["vllm_version", "version"]))),
        benchmarks,
        caveats: Vec::new(),
    })
}

fn run(node: &Node<'_>) -> Result<ImportedBenchmark, Box<Refusal>> {
    let mut benchmark =
        ImportedBenchmark::named(node.line.map_or_else(String::new, |line| format!("line {line}")));
    benchmark.model = text(node.any(&["model_id", "model"]))
        .or_else(|| text(node.walk(&["server_info", "model_path"])));
    benchmark.when = text(node.get("date"));
    benchmark.duration_s = amount(node.get("duration"))?;
    load(node, &mut benchmark)?;
    counts(node, &mut benchmark)?;
    let samples = benchmark.counts.succeeded;
    for (names, metric) in LATENCIES {
        for name in names {
            let values = statistics(node, name);
            if values.as_object().is_none_or(Map::is_empty) {
                continue;
            }
            let mut at = Node::root(node.file, node.line, &values);
            (*name).clone_into(&mut at.path);
            let samples = samples.filter(|_| metric != ImportedMetric::ChunkGap);
            distribution(&mut benchmark, &at, None, meaning(metric, 1e-3), samples)?;
        }
    }
    for (name, metric) in [
        ("request_throughput", ImportedMetric::Requests),
        ("output_throughput", ImportedMetric::OutputTokens),
    ] {
        if let Some(rate) = node.get(name) {
            push(&mut benchmark, metric, None, rate.amount()?, None, rate.path);
        }
    }
    not_streamed(&mut benchmark);
    detailed(node, &mut benchmark)?;
    judge(node.file, &mut benchmark);
    Ok(benchmark)
}

fn load(node: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let asked = node.get("request_rate");
    let rate = asked.as_ref().map(Node::rate).transpose()?.flatten();
    benchmark.load.rate_requested = rate;
    benchmark.load.concurrency_max = count(node.get("max_concurrency"))?;
    let shape = amount(node.get("burstiness"))?;
    benchmark.load.arrivals = match (rate, benchmark.load.concurrency_max) {
        (Some(_), _) => match shape {
            Some(shape) if shape != 1.0 => Arrivals::Gamma(shape),
            _ => Arrivals::Poisson,
        },
        (None, Some(_)) => Arrivals::ClosedLoop,
        (None, None) if asked.is_some() => Arrivals::AllAtOnce,
        (None, None) => Arrivals::Unknown,
    };
    Ok(())
}

fn counts(node: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let total = count(node.get("num_prompts"))?;
    let succeeded = count(node.get("completed"))?;
    let failed = match count(node.get("failed"))? {
        Some(failed) => Some(failed),
        // Older versions name the planned and the completed requests alone.
        None => total.zip(succeeded).and_then(|(total, succeeded)| total.checked_sub(succeeded)),
    };
    benchmark.counts = Counts { total, succeeded, failed, incomplete: None };
    counts_add_up(node.file, "completed", &benchmark.counts)?;
    let rate = amount(node.get("request_throughput"))?;
    if let (Some(succeeded), Some(duration), Some(rate)) = (succeeded, benchmark.duration_s, rate)
        && duration > 0.0
    {
        let computed = succeeded as f64 / duration;
        // The console rounds to two decimals, and so do files made from it.
        if (computed - rate).abs() > (RATE_SHARE_MAX * computed).max(0.006) {
            return Err(Box::new(
                Refusal::new(
                    node.file,
                    Claim::Anything,
                    format!(
                        "the counts do not add up: {succeeded} requests in {duration} s are not {rate} \
                         requests per second"
                    ),
                    "give the tool's own file, or repeat the run",
                )
                .at("request_throughput"),
            ));
        }
    }
    Ok(())
}

/// `mean_ttft_ms`, `median_ttft_ms`, `p99_ttft_ms` and so on, as one object.
fn statistics(node: &Node<'_>, name: &str) -> Value {
    let mut values = Map::new();
    for (key, value) in node.value.as_object().into_iter().flatten() {
        if let Some(statistic) = key.strip_suffix(name).and_then(|key| key.strip_suffix('_'))
            && !value.is_null()
        {
            values.insert(statistic.to_owned(), value.clone());
        }
    }
    Value::Object(values)
}

/// Without streaming the tools write zeros between tokens, and the whole answer as its first token:
/// neither was measured.
fn not_streamed(benchmark: &mut ImportedBenchmark) {
    let is_zero = |metric| benchmark.point(metric, None).is_some_and(|mean| mean == 0.0);
    let gaps = is_zero(ImportedMetric::ChunkGap);
    let first = benchmark.point(ImportedMetric::TimeToFirstToken, None);
    let whole = benchmark.point(ImportedMetric::EndToEnd, None);
    let at_end = first.zip(whole).is_some_and(|(first, whole)| first >= 0.99 * whole);
    if gaps && (at_end || first == Some(0.0)) {
        benchmark
            .points
            .retain(|point| !point.metric.is_latency() || point.metric == ImportedMetric::EndToEnd);
        benchmark.caveats.push(
            "answers were not streamed: times of tokens are not measured, and the zeros of the file \
             are left out"
                .to_owned(),
        );
    }
}

/// What `--save-detailed` and `--output-details` add: a list for each quantity, one place a request.
fn detailed(node: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let list = |key: &str| node.get(key).map(|list| list.items()).unwrap_or_default();
    let (first_tokens, errors) = (list("ttfts"), list("errors"));
    if first_tokens.is_empty() {
        return Ok(());
    }
    let failed = |index: usize| {
        errors.get(index).is_some_and(|error| error.value.as_str().is_none_or(|e| !e.is_empty()))
    };
    let mut values = Vec::new();
    for (index, time) in first_tokens.iter().enumerate() {
        if !failed(index) {
            values.push(time.amount()?);
        }
    }
    let has_tail = benchmark.points.iter().any(|point| {
        point.metric == ImportedMetric::TimeToFirstToken
            && point.quantile.is_some_and(|quantile| quantile > 0.5)
    });
    if !has_tail && values.iter().any(|value| *value > 0.0) {
        benchmark.points.retain(|point| point.metric != ImportedMetric::TimeToFirstToken);
        let how = "ttfts, sending to first chunk";
        from_values(benchmark, ImportedMetric::TimeToFirstToken, values, how);
    }
    let (starts, latencies) = (list("start_times"), list("latencies"));
    let (inputs, outputs) = (list("input_lens"), list("output_lens"));
    let length = first_tokens.len();
    for (name, other) in
        [("start_times", starts.len()), ("latencies", latencies.len()), ("errors", errors.len())]
    {
        if other != 0 && other != length {
            return Err(node.refuse(
                format!("the counts do not add up: {other} in {name} beside {length} in ttfts"),
                "give the tool's own file",
            ));
        }
    }
    if starts.is_empty() || latencies.is_empty() {
        return Ok(());
    }
    let starts_s = starts.iter().map(Node::amount).collect::<Result<Vec<_>, _>>()?;
    let origin_s = starts_s.iter().copied().fold(f64::INFINITY, f64::min);
    let mut requests = Vec::with_capacity(length);
    for (index, start_s) in starts_s.iter().enumerate() {
        let since = |after_s: f64| Some(((start_s - origin_s + after_s) * 1e9).round() as u64);
        let tokens = |list: &[Node<'_>]| -> Result<Option<u32>, Box<Refusal>> {
            Ok(count(list.get(index).cloned())?.and_then(|tokens| u32::try_from(tokens).ok()))
        };
        let failed = failed(index);
        let first_s = amount(first_tokens.get(index).cloned())?.filter(|time| *time > 0.0);
        let whole_s = amount(latencies.get(index).cloned())?.filter(|_| !failed);
        requests.push(ImportedRequest {
            id: format!("request {index}"),
            intended_ns: None,
            sent_ns: since(0.0),
            first_token_ns: first_s.and_then(since),
            last_token_ns: whole_s.and_then(since),
            end_ns: whole_s.and_then(since),
            prompt_tokens: tokens(&inputs)?,
            output_tokens: tokens(&outputs)?,
            gap_longest_ns: None,
            outcome: if failed { Outcome::Reset } else { Outcome::Completed },
        });
    }
    benchmark.requests = Some(requests);
    Ok(())
}
