//! Results written here in the forms that tools write: what each supports, what is refused, and that
//! nothing that is read makes a reader fall.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cotenant_core::evidence::{Condition, PointMetric};
use cotenant_probe::benchmark::{
    Arrivals, Claim, ImportOptions, ImportedMetric, Refusal, Tool, read, read_with,
};
use proptest::prelude::*;

/// 900 requests in 20 s, sent as fast as possible under no cap.
const VLLM: &str = r#"{"date": "20250530-204006", "backend": "vllm", "model_id": "m/Llama-3B",
 "num_prompts": 900, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": null,
 "duration": 20.0, "completed": 900, "total_input_tokens": 899100, "request_throughput": 45.0,
 "output_throughput": 11481.0, "mean_ttft_ms": 902.25, "median_ttft_ms": 877.0,
 "std_ttft_ms": 194.2, "p99_ttft_ms": 1353.5, "mean_tpot_ms": 44.5, "median_tpot_ms": 43.75,
 "p99_tpot_ms": 67.5, "mean_itl_ms": 40.0, "median_itl_ms": 36.5, "p99_itl_ms": 66.0}"#;

/// 1,000 requests at 5 a second under a cap of 256, as SGLang names its fields.
const SGLANG: &str = r#"{"backend": "sglang", "dataset_name": "sharegpt", "request_rate": 5.0, "max_concurrency": 256, "sharegpt_output_len": null, "duration": 200.0, "completed": 1000, "total_output_tokens_retokenized": 195324, "request_throughput": 5.0, "output_throughput": 957.0, "mean_e2e_latency_ms": 2409.5, "median_e2e_latency_ms": 1537.5, "p99_e2e_latency_ms": 9813.0, "mean_ttft_ms": 91.5, "median_ttft_ms": 76.0, "p99_ttft_ms": 328.0, "mean_tpot_ms": 11.75, "median_tpot_ms": 11.5, "p99_tpot_ms": 19.0, "mean_itl_ms": 12.0, "median_itl_ms": 10.5, "p95_itl_ms": 18.5, "p99_itl_ms": 21.5}"#;

fn refused(text: &str) -> Box<Refusal> {
    read("result.json", text.as_bytes()).unwrap_err()
}

#[test]
fn vllm_bench_serve() {
    let file = read("result.json", VLLM.as_bytes()).unwrap();
    assert_eq!(file.tool, Tool::VllmBenchServe);
    let one = &file.benchmarks[0];
    assert_eq!(one.load.arrivals, Arrivals::AllAtOnce);
    assert_eq!((one.counts.total, one.counts.failed), (Some(900), Some(0)));
    assert_eq!(one.point(ImportedMetric::TimeToFirstToken, Some(0.99)), Some(1.3535));
    let per_token_s = one.point(ImportedMetric::TimePerOutputToken, Some(0.5)).unwrap();
    assert!((per_token_s - 0.04375).abs() < 1e-12, "{per_token_s}");
    assert_eq!(one.point(ImportedMetric::ChunkGap, Some(0.99)), Some(0.066));
    assert!(one.refuses(Claim::Objectives) && one.refuses(Claim::TokenGaps));
    let points = one.point_estimates("result.json", Condition::C);
    assert!(points.iter().all(|point| point.condition == Condition::C));
    assert!(points.iter().all(|point| point.metric != PointMetric::InterToken));
    assert_eq!(points.len(), 8, "three of TTFT, three of TPOT, two rates");
}

#[test]
fn a_cap_without_intended_times_is_coordinated_omission() {
    for cap in [
        "\"request_rate\": \"inf\", \"burstiness\": 1.0, \"max_concurrency\": 32",
        "\"request_rate\": 44.0, \"burstiness\": 1.0, \"max_concurrency\": 32",
    ] {
        let text = VLLM.replace(
            "\"request_rate\": \"inf\", \"burstiness\": 1.0, \"max_concurrency\": null",
            cap,
        );
        let file = read("result.json", text.as_bytes()).unwrap();
        let refusal = file.benchmarks[0].request_records("result.json").unwrap_err().to_string();
        assert!(refusal.contains("coordinated omission"), "{refusal}");
        assert!(refusal.starts_with("result.json") && refusal.contains("cotenant measure"));
    }
}

