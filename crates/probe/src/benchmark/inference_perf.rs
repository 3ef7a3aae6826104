//! inference-perf: reports of a stage, of a run, of every request, and of the server's own metrics.
//!
//! Its time per output token is (latency − time to first token) ÷ (tokens − 1); its inter-token
//! latency is the time between chunks. Times are seconds.

use cotenant_core::evidence::Outcome;

use super::model::{
    BenchmarkFile, Counts, ImportedBenchmark, ImportedMetric, ImportedRequest, Tool,
};
use super::node::{Node, amount, count, text};
use super::refusal::{Claim, Refusal};
use super::rules::{counts_add_up, distribution, from_values, judge, meaning, push};

const LATENCIES: [(&str, ImportedMetric); 4] = [
    ("time_to_first_token", ImportedMetric::TimeToFirstToken),
    ("time_per_output_token", ImportedMetric::TimePerOutputToken),
    ("inter_token_latency", ImportedMetric::ChunkGap),
    ("request_latency", ImportedMetric::EndToEnd),
];

/// A report of a stage or of a run.
pub(super) fn report(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let load = root.get("load_summary");
    let is_server = load
        .as_ref()
        .is_some_and(|load| load.value.as_object().is_some_and(serde_json::Map::is_empty));
    if is_server {
        return server(root);
    }
    let mut benchmark = ImportedBenchmark::named("");
    benchmark.duration_s = amount(root.get("benchmark_time_seconds"))?;
    let of_load = |key: &str| load.as_ref().and_then(|load| load.get(key));
    let asked = of_load("requested_rate");
    benchmark.load.rate_requested = amount(asked.clone())?;
    benchmark.load.rate_sent = amount(of_load("achieved_rate"))?;
    benchmark.counts = Counts {
        total: count(of_load("count"))?,
        succeeded: count(root.walk(&["successes", "count"]))?,
        failed: count(root.walk(&["failures", "count"]))?,
        incomplete: None,
    };
    counts_add_up(root.file, "load_summary.count", &benchmark.counts)?;
    let samples = benchmark.counts.succeeded;
    for (name, metric) in LATENCIES {
        let at =
            root.walk(&["successes", "latency", name]).or_else(|| root.walk(&["successes", name]));
        if let Some(at) = at {
            let samples = samples.filter(|_| metric != ImportedMetric::ChunkGap);
            distribution(&mut benchmark, &at, None, meaning(metric, 1.0), samples)?;
        }
    }
    throughput(root, &mut benchmark)?;
    late(root, of_load("schedule_delay").as_ref(), &mut benchmark)?;
    if benchmark.counts.failed.is_some_and(|failed| failed > 0) {
        benchmark.caveats.push("failed requests are in no percentile of successes".to_owned());
    }
    let form = if asked.is_some() { "stage report" } else { "summary report" };
    judge(root.file, &mut benchmark);
    Ok(file_of(root.file, form, benchmark))
}

fn throughput(root: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    for (name, metric) in [
        ("requests_per_sec", ImportedMetric::Requests),
        ("output_tokens_per_sec", ImportedMetric::OutputTokens),
    ] {
        if let Some(rate) = root.walk(&["successes", "throughput", name]) {
            push(benchmark, metric, None, rate.amount()?, None, rate.path);
        }
    }
    Ok(())
}

/// The client's lateness, which is in no latency of the report.
fn late(
    root: &Node<'_>,
    delay: Option<&Node<'_>>,
    benchmark: &mut ImportedBenchmark,
) -> Result<(), Box<Refusal>> {
    let Some(median) = delay.and_then(|delay| delay.get("median")) else { return Ok(()) };
    let median_s = median.number()?;
    let first_s = benchmark.point(ImportedMetric::TimeToFirstToken, Some(0.5));
    if let Some(first_s) = first_s.filter(|first_s| median_s > *first_s) {
        benchmark.refusals.push(
            Refusal::new(
                root.file,
                Claim::Latency,
                format!(
                    "the client was later than what it measured: half of the requests were sent at \
                     least {median_s:.3} s after their time, beside a median time to first token of \
                     {first_s:.3} s that does not hold it"
                ),
                "repeat it at a rate that the client and the server can keep, or with more workers",
            )
            .at(median.path),
        );
    }
    Ok(())
}

/// What the server's histograms say of a window.
fn server(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    benchmark.counts.succeeded = count(root.walk(&["successes", "count"]))?;
    for (name, metric) in LATENCIES {
        if let Some(at) = root.walk(&["successes", name]) {
            distribution(&mut benchmark, &at, None, meaning(metric, 1.0), None)?;
        }
    }
    if let Some(rate) = root.walk(&["successes", "rate"]) {
        push(&mut benchmark, ImportedMetric::Requests, None, rate.amount()?, None, rate.path);
    }
    benchmark.refusals.push(
        Refusal::new(
            root.file,
            Claim::Latency,
            "its quantiles are interpolated from buckets of the server's histograms, over a window that \
             the file does not name",
            "give the lifecycle report of the same stage",
        )
        .at("successes"),
    );
    judge(root.file, &mut benchmark);
    Ok(file_of(root.file, "server metrics", benchmark))
}

