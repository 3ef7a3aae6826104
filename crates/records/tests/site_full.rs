//! Every field of a site file arrives in its core type with its value.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![allow(clippy::unnecessary_wraps, reason = "the fields that they fill are optional")]

mod site_support;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cotenant_core::site::*;
use cotenant_core::units::{Bytes, BytesPerSecond, Money, RatePerSecond, Share};
use site_support::{GIB, at, berlin, gib, good, launch, read, seconds, share, text, words};

#[test]
fn server() {
    let site = good("full-server.yaml");
    assert_eq!(site.name, "full");
    assert_eq!(site.time_zone, berlin());
    assert_eq!(site.as_of, Some(at("2026-12-01T08:00:00Z")));
    let expected = Server {
        gpu: text("H100-SXM5-80GB"),
        gpu_count: 8,
        gpu_memory: gib(80),
        gpu_memory_taken: gib(2),
        driver: text("580.95.05"),
        cuda: text("13.0"),
        nccl: text("2.28.3"),
        kernel: text("6.8.0-85-generic"),
        scheduler: Some(Scheduler { kind: SchedulerKind::Slurm, version: text("25.05.3") }),
        cpu_cores: Some(95.5),
        cpu_cores_visible: Some(128.0),
        memory: gib(2048),
        storage: Some(Storage {
            read_bandwidth: Some(BytesPerSecond(12e9)),
            write_bandwidth: Some(BytesPerSecond(6e9)),
        }),
        network: Some(Network { bandwidth: Some(BytesPerSecond(50e9)), rdma: Some(true) }),
        numa: vec![
            NumaNode { node: 0, cpus: vec![0, 1, 2], gpus: vec![0, 1], memory: gib(1024) },
            NumaNode { node: 1, cpus: vec![3, 5], gpus: vec![2, 3], memory: None },
        ],
    };
    assert_eq!(site.kind, SiteKind::Server(Box::new(expected)));
}

#[test]
fn common_fields_of_a_workload() {
    let site = good("full-server.yaml");
    let chat = site.workload("chat").unwrap();
    assert_eq!(chat.owner, text("team-assist"));
    assert_eq!(chat.priority, Some(100));
    let model = Model {
        name: "meta/llama".to_owned(),
        parameters: Some(8_030_000_000),
        layers: Some(32),
        kv_heads: Some(8),
        head_size: Some(128),
        dtype: Some(Dtype::Bfloat16),
    };
    assert_eq!(chat.model, Some(model));
    let memory = MemoryNeed {
        origin: FigureOrigin::Measured,
        weights: gib(16),
        kv: gib(40),
        workspace: gib(4),
        graphs: gib(2),
        peak: gib(68),
        fraction_of_total: share(0.9),
        host: gib(12),
        processes: Some(4),
        sleep_level: Some(1),
        checkpoint_transient: gib(1),
    };
    assert_eq!(chat.memory, Some(memory));
    let allocation = Allocation {
        normal: Some(4.0),
        minimum_useful: Some(2.5),
        gang: Some(false),
        minimum_run: seconds(7200.0),
    };
    assert_eq!(chat.allocation, Some(allocation));
    assert_eq!(chat.weight, Some(3.0));
    assert_eq!(chat.faults, Some(Faults { per_month: 2.0, recovery: seconds(240.0) }));
    assert_eq!(chat.limits, Some(Limits { concurrent: Some(64), queued: Some(256) }));
    assert_eq!(chat.on_out_of_memory, Some(OutOfMemoryReaction::StopNeighbour));
    let short = RequestClass {
        name: "short".to_owned(),
        share: share(0.8),
        prompt_tokens: Some(TokenCounts { p50: 100, p95: 400 }),
        output_tokens: Some(TokenCounts { p50: 50, p95: 90 }),
        objectives: Some(InferenceObjectives {
            ttft_p95: seconds(0.3),
            ..InferenceObjectives::default()
        }),
    };
    let long = RequestClass {
        name: "long".to_owned(),
        share: share(0.2),
        prompt_tokens: None,
        output_tokens: None,
        objectives: None,
    };
    assert_eq!(chat.classes, [short, long]);
}