#[test]
fn sglang_bench_serving_with_several_runs_and_infinity() {
    let second = SGLANG.replace("\"request_rate\": 5.0", "\"request_rate\": Infinity");
    let file = read("online.jsonl", format!("{SGLANG}\n\n{second}\n").as_bytes()).unwrap();
    assert_eq!((file.tool, file.benchmarks.len()), (Tool::SglangBenchServing, 2));
    let [one, two] = file.benchmarks.as_slice() else { panic!("two runs") };
    assert_eq!((one.load.rate_requested, one.load.arrivals), (Some(5.0), Arrivals::Poisson));
    assert_eq!((two.load.rate_requested, two.load.arrivals), (None, Arrivals::ClosedLoop));
    assert_eq!(one.point(ImportedMetric::EndToEnd, Some(0.99)), Some(9.813));
    assert_eq!(two.name, "line 3");
}

#[test]
fn medians_alone_support_no_tail() {
    let text: String = VLLM.replace("\"p99_", "\"unread_p99_");
    let file = read("result.json", text.as_bytes()).unwrap();
    let one = &file.benchmarks[0];
    assert!(one.refuses(Claim::Tails));
    assert_eq!(one.point(ImportedMetric::TimeToFirstToken, Some(0.99)), None);
    let whole = read("result.json", VLLM.as_bytes()).unwrap();
    assert!(!whole.benchmarks[0].refuses(Claim::Tails));
}

#[test]
fn what_cannot_have_happened_is_refused_with_its_field() {
    let negative =
        refused(&VLLM.replace("\"median_ttft_ms\": 877.0", "\"median_ttft_ms\": -1.7e12"));
    assert_eq!(negative.field.as_deref(), Some("ttft_ms.median"));
    assert!(negative.rule.contains("negative"), "{negative}");
    let nan = refused(&VLLM.replace("\"mean_tpot_ms\": 44.5", "\"mean_tpot_ms\": NaN"));
    assert_eq!(nan.field.as_deref(), Some("tpot_ms.mean"));
    assert_eq!(nan.found.as_deref(), Some("\"NaN\""));
    let lost = refused(&VLLM.replace("\"completed\": 900", "\"completed\": 901"));
    assert!(lost.rule.contains("do not add up"), "{lost}");
    let fewer = refused(&VLLM.replace("\"duration\": 20.0", "\"duration\": 30.0"));
    assert_eq!(fewer.field.as_deref(), Some("request_throughput"));
    let falling = refused(&VLLM.replace("\"p99_ttft_ms\": 1353.5", "\"p99_ttft_ms\": 353.5"));
    assert!(falling.rule.contains("lies below"), "{falling}");
    let cut = refused(&VLLM[..VLLM.len() - 20]);
    assert!(cut.rule.contains("no whole JSON"), "{cut}");
}

#[test]
fn what_was_not_streamed_has_no_times_of_tokens() {
    let text = SGLANG
        .replace("\"mean_ttft_ms\": 91.5, \"median_ttft_ms\": 76.0, \"p99_ttft_ms\": 328.0",
            "\"mean_ttft_ms\": 2409.5, \"median_ttft_ms\": 1537.5, \"p99_ttft_ms\": 9813.0")
        .replace("\"mean_itl_ms\": 12.0, \"median_itl_ms\": 10.5, \"p95_itl_ms\": 18.5, \"p99_itl_ms\": 21.5",
            "\"mean_itl_ms\": 0.0, \"median_itl_ms\": 0.0, \"p99_itl_ms\": 0.0");
    let file = read("online.jsonl", text.as_bytes()).unwrap();
    let one = &file.benchmarks[0];
    assert_eq!(one.point(ImportedMetric::TimeToFirstToken, None), None);
    assert_eq!(one.point(ImportedMetric::EndToEnd, None), Some(2.4095));
    assert!(one.caveats[0].contains("not streamed"));
}

/// Two requests of guidellm with the time at which the scheduler wanted them.
const GUIDELLM: &str = r#"{"benchmarks": [{"config": {"strategy": {"type_": "poisson", "rate": 2.0}},
 "metrics": {"request_totals": {"successful": 2, "errored": 0, "incomplete": 0, "total": 2}},
 "requests": {"successful": [
  {"request_id": "b", "prompt_tokens": 10, "output_tokens": 3, "scheduler_info": {
   "targeted_start_time": 100.5, "request_start": 100.75, "request_end": 102.0},
   "first_token_time": 101.0, "last_token_time": 101.5},
  {"request_id": "a", "prompt_tokens": 10, "output_tokens": 3, "scheduler_info": {
   "targeted_start_time": 100.0, "request_start": 100.0, "request_end": 101.0},
   "first_token_time": 100.25, "last_token_time": 100.75}], "errored": [], "incomplete": []}}]}"#;

