//! Real results of other tools: the numbers that a person reads in them, and each file of the folder
//! recognised, or refused by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;

use cotenant_core::evidence::{Condition, PointMetric};
use cotenant_probe::benchmark::{
    Arrivals, BenchmarkFile, Claim, ImportOptions, ImportedBenchmark, ImportedMetric, Refusal,
    Tool, contradictions, read, read_with,
};

use ImportedMetric::{
    EndToEnd, OutputTokens, Requests, StepTime, Throughput, TimePerOutputToken,
    TimePerTokenWithFirst, TimeToFirstToken, TimeToTrain, TrainingSamples,
};

/// The folder of results; `None`, with a printed reason, where it is not there.
#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data/5-bench");
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

fn try_file(name: &str) -> Option<Result<BenchmarkFile, Box<Refusal>>> {
    let bytes = std::fs::read(folder()?.join(name)).unwrap();
    Some(read(name, &bytes))
}

fn file(name: &str) -> Option<BenchmarkFile> {
    try_file(name).map(Result::unwrap)
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{found} != {expected}");
}

fn only(file: &BenchmarkFile) -> &ImportedBenchmark {
    assert_eq!(file.benchmarks.len(), 1);
    &file.benchmarks[0]
}

#[test]
fn aiperf_json() {
    let Some(file) = file("aiperf/profile_export_aiperf.json") else { return };
    assert_eq!(file.tool, Tool::Aiperf);
    let one = only(&file);
    assert_eq!(one.model.as_deref(), Some("openai/gpt-oss-20b"));
    assert_eq!((one.counts.total, one.counts.failed), (Some(100), Some(11)));
    assert_eq!(one.load.concurrency_max, Some(100));
    assert_eq!(one.load.arrivals, Arrivals::ClosedLoop);
    close(one.duration_s, 9.317_788_951);
    close(one.point(TimeToFirstToken, Some(0.99)), 3.833_389_400_04);
    close(one.point(TimePerOutputToken, None), 0.027_763_065_454_471_807);
    close(one.point(EndToEnd, Some(0.5)), 9.097_345_015);
    close(one.point(ImportedMetric::ChunkGap, Some(0.99)), 0.140_534_294_76);
    close(one.point(Requests, None), 9.551_622_221_540_914);
    assert!(one.refuses(Claim::Objectives) && one.refuses(Claim::TokenGaps));
    let refusal = one.request_records(&file.file).unwrap_err().to_string();
    assert!(refusal.contains("coordinated omission"), "{refusal}");
    let points = one.point_estimates(&file.file, Condition::A);
    let tail = points
        .iter()
        .find(|point| point.metric == PointMetric::TimeToFirstToken && point.quantile == Some(0.95))
        .unwrap();
    close(Some(tail.value), 3.825_277_841_2);
    assert!(
        tail.source.contains("profile_export_aiperf.json: records.ttft.p95"),
        "{}",
        tail.source
    );
    assert!(points.iter().all(|point| point.metric != PointMetric::InterToken));
}

#[test]
fn aiperf_csv_with_blank_and_ragged_rows() {
    let Some(file) = file("aiperf/profile_export_aiperf.csv") else { return };
    let one = only(&file);
    assert_eq!((one.counts.succeeded, one.counts.failed), (Some(89), Some(11)));
    close(one.point(TimeToFirstToken, None), 2.343_22);
    close(one.point(TimeToFirstToken, Some(0.99)), 3.833_39);
    close(one.point(Requests, None), 9.55);
    close(one.point(OutputTokens, None), 2320.72);
}

#[test]
fn aiperf_requests_agree_with_its_summary() {
    let Some(file) = file("aiperf/profile_export.jsonl.gz") else { return };
    let one = only(&file);
    let requests = one.requests.as_ref().unwrap();
    assert_eq!((requests.len(), one.counts.succeeded), (100, Some(89)));
    close(one.point(TimeToFirstToken, None), 2.343_219_436_988_764);
    // Nearest rank of 89 at 0.99 is the largest.
    close(one.point(TimeToFirstToken, Some(0.99)), 3.853_857_423);
    let first = requests.iter().find(|request| request.outcome.is_complete()).unwrap();
    assert_eq!(first.sent_ns, Some(1_759_522_419_159_192_408 - 1_759_522_419_154_568_925));
    assert_eq!(first.first_token_ns.unwrap() - first.sent_ns.unwrap(), 1_680_543_782);
    assert_eq!((first.prompt_tokens, first.output_tokens), (Some(550), Some(193)));
    let refusal = one.request_records(&file.file).unwrap_err().to_string();
    assert!(refusal.contains("the time at which they were wanted"), "{refusal}");
}