#[test]
fn inference() {
    let site = good("full-server.yaml");
    let (_, inference) = site.inference().next().unwrap();
    let expected = Inference {
        runtime: text("vllm"),
        version: text("0.33.0"),
        arguments: vec!["--max-num-seqs".to_owned(), "128".to_owned()],
        endpoint: "http://127.0.0.1:8000".to_owned(),
        metrics_endpoint: text("http://127.0.0.1:8000/metrics"),
        launch: Some(Launch {
            cwd: text("engine"),
            env: [("A".to_owned(), "1".to_owned())].into(),
            ready: Ready { path: "/ready".to_owned(), time_limit: Duration::from_mins(7) },
            ..launch(&["vllm", "serve", "llama"])
        }),
        sleep: Some(EngineSleep { level: 2 }),
        demand: Demand::Trace(TraceDemand {
            file: "traces/conv.csv.gz".to_owned(),
            format: TraceFormat::Azure,
            rate_factor: Some(0.5),
            window: Some(TraceWindow::Busiest(Duration::from_mins(20))),
            begins: Some(at("2026-11-01T23:00:00Z")),
            columns: None,
        }),
        concurrency: Some(64),
        prompt_tokens: Some(TokenCounts { p50: 400, p95: 3000 }),
        output_tokens: Some(TokenCounts { p50: 150, p95: 600 }),
        peak_rate: RatePerSecond::parse("720 req/min").ok(),
        objectives: InferenceObjectives {
            ttft_p95: seconds(0.5),
            ttft_p99: seconds(1.2),
            itl_p95: seconds(0.06),
            tpot_p95: seconds(0.05),
            e2e_p95: seconds(20.0),
            queue_length: Some(32),
            queue_time: seconds(0.3),
            error_rate: share(0.001),
            throughput: Some(RatePerSecond::new(4000.0, "tok")),
            availability: share(0.999),
        },
        capacity: Some(ReplicaCapacity {
            gpus: 0.5,
            origin: FigureOrigin::Measured,
            requests: RatePerSecond::parse("240 req/min").ok(),
            requests_in_flight: Some(128.0),
            kv_tokens: Some(400_000.0),
            prefill: Some(RatePerSecond::new(18_000.0, "tok")),
            output: Some(RatePerSecond::new(2500.0, "tok")),
        }),
        service_time: seconds(6.0),
        minimum_reserved: Some(4.0),
        burst_reserve: Some(BurstReserve::Gpus(1.5)),
        guard: Some(Guard {
            ttft_p95: seconds(3.0),
            e2e_p95: seconds(60.0),
            longest_gap_p95: seconds(2.0),
            error_rate: share(0.05),
            window: seconds(5.0),
        }),
    };
    assert_eq!(*inference, expected);
}