#[test]
fn requests_with_intended_times_are_evidence() {
    let file = read("g.json", GUIDELLM.as_bytes()).unwrap();
    let one = &file.benchmarks[0];
    assert_eq!(one.refusals, Vec::new());
    let records = one.request_records("g.json").unwrap();
    assert_eq!(records.iter().map(|record| record.index).collect::<Vec<_>>(), [0, 1]);
    // From the intended time, with the client's 250 ms of delay in it.
    assert_eq!(records[1].ttft_s(), 0.5);
    assert_eq!(records[1].lateness_s(), Some(0.25));
    assert_eq!(records[1].tpot_s(), Some(0.25));
    assert_eq!(records[0].e2e_s(), 1.0);
    let closed = GUIDELLM.replace(
        "\"type_\": \"poisson\", \"rate\": 2.0",
        "\"type_\": \"concurrent\", \"streams\": 1",
    );
    let file = read("g.json", closed.as_bytes()).unwrap();
    assert!(file.benchmarks[0].request_records("g.json").is_err(), "a closed loop has no schedule");
    let asap =
        GUIDELLM.replace("\"type_\": \"poisson\", \"rate\": 2.0", "\"type_\": \"throughput\"");
    let file = read("g.json", asap.as_bytes()).unwrap();
    assert!(
        file.benchmarks[0].request_records("g.json").is_err(),
        "as soon as possible is no schedule"
    );
    let turn = GUIDELLM.replace(
        "\"targeted_start_time\": 100.5",
        "\"targeted_start_time\": 100.5, \"predecessor_completed\": 100.5",
    );
    let file = read("g.json", turn.as_bytes()).unwrap();
    assert!(file.benchmarks[0].request_records("g.json").is_err(), "a turn follows an answer");
    let lost = refused(&GUIDELLM.replace("\"total\": 2", "\"total\": 3"));
    assert_eq!(lost.field.as_deref(), Some("benchmarks[0].metrics.request_totals"));
}

#[test]
fn detailed_lists_of_vllm_are_requests_without_a_schedule() {
    let lists = r#""p99_itl_ms": 66.0, "ttfts": [0.5, 0.25, 0.0], "latencies": [1.0, 2.0, 0.0],
        "start_times": [10.5, 10.0, 11.0], "queue_times": [0.0, 0.0, 0.0], "input_lens": [7, 8, 9],
        "output_lens": [3, 4, 0], "errors": ["", "", "Bad Gateway"]}"#;
    let text = VLLM
        .replace("\"p99_itl_ms\": 66.0}", lists)
        .replace("\"p99_ttft_ms\": 1353.5", "\"request_goodput\": null");
    let file = read("result.json", text.as_bytes()).unwrap();
    let one = &file.benchmarks[0];
    let requests = one.requests.as_ref().unwrap();
    assert_eq!(
        (requests[0].sent_ns, requests[0].first_token_ns),
        (Some(500_000_000), Some(1_000_000_000))
    );
    assert_eq!(requests[1].end_ns, Some(2_000_000_000));
    assert!(!requests[2].outcome.is_complete() && requests[2].end_ns.is_none());
    // The two that succeeded, nearest rank: the larger.
    assert_eq!(one.point(ImportedMetric::TimeToFirstToken, Some(0.99)), Some(0.5));
    assert!(one.request_records("result.json").is_err());
    let short = text.replace("[10.5, 10.0, 11.0]", "[10.5, 10.0]");
    assert!(refused(&short).rule.contains("2 in start_times beside 3 in ttfts"));
}

#[test]
fn aiperf_of_today_names_its_metrics_at_the_top() {
    let text = r#"{"schema_version": "1.0", "aiperf_version": "0.13.0",
        "time_to_first_token": {"unit": "ms", "avg": 20.0, "p99": 40.0},
        "request_count": {"unit": "requests", "avg": 8.0},
        "error_request_count": {"unit": "requests", "avg": 1.0},
        "error_summary": [{"error_details": {"code": 503}, "count": 1}]}"#;
    let file = read("p.json", text.as_bytes()).unwrap();
    assert_eq!((file.tool, file.version.as_deref()), (Tool::Aiperf, Some("0.13.0")));
    let one = &file.benchmarks[0];
    assert_eq!(one.point(ImportedMetric::TimeToFirstToken, Some(0.99)), Some(0.04));
    assert_eq!(one.counts.total, Some(9));
    let unit = refused(&text.replace("\"unit\": \"ms\"", "\"unit\": \"parsec\""));
    assert_eq!(unit.found.as_deref(), Some("parsec"));
    let errors = refused(&text.replace("\"count\": 1}]", "\"count\": 2}]"));
    assert!(errors.rule.contains("2 errors are listed and 1 are counted"), "{errors}");
}