#[test]
fn guidellm_version_two() {
    let Some(file) = file("llm-d/guidellm_report_v2.json") else { return };
    assert_eq!((file.tool, file.form), (Tool::Guidellm, "report v2"));
    assert_eq!(file.version.as_deref(), Some("0.8.0.dev18"));
    assert_eq!(file.benchmarks.len(), 2);
    let one = &file.benchmarks[0];
    assert_eq!(one.name, "constant@2");
    assert_eq!((one.load.arrivals, one.load.rate_requested), (Arrivals::Constant, Some(2.0)));
    assert_eq!((one.counts.total, one.counts.succeeded), (Some(2), Some(2)));
    close(one.point(TimeToFirstToken, None), 0.011_481_165_885_925_293);
    close(one.point(TimeToFirstToken, Some(0.999)), 0.011_686_325_073_242_188);
    close(one.point(EndToEnd, None), 0.019_789_099_693_298_34);
    close(one.point(TimePerTokenWithFirst, None), 0.002_442_136_406_898_498_5);
    assert_eq!(file.benchmarks[1].load.rate_requested, Some(4.0));
    // Its time per output token holds the first token and is no metric of evidence.
    let points = one.point_estimates("g", Condition::A);
    assert!(points.iter().all(|point| !point.source.contains("time_per_output_token")));
}

#[test]
fn guidellm_cut_by_hand() {
    let Some(file) = file("guidellm/benchmarks_stripped.json") else { return };
    let one = only(&file);
    assert_eq!(one.counts.total, Some(47));
    assert_eq!((one.load.arrivals, one.load.concurrency_max), (Arrivals::ClosedLoop, Some(1)));
    close(one.point(TimeToFirstToken, Some(0.95)), 0.019_009_351_730_346_68);
    close(one.point(Requests, None), 1.548_180_653_273_745_2);
    assert!(one.refuses(Claim::Anything), "1 request made, 47 measured");
    assert!(one.point_estimates("g", Condition::A).is_empty());
    assert!(one.requests.is_none() && one.caveats[0].contains("1 of 47"));
}

#[test]
fn guidellm_csv_and_a_pasted_spreadsheet() {
    let Some(file) = file("kaito/a100_benchmark-phi4-p16.csv") else { return };
    let one = only(&file);
    assert_eq!(one.name, "poisson@16.00");
    assert_eq!((one.load.arrivals, one.load.rate_requested), (Arrivals::Poisson, Some(16.0)));
    assert_eq!((one.counts.total, one.counts.failed), (Some(1000), Some(0)));
    assert_eq!(one.model.as_deref(), Some("phi-4-mini-instruct"));
    close(one.duration_s, 66.526_852_607_727_05);
    close(one.point(TimeToFirstToken, Some(0.5)), 0.290_578_365_325_927_73);
    close(one.point(TimePerOutputToken, None), 0.010_731_725_457_924_695);
    close(one.point(Requests, None), 15.031_524_276_316_82);
    let refusal = try_file("kaito/a100_benchmark-phi4-p1.csv").unwrap().unwrap_err();
    assert!(refusal.rule.contains("no unit"), "{refusal}");
}

#[test]
fn inference_perf_of_both_engines() {
    let Some(file) = file("inference-perf/vllm__stage_0_lifecycle_metrics.json") else { return };
    assert_eq!((file.tool, file.form), (Tool::InferencePerf, "stage report"));
    let one = only(&file);
    assert_eq!((one.counts.total, one.load.rate_requested), (Some(60), Some(1.0)));
    close(one.load.rate_sent, 1.025_465_421_402_442_3);
    close(one.point(TimeToFirstToken, Some(0.99)), 0.039_696_927_970_508_104);
    close(one.point(TimePerOutputToken, None), 0.003_473_417_240_526_474);
    assert!(!one.refuses(Claim::RequestedRate) && one.refuses(Claim::Objectives));
    let late = try_file("inference-perf/vllm_v0_engine__stage_3_lifecycle_metrics.json");
    let late = late.unwrap().unwrap();
    assert_eq!(
        (only(&late).load.rate_requested, only(&late).counts.total),
        (Some(118.56), Some(7113))
    );
    assert!(only(&late).refuses(Claim::RequestedRate) && only(&late).refuses(Claim::Latency));
    let points = only(&late).point_estimates("late", Condition::A);
    assert!(points.iter().all(|point| point.metric != PointMetric::TimeToFirstToken));
    assert!(points.iter().any(|point| point.metric == PointMetric::Requests));
    let yaml = try_file("llm-d/inference_perf_lifecycle.yaml").unwrap().unwrap();
    assert_eq!(only(&yaml).counts.total, Some(3));
    close(only(&yaml).point(EndToEnd, None), 0.49);
    let server = try_file("inference-perf/vllm__stage_0_prometheus_metrics.json").unwrap().unwrap();
    assert_eq!((server.form, only(&server).counts.succeeded), ("server metrics", Some(937)));
    assert!(only(&server).refuses(Claim::Latency));
}

