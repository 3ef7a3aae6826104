//! llm-d's benchmark reports, versions 0.1 and 0.2: what a harness measured, in one schema, with a
//! unit beside every distribution.

use super::model::{BenchmarkFile, Counts, ImportedBenchmark, ImportedMetric, Tool};
use super::node::{Node, amount, count, text};
use super::refusal::{Claim, Refusal};
use super::rules::{distribution, judge, meaning, push};

const LATENCIES: [(&str, ImportedMetric); 4] = [
    ("time_to_first_token", ImportedMetric::TimeToFirstToken),
    ("time_per_output_token", ImportedMetric::TimePerOutputToken),
    ("inter_token_latency", ImportedMetric::InterTokenUnclear),
    ("request_latency", ImportedMetric::EndToEnd),
];

/// A report.
pub(super) fn report(root: &Node<'_>) -> Result<BenchmarkFile, Box<Refusal>> {
    let version = text(root.get("version")).unwrap_or_default();
    let mut benchmark = ImportedBenchmark::named("");
    let aggregate = if version.starts_with("0.1") {
        first(root, &mut benchmark)?
    } else if version.starts_with("0.2") {
        second(root, &mut benchmark)?
    } else {
        return Err(root.refuse(
            format!("version {version:?} of this report is not known"),
            "give a report of version 0.1 or 0.2, or the harness's own result",
        ));
    };
    latencies(&aggregate, &mut benchmark)?;
    judge(root.file, &mut benchmark);
    Ok(BenchmarkFile {
        file: root.file.to_owned(),
        tool: Tool::LlmdReport,
        form: "report",
        version: Some(version),
        benchmarks: vec![benchmark],
        caveats: Vec::new(),
    })
}

fn first<'a>(root: &Node<'a>, benchmark: &mut ImportedBenchmark) -> Result<Node<'a>, Box<Refusal>> {
    let metrics = root
        .get("metrics")
        .ok_or_else(|| root.refuse("the report has no metrics", "give a finished report"))?;
    benchmark.model = text(root.walk(&["scenario", "model", "name"]));
    benchmark.duration_s = amount(metrics.walk(&["time", "duration"]))?;
    let harness = text(root.walk(&["scenario", "load", "name"]));
    benchmark.facts.extend(harness.map(|harness| ("harness".to_owned(), harness)));
    benchmark.hardware = root
        .walk(&["scenario", "host", "accelerator"])
        .and_then(|list| list.items().first().and_then(|item| text(item.get("model"))));
    if let Some(rate) = root.walk(&["scenario", "load", "args", "qps_values"]) {
        benchmark.load.rate_requested = rate.rate()?;
    }
    let (start, stop) =
        (amount(metrics.walk(&["time", "start"]))?, amount(metrics.walk(&["time", "stop"]))?);
    benchmark.when = start.map(|start| format!("{start} s since 1970"));
    if let (Some(start), Some(stop)) = (start, stop)
        && stop < start
    {
        benchmark.refusals.push(
            Refusal::new(
                root.file,
                Claim::Anything,
                "the run ends before it begins, so its times cannot be believed",
                "give the harness's own result",
            )
            .at("metrics.time.stop")
            .found(&format!("{stop} < {start}")),
        );
    }
    for (name, metric) in [
        ("requests_per_sec", ImportedMetric::Requests),
        ("output_tokens_per_sec", ImportedMetric::OutputTokens),
    ] {
        if let Some(rate) = metrics.walk(&["throughput", name]) {
            push(benchmark, metric, None, rate.amount()?, None, rate.path);
        }
    }
    Ok(metrics)
}

fn second<'a>(
    root: &Node<'a>,
    benchmark: &mut ImportedBenchmark,
) -> Result<Node<'a>, Box<Refusal>> {
    let aggregate =
        root.walk(&["results", "request_performance", "aggregate"]).ok_or_else(|| {
            root.refuse("the report has no results.request_performance", "give a finished report")
        })?;
    let stack = root.walk(&["scenario", "stack"]).map(|stack| stack.items()).unwrap_or_default();
    let part = |path: &[&str]| stack.iter().find_map(|item| text(item.walk(path)));
    benchmark.model = part(&["standardized", "model", "name"]);
    benchmark.hardware = part(&["standardized", "accelerator", "model"]);
    benchmark.when = text(root.walk(&["run", "time", "start"]));
    if let Some(load) = root.walk(&["scenario", "load", "standardized"]) {
        benchmark.load.rate_requested =
            load.get("rate_qps").map(|rate| rate.rate()).transpose()?.flatten();
        let cap = load.get("concurrency").map(|cap| cap.rate()).transpose()?.flatten();
        benchmark.load.concurrency_max = cap.map(|cap| cap as u64);
        let harness = ["tool", "tool_version"].map(|key| text(load.get(key)).unwrap_or_default());
        benchmark.facts.push(("harness".to_owned(), harness.join(" ").trim().to_owned()));
    }
    for (name, metric) in [
        ("request_rate", ImportedMetric::Requests),
        ("output_token_rate", ImportedMetric::OutputTokens),
    ] {
        if let Some(rate) = aggregate.walk(&["throughput", name, "mean"]) {
            push(benchmark, metric, None, rate.amount()?, None, rate.path);
        }
    }
    Ok(aggregate)
}

fn latencies(at: &Node<'_>, benchmark: &mut ImportedBenchmark) -> Result<(), Box<Refusal>> {
    let requests = at.get("requests");
    let of = |key: &str| requests.as_ref().and_then(|requests| requests.get(key));
    let (total, failed) = (count(of("total"))?, count(of("failures"))?);
    let incomplete = count(of("incomplete"))?;
    // Whether the total holds the failures is not said, so nothing can be checked against it.
    benchmark.counts = Counts { total, succeeded: None, failed, incomplete };
    for (name, metric) in LATENCIES {
        let Some(node) = at.walk(&["latency", name]) else { continue };
        let unit = text(node.get("units")).unwrap_or_default();
        let scale = match unit.as_str() {
            "s" | "s/token" => 1.0,
            "ms" | "ms/token" => 1e-3,
            "us" | "us/token" => 1e-6,
            _ => {
                return Err(node.refuse(
                    format!("the unit {unit:?} of this time is not known"),
                    "name s, ms or us in `units`",
                ));
            }
        };
        distribution(benchmark, &node, None, meaning(metric, scale), None)?;
    }
    Ok(())
}