fn file_of(file: &str, form: &'static str, benchmark: ImportedBenchmark) -> BenchmarkFile {
    BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::InferencePerf,
        form,
        version: None,
        benchmarks: vec![benchmark],
        caveats: vec!["the report does not name its version, its model or its arrivals".to_owned()],
    }
}

/// The report of every request.
pub(super) fn requests(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut benchmark = ImportedBenchmark::named("");
    let mut rows = Vec::new();
    let mut first = f64::INFINITY;
    for item in root.items() {
        let time = |key: &str| -> Result<f64, Box<Refusal>> {
            item.get(key)
                .ok_or_else(|| {
                    item.refuse(format!("the request has no {key}"), "give the tool's file")
                })?
                .number()
        };
        let (start, end) = (time("start_time")?, time("end_time")?);
        if end < start {
            return Err(item.refuse("the request ends before it begins", "repeat the run"));
        }
        first = first.min(start);
        rows.push((item, start, end));
    }
    let mut requests = Vec::new();
    for (item, start, end) in &rows {
        requests.push(request(item, *start, *end, first)?);
    }
    let succeeded = requests.iter().filter(|request| request.outcome.is_complete()).count() as u64;
    let total = requests.len() as u64;
    benchmark.counts = Counts {
        total: Some(total),
        succeeded: Some(succeeded),
        failed: Some(total - succeeded),
        incomplete: None,
    };
    let since_sent = |at: fn(&ImportedRequest) -> Option<u64>| -> Vec<f64> {
        requests
            .iter()
            .filter(|request| request.outcome.is_complete())
            .filter_map(|request| Some(at(request)?.saturating_sub(request.sent_ns?) as f64 / 1e9))
            .collect()
    };
    let first_tokens = since_sent(|request| request.first_token_ns);
    let ends = since_sent(|request| request.end_ns);
    from_values(
        &mut benchmark,
        ImportedMetric::TimeToFirstToken,
        first_tokens,
        "output_token_times[0] − start_time",
    );
    from_values(&mut benchmark, ImportedMetric::EndToEnd, ends, "end_time − start_time");
    benchmark.requests = Some(requests);
    judge(root.file, &mut benchmark);
    Ok(file_of(root.file, "requests", benchmark))
}

fn request(
    item: &Node<'_>,
    start: f64,
    end: f64,
    first: f64,
) -> Result<ImportedRequest, Box<Refusal>> {
    let since = |time: f64| ((time - first) * 1e9).round() as u64;
    let response = item.walk(&["info", "response_metrics"]);
    let times = response
        .as_ref()
        .and_then(|response| response.any(&["output_token_times", "chunk_times"]))
        .or_else(|| item.walk(&["info", "output_token_times"]))
        .map(|times| times.items())
        .unwrap_or_default();
    let mut instants = Vec::with_capacity(times.len());
    for time in &times {
        let instant = time.number()?;
        if instant < start || instant > end {
            return Err(time.refuse("a token arrives outside of its request", "repeat the run"));
        }
        instants.push(since(instant));
    }
    let gap_longest_ns = instants.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max();
    let tokens = |node: Option<Node<'_>>| -> Result<Option<u32>, Box<Refusal>> {
        Ok(count(node)?.and_then(|tokens| u32::try_from(tokens).ok()))
    };
    let error = item.get("error");
    Ok(ImportedRequest {
        id: text(item.get("request_id")).unwrap_or_else(|| item.path.clone()),
        intended_ns: None,
        sent_ns: Some(since(start)),
        first_token_ns: instants.first().copied(),
        last_token_ns: instants.last().copied(),
        end_ns: Some(since(end)),
        prompt_tokens: tokens(item.walk(&["info", "input_tokens"]))?,
        output_tokens: tokens(
            response
                .as_ref()
                .and_then(|response| response.get("output_tokens"))
                .or_else(|| item.walk(&["info", "output_tokens"])),
        )?,
        gap_longest_ns,
        outcome: if error.is_some() { Outcome::Reset } else { Outcome::Completed },
    })
}

/// Reports of one run beside each other: stages must add up to the summary, and so must requests.
/// Each error names the rule; an empty list says that nothing contradicts.
pub fn contradictions(files: &[BenchmarkFile]) -> Vec<Refusal> {
    let of = |form: &str| -> Vec<&BenchmarkFile> {
        files.iter().filter(|file| file.tool == Tool::InferencePerf && file.form == form).collect()
    };
    let total =
        |file: &BenchmarkFile| file.benchmarks.first().and_then(|benchmark| benchmark.counts.total);
    let mut refusals = Vec::new();
    let stages = of("stage report");
    for summary in of("summary report") {
        let Some(summed_up) = total(summary) else { continue };
        let staged: Option<u64> = stages.iter().map(|stage| total(stage)).sum();
        let listed = of("requests").first().and_then(|requests| total(requests));
        for (what, other) in
            [("the stages", staged.filter(|_| !stages.is_empty())), ("the requests", listed)]
        {
            let Some(other) = other.filter(|other| *other != summed_up) else { continue };
            refusals.push(
                Refusal::new(
                    &summary.file,
                    Claim::Anything,
                    format!(
                        "the counts do not add up: {what} are {other} and the summary counts \
                         {summed_up}"
                    ),
                    "give the files of one run; if they are, repeat it",
                )
                .at("load_summary.count"),
            );
        }
    }
    refusals
}
