//! The load client and the readers of logs against real engines, trainers and a renderer.
//!
//! They are found through COTENANT_WORKLOADS (`workloads/install`); without it, or where one of them is
//! not installed, a test says so and passes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

mod workload_support;

use std::time::Duration;

use cotenant_core::evidence::{Outcome, RequestRecord, TokenSource};
use cotenant_probe::engine_metrics::{
    DurationHistogram, EngineKind, Quantity, identify, interval, scraped,
};
use cotenant_probe::http;
use cotenant_probe::load::{LoadResult, TargetSpec};
use cotenant_probe::measure::target_of;
use cotenant_probe::progress_log::TrainerEvent;

use workload_support::{Engine, Run, installed, load};

const REQUESTS: usize = 12;
const TOKENS: u32 = 12;
/// How much later than the engine the client may see a moment: the way through the engine's front,
/// the loopback and a machine that other work keeps busy.
const LATER_S: f64 = 1.0;

/// Starts an engine, identifies it, loads it, and holds what was seen against its own metrics.
async fn engine_agrees(name: &str, metrics_port: u16, expected: EngineKind, version: Option<&str>) {
    let Some(folder) = installed(name) else { return };
    let engine = Engine::start(&folder, name).await;
    let identity = identify(&engine.url, Duration::from_secs(30)).await.unwrap();
    assert_eq!(identity.engine, Some(expected), "{identity:?}");
    assert_eq!(identity.version.as_deref(), version);
    assert_eq!(identity.contradictions, [""; 0]);

    let model = identity.models.first().map_or("writer", String::as_str);
    let spec = target_of(identity.engine, TargetSpec::new(&engine.url, model));
    let metrics_url = format!("http://127.0.0.1:{}/metrics", engine.port + metrics_port);
    let scrape = async || {
        let (status, body) = http::get(&metrics_url, Duration::from_secs(10)).await.unwrap();
        assert_eq!(status, 200);
        scraped(&body).unwrap()
    };
    // The first requests find cold caches and pages that were never touched.
    load(spec.clone(), 3, TOKENS, 1);
    let before = scrape().await;
    let result = load(spec, REQUESTS, TOKENS, 2);
    let after = scrape().await;
    assert_eq!(result.requests.len(), REQUESTS);
    for request in &result.requests {
        assert_eq!(request.outcome, Outcome::Completed, "{:?}", result.failures);
        assert_eq!((request.output_tokens, request.token_source), (TOKENS, TokenSource::Usage));
    }
    let account = interval(&before, &after).unwrap();
    if let Some(finished) = account.counts.get(&Quantity::Succeeded) {
        assert_eq!(*finished as usize, REQUESTS);
    }
    for (quantity, seen) in [
        (Quantity::FirstToken, since_sent(&result, |request| request.first_token_ns)),
        (Quantity::WholeRequest, since_sent(&result, |request| Some(request.end_ns))),
    ] {
        if let Some(told) = account.durations.get(&quantity) {
            within_buckets(quantity, told, &seen);
        }
    }
    if let Some(told) =
        account.durations.get(&Quantity::InterToken).and_then(DurationHistogram::mean_s)
    {
        let gaps: Vec<f64> = result
            .gaps
            .iter()
            .flat_map(|gaps| gaps.gaps_us.iter().map(|gap| f64::from(*gap) / 1e6))
            .collect();
        let seen = gaps.iter().sum::<f64>() / gaps.len() as f64;
        // What delays the first and the last token of an answer differently, over its gaps.
        let play = LATER_S / f64::from(TOKENS);
        assert!((seen - told).abs() < play, "between tokens {seen} s, the engine says {told} s");
    }
}

fn since_sent(result: &LoadResult, end_ns: fn(&RequestRecord) -> Option<u64>) -> Vec<f64> {
    let seconds = |request: &RequestRecord| {
        let ns = end_ns(request).unwrap() - request.sent_ns.unwrap();
        ns as f64 / 1e9
    };
    result.requests.iter().map(seconds).collect()
}

