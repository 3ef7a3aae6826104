//! What a person reads in a file is what the door says, for one file of each kind and producer. The
//! figures are from `data/README.md`, or were read in the files by eye or with jq, zcat and awk.

use cotenant_core::reading::{Figure, FileReading};
use cotenant_probe::read::read_file;

/// The reading of a file of the tree.
fn reading(name: &str) -> Option<FileReading> {
    let path = super::data()?.join(name);
    Some(read_file(&path).unwrap_or_else(|refusal| panic!("{refusal}")).reading)
}

#[track_caller]
fn number(reading: &FileReading, name: &str, expected: f64, tolerance: f64) {
    let found = reading.number(name);
    let is_right = found.is_some_and(|found| (found - expected).abs() <= tolerance);
    assert!(
        is_right,
        "{}: {name} is {found:?}, not {expected}; {:#?}",
        reading.file, reading.facts
    );
}

#[track_caller]
fn table<'r>(reading: &'r FileReading, title: &str) -> &'r cotenant_core::reading::Table {
    let titles: Vec<&str> = reading.tables.iter().map(|table| table.title.as_str()).collect();
    let found = reading.tables.iter().find(|table| table.title == title);
    found.unwrap_or_else(|| panic!("{}: no table {title}, but {titles:?}", reading.file))
}

/// The cell of the first row whose first cells are these words, in a column.
#[track_caller]
fn cell<'r>(reading: &'r FileReading, title: &str, row: &[&str], column: &str) -> &'r Figure {
    let table = table(reading, title);
    let is_word = |figure: &Figure, word: &str| match figure {
        Figure::Text(text) => text == word,
        Figure::Number { value, .. } => value.to_string() == word,
        _ => word == "*",
    };
    let found = table.rows.iter().find(|cells| {
        cells.iter().zip(row).all(|(figure, word)| *word == "*" || is_word(figure, word))
    });
    let at = table.columns.iter().position(|one| one.name == column);
    match (found, at) {
        (Some(cells), Some(at)) => &cells[at],
        _ => panic!("{}: no row {row:?} or column {column} in {table:#?}", reading.file),
    }
}

#[track_caller]
fn is_number(figure: &Figure, expected: f64, unit: &str) {
    match figure {
        Figure::Number { value, unit: found } => {
            let tolerance = 1e-9 * expected.abs().max(1e-9);
            assert!((value - expected).abs() <= tolerance && found == unit, "{figure:?}");
        }
        _ => panic!("{figure:?} is not {expected} {unit}"),
    }
}

fn text(words: &str) -> Figure {
    Figure::text(words)
}

#[test]
fn traces_have_their_rows_spans_and_lengths() {
    for (name, rows, span_s, rate, prompt, output) in [
        ("azure2023/AzureLLMInferenceTrace_code.csv", 8819, 3436.0, 2.57, (1469, 7315), (13, 90)),
        (
            "azure2023/AzureLLMInferenceTrace_conv.csv",
            19_366,
            3502.0,
            5.53,
            (1020, 4083),
            (129, 451),
        ),
        ("mooncake/conversation_trace.jsonl.gz", 12_031, 3537.0, 3.40, (6909, 39_552), (350, 698)),
        ("vidur/splitwise_code.csv", 8819, 3436.0, 2.57, (1469, 7315), (13, 90)),
    ] {
        let Some(reading) = reading(&format!("1-llm-traces/{name}")) else { return };
        number(&reading, "requests", f64::from(rows), 0.0);
        number(&reading, "span", span_s, 1.0);
        number(&reading, "mean rate", rate, 0.005);
        // Above 2,048 quantiles may be 0.1 % too high.
        for (what, (p50, p95)) in [("prompt tokens", prompt), ("output tokens", output)] {
            number(&reading, &format!("{what}, p50"), f64::from(p50), f64::from(p50) / 900.0);
            number(&reading, &format!("{what}, p95"), f64::from(p95), f64::from(p95) / 900.0);
        }
        assert!(reading.next.as_ref().unwrap().starts_with("cotenant demand "));
    }
}

#[test]
fn rates_have_their_means_and_gaps() {
    let Some(large) = reading("1-llm-traces/servegen/m-large_rate_10min.csv") else { return };
    number(&large, "rows", 2016.0, 0.0);
    number(&large, "rate, mean", 195.8, 0.05);
    number(&large, "rate, max", 583.0, 0.5);
    number(&large, "step", 600.0, 0.0);
    let small = reading("1-llm-traces/servegen/m-small_rate_10min.csv").unwrap();
    assert!(small.number("time in gaps").unwrap() >= 37.0 * 600.0, "37 windows are zero, as gaps");
    let client = reading("1-llm-traces/servegen/raw_m-large_chunk-0-trace.csv.gz").unwrap();
    assert_eq!(
        (client.producer.as_deref(), &client.packing[..]),
        (Some("ServeGen"), &["gzip"][..])
    );
}