#[test]
fn inference_perf_requests() {
    let name = "inference-perf/corpus__full-runs__v0_5_0-clean-two-stage-run__per_request_lifecycle_metrics.json.gz";
    let Some(file) = file(name) else { return };
    let one = only(&file);
    assert_eq!((one.counts.total, one.counts.failed), (Some(6), Some(1)));
    let requests = one.requests.as_ref().unwrap();
    assert_eq!(requests[1].sent_ns, Some(500_000_000));
    assert_eq!(requests[1].first_token_ns, Some(600_000_000));
    assert_eq!((requests[1].prompt_tokens, requests[1].output_tokens), (Some(120), Some(12)));
    assert!(!requests[3].outcome.is_complete());
}

#[test]
fn the_broken_corpus_is_refused_by_name() {
    let corpus =
        |name: &str| try_file(&format!("inference-perf/corpus__{name}_lifecycle_metrics.json"));
    let Some(counted) = corpus("full-runs__v0_5_0-summary-count-off-by-one__summary") else {
        return;
    };
    let counted = counted.unwrap_err();
    assert_eq!(counted.field.as_deref(), Some("load_summary.count"));
    assert!(counted.rule.contains("5 succeeded + 1 failed") && counted.rule.contains("is not 7"));
    let negative = corpus("per-stage-reports__v0_5_0-negative-requested-rate__stage_0").unwrap();
    let negative = negative.unwrap_err();
    assert_eq!(negative.field.as_deref(), Some("load_summary.requested_rate"));
    assert!(negative.rule.contains("negative") && negative.found.as_deref() == Some("-1.0"));
    let worded = corpus("per-stage-reports__v0_5_0-non-numeric-stage-rate__stage_1").unwrap();
    let worded = worded.unwrap_err();
    assert_eq!(worded.field.as_deref(), Some("load_summary.requested_rate"));
    assert!(worded.rule.contains("finite number") && !worded.hint.is_empty(), "{worded}");
}

#[test]
fn files_of_one_run_are_held_against_each_other() {
    let name = |part: &str| {
        format!(
            "inference-perf/corpus__full-runs__v0_5_0-clean-two-stage-run__{part}_lifecycle_metrics.json"
        )
    };
    let Some(summary) = file(&name("summary")) else { return };
    let stages = ["stage_0", "stage_1"].map(|stage| file(&name(stage)).unwrap());
    let requests = file(&format!("{}.gz", name("per_request"))).unwrap();
    let mut run = vec![summary, requests, stages[0].clone(), stages[1].clone()];
    assert_eq!(contradictions(&run), Vec::new());
    run.pop();
    let found = contradictions(&run);
    assert_eq!(found.len(), 1);
    assert!(found[0].rule.contains("the stages are 4 and the summary counts 6"), "{}", found[0]);
}

#[test]
fn llmd_reports() {
    let Some(second) = file("llm-d/br_v0_2_1_example.yaml") else { return };
    assert_eq!((second.tool, second.version.as_deref()), (Tool::LlmdReport, Some("0.2.1")));
    let one = only(&second);
    assert_eq!(one.model.as_deref(), Some("Qwen/Qwen3-0.6B"));
    assert_eq!(one.hardware.as_deref(), Some("NVIDIA-H100-80GB-HBM3"));
    assert_eq!((one.counts.total, one.load.rate_requested), (Some(500), Some(10.0)));
    close(one.point(TimeToFirstToken, Some(0.99)), 0.050_294_897_216_371_82);
    assert_eq!(one.load.concurrency_max, None);
    let first = try_file("llm-d/br_v0_1_example.yaml").unwrap().unwrap();
    assert_eq!(first.version.as_deref(), Some("0.1"));
    // The unit that stands in the file is milliseconds.
    close(only(&first).point(TimeToFirstToken, Some(0.9)), 0.002_269_595_491_350_63);
    assert_eq!(only(&first).model.as_deref(), Some("deepseek-ai/DeepSeek-R1-0528"));
    assert!(only(&first).refuses(Claim::Anything), "it ends before it begins");
}

