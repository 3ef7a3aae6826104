//! MLPerf Training's result logs: lines of `:::MLLOG {json}` with the time of day in milliseconds.
//!
//! `tracked_stats` gives `throughput` in samples per second over a block, and with NeMo also
//! `train_step_time` in seconds: beside a throughput it is the mean of the block, without one it is one
//! step. `metadata.step` counts samples.

use cotenant_core::evidence::StepRecord;
use serde_json::Value;

use super::model::{BenchmarkFile, ImportedBenchmark, ImportedMetric, Tool};
use super::node::{Node, amount, count, text};
use super::parse;
use super::refusal::{Claim, Refusal};
use super::rules::push;

pub(super) const MARK: &str = ":::MLLOG ";

/// A log.
pub(super) fn log(file: &str, body: &str) -> Result<BenchmarkFile, Box<Refusal>> {
    let mut events: Vec<(u64, Value)> = Vec::new();
    for (line, content) in (1_u64..).zip(body.lines()) {
        // Launchers put a rank before the mark.
        let Some((_, json)) = content.split_once(MARK) else { continue };
        let event = parse::json(json.trim()).map_err(|error| {
            Box::new(
                Refusal::new(
                    file,
                    Claim::Anything,
                    format!("the line after :::MLLOG is not JSON: {error}"),
                    "give the log as the run wrote it",
                )
                .line(line)
                .found(json),
            )
        })?;
        events.push((line, event));
    }
    let nodes: Vec<Node<'_>> =
        events.iter().map(|(line, event)| Node::root(file, Some(*line), event)).collect();
    let value = |key: &str| {
        nodes
            .iter()
            .find(|node| text(node.get("key")).as_deref() == Some(key))
            .and_then(|node| node.get("value"))
    };
    let mut benchmark =
        ImportedBenchmark::named(text(value("submission_benchmark")).unwrap_or_default());
    benchmark.model = text(value("submission_benchmark"));
    benchmark.hardware = text(value("submission_platform"));
    for key in ["submission_org", "submission_division", "seed"] {
        benchmark.facts.extend(text(value(key)).map(|value| (key.to_owned(), value)));
    }
    let batch = count(value("global_batch_size"))?;
    benchmark.facts.extend(batch.map(|batch| ("global_batch_size".to_owned(), batch.to_string())));
    let start = run(file, &nodes, &mut benchmark)?;
    for node in &nodes {
        if text(node.get("key")).as_deref() == Some("tracked_stats") {
            stats(node, start, batch, &mut benchmark)?;
        }
    }
    summarise(&mut benchmark);
    Ok(BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::MlperfTraining,
        form: "result log",
        version: None,
        benchmarks: vec![benchmark],
        caveats: Vec::new(),
    })
}

/// Start of the run in milliseconds of the time of day; its length becomes a point where it succeeded.
fn run(
    file: &str,
    nodes: &[Node<'_>],
    benchmark: &mut ImportedBenchmark,
) -> Result<Option<u64>, Box<Refusal>> {
    let at = |key: &str| nodes.iter().find(|node| text(node.get("key")).as_deref() == Some(key));
    let start = at("run_start").map(|node| count(node.get("time_ms"))).transpose()?.flatten();
    benchmark.when = start.map(|start| format!("{start} ms since 1970"));
    let stop = at("run_stop");
    let status = stop.and_then(|stop| text(stop.walk(&["metadata", "status"])));
    let stop_ms = stop.map(|stop| count(stop.get("time_ms"))).transpose()?.flatten();
    let refuse = |rule: &str| {
        Refusal::new(file, Claim::Anything, rule, "give the log of a run that reached its target")
            .at("run_stop")
    };
    match (start, stop_ms) {
        (Some(start), Some(stop)) if stop >= start => {
            let length_s = (stop - start) as f64 / 1e3;
            benchmark.duration_s = Some(length_s);
            if status.as_deref() == Some("success") {
                let field = "run_stop − run_start";
                push(benchmark, ImportedMetric::TimeToTrain, None, length_s, Some(1), field);
            } else {
                benchmark.refusals.push(refuse("the run did not end with success"));
            }
        }
        (Some(_), Some(_)) => {
            return Err(Box::new(refuse("the run ends before it begins")));
        }
        _ => benchmark.refusals.push(refuse("the log has no run_start with its run_stop")),
    }
    Ok(start)
}

fn stats(
    node: &Node<'_>,
    start: Option<u64>,
    batch: Option<u64>,
    benchmark: &mut ImportedBenchmark,
) -> Result<(), Box<Refusal>> {
    let Some(stats) = node.get("value") else { return Ok(()) };
    if let Some(rate) = stats.get("throughput") {
        let field = format!("line {}, throughput", node.line.unwrap_or(0));
        push(benchmark, ImportedMetric::TrainingSamples, None, rate.amount()?, None, field);
    }
    let Some(time) = stats.get("train_step_time") else { return Ok(()) };
    let time_s = time.amount()?;
    if stats.get("throughput").is_some() {
        let field = format!("line {}, train_step_time, mean of a block", node.line.unwrap_or(0));
        push(benchmark, ImportedMetric::StepTime, None, time_s, None, field);
        return Ok(());
    }
    let samples = count(node.walk(&["metadata", "step"]))?;
    let at_ms = count(node.get("time_ms"))?;
    let (Some(start), Some(at_ms), Some(samples)) = (start, at_ms, samples) else { return Ok(()) };
    benchmark.steps.push(StepRecord {
        step: batch.filter(|batch| *batch > 0).map_or(samples, |batch| samples / batch),
        at_ns: at_ms.saturating_sub(start).saturating_mul(1_000_000),
        duration_s: Some(time_s),
        loss: amount_of(stats.get("reduced_train_loss"))?,
        tokens: batch,
    });
    Ok(())
}

/// A loss may be negative; it must be a number.
fn amount_of(node: Option<Node<'_>>) -> Result<Option<f64>, Box<Refusal>> {
    match node {
        Some(node) => node.number().map(Some),
        None => Ok(amount(None)?),
    }
}

/// Where no block gives a mean step time, the steps do.
fn summarise(benchmark: &mut ImportedBenchmark) {
    let times: Vec<f64> = benchmark.steps.iter().filter_map(|step| step.duration_s).collect();
    if times.is_empty() {
        return;
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let field = format!("mean of {} train_step_time without a throughput", times.len());
    benchmark.points.retain(|point| point.metric != ImportedMetric::StepTime);
    push(benchmark, ImportedMetric::StepTime, None, mean, Some(times.len() as u64), field);
}