#[test]
fn training() {
    let site = good("full-server.yaml");
    let (_, training) = site.training().next().unwrap();
    let throughput =
        |gpus, rate| ThroughputAt { gpus, throughput: RatePerSecond::new(rate, "tok") };
    let expected = Training {
        training_type: Some(TrainingType::Lora),
        parallelism: Some(Parallelism {
            dp: 1,
            fsdp: 2,
            tp: 2,
            pp: 1,
            ep: 2,
            collectives: vec!["all_gather".to_owned()],
            needs_p2p: Some(true),
        }),
        launch: Some(launch(&["python", "train.py"])),
        step_time_alone: seconds(1.4),
        throughput_alone: vec![throughput(2, 23_000.0), throughput(4, 42_000.0)],
        steps: Some(12_000),
        work: Some(Work { amount: 20_000_000_000, unit: "tok".to_owned() }),
        jobs_per_week: Some(3.0),
        duration: seconds(32_400.0),
        objectives: TrainingObjectives {
            deadline: Some(Deadline::Weekly {
                days: WeekdaySet::parse("Mon,Fri").unwrap(),
                minute: 18 * 60,
            }),
            on_time_share: share(0.95),
            step_time_max: seconds(2.0),
            throughput_min: Some(RatePerSecond::new(30_000.0, "tok")),
        },
        checkpoint: Some(Checkpoint {
            interval: Some(CheckpointInterval::Steps(500)),
            duration: seconds(40.0),
            resume_duration: seconds(90.0),
            asynchronous: Some(false),
            host_memory: gib(120),
            size: gib(96),
            signal: Some(Signal::Usr1),
        }),
        preemption: Some(Preemption {
            allowed: true,
            signal: Some(Signal::Term),
            notice: seconds(60.0),
            lost_work: Some(LostWork::Steps(20)),
            mean_time_to_loss: seconds(172_800.0),
            failure_share_max: share(0.01),
            slurm: Some(SlurmJob {
                submit: words("sbatch --parsable train.sbatch"),
                output: "slurm-%j.out".to_owned(),
            }),
        }),
        log: Some(TrainingLog {
            format: LogFormat::Template("step={step} loss={loss} step_s={step_s}".to_owned()),
            checkpoint: text("saved step={step}"),
            resumed: text("resumed step={step}"),
        }),
    };
    assert_eq!(*training, expected);
}

#[test]
fn batch_and_render() {
    let site = good("full-server.yaml");
    let batch = Batch {
        route: BatchRoute::Job(launch(&["python", "embed.py"])),
        items: Some(250_000),
        throughput_alone: Some(RatePerSecond::new(40.0, "items")),
        deadline: Some(Deadline::At {
            at: at("2026-12-04T17:00:00Z"),
            time_zone: berlin(),
            start: Some(at("2026-12-01T08:00:00Z")),
        }),
        class: text("bulk"),
    };
    assert_eq!(site.workload("embed").unwrap().kind, WorkloadKind::Batch(Box::new(batch)));
    let film = Render {
        engine: text("cycles"),
        version: text("5.0.1"),
        needs: Some(RenderNeeds::Graphics),
        scene_memory: gib(18),
        restart_unit: Some(RestartUnit::Tile),
        job: Training {
            launch: Some(launch(&["blender", "-b", "scene.blend"])),
            steps: Some(240),
            step_time_alone: seconds(45.0),
            objectives: TrainingObjectives {
                deadline: Some(Deadline::At {
                    at: at("2026-12-05T00:00:00Z"),
                    time_zone: berlin(),
                    start: None,
                }),
                step_time_max: seconds(60.0),
                ..TrainingObjectives::default()
            },
            preemption: Some(Preemption {
                allowed: true,
                signal: None,
                notice: seconds(120.0),
                lost_work: None,
                mean_time_to_loss: None,
                failure_share_max: None,
                slurm: None,
            }),
            log: Some(TrainingLog {
                format: LogFormat::Named(LogProducer::Cycles),
                checkpoint: None,
                resumed: None,
            }),
            ..Training::default()
        },
    };
    assert_eq!(site.workload("film").unwrap().kind, WorkloadKind::Render(Box::new(film)));
}