#[test]
fn two_clocks_are_not_subtracted() {
    let Some(file) = file("llmservingsim/RTXPRO6000_Llama-3.1-8B_requests.jsonl") else { return };
    let one = only(&file);
    let requests = one.requests.as_ref().unwrap();
    assert_eq!(requests.len(), 300);
    assert_eq!((requests[0].sent_ns, requests[0].prompt_tokens), (Some(0), Some(2358)));
    let first_ns = requests[0].first_token_ns.unwrap() as f64;
    assert!((first_ns - 169_525_194.0).abs() < 1000.0, "{first_ns}");
    assert!(one.caveats[0].contains("two clocks"));
    assert!(one.refuses(Claim::Objectives));
    let meta = try_file("llmservingsim/RTX4090_Llama-3.1-8B_meta.json").unwrap().unwrap();
    assert_eq!(meta.version.as_deref(), Some("vLLM 0.19.0"));
    assert_eq!(only(&meta).hardware.as_deref(), Some("NVIDIA GeForce RTX 4090"));
    assert_eq!(only(&meta).counts.total, Some(300));
    let state = try_file("llmservingsim/RTX4090_Llama-3.1-8B_timeseries.csv").unwrap().unwrap();
    assert!(only(&state).facts.contains(&("highest kv_cache_pct".into(), "100".into())));
}

#[test]
fn mlperf_training_logs() {
    let Some(amd) =
        file("mlperf/v5.0_AMD_MI300X_EPYC_9575F_pytorch_llama2_70b_lora_result_0.txt.gz")
    else {
        return;
    };
    let one = only(&amd);
    assert_eq!(one.model.as_deref(), Some("llama2_70b_lora"));
    assert_eq!(one.hardware.as_deref(), Some("1xMI300X"));
    close(one.point(TimeToTrain, None), 1695.611);
    close(one.point(TrainingSamples, None), 2.026_509_656_466_590_8);
    assert_eq!(one.points.iter().filter(|point| point.metric == TrainingSamples).count(), 5);
    let nemo = try_file("mlperf/v5.0_NVIDIA_nyx_n1_ngc25.04_nemo_llama2_70b_lora_result_0.txt.gz");
    let nemo = nemo.unwrap().unwrap();
    close(only(&nemo).point(StepTime, None), 1.540_869_163_713_523_4);
    assert!(only(&nemo).steps.is_empty());
    let large = "mlperf/v5.0_IBM+CoreWeave+NVIDIA_carina_ngpu2496_ngc25.04_nemo_llama31_405b_result_0.txt.gz";
    let large = try_file(large).unwrap().unwrap();
    let steps = &only(&large).steps;
    assert_eq!(steps.len(), 259);
    assert_eq!((steps[0].step, steps[0].at_ns), (1, 9_856_000_000));
    close(steps[0].duration_s, 9.903_241_157_531_738);
    assert_eq!(steps[1].step, 2);
    close(steps[0].loss, 7.752_726_554_870_605_5);
}

#[test]
fn mlperf_inference_tables() {
    let Some(five) = file("mlperf/mlperf-5.0.csv") else { return };
    assert_eq!((five.tool, five.version.as_deref()), (Tool::MlperfInference, Some("5.0")));
    let one = &five.benchmarks[0];
    assert_eq!(one.name, "5.0-0001 llama2-70b-99 Offline");
    assert_eq!(one.hardware.as_deref(), Some("8 × AMD Instinct MI325X 256GB HBM3E"));
    close(one.point(Throughput, None), 33_928.10);
    assert_eq!(one.points[0].unit, "Tokens/s");
    assert_eq!(five.benchmarks[1].name, "5.0-0001 llama2-70b-99 Server");
    close(five.benchmarks[1].point(Throughput, None), 30_724.51);
    let later = try_file("mlperf/mlperf-5.1.csv").unwrap().unwrap();
    close(later.benchmarks[0].point(Throughput, None), 27_803.90);
    assert_eq!(later.benchmarks[2].name, "5.1-0001 llama2-70b-99 Interactive");
    let six = try_file("mlperf/mlperf-6.0.csv.gz").unwrap().unwrap();
    assert_eq!(six.version.as_deref(), Some("6.0"));
    assert_eq!(five.benchmarks.len(), 859);
    assert_eq!(later.benchmarks.len(), 554);
    assert_eq!(six.benchmarks.len(), 493);
    assert!(six.caveats[0].contains("UTF-16 LE"));
    assert_eq!(six.benchmarks[1].name, "v6.0-0001 llama2-70b-99 Server");
    close(six.benchmarks[1].point(Throughput, None), 1_016_375.0);
    assert!(six.benchmarks[1].refuses(Claim::Objectives));
}