#[test]
fn engines_say_what_they_serve() {
    let Some(vllm) = reading("3-metrics/vllm/vllm_0.32.0_cpu_tiny_loaded.prom") else { return };
    assert_eq!(vllm.producer.as_deref(), Some("vLLM"));
    assert!(vllm.clues.iter().any(|clue| clue.contains("`vllm:num_requests_running`")));
    let text_of = std::fs::read_to_string(&vllm.file).unwrap();
    let line = |start: &str| -> f64 {
        let line = text_of.lines().find(|line| line.starts_with(start)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let prompt = line("vllm:prompt_tokens_total{");
    is_number(cell(&vllm, "Serving", &["prompt_tokens"], "value"), prompt, "tokens");
    let (title, count) = (
        "Times of serving, between the bounds of buckets",
        line("vllm:time_to_first_token_seconds_count{"),
    );
    is_number(cell(&vllm, title, &["ttft"], "count"), count, "");
    let mean = line("vllm:time_to_first_token_seconds_sum{") / count;
    is_number(cell(&vllm, title, &["ttft"], "mean"), mean, "s");
    assert!(
        matches!(cell(&vllm, title, &["ttft"], "p95"), Figure::Between { unit, .. } if unit == "s")
    );

    let llama = reading("3-metrics/llamacpp_server_b1-0c1e570.prom").unwrap();
    let text_of = std::fs::read_to_string(&llama.file).unwrap();
    let tokens = text_of
        .lines()
        .find_map(|line| line.strip_prefix("llamacpp:tokens_predicted_total "))
        .unwrap();
    let tokens = tokens.trim().parse().unwrap();
    is_number(cell(&llama, "Serving", &["output_tokens"], "value"), tokens, "tokens");
    let triton = reading("3-metrics/triton_2.51.0_cpu_loaded.prom").unwrap();
    assert_eq!(triton.producer.as_deref(), Some("Triton"));
    let old = reading("3-metrics/vllm/datadog_v0_excerpt.prom").unwrap();
    assert!(old.figure("samples").is_some() && !old.notes.is_empty());
}

#[test]
fn exporters_say_what_they_are() {
    let Some(node) = reading("3-metrics/node_exporter/e2e-output.txt.gz") else { return };
    assert_eq!(node.producer.as_deref(), Some("node_exporter"));
    let mig = reading("3-metrics/dcgm/runai_lt2.9__mig__metrics__4_Active_Workloads.prom").unwrap();
    assert!(mig.number("MIG instances").unwrap() > 0.0);
    assert!(mig.skipped[0].starts_with("line 1: "), "the title: {:?}", mig.skipped);
    let busy = cell(&mig, "GPUs", &["*"], "busy");
    assert!(matches!(busy, Figure::Absent(why) if why.contains("MIG mode")), "{busy:?}");
    let power = cell(&mig, "GPUs", &["*"], "power");
    assert!(matches!(power, Figure::Number { unit, .. } if unit == "W"), "{power:?}");
    // 2⁶³ − 14 is how DCGM writes that it has no value.
    let docs = reading("4-device-sched/mig-listings/dcgm_mig_metrics.txt").unwrap();
    number(&docs, "samples", 5.0, 0.0);
    let fields = reading("3-metrics/dcgm/default-counters.csv").unwrap();
    assert_eq!(*cell(&fields, "Fields", &["DCGM_FI_DEV_POWER_USAGE"], "unit"), text("W"));
    assert_eq!(*cell(&fields, "Fields", &["DCGM_FI_DEV_SM_CLOCK"], "type"), text("gauge"));
}

#[test]
fn answers_of_a_metrics_server() {
    let Some(cores) = reading("3-metrics/prom-api/slurmweb_cores-hour.json") else { return };
    number(&cores, "step", 30.0, 0.0);
    let from = cell(&cores, "Series", &["*"], "from");
    // `date -u -d @1747750980` says Tue May 20 14:23:00 UTC 2025.
    assert_eq!(*from, text("2025-05-20T14:23:00Z"));
    let none = reading("3-metrics/prom-api/slurmweb_unknown-metric.json").unwrap();
    number(&none, "series", 0.0, 0.0);
    assert!(none.notes[0].contains("matched nothing"));
}

#[test]
fn gpus_have_their_numbers_or_a_reason() {
    let Some(t4) = reading("4-device-sched/telegraf/tesla-t4.xml") else { return };
    assert_eq!(t4.version.as_deref(), Some("driver 515.105.01"));
    assert_eq!(*cell(&t4, "GPUs", &["*"], "model"), text("Tesla T4"));
    let mig = reading("4-device-sched/netdata_nvidia_smi/a100-sxm4-mig.xml").unwrap();
    let busy = cell(&mig, "GPUs", &["*"], "busy");
    assert!(matches!(busy, Figure::Absent(why) if why.contains("not idleness")), "{busy:?}");
    assert_eq!(*cell(&mig, "GPUs", &["*"], "MIG"), text("on"));
    assert!(mig.number("MIG devices").unwrap() > 0.0);
    let broken =
        reading("4-device-sched/gpud/nvidia-smi-query.535.183.01.out.0.invalid.txt").unwrap();
    assert!(!broken.notes.is_empty(), "what contradicts itself is told");
    let capture = reading(
        "4-device-sched/nvidia-captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt.gz",
    )
    .unwrap();
    assert_eq!(capture.version.as_deref(), Some("driver 590.48.01"));
    assert!(capture.tables.len() > 5 && !capture.skipped.is_empty());
    let list = reading("4-device-sched/nvidia-docs/mig-mixed-nvidia-smi.txt").unwrap();
    number(&list, "MIG devices listed", 4.0, 0.0);
    assert_eq!(*cell(&list, "Devices", &["0", "MIG 0"], "model or profile"), text("3g.40gb"));
    let topology = reading("4-device-sched/mig-listings/topo_m_a100_h100_8gpu.txt").unwrap();
    let ways = cell(&topology, "Ways between 8 devices", &["GPU0"], "ways to the others");
    assert!(matches!(ways, Figure::Text(text) if text.starts_with("GPU1 NV")), "{ways:?}");
    let links = reading("4-device-sched/gpud/nvidia-smi.nvlink.status.a100.txt").unwrap();
    is_number(cell(&links, "NVLinks", &["0"], "bandwidth"), 25.0, "GB/s");
    let xid = reading("4-device-sched/gpud/dmesg-with-xid-119.log").unwrap();
    assert!(xid.number("Xid 119").unwrap() >= 1.0);
    assert_eq!(*cell(&xid, "Faults", &["*"], "device"), text("0000:9b:00"));
}

#[test]
fn listings_of_mig() {
    let Some(h100) = reading("4-device-sched/mig-listings/h100-pcie-80gb_570.169_lgip.txt") else {
        return;
    };
    let row = ["0", "1g.10gb"];
    is_number(cell(&h100, "Profiles", &row, "memory"), 9.75, "GiB");
    is_number(cell(&h100, "Profiles", &row, "most"), 7.0, "");
    let places = reading("4-device-sched/mig-listings/a30_lgipp.txt").unwrap();
    let begins = cell(&places, "Profiles", &["0"], "may begin at");
    assert_eq!(*begins, text("0, 1, 2, 3"));
    let inside = reading("4-device-sched/mig-listings/rtx-pro-6000-se_lci.txt").unwrap();
    assert_eq!(inside.form, "compute instances");
    let instances = reading("4-device-sched/mig-listings/rtx-pro-6000-se_mixed_lgi.txt").unwrap();
    assert_eq!(instances.form, "GPU instances");
}

#[test]
fn results_have_their_numbers_and_their_limits() {
    let Some(stage) = reading("5-bench/inference-perf/vllm__stage_0_lifecycle_metrics.json") else {
        return;
    };
    number(&stage, "requests", 60.0, 0.0);
    number(&stage, "rate asked for", 1.0, 0.0);
    let ttft = cell(&stage, "Numbers", &["", "time to first token", "p99"], "value");
    is_number(ttft, 0.039_696_927_970_508_104, "s");
    assert!(stage.limits.iter().any(|limit| limit.claim == "whether latency objectives hold"));

    let aiperf = reading("5-bench/aiperf/profile_export_aiperf.json").unwrap();
    number(&aiperf, "open at once, at most", 100.0, 0.0);
    number(&aiperf, "failed", 11.0, 0.0);
    assert!(aiperf.limits.iter().any(|limit| limit.why.contains("coordinated omission")));
    let requests = reading("5-bench/aiperf/profile_export.jsonl.gz").unwrap();
    number(&requests, "requests told one by one", 100.0, 0.0);
    number(&requests, "of these with the time at which they were wanted", 0.0, 0.0);

    let guidellm = reading("5-bench/llm-d/guidellm_report_v2.json").unwrap();
    assert_eq!(guidellm.version.as_deref(), Some("0.8.0.dev18"));
    is_number(cell(&guidellm, "Results", &["constant@2"], "rate asked for"), 2.0, "req/s");
    let kaito = reading("5-bench/kaito/a100_benchmark-phi4-p16.csv").unwrap();
    number(&kaito, "requests", 1000.0, 0.0);
    let llmd = reading("5-bench/llm-d/br_v0_2_1_example.yaml").unwrap();
    assert_eq!((llmd.version.as_deref(), llmd.number("requests")), (Some("0.2.1"), Some(500.0)));
    let simulated = reading("5-bench/llmservingsim/RTX4090_Llama-3.1-8B_requests.jsonl").unwrap();
    number(&simulated, "requests told one by one", 300.0, 0.0);
    let table = reading("5-bench/mlperf/mlperf-6.0.csv.gz").unwrap();
    assert_eq!(
        (&table.packing[..], table.version.as_deref()),
        (&["gzip", "UTF-16 LE"][..], Some("6.0"))
    );
    let training =
        "5-bench/mlperf/v5.0_NVIDIA_nyx_n1_ngc25.04_nemo_llama2_70b_lora_result_0.txt.gz";
    let training = reading(training).unwrap();
    // `time_ms` of run_stop less that of run_start: 1745155634013 − 1745154970117.
    is_number(cell(&training, "Numbers", &["*", "time to train"], "value"), 663.896, "s");
}

#[test]
fn trainers_have_their_step_times() {
    let Some(titan) = reading("6-trainlogs/torchtitan_pr1287_excerpt.log") else { return };
    // Ten steps between 13:06:03.755 and 13:06:17.743, and so on: the last is 14.006 s.
    number(&titan, "step time, p50", 1.3994, 1e-3);
    number(&titan, "tokens per second of one GPU, max", 5858.0, 0.0);
    number(&titan, "steps between two lines, at most", 10.0, 0.0);
    number(&titan, "checkpoints staged in the background", 1.0, 0.0);
    let tr11 = reading("6-trainlogs/bigscience/tr11-176B-ml_log_lines.txt").unwrap();
    number(&tr11, "time of the first step", 105.22, 1e-9);
    number(&tr11, "step time, max", 111.14, 1e-9);
    number(&tr11, "steps in all", 115_311.0, 0.0);
    assert!(tr11.notes.iter().any(|note| note.contains("compiles")), "{:?}", tr11.notes);
    let fsdp = reading("6-trainlogs/aws/pytorch_FSDP_kubernetes.txt").unwrap();
    number(&fsdp, "samples per second, max", 9.42, 1e-9);
    let state = reading("6-trainlogs/hf/NSLLM_trainer_state.json.gz").unwrap();
    number(&state, "time of the run", 857_595.098_8, 1e-6);
    assert!(matches!(state.figure("step time"), Some(Figure::Absent(_))), "it has no clock");
    let restarted =
        reading("6-trainlogs/llamafactory/SFT-Training-LLM_trainer_log.jsonl.gz").unwrap();
    number(&restarted, "restarts of the counter", 1.0, 0.0);
    assert!(restarted.skipped[0].contains("678"), "{:?}", restarted.skipped);
    let golden =
        reading("6-trainlogs/megatron/bert__bert_mcore_tp1_pp2__golden_values_dev_dgx_h100.json");
    assert!(golden.unwrap().number("step time, p50").unwrap() < 6.0);
    let cycles = reading("6-trainlogs/blender_cycles_3.4.1_cpu.log").unwrap();
    number(&cycles, "frames", 3.0, 0.0);
    is_number(cell(&cycles, "Frames", &["1"], "time"), 0.33, "s");
    is_number(cell(&cycles, "Frames", &["1"], "of this saving"), 0.09, "s");
}

#[test]
fn dashboards_say_what_they_ask() {
    let Some(board) = reading("3-metrics/dashboards/aibrix_vllm_engine.json") else { return };
    assert_eq!(board.version.as_deref(), Some("11.3.1"));
    let queries = table(&board, "Queries");
    let has = |text: &str| {
        queries
            .rows
            .iter()
            .any(|row| matches!(&row[2], Figure::Text(query) if query.contains(text)))
    };
    assert!(has("vllm:e2e_request_latency_seconds_sum"), "{queries:#?}");
    // PROMQL.tsv lists the queries of each dashboard.
    let list =
        std::fs::read_to_string(super::data().unwrap().join("3-metrics/dashboards/PROMQL.tsv"));
    let listed: std::collections::BTreeSet<String> = list
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("aibrix_vllm_engine.json\t"))
        // Those of the variables are no panel's.
        .filter(|query| !query.starts_with("label_values(") && *query != "prometheus")
        .map(str::to_owned)
        .collect();
    let found: std::collections::BTreeSet<String> = queries
        .rows
        .iter()
        .filter_map(|row| match &row[2] {
            Figure::Text(query) => Some(query.split_whitespace().collect::<Vec<_>>().join(" ")),
            _ => None,
        })
        .collect();
    let missing: Vec<_> = listed
        .iter()
        .filter(|query| !found.contains(&query.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
