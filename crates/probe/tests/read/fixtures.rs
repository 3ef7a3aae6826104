//! Files made by us: the same kinds as in the tree, with other values, other orders of fields and
//! other versions.

use cotenant_core::reading::FileKind;
use cotenant_core::reading::FileKind::{
    BenchmarkResult, Dashboard, DcgmFields, Evidence, GpuCapture, GpuLinks, GpuList, GpuMonitor,
    GpuProcesses, GpuQuery, GpuTopology, HostLog, Kubernetes, Kueue, MetricsAnswer, MetricsScrape,
    MigListing, RatesTable, RendererLog, Report, RequestTrace, SiteFile, Slurm, TrainerLog,
};

/// A file: its name, what it is, who wrote it, and its text. Names say nothing on purpose.
pub(crate) type Fixture = (&'static str, FileKind, Option<&'static str>, &'static str);

/// All of them.
pub(crate) const ALL: &[Fixture] = &[
    (
        "a",
        RequestTrace,
        None,
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,API log\n",
    ),
    ("b", RequestTrace, None, "output_tokens,prompt_tokens,time_s\n12,340,0.5\n40,9000,0.75\n"),
    (
        "c",
        RequestTrace,
        None,
        "{\"output_length\": 3, \"hash_ids\": [], \"timestamp\": 12, \"input_length\": 77}\n{\"output_length\": 9, \"hash_ids\": [], \"timestamp\": 40, \"input_length\": 8}\n",
    ),
    (
        "d",
        RequestTrace,
        None,
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-05-10 00:00:00.009930+00:00,2162,5\r\n2024-05-10 00:00:00.017335+00:00,2399,6\r\n",
    ),
    (
        "e",
        RatesTable,
        None,
        "timestamp,requests_per_second\n2026-11-02T00:00:00Z,3.5\n2026-11-02T00:05:00Z,4.25\n2026-11-02T00:10:00Z,\n",
    ),
    ("f", RatesTable, None, "host,time_ms,rps\nn1,0,3\nn1,60000,5\nn1,120000,4\n"),
    (
        "g",
        RatesTable,
        Some("ServeGen"),
        "0,2.5,1.1,Gamma,0.8,0.5\n600,0,0,,0,0\n1200,3.5,2,Weibull,0.4,0.9\n",
    ),
    (
        "h",
        MetricsScrape,
        Some("vLLM"),
        "vllm:num_requests_waiting{model_name=\"m\"} 2\n# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{model_name=\"m\"} 512\n",
    ),
    (
        "i",
        MetricsScrape,
        Some("SGLang"),
        "# HELP sglang:num_running_reqs The number of running requests\n# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{model_name=\"llama\"} 7\n# TYPE sglang:time_to_first_token_seconds histogram\nsglang:time_to_first_token_seconds_bucket{le=\"0.1\",model_name=\"llama\"} 3\nsglang:time_to_first_token_seconds_bucket{le=\"+Inf\",model_name=\"llama\"} 5\nsglang:time_to_first_token_seconds_sum{model_name=\"llama\"} 1.25\nsglang:time_to_first_token_seconds_count{model_name=\"llama\"} 5\n",
    ),
    (
        "j",
        MetricsScrape,
        Some("TGI"),
        "# TYPE tgi_queue_size gauge\ntgi_queue_size 4\n# TYPE tgi_request_count counter\ntgi_request_count 99\n",
    ),
    (
        "k",
        MetricsScrape,
        Some("llama.cpp server"),
        "# HELP llamacpp:requests_processing Number of requests processing.\n# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 1\n",
    ),
    (
        "l",
        MetricsScrape,
        Some("TensorRT-LLM"),
        "# TYPE trtllm_request_success_total counter\ntrtllm_request_success_total{engine_type=\"undefined\",model_name=\"x\"} 3.0\n",
    ),
    (
        "m",
        MetricsScrape,
        Some("DCGM exporter"),
        "DCGM_FI_DEV_POWER_USAGE{Hostname=\"n\",UUID=\"GPU-1\",gpu=\"3\",modelName=\"NVIDIA H200\"} 431.5\nDCGM_FI_DEV_FB_USED{Hostname=\"n\",UUID=\"GPU-1\",gpu=\"3\",modelName=\"NVIDIA H200\"} 900\n",
    ),
    (
        "n",
        MetricsScrape,
        Some("node_exporter"),
        "# TYPE node_load1 gauge\nnode_load1 0.5\n# TYPE node_exporter_build_info gauge\nnode_exporter_build_info{version=\"1.9.1\"} 1\n# EOF\n",
    ),
    (
        "o",
        MetricsAnswer,
        None,
        "{\"data\":{\"result\":[{\"value\":[1764547200.5,\"7\"],\"metric\":{\"__name__\":\"up\",\"job\":\"a\"}}],\"resultType\":\"vector\"},\"status\":\"success\"}",
    ),
    (
        "p",
        MetricsAnswer,
        None,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1764547200,\"NaN\"]}}",
    ),
    (
        "q",
        TrainerLog,
        Some("torchtitan"),
        "\u{1b}[31m[rank3]:[titan] 2026-01-02 03:04:05,100 - root - INFO - step: 10  loss:  4.5  memory: 1GiB(2%)  tps: 1,200\u{1b}[0m\n[rank3]:[titan] 2026-01-02 03:04:15,100 - root - INFO - step: 20  loss:  4.4  memory: 1GiB(2%)  tps: 1,210\n",
    ),
    (
        "r",
        TrainerLog,
        Some("Megatron-LM"),
        " iteration 7/ 90 | consumed samples: 448 | elapsed time per iteration (ms): 812.5 | learning rate: 1E-4 | global batch size: 64 | lm loss: 9.1E+00 |\n iteration 8/ 90 | consumed samples: 512 | elapsed time per iteration (ms): 790.1 | learning rate: 1E-4 | global batch size: 64 | lm loss: 9.0E+00 |\n",
    ),
    (
        "s",
        TrainerLog,
        Some("nanoGPT"),
        "iter 0: loss 10.9, time 9000.10ms, mfu -100.00%\niter 1: loss 10.1, time 250.25ms, mfu 30.11%\niter 2: loss 9.9, time 251.25ms, mfu 30.11%\n",
    ),
    (
        "t",
        TrainerLog,
        Some("llm.c"),
        "step    1/100 | loss 10.9 (+nanz)| norm 15.1 (+nanz)| lr 1e-6 | 300.50 ms | 44.4% bf16 MFU | 174500 tok/s\nstep    2/100 | loss 10.8 (+nanz)| norm 15.1 (+nanz)| lr 1e-6 | 301.50 ms | 44.4% bf16 MFU | 174000 tok/s\n",
    ),
    (
        "u",
        TrainerLog,
        Some("LLaMA-Factory"),
        "{\"loss\": 1.5, \"current_steps\": 5, \"total_steps\": 50, \"epoch\": 0.1, \"percentage\": 10.0, \"elapsed_time\": \"0:00:40\", \"remaining_time\": \"0:06:00\"}\n{\"loss\": 1.4, \"current_steps\": 10, \"total_steps\": 50, \"epoch\": 0.2, \"percentage\": 20.0, \"elapsed_time\": \"0:01:20\", \"remaining_time\": \"0:05:20\"}\n",
    ),
    (
        "v",
        TrainerLog,
        Some("Hugging Face Trainer"),
        "{\"max_steps\": 30, \"global_step\": 30, \"log_history\": [{\"step\": 10, \"loss\": 2.0}, {\"loss\": 1.0, \"step\": 20}, {\"train_runtime\": 60.5, \"step\": 30, \"train_samples_per_second\": 2.0}]}",
    ),
    (
        "w",
        RendererLog,
        Some("Blender's Cycles"),
        "Fra:12 Mem:100.00M (Peak 120.00M) | Time:00:01.00 | Mem:50.00M, Peak:60.00M | Scene, ViewLayer | Sample 8/16\nSaved: '0012.png'\n Time: 00:02.50 (Saving: 00:00.10)\n\n",
    ),
    (
        "x",
        BenchmarkResult,
        Some("vllm bench serve"),
        "{\"completed\": 10, \"request_throughput\": 2.0, \"duration\": 5.0, \"mean_ttft_ms\": 40.0, \"median_ttft_ms\": 38.0, \"p99_ttft_ms\": 90.0, \"mean_tpot_ms\": 8.0, \"request_rate\": \"inf\", \"model_id\": \"m\", \"num_prompts\": 10, \"date\": \"20261130-120000\", \"output_throughput\": 100.0}",
    ),
    (
        "y",
        BenchmarkResult,
        Some("inference-perf"),
        "{\"failures\": {\"count\": 0}, \"successes\": {\"count\": 4, \"latency\": {\"time_to_first_token\": {\"mean\": 0.5, \"p90\": 0.75}}, \"throughput\": {\"requests_per_sec\": 2.0}}, \"load_summary\": {\"count\": 4, \"requested_rate\": 2.0, \"achieved_rate\": 2.0}}",
    ),
    (
        "z",
        BenchmarkResult,
        Some("table of results"),
        "stage,rate,ttft_mean_ms,ttft_p99_ms\n1,4,50,120\n2,8,70,300\n",
    ),
    (
        "A",
        BenchmarkResult,
        Some("MLPerf Training log"),
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1000, \"event_type\": \"INTERVAL_START\", \"key\": \"run_start\", \"value\": null, \"metadata\": {}}\n:::MLLOG {\"namespace\": \"\", \"time_ms\": 61000, \"event_type\": \"INTERVAL_END\", \"key\": \"run_stop\", \"value\": null, \"metadata\": {\"status\": \"success\"}}\n",
    ),
    (
        "B",
        GpuQuery,
        Some("nvidia-smi"),
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>\n<driver_version>999.01</driver_version><attached_gpus>1</attached_gpus>\n<gpu id=\"00000000:01:00.0\"><uuid>GPU-9</uuid><product_name>NVIDIA B300</product_name><fb_memory_usage><total>270000 MiB</total><used>12 MiB</used></fb_memory_usage></gpu>\n</nvidia_smi_log>\n",
    ),
    (
        "C",
        GpuQuery,
        Some("nvidia-smi"),
        "memory.used [MiB], index, name, power.draw [W], uuid\n17 MiB, 0, NVIDIA H200, [N/A], GPU-77\n",
    ),
    (
        "D",
        GpuQuery,
        Some("nvidia-smi"),
        "\n==============NVSMI LOG==============\n\nTimestamp                                 : Mon Nov 30 12:00:00 2026\nDriver Version                            : 600.10\nCUDA Version                              : 14.0\n\nAttached GPUs                             : 1\nGPU 00000000:0A:00.0\n    Product Name                          : NVIDIA B200\n    GPU UUID                              : GPU-5\n    FB Memory Usage\n        Total                             : 183359 MiB\n        Used                              : 4 MiB\n",
    ),
    (
        "E",
        GpuList,
        Some("nvidia-smi"),
        "GPU 0: NVIDIA B200 (UUID: GPU-11)\nGPU 1: NVIDIA B200 (UUID: GPU-12)\n  MIG 2g.45gb     Device  0: (UUID: MIG-13)\n",
    ),
    (
        "F",
        GpuTopology,
        Some("nvidia-smi"),
        "\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\nGPU0\t X \tNV4\tPIX\t0-7\t0\t\tN/A\nGPU1\tNV4\t X \tSYS\t8-15\t1\t\tN/A\nNIC0\tPIX\tSYS\t X \t\t\t\t\n",
    ),
    (
        "G",
        GpuLinks,
        Some("nvidia-smi"),
        "GPU 0: NVIDIA B200 (UUID: GPU-11)\n\t Link 0: 50 GB/s\n\t Link 1: 50 GB/s\n",
    ),
    (
        "H",
        GpuMonitor,
        Some("nvidia-smi"),
        "# gpu    pwr  gtemp     sm   mclk\n# Idx      W      C      %    MHz\n    0    300     61     97   2619\n    0    310     62     99   2619\n    1     70     30      -   2619\n",
    ),
    (
        "I",
        GpuProcesses,
        Some("nvidia-smi"),
        "pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n4711, python, GPU-11, 2048 MiB\n",
    ),
    (
        "J",
        GpuCapture,
        Some("nvidia-smi"),
        "########\n# list\n# $ nvidia-smi -L\n########\nGPU 0: NVIDIA B200 (UUID: GPU-11)\n########\n# help\n# $ nvidia-smi --help\n########\nNVIDIA System Management Interface\n",
    ),
    (
        "K",
        MigListing,
        Some("nvidia-smi mig"),
        "GPU  2 Profile ID  9 Placements: {0,4}:4\nGPU  2 Profile ID 14 Placements: {0,2,4}:2\n",
    ),
    (
        "L",
        MigListing,
        Some("nvidia-smi mig"),
        "+------+\n| GPU instances: |\n| GPU Name Profile Instance Placement |\n|======|\n|   0  MIG 2g.48gb   5    1    0:6  |\n+------+\n",
    ),
    (
        "M",
        DcgmFields,
        Some("DCGM exporter"),
        "# mine\nDCGM_FI_PROF_SM_ACTIVE, gauge, Share of time (in %).\n# DCGM_FI_DEV_GPU_UTIL, gauge, off\n",
    ),
    (
        "N",
        HostLog,
        Some("NVIDIA's kernel module"),
        "[  12.5] usb 1-1: new device\n[  99.0] NVRM: Xid (PCI:0000:0a:00): 79, pid=1, GPU has fallen off the bus.\n",
    ),
    (
        "O",
        Dashboard,
        Some("Grafana"),
        "{\"title\": \"old\", \"schemaVersion\": 14, \"rows\": [{\"panels\": [{\"title\": \"p\", \"targets\": [{\"expr\": \"up == 1\"}]}]}]}",
    ),
    (
        "P",
        SiteFile,
        None,
        "# ours\nname: here\ntime_zone: UTC\nserver: { gpu: none }\nworkloads:\n  - name: chat\n    inference: {}\n  - name: tune\n    training: {}\n",
    ),
    (
        "Q",
        Report,
        Some("cotenant"),
        "{\"format\": \"cotenant-plan\", \"version\": 1, \"tool\": \"cotenant 0.1.0\", \"title\": \"Plan\"}",
    ),
    (
        "R",
        Evidence,
        Some("cotenant"),
        "{\"format\":\"cotenant block\",\"version\":1,\"run\":\"r\",\"counts\":{\"requests\":12}}\n{\"kind\":\"requests\"}\n",
    ),
    (
        "S",
        Slurm,
        Some("Slurm"),
        "JobID|State|ReqTRES|Elapsed|Partition\n7|COMPLETED|cpu=4,gres/gpu=2,mem=8G|00:10:00|gpu\n8|PREEMPTED|cpu=4,gres/gpu=1,mem=8G|1-00:00:00|gpu\n",
    ),
    (
        "T",
        Slurm,
        Some("Slurm"),
        "NodeName=g1 Arch=x86_64 CPUTot=64\n   Gres=gpu:h200:8(S:0-1)\n   State=IDLE ThreadsPerCore=1\n",
    ),
    (
        "U",
        Kubernetes,
        Some("Kubernetes"),
        "{\"kind\": \"Pod\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"p\", \"namespace\": \"n\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"resources\": {\"limits\": {\"nvidia.com/gpu\": \"2\"}}}]}, \"status\": {\"phase\": \"Running\"}}",
    ),
    (
        "V",
        Kueue,
        Some("Kueue"),
        "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata:\n  name: cq\nspec:\n  cohort: all\n",
    ),
];

/// Files that are refused: name, bytes, what is said of them.
pub(crate) const REFUSED: &[(&str, &[u8], &str)] = &[
    ("a.log", b"", "an empty file"),
    ("b.log", b" \n\t\n", "a file of blanks"),
    ("c.csv", b"PK\x03\x04rest", "a ZIP archive"),
    ("d.csv", b"PAR1\x00\x00", "a Parquet file"),
    ("e.json", b"\xfd7zXZ\x00", "a file compressed with xz"),
    ("f.txt", b"%PDF-1.7\n", "a PDF document"),
    ("g.txt", b"abc\x00def", "a binary file"),
    ("h.txt", b"\xff\xfe\x00\xd8a\x00", "a file in UTF-16 LE"),
    ("i.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc", "a file in gzip"),
    ("j.html", b"<!DOCTYPE html><html></html>", "a page in HTML"),
    ("k.xml", b"<?xml version=\"1.0\"?><a/>", "XML"),
    ("l.md", b"# Title\n\n## Part\n\ntext\n", "a text in Markdown"),
    ("m.json", b"{\"a\": 1,\n", "JSON that is damaged"),
    ("n.json", b"{\"hello\": 1}", "a JSON document"),
    ("o.csv", b"colour,shape\nred,round\n", "a table"),
    ("p.csv", b"tokens_in,tokens_out,when\n1,2,3\n", "a table with tokens"),
    (
        "q.txt",
        b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "a failure of nvidia-smi",
    ),
    ("r.json", b"{\"card0\": {\"GPU ID\": \"0x74a1\"}}", "an output of rocm-smi"),
    (
        "s.json",
        b"{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"query timed out\"}",
        "an answer of a metrics server",
    ),
    ("t.txt", b"all is well\n", "a text"),
];