#[test]
fn tables_of_times() {
    let Some(model) = file("splitwise/perf_model.csv") else { return };
    assert_eq!(model.benchmarks.len(), 228);
    let name = "llama2-70b on a100-80gb × 2, prompt 512, batch 1, 128 tokens";
    let one = model.benchmarks.iter().find(|one| one.name == name).unwrap();
    assert_eq!(one.points[0].samples, Some(15));
    close(one.point(TimeToFirstToken, None), 0.196_652_288_362_383_84);
    assert!(one.refuses(Claim::Tails) && one.refuses(Claim::Objectives));
    let name = "vllm-h100-ground-truth.csv";
    let refusal = try_file(name).unwrap().unwrap_err();
    assert_eq!((refusal.line, refusal.field.as_deref()), (Some(1), Some("e2e_mean")));
    let bytes = std::fs::read(folder().unwrap().join(name)).unwrap();
    let told = read_with(name, &bytes, ImportOptions { times_in_s: Some(1e-3) }).unwrap();
    let one = &told.benchmarks[1];
    assert_eq!(one.load.rate_requested, Some(2.5));
    close(one.point(TimeToFirstToken, Some(0.99)), 0.1386);
    close(one.point(EndToEnd, None), 4.460_33);
}

#[test]
fn every_file_is_recognised_or_refused_by_name() {
    let Some(root) = folder() else { return };
    let mut folders = vec![root];
    let mut seen = 0;
    let mut refused = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            seen += 1;
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match read(&name, &std::fs::read(&path).unwrap()) {
                Ok(file) => {
                    assert!(!file.benchmarks.is_empty(), "{name}");
                    for one in &file.benchmarks {
                        let useful = !one.points.is_empty() || !one.facts.is_empty();
                        assert!(useful, "{name}: nothing was read");
                        assert!(one.points.iter().all(|point| point.value.is_finite()), "{name}");
                        for refusal in &one.refusals {
                            assert!(refusal.file == name && !refusal.hint.is_empty(), "{refusal}");
                        }
                    }
                }
                Err(refusal) => {
                    assert!(!refusal.rule.contains("no known"), "{refusal}");
                    assert!(refusal.file == name && !refusal.hint.is_empty(), "{refusal}");
                    refused.push(name);
                }
            }
        }
    }
    assert!(seen > 80, "{seen}");
    refused.sort();
    let kinds = [
        "validation.json",
        "manifests.yaml",
        "example_trace.jsonl",
        "phi4-p1.csv",
        "ground-truth.csv",
        "off-by-one__summary_",
        "negative-requested-rate__stage_0",
        "non-numeric-stage-rate__stage_1",
    ];
    for name in &refused {
        assert!(kinds.iter().any(|kind| name.contains(kind)), "{name} is refused");
    }
    for kind in kinds {
        assert!(refused.iter().any(|name| name.contains(kind)), "{kind} is not refused");
    }
}

/// Bytes that mean something in the formats that are read.
const DAMAGE: &[u8] = b"0-9.eE\"{}[]:,\n\t\0Z";

/// Each file of the folder below 40 kB, with bytes of it changed at even distances: whatever is read,
/// nothing panics. The values are of a fixed sequence, so that a finding repeats.
#[test]
fn damaged_real_files_never_panic() {
    let Some(root) = folder() else { return };
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    let mut damaged = 0;
    for kind in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(entries) = std::fs::read_dir(&kind) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).take(12) {
            let whole = std::fs::read(&path).unwrap();
            if whole.len() > 40_000 {
                continue;
            }
            for _ in 0..12 {
                let mut bytes = whole.clone();
                for _ in 0..=next() % 6 {
                    let at = next() % bytes.len();
                    bytes[at] = DAMAGE[next() % DAMAGE.len()];
                }
                if next() % 4 == 0 {
                    bytes.truncate(next() % whole.len());
                }
                let name = path.to_string_lossy();
                if let Ok(file) = read(&name, &bytes) {
                    for one in &file.benchmarks {
                        let _ = one.request_records(&name);
                        assert!(one.points.iter().all(|point| point.value >= 0.0), "{name}");
                    }
                }
                damaged += 1;
            }
        }
    }
    assert!(damaged > 300, "{damaged}");
}