#[test]
fn operations() {
    let site = good("full-server.yaml");
    let window = WeeklyWindow::parse("Sun 02:00-06:00").unwrap();
    let days = |count: u64| Some(Duration::from_secs(count * 86_400));
    let step = |kind, duration| TransitionStep { kind, duration };
    let expected = Operations {
        node_availability: share(0.995),
        failure_domain: Some(FailureDomain {
            accepted: true,
            accepted_by: text("Head of Platform"),
        }),
        change_cycle: vec![ChangeCycle {
            workload: "chat".to_owned(),
            driver: days(90),
            cuda: days(180),
            framework: days(30),
            reboot: days(91),
            windows: vec![window],
        }],
        maintenance: Some(Maintenance {
            windows: vec![window],
            accepted_by: text("Head of Platform"),
        }),
        risk_tolerance: share(0.01),
        reclaim_time: seconds(180.0),
        calendar: Some(CalendarShape {
            window: seconds(1200.0),
            begins: Some(jiff::civil::date(2026, 12, 7)),
            weeks: Some(2),
        }),
        transition: Some(Transition {
            to_training: vec![
                step(TransitionStepKind::Drain, seconds(30.0)),
                step(TransitionStepKind::Checkpoint, None),
                step(TransitionStepKind::MigReconfiguration, seconds(20.0)),
                step(TransitionStepKind::Reboot, seconds(480.0)),
            ],
            to_inference: vec![
                step(TransitionStepKind::ServiceRestart, seconds(15.0)),
                step(TransitionStepKind::ModelReload, seconds(50.0)),
                step(TransitionStepKind::WarmUp, seconds(90.0)),
                step(TransitionStepKind::Resume, seconds(0.0)),
            ],
            source: text("runbook of 2026-10"),
            layout_for_training: Some(LayoutChange {
                by: LayoutDriver::Command(words("sh relayout.sh training")),
                time_limit: seconds(180.0),
                postconditions: vec![
                    Postcondition {
                        command: words("nvidia-smi -L"),
                        contains: text("MIG 3g.40gb"),
                    },
                    Postcondition { command: words("true"), contains: None },
                ],
            }),
            layout_for_inference: Some(LayoutChange {
                by: LayoutDriver::MigManager {
                    node: "gpu-1".to_owned(),
                    config: "all-disabled".to_owned(),
                    kubectl: text("/usr/local/bin/kubectl"),
                },
                time_limit: None,
                postconditions: Vec::new(),
            }),
        }),
        isolation: vec![
            IsolationNeed {
                workload: "chat".to_owned(),
                properties: vec![
                    IsolationProperty::MemoryCapacity,
                    IsolationProperty::MemoryBandwidth,
                    IsolationProperty::Faults,
                    IsolationProperty::Sms,
                    IsolationProperty::Cpu,
                ],
            },
            IsolationNeed { workload: "tune".to_owned(), properties: vec![] },
        ],
        cost: Some(Cost {
            gpu_hour: Some(Money { amount: 2.5, currency: "EUR".to_owned() }),
            energy: Some(Money { amount: 0.3, currency: "EUR".to_owned() }),
        }),
    };
    assert_eq!(site.operations, expected);
    assert_eq!(site.sharing.versions["nvidia-device-plugin"], "0.18.0");
    assert_eq!(site.sharing.mps_server_per_gpu, Some(false));
    let space = DiskSpace { size: Bytes(200 << 30), folder: "/scratch/tune".to_owned() };
    let caps = HostCaps {
        cpu_cores: Some(7.65),
        cpus: Some(vec![8, 9, 10, 11]),
        memory: Some(Bytes(256 << 30)),
        disk_write: Some(BytesPerSecond(5e8)),
        disk_space: Some(space),
    };
    assert_eq!(site.sharing.caps["tune"], caps);
    let load = site.sharing.saturating_load.as_ref().map(|load| load.argv.len());
    assert_eq!(load, Some(3));
    assert_eq!(good("mode-mps-default.yaml").sharing.mps_server_per_gpu, Some(true));
    assert_eq!(good("mode-mps-static.yaml").sharing.mps_server_per_gpu, None);
}