#[test]
fn a_lost_time_written_as_zero_makes_no_evidence() {
    let lost = GUIDELLM.replace("\"first_token_time\": 101.0", "\"first_token_time\": 0.0");
    let file = read("g.json", lost.as_bytes()).unwrap();
    let one = &file.benchmarks[0];
    let refusal = one.request_records("g.json").unwrap_err();
    assert_eq!((refusal.claim, refusal.field.as_deref()), (Claim::Anything, Some("request b")));
    assert!(one.point_estimates("g.json", Condition::A).is_empty());
    let mixed = SGLANG.replace("\"mean_e2e_latency_ms\": 2409.5, \"median_e2e_latency_ms\": 1537.5, \"p99_e2e_latency_ms\": 9813.0", "\"mean_e2e_latency_ms\": 2.4095");
    let file = read("online.jsonl", mixed.as_bytes()).unwrap();
    let refusal = &file.benchmarks[0].refusals[0];
    assert!(refusal.rule.contains("which cannot be"), "{refusal}");
}

#[test]
fn mlperf_logs_that_failed_or_broke() {
    let line = |key: &str, time_ms: u64, status: &str| {
        format!(
            ":::MLLOG {{\"time_ms\": {time_ms}, \"key\": \"{key}\", \"value\": null, \
             \"metadata\": {{\"status\": \"{status}\"}}}}\n"
        )
    };
    let aborted = line("run_start", 1000, "") + &line("run_stop", 3500, "aborted");
    let file = read("r.txt", aborted.as_bytes()).unwrap();
    assert_eq!(file.benchmarks[0].duration_s, Some(2.5));
    assert!(file.benchmarks[0].refuses(Claim::Anything));
    assert_eq!(file.benchmarks[0].point(ImportedMetric::TimeToTrain, None), None);
    let ranked =
        format!("0: {}0: {}", line("run_start", 1000, ""), line("run_stop", 3500, "success"));
    let file = read("r.txt", ranked.as_bytes()).unwrap();
    assert_eq!(file.benchmarks[0].point(ImportedMetric::TimeToTrain, None), Some(2.5));
    let broken = read("r.txt", b"x\n:::MLLOG {\"time_ms\": ").unwrap_err();
    assert_eq!(broken.line, Some(2));
}

#[test]
fn tables_say_their_unit_or_are_refused() {
    let named = "rate,ttft_mean_ms,ttft_p99_ms\n2,10,20\n";
    let file = read("t.csv", named.as_bytes()).unwrap();
    let one = &file.benchmarks[0];
    assert_eq!(one.point(ImportedMetric::TimeToFirstToken, Some(0.99)), Some(0.02));
    let bare = "rate,ttft_mean,ttft_p99\n2,10,20\n";
    assert!(read("t.csv", bare.as_bytes()).unwrap_err().rule.contains("no unit"));
    let told = read_with("t.csv", bare.as_bytes(), ImportOptions { times_in_s: Some(1e-3) });
    assert_eq!(told.unwrap().benchmarks[0].points[1].value, 0.02);
    let ragged = read("t.csv", b"rate,ttft_mean_ms,ttft_p99_ms\n2,10\n").unwrap_err();
    assert_eq!(ragged.line, Some(2));
    let negative = read("t.csv", b"rate,ttft_mean_ms,ttft_p99_ms\n2,10,-1\n").unwrap_err();
    assert_eq!((negative.line, negative.field.as_deref()), (Some(2), Some("ttft_p99_ms")));
}

const SEEDS: [&str; 6] = [
    VLLM,
    SGLANG,
    GUIDELLM,
    "Metric,avg,p99\nTime to First Token (ms),1,2\n\nMetric,Value\nRequest Count,3\n",
    "version: 0.2.1\nscenario:\n  stack: []\nresults:\n  request_performance:\n    aggregate: {}\n",
    "{\"load_summary\": {\"count\": 1}, \"successes\": {\"count\": 1}, \"failures\": {\"count\": 0}}",
];

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read("x", &bytes);
    }

    #[test]
    fn random_text_never_panics(text in "[\\[\\]{}:,\"'a-zA-Z0-9 .\n\t*&!|>-]{0,200}") {
        let _ = read("x", text.as_bytes());
    }

    #[test]
    fn damaged_results_never_panic(
        seed in 0_usize..6,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read("x", &bytes);
    }

    #[test]
    fn utf16_reads_as_utf8_does(extra in "[a-z]{0,8}") {
        let text = VLLM.replace("Llama-3B", &format!("é{extra}"));
        let mut bytes = vec![0xff, 0xfe];
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        prop_assert_eq!(read("x", &bytes).unwrap(), read("x", text.as_bytes()).unwrap());
    }
}