/// The client sees each moment a little after the engine: of the client's times no more lie below a
/// bound of the engine's buckets than of the engine's, and no fewer below that bound and the delay.
fn within_buckets(quantity: Quantity, told: &DurationHistogram, seen: &[f64]) {
    assert_eq!(told.count as usize, seen.len(), "{quantity:?}");
    let below = |limit: f64| seen.iter().filter(|value| **value <= limit).count() as f64;
    for (bound_s, count) in told.bounds_s.iter().zip(&told.cumulative) {
        assert!(below(*bound_s) <= *count, "{quantity:?} at {bound_s} s: {seen:?} {told:?}");
        assert!(
            below(bound_s + LATER_S) >= *count,
            "{quantity:?} at {bound_s} s: {seen:?} {told:?}"
        );
    }
    if let Some(mean_s) = told.mean_s() {
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        // Millisecond resolution of what some engines sum up.
        let play = 0.002;
        assert!(
            (mean_s - play..mean_s + LATER_S).contains(&mean),
            "{quantity:?}: {mean} s on average, the engine says {mean_s} s"
        );
    }
}

#[tokio::test]
async fn vllm_agrees_with_the_client() {
    engine_agrees("vllm", 0, EngineKind::Vllm, Some("0.32.0")).await;
}

#[tokio::test]
async fn triton_agrees_with_the_client() {
    engine_agrees("triton", 2, EngineKind::Triton, Some("2.51.0")).await;
}

#[tokio::test]
async fn llama_cpp_agrees_with_the_client() {
    // The wheel was not built from a checkout, so the server does not know which build it is.
    engine_agrees("llama", 0, EngineKind::LlamaCpp, None).await;
}

/// What a trainer's whole log must say, first start and second.
fn trainer_is_read(name: &str, mode: &str) {
    let Some(folder) = installed(name) else { return };
    let place = tempfile::tempdir().unwrap();
    let start = |steps: &str| {
        let arguments = [
            "--folder",
            "states",
            "--steps",
            steps,
            "--every",
            "5",
            "--checkpoint",
            mode,
            "--width",
            "32",
            "--layers",
            "1",
            "--batch",
            "2",
            "--length",
            "32",
        ];
        Run::to_its_end(&folder, name, &arguments, place.path(), "cotenant")
    };
    let first = start("12");
    assert_eq!(first.steps(), (1..=12).collect::<Vec<u64>>());
    assert_eq!(first.saved(), [5, 10, 12]);
    // Printed times of steps are those in which the lines came: no longer than from line to line,
    // and not shorter by more than saving took.
    let printed: f64 = first.durations_s().iter().skip(1).sum();
    let between = first.span_s();
    assert!(printed <= between + 0.05, "{printed} s in steps, {between} s between lines");
    assert!(printed + first.saving_s() + 0.5 >= between, "{printed} s, {between} s");
    let second = start("14");
    let resumed = |event: &&TrainerEvent| matches!(event, TrainerEvent::Resumed { .. });
    let event = second.events.iter().map(|(_, event)| event).find(resumed);
    assert!(matches!(event, Some(TrainerEvent::Resumed { step: Some(12), .. })), "{event:?}");
    assert_eq!(second.steps(), [13, 14]);
}

#[test]
fn pytorch_saves_while_it_waits() {
    trainer_is_read("pytorch", "sync");
}

#[test]
fn pytorch_saves_in_the_background() {
    trainer_is_read("pytorch", "async");
}

#[test]
fn jax_saves_while_it_waits() {
    trainer_is_read("jax", "sync");
}

#[test]
fn jax_saves_in_the_background() {
    trainer_is_read("jax", "async");
}

#[test]
fn cycles_renders_what_is_missing() {
    let Some(folder) = installed("blender") else { return };
    let place = tempfile::tempdir().unwrap();
    let start = |frames: &str| {
        let arguments = ["--frames", frames, "--samples", "1", "--width", "64"];
        Run::to_its_end(&folder, "blender", &arguments, place.path(), "cycles")
    };
    assert_eq!(start("3").steps(), [1, 2, 3]);
    std::fs::remove_file(place.path().join("frames/frame-000002.png")).unwrap();
    let second = start("4");
    assert_eq!(second.steps(), [2, 4]);
    let between = second.span_s();
    let printed = second.durations_s()[1];
    assert!(printed > 0.0 && printed <= between + 0.05, "{printed} s, {between} s");
}
