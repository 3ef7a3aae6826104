//! Every file of the tree is recognised as what a person calls it, or refused by name.

use std::path::{Path, PathBuf};

use cotenant_core::reading::FileKind;
use cotenant_probe::read::read_file;

/// What is expected of a file.
enum Expect {
    /// It is read as this kind, by this producer where one can be told.
    Kind(FileKind, Option<&'static str>),
    /// It is refused, and said to be this.
    Refused(&'static str),
}

use Expect::{Kind, Refused};
use FileKind::{
    BenchmarkResult, Dashboard, DcgmFields, GpuCapture, GpuLinks, GpuList, GpuQuery, GpuTopology,
    HostLog, Kubernetes, Kueue, MetricsAnswer, MetricsScrape, MigListing, RatesTable, RendererLog,
    RequestTrace, Slurm, TrainerLog,
};

/// What each file is, by its path: the first pattern that fits. `*` stands for anything.
const TABLE: &[(&str, Expect)] = &[
    ("1-llm-traces/aibrix/*", Kind(RequestTrace, None)),
    ("1-llm-traces/azure2023/AzureLLMInference*.csv", Kind(RequestTrace, None)),
    ("1-llm-traces/azure2023/*2025.md", Refused("documentation")),
    ("1-llm-traces/azure2023/*.md", Refused("a text in Markdown")),
    ("1-llm-traces/llmservingsim/*", Kind(RequestTrace, None)),
    ("1-llm-traces/misc/*", Kind(RequestTrace, None)),
    ("1-llm-traces/mooncake/*", Kind(RequestTrace, None)),
    ("1-llm-traces/servegen/*_rate_10min.csv", Kind(RatesTable, None)),
    ("1-llm-traces/servegen/*-trace.csv.gz", Kind(RatesTable, Some("ServeGen"))),
    ("1-llm-traces/servegen/*-dataset.json.gz", Refused("distributions of lengths")),
    ("1-llm-traces/vidur/splitwise_*", Kind(RequestTrace, None)),
    ("1-llm-traces/vidur/arxiv*", Refused("lengths of requests")),
    ("2-gpu-jobs/*/*.md", Refused("")),
    ("2-gpu-jobs/acme/*", Refused("a table")),
    ("2-gpu-jobs/alibaba-v2020/*batch-time*", Refused("times of mini-batches, normalised")),
    ("2-gpu-jobs/alibaba-v2020/*machine*", Refused("a table of machines")),
    ("2-gpu-jobs/alibaba-v2020/*", Refused("a trace of jobs")),
    ("2-gpu-jobs/alibaba-v2023-openb/*node_list*", Refused("a table of machines")),
    ("2-gpu-jobs/alibaba-v2023-openb/*", Refused("a trace of jobs")),
    ("2-gpu-jobs/alibaba-v2025/*", Refused("a trace of jobs")),
    ("2-gpu-jobs/alibaba-v2026-spot/*", Refused("a table of machines")),
    ("2-gpu-jobs/gavel/*throughputs*", Refused("throughputs of jobs")),
    ("2-gpu-jobs/gavel/*", Refused("a trace of jobs")),
    ("2-gpu-jobs/philly/*", Refused("one column of numbers")),
    ("2-gpu-jobs/sia-pollux/benchmark__*", Refused("a trace of jobs")),
    ("2-gpu-jobs/sia-pollux/*", Refused("a profile of step times")),
    ("3-metrics/ceems_*", Kind(MetricsScrape, Some("CEEMS exporter"))),
    ("3-metrics/dashboards/PROMQL.tsv", Refused("a list of queries")),
    ("3-metrics/dashboards/*", Kind(Dashboard, Some("Grafana"))),
    ("3-metrics/dcgm/*.csv", Kind(DcgmFields, Some("DCGM exporter"))),
    ("3-metrics/dcgm/*", Kind(MetricsScrape, Some("DCGM exporter"))),
    ("3-metrics/epp/*", Kind(MetricsScrape, Some("endpoint picker"))),
    ("3-metrics/k8s/*", Kind(MetricsScrape, Some("kubelet"))),
    ("3-metrics/llamacpp_*", Kind(MetricsScrape, Some("llama.cpp server"))),
    ("3-metrics/node_exporter/*", Kind(MetricsScrape, Some("node_exporter"))),
    ("3-metrics/parser-cases/*parse_error_0", Kind(MetricsScrape, None)),
    ("3-metrics/parser-cases/*parse_error_14", Kind(MetricsScrape, None)),
    ("3-metrics/parser-cases/*parse_error_*", Refused("a scrape of metrics")),
    ("3-metrics/parser-cases/*from_test_parse_0", Refused("a file of blanks")),
    ("3-metrics/parser-cases/*_json2*", Refused("metrics as Prometheus JSON")),
    ("3-metrics/parser-cases/*_protobuf*", Refused("metrics as Prometheus protobuf")),
    ("3-metrics/parser-cases/*", Kind(MetricsScrape, None)),
    ("3-metrics/prom-api/slurmweb_status.json", Refused("a JSON document")),
    ("3-metrics/prom-api/slurmweb_unknown-path.json", Refused("an answer of a metrics server")),
    ("3-metrics/prom-api/*", Kind(MetricsAnswer, Some("Prometheus HTTP API"))),
    ("3-metrics/triton_*", Kind(MetricsScrape, Some("Triton"))),
    ("3-metrics/vllm/*", Kind(MetricsScrape, Some("vLLM"))),
    ("4-device-sched/gpud/dmesg*", Kind(HostLog, Some("NVIDIA's kernel module"))),
    ("4-device-sched/gpud/fabricmanager.log", Kind(HostLog, Some("NVIDIA's fabric manager"))),
    ("4-device-sched/gpud/nvidia-smi-query.*", Kind(GpuQuery, Some("nvidia-smi"))),
    ("4-device-sched/gpud/nvidia-smi.nvlink*", Kind(GpuLinks, Some("nvidia-smi"))),
    ("4-device-sched/gpud/nvidia-smi.5*", Refused("the table that nvidia-smi draws for people")),
    ("4-device-sched/k8s/kueue_docs_*_p*.txt", Kind(Kubernetes, Some("Kubernetes"))),
    ("4-device-sched/k8s/*kueue*", Kind(Kueue, Some("Kueue"))),
    ("4-device-sched/k8s/*", Kind(Kubernetes, Some("Kubernetes"))),
    ("4-device-sched/slurm-lab/sinfo_R.txt", Refused("a heading without rows")),
    ("4-device-sched/slurm-lab/sacct.err", Refused("an error message")),
    ("4-device-sched/slurm-lab/scontrol_pending.json", Refused("")),
    ("4-device-sched/slurm-lab/sdiag.json", Refused("")),
    ("4-device-sched/slurm-lab/*", Kind(Slurm, Some("Slurm"))),
    ("4-device-sched/slurm/sckyzo/readme.md", Refused("documentation")),
    ("4-device-sched/slurm/*__provenance.txt", Refused("a record of which commands")),
    (
        "4-device-sched/slurm/rivos_sacctmgr.txt",
        Refused("limits of sacctmgr without their heading"),
    ),
    (
        "4-device-sched/slurm/zabbix_sacctmgr_qos.txt",
        Refused("limits of sacctmgr without their heading"),
    ),
    ("4-device-sched/slurm/rivos_trace_info_body.json", Refused("a JSON document")),
    (
        "4-device-sched/slurm/sckyzo/slurm-21.08.5__sinfo_gpus_allocated.txt",
        Refused("an empty file"),
    ),
    ("4-device-sched/slurm/*", Kind(Slurm, Some("Slurm"))),
    (
        "4-device-sched/slurmrestd/25.11_v0.0.44_slurm-job-archived.json",
        Refused("an error that Slurm answered"),
    ),
    (
        "4-device-sched/slurmrestd/25.11_v0.0.44_slurm-job-gpus-archived.json",
        Refused("an error that Slurm answered"),
    ),
    (
        "4-device-sched/slurmrestd/25.11_v0.0.44_slurm-job-unfound.json",
        Refused("an error that Slurm answered"),
    ),
    ("4-device-sched/slurmrestd/*", Kind(Slurm, Some("Slurm"))),
    ("4-device-sched/mig-listings/SOURCES.md", Refused("a text in Markdown")),
    ("4-device-sched/mig-listings/dcgm_*", Kind(MetricsScrape, Some("DCGM exporter"))),
    ("4-device-sched/mig-listings/errors_*", Refused("messages of nvidia-smi mig")),
    ("4-device-sched/mig-listings/topo_*", Kind(GpuTopology, Some("nvidia-smi"))),
    ("4-device-sched/mig-listings/*", Kind(MigListing, Some("nvidia-smi mig"))),
    ("4-device-sched/netdata_nvidia_smi/*", Kind(GpuQuery, Some("nvidia-smi"))),
    ("4-device-sched/nvidia-captures/README.md", Refused("documentation")),
    ("4-device-sched/nvidia-captures/*", Kind(GpuCapture, Some("nvidia-smi"))),
    ("4-device-sched/nvidia-docs/gpu-telemetry*", Kind(MetricsScrape, Some("DCGM exporter"))),
    ("4-device-sched/nvidia-docs/mig-*nvidia-smi.txt", Kind(GpuList, Some("nvidia-smi"))),
    ("4-device-sched/nvidia-docs/ml-engineering_topo.txt", Kind(GpuTopology, Some("nvidia-smi"))),
    ("4-device-sched/telegraf/*rocm*", Refused("an output of rocm-smi")),
    ("4-device-sched/telegraf/*", Kind(GpuQuery, Some("nvidia-smi"))),
    ("5-bench/aiperf/example_trace.jsonl", Kind(RequestTrace, None)),
    ("5-bench/aiperf/*", Kind(BenchmarkResult, Some("aiperf"))),
    ("5-bench/guidellm/*", Kind(BenchmarkResult, Some("guidellm"))),
    ("5-bench/inference-perf/*validation.json", Refused("a result of a benchmark")),
    ("5-bench/inference-perf/*off-by-one__summary*", Refused("a result of a benchmark")),
    ("5-bench/inference-perf/*negative-requested-rate*", Refused("a result of a benchmark")),
    ("5-bench/inference-perf/*non-numeric*stage_1*", Refused("a result of a benchmark")),
    ("5-bench/inference-perf/*manifests.yaml", Kind(Kubernetes, Some("Kubernetes"))),
    ("5-bench/inference-perf/*", Kind(BenchmarkResult, Some("inference-perf"))),
    ("5-bench/kaito/*-p1.csv", Refused("a result of a benchmark")),
    ("5-bench/kaito/*", Kind(BenchmarkResult, Some("guidellm"))),
    ("5-bench/llm-d/br_*", Kind(BenchmarkResult, Some("llm-d benchmark report"))),
    ("5-bench/llm-d/guidellm*", Kind(BenchmarkResult, Some("guidellm"))),
    ("5-bench/llm-d/*", Kind(BenchmarkResult, Some("inference-perf"))),
    ("5-bench/llmservingsim/*", Kind(BenchmarkResult, Some("LLMServingSim vLLM run"))),
    ("5-bench/mlperf/mlperf-*", Kind(BenchmarkResult, Some("MLPerf Inference table"))),
    ("5-bench/mlperf/*", Kind(BenchmarkResult, Some("MLPerf Training log"))),
    ("5-bench/splitwise/*", Kind(BenchmarkResult, Some("Splitwise"))),
    ("5-bench/vllm-h100-ground-truth.csv", Refused("a result of a benchmark")),
    ("6-trainlogs/aws/megatron_megatron*", Kind(TrainerLog, Some("Megatron-LM"))),
    ("6-trainlogs/aws/megatron_nemo*", Kind(TrainerLog, Some("NeMo"))),
    ("6-trainlogs/aws/pytorch_FSDP*", Kind(TrainerLog, Some("PyTorch FSDP example"))),
    ("6-trainlogs/aws/*", Kind(TrainerLog, Some("torchtitan"))),
    ("6-trainlogs/bigscience/hf_*", Kind(TrainerLog, Some("Hugging Face Trainer"))),
    ("6-trainlogs/bigscience/*", Kind(TrainerLog, Some("Megatron-LM"))),
    ("6-trainlogs/blender*", Kind(RendererLog, Some("Blender's Cycles"))),
    ("6-trainlogs/hf/*", Kind(TrainerLog, Some("Hugging Face Trainer"))),
    ("6-trainlogs/llamafactory/*", Kind(TrainerLog, Some("LLaMA-Factory"))),
    ("6-trainlogs/megatron/*", Kind(TrainerLog, Some("Megatron-LM"))),
    ("6-trainlogs/modded-nanogpt/2024-06-06*", Kind(TrainerLog, Some("llm.c"))),
    ("6-trainlogs/modded-nanogpt/*", Kind(TrainerLog, Some("nanoGPT"))),
    ("6-trainlogs/nemo*", Kind(TrainerLog, Some("NeMo"))),
    ("6-trainlogs/torchtitan*", Kind(TrainerLog, Some("torchtitan"))),
];

/// What is said of files that nobody knows: no name.
const NAMELESS: [&str; 5] =
    ["a text", "a table", "a JSON document", "lines of JSON", "a binary file"];

fn fits(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => path.strip_prefix(start).is_some_and(|path| {
            rest.is_empty()
                || (0..=path.len()).any(|at| path.is_char_boundary(at) && fits(rest, &path[at..]))
        }),
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// What is wrong with how a file was read; `None` where nothing is.
fn fault(path: &Path, name: &str) -> Option<String> {
    let expected = TABLE.iter().find(|(pattern, _)| fits(pattern, name)).map(|(_, expect)| expect);
    let found = read_file(path);
    let told = match &found {
        Ok(file) => format!("read as {:?} by {:?}", file.reading.kind, file.reading.producer),
        Err(refusal) => format!("refused: {refusal}"),
    };
    let is_right = match (&found, expected) {
        (Ok(file), Some(Kind(kind, producer))) => {
            let named = |wanted: &str| {
                file.reading.producer.as_ref().is_some_and(|found| found.contains(wanted))
            };
            file.reading.kind == *kind
                && producer.is_none_or(named)
                && !file.reading.clues.is_empty()
                && !(file.reading.facts.is_empty() && file.reading.tables.is_empty())
        }
        (Err(refusal), Some(Refused(seems))) => {
            refusal.seems.contains(seems) && !refusal.why.is_empty() && !refusal.way_out.is_empty()
        }
        // A file that came after this table must be known or named.
        (Ok(_), None) => true,
        (Err(refusal), None) => !NAMELESS.contains(&refusal.seems.as_str()),
        _ => false,
    };
    (!is_right).then(|| format!("{name}: {told}"))
}

#[test]
fn every_file_of_the_tree_is_recognised_or_refused_by_name() {
    let Some(data) = super::data() else { return };
    let mut all = Vec::new();
    for part in
        ["1-llm-traces", "2-gpu-jobs", "3-metrics", "4-device-sched", "5-bench", "6-trainlogs"]
    {
        files(&data.join(part), &mut all);
    }
    all.sort();
    assert!(all.len() > 700, "{} files", all.len());
    let mut used = vec![false; TABLE.len()];
    let mut faults = Vec::new();
    for path in &all {
        let name = path.strip_prefix(&data).unwrap().display().to_string();
        if let Some(at) = TABLE.iter().position(|(pattern, _)| fits(pattern, &name)) {
            used[at] = true;
        }
        faults.extend(fault(path, &name));
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), all.len(), faults.join("\n"));
    let idle: Vec<&str> = TABLE
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|((pattern, _), _)| *pattern)
        .collect();
    assert!(idle.is_empty(), "nothing fits {idle:?}");
}