#[test]
fn pool() {
    let site = good("full-pool.yaml");
    let SiteKind::Pool(pool) = &site.kind else { panic!("not a pool") };
    assert_eq!(site.gpu_count(), 40);
    let server = |gpu: &str, gpu_count, scheduler| Server {
        gpu: text(gpu),
        gpu_count,
        scheduler,
        ..Server::default()
    };
    let kubernetes = Some(Scheduler { kind: SchedulerKind::Kubernetes, version: None });
    let expected = Pool {
        nodes: vec![
            NodeGroup {
                name: "h100".to_owned(),
                count: 4,
                server: server("H100-SXM5-80GB", 8, kubernetes),
            },
            NodeGroup { name: "l40s".to_owned(), count: 2, server: server("L40S", 4, None) },
        ],
        queues: vec![Queue {
            name: "research".to_owned(),
            quota: Some(16),
            cohort: text("all"),
            borrowing_limit: Some(8),
            lending_limit: Some(4),
            weight: Some(2.0),
            priority_classes: vec![
                PriorityClass { name: "production".to_owned(), value: 1000 },
                PriorityClass { name: "idle".to_owned(), value: -10 },
            ],
            workloads: vec!["tune".to_owned()],
        }],
        serving_pools: vec![ServingPool {
            name: "decode".to_owned(),
            workload: text("chat"),
            role: ServingRole::Decode,
            replicas_min: Some(2),
            replicas_max: Some(6),
            gpus_per_replica: Some(2),
            queue: text("research"),
        }],
    };
    assert_eq!(*pool, expected);
    let (_, inference) = site.inference().next().unwrap();
    let row = |when, rate| TableRow {
        when: WeeklyWindow::parse(when).unwrap(),
        rate: RatePerSecond::parse(rate).unwrap(),
    };
    let table =
        vec![row("Mon-Fri 08:00-18:00", "12 req/s"), row("daily 18:00-08:00", "90 req/min")];
    assert_eq!(inference.demand, Demand::Table(table));
    assert_eq!(inference.prompt_tokens, Some(TokenCounts { p50: 200, p95: 900 }));
    assert_eq!(inference.prompt_tokens, inference.output_tokens);
    assert_eq!(inference.burst_reserve, Some(BurstReserve::Derived));
    let (_, training) = site.training().next().unwrap();
    assert_eq!(training.parallelism, Some(Parallelism::single()));
    assert_eq!(training.preemption.as_ref().map(|preemption| preemption.allowed), Some(false));
    assert_eq!(training.log.as_ref().map(|log| &log.format), Some(&LogFormat::Cotenant));
    assert_eq!(site.operations, Operations::default());
}

/// A site whose demand and sharing mode are given.
fn with(demand: &str, server: &str, mode: &str) -> Site {
    read(&format!(
        "name: x\ntime_zone: UTC\nserver: {server}\nworkloads:\n  - name: chat\n    inference:\n      \
         endpoint: http://h\n      demand: {demand}\n      prompt_tokens: {{ p50: 1, p95: 2 }}\n      \
         output_tokens: {{ p50: 1, p95: 2 }}\n      objectives: {{ ttft_p95: 1 s }}\n  - name: tune\n    \
         training: {{ objectives: {{ step_time_max: 1 s }} }}\nsharing: {{ mode: {mode} }}\n"
    ))
}

#[test]
fn named_formats_of_a_log() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/good/full-pool.yaml");
    let file = std::fs::read_to_string(path).unwrap();
    for (name, producer) in LogProducer::NAMES {
        let site = read(&file.replace("{ format: cotenant }", &format!("{{ format: {name} }}")));
        let (_, training) = site.training().next().unwrap();
        let format = training.log.as_ref().map(|log| &log.format);
        assert_eq!(format, Some(&LogFormat::Named(producer)), "{name}");
        assert_eq!(producer.name(), name);
    }
}

#[test]
fn forms_of_demand() {
    let rate = |text| RatePerSecond::parse(text).unwrap();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    for (written, expected) in [
        ("{ poisson: { rate: 2 req/s } }", Demand::Poisson { rate: rate("2 req/s") }),
        (
            "{ gamma: { rate: 2 req/s, burstiness: 4 } }",
            Demand::Gamma { rate: rate("2 req/s"), burstiness: 4.0 },
        ),
        ("{ constant: { rate: 2 req/s } }", Demand::Constant { rate: rate("2 req/s") }),
        (
            "{ ramp: { from: 1 req/s, to: 8 req/s, duration: 10 min } }",
            Demand::Ramp { from: rate("1 req/s"), to: rate("8 req/s"), duration: minutes(10) },
        ),
        (
            "{ closed: { users: 16, think_time: 5 s } }",
            Demand::Closed { users: 16, think_time: Duration::from_secs(5) },
        ),
        (
            "{ query: { url: http://p:9090, query: \"sum(rate(x[5m]))\", range: 4 w } }",
            Demand::Query(DemandQuery {
                url: "http://p:9090".to_owned(),
                query: "sum(rate(x[5m]))".to_owned(),
                range: Duration::from_hours(4 * 7 * 24),
            }),
        ),
        (
            "{ trace: { file: t.jsonl, format: mooncake, window: { from: { start: 0 s, length: 9 min } } } }",
            Demand::Trace(TraceDemand {
                file: "t.jsonl".to_owned(),
                format: TraceFormat::Mooncake,
                rate_factor: None,
                window: Some(TraceWindow::From { start: Duration::ZERO, length: minutes(9) }),
                begins: None,
                columns: None,
            }),
        ),
        (
            "{ trace: { file: t.csv.gz, format: burstgpt, begins: 2026-11-02T06:00+01:00 } }",
            Demand::Trace(TraceDemand {
                file: "t.csv.gz".to_owned(),
                format: TraceFormat::BurstGpt,
                rate_factor: None,
                window: None,
                begins: Some(at("2026-11-02T05:00:00Z")),
                columns: None,
            }),
        ),
        (
            "{ trace: { file: t.jsonl, format: jsonl, columns: { time: at, output_tokens: out } } }",
            Demand::Trace(TraceDemand {
                file: "t.jsonl".to_owned(),
                format: TraceFormat::JsonLines,
                rate_factor: None,
                window: None,
                begins: None,
                columns: Some(TraceColumns {
                    time: text("at"),
                    prompt_tokens: None,
                    output_tokens: text("out"),
                }),
            }),
        ),
        ("{ saved_query: { file: a.json } }", Demand::SavedQuery("a.json".to_owned())),
        (
            "{ rates: { file: r.csv } }",
            Demand::Rates(RateSeries {
                file: "r.csv".to_owned(),
                time_column: None,
                rate_column: None,
                begins: None,
                rate_factor: None,
            }),
        ),
        (
            "{ rates: { file: r.csv, time_column: t, rate_column: r, begins: 2026-11-02 00:00, rate_factor: 0.5 } }",
            Demand::Rates(RateSeries {
                file: "r.csv".to_owned(),
                time_column: text("t"),
                rate_column: text("r"),
                begins: Some(at("2026-11-02T00:00:00Z")),
                rate_factor: Some(0.5),
            }),
        ),
    ] {
        let site = with(written, "{ gpu: none }", "host_cpu");
        assert_eq!(site.inference().next().unwrap().1.demand, expected);
    }
}

#[test]
fn modes_of_sharing() {
    let gpu = "{ gpu: L40S, gpu_count: 4 }";
    let names = |parts: &[(&str, &[u32])]| {
        parts.iter().map(|(name, list)| ((*name).to_owned(), list.to_vec())).collect()
    };
    let limits: MemoryLimits = [("chat".to_owned(), Bytes(20 * GIB))].into();
    let host = |priority, affinity| {
        SharingMode::HostCpu(HostCpu { neighbour_priority: priority, affinity })
    };
    for (server, written, expected) in [
        (
            gpu,
            "{ whole_gpu: { chat: 0-2, tune: [3] } }",
            SharingMode::WholeGpu(WholeGpu {
                gpus: names(&[("chat", &[0, 1, 2]), ("tune", &[3])]),
            }),
        ),
        (
            gpu,
            "{ mig: [{ gpus: 0, instances: [{ profile: 1g.10gb }] }] }",
            SharingMode::Mig(vec![MigGpu {
                gpus: vec![0],
                instances: vec![MigInstance {
                    profile: "1g.10gb".to_owned(),
                    placement: None,
                    workload: None,
                }],
            }]),
        ),
        (
            gpu,
            "{ mps: default }",
            SharingMode::Mps(MpsMode::Default {
                percentages: BTreeMap::new(),
                memory_limits: BTreeMap::new(),
            }),
        ),
        (
            gpu,
            "{ mps: { default: { chat: { percentage: 70 %, memory: 20 GiB }, tune: { percentage: 0.3 } } } }",
            SharingMode::Mps(MpsMode::Default {
                percentages: [
                    ("chat".to_owned(), Share::new(0.7).unwrap()),
                    ("tune".to_owned(), Share::new(0.3).unwrap()),
                ]
                .into(),
                memory_limits: limits.clone(),
            }),
        ),
        (
            gpu,
            "{ mps: { static: { chat: { chunks: 6, memory: 20 GiB }, tune: { chunks: 2 } } } }",
            SharingMode::Mps(MpsMode::Static {
                partitions: [("chat".to_owned(), 6), ("tune".to_owned(), 2)].into(),
                memory_limits: limits,
            }),
        ),
        (gpu, "time_slicing", SharingMode::TimeSlicing(TimeSlicing::default())),
        (
            gpu,
            "{ time_slicing: { replicas: 2, slice: long } }",
            SharingMode::TimeSlicing(TimeSlicing {
                replicas: Some(2),
                slice: Some(SlicePeriod::Long),
                ..TimeSlicing::default()
            }),
        ),
        (
            gpu,
            "{ time_slicing: { gpus: { chat: [0], tune: 0-1 }, booked: { chat: 50 %, tune: 0.25 } } }",
            SharingMode::TimeSlicing(TimeSlicing {
                gpus: names(&[("chat", &[0]), ("tune", &[0, 1])]),
                booked: [
                    ("chat".to_owned(), Share::new(0.5).unwrap()),
                    ("tune".to_owned(), Share::new(0.25).unwrap()),
                ]
                .into(),
                ..TimeSlicing::default()
            }),
        ),
        (
            gpu,
            "{ temporal: [{ when: daily 22:00-06:00, workload: tune, gpus: 1-2 }, { when: daily 06:00-22:00, workload: chat }] }",
            SharingMode::Temporal(vec![
                TemporalWindow {
                    when: WeeklyWindow::parse("daily 22:00-06:00").unwrap(),
                    workload: "tune".to_owned(),
                    gpus: vec![1, 2],
                },
                TemporalWindow {
                    when: WeeklyWindow::parse("daily 06:00-22:00").unwrap(),
                    workload: "chat".to_owned(),
                    gpus: vec![],
                },
            ]),
        ),
        ("{ gpu: none }", "host_cpu", host(NeighbourPriority::Normal, BTreeMap::new())),
        ("{ gpu: none }", "{ host_cpu: }", host(NeighbourPriority::Normal, BTreeMap::new())),
        (
            "{ gpu: none }",
            "{ host_cpu: { neighbour_priority: nice 10, affinity: { chat: 0-1, tune: 2 } } }",
            host(NeighbourPriority::Nice(10), names(&[("chat", &[0, 1]), ("tune", &[2])])),
        ),
        (
            "{ gpu: none }",
            "{ host_cpu: { neighbour_priority: idle } }",
            host(NeighbourPriority::Idle, BTreeMap::new()),
        ),
        (gpu, "{ candidates: all }", SharingMode::CandidatesAll),
    ] {
        let site = with("{ poisson: { rate: 1 req/s } }", server, written);
        assert_eq!(site.sharing.mode, expected, "{written}");
    }
}
