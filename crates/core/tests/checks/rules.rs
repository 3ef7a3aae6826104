//! The rules one by one.

use std::collections::BTreeMap;

use cotenant_core::plan::{Outcome, checks};
use cotenant_core::site::{
    Allocation, Batch, BatchRoute, ChangeCycle, Deadline, Dtype, FigureOrigin, Launch, Maintenance,
    MemoryNeed, MigGpu, MigInstance, Model, MpsMode, NodeGroup, Parallelism, Pool, Ready, Render,
    RenderNeeds, ReplicaCapacity, Server, SharingMode, Site, SiteKind, TemporalWindow,
    ThroughputAt, TokenCounts, Training, TrainingObjectives, WeekdaySet, WeeklyWindow, WholeGpu,
    Work, Workload, WorkloadKind,
};
use cotenant_core::units::RatePerSecond;

use crate::builder::{
    MEMORY, assert_line, bytes, duration, host_cpu, inference, only, outcome, render, renderer,
    server, serving, share, site, sliced, trainer, with_key, workload,
};

/// 8.03 B parameters in bfloat16, 32 layers of 8 key-value heads of 128.
fn llama_8b() -> Model {
    Model {
        name: "llama".to_owned(),
        parameters: Some(8_030_000_000),
        layers: Some(32),
        kv_heads: Some(8),
        head_size: Some(128),
        dtype: Some(Dtype::Bfloat16),
    }
}

fn whole_gpu(parts: &[(&str, &[u32])]) -> SharingMode {
    let gpus = parts.iter().map(|(name, gpus)| ((*name).to_owned(), gpus.to_vec())).collect();
    SharingMode::WholeGpu(WholeGpu { gpus })
}

fn llama_site(gpu_memory: &str, kv_tokens: f64) -> Site {
    let mut engine = inference();
    engine.capacity = Some(ReplicaCapacity {
        gpus: 1.0,
        origin: FigureOrigin::Measured,
        requests: None,
        requests_in_flight: None,
        kv_tokens: Some(kv_tokens),
        prefill: None,
        output: None,
    });
    let memory =
        MemoryNeed { workspace: Some(bytes("2 GiB")), graphs: Some(bytes("1 GiB")), ..MEMORY };
    let mut chat = workload("chat", WorkloadKind::Inference(Box::new(engine)), Some(memory));
    chat.model = Some(llama_8b());
    site(server(1, gpu_memory), vec![chat], whole_gpu(&[("chat", &[0])]))
}

#[test]
fn the_cache_follows_from_the_architecture() {
    // 2 × 32 × 8 × 128 × 2 B = 128 KiB a token, so 65,536 tokens are 8 GiB; weights are
    // 8.03e9 × 2 B = 14.96 GiB; together 14.96 + 8 + 2 + 1 = 25.96 GiB.
    let check = only(&llama_site("26 GiB", 65_536.0), "gpu_memory");
    assert_eq!(check.outcome, Outcome::Holds);
    assert_line(&check.arithmetic, &["weights 14.96 GiB (8.03 B parameters × 16 bit)"]);
    assert_line(&check.arithmetic, &["kv 8 GiB (2 × 32 layers × 8 heads × 128 × 2 B"]);
    assert_line(&check.arithmetic, &["= 25.96 GiB"]);
    assert!(check.answer.contains("nobody measured"), "{}", check.answer);
    assert_eq!(outcome(&llama_site("25.9 GiB", 65_536.0), "gpu_memory"), Outcome::Fails);
}

#[test]
fn weights_are_split_over_tensor_parallel_ranks() {
    let mut site = llama_site("80 GiB", 65_536.0);
    site.kind = SiteKind::Server(Box::new(server(4, "16 GiB")));
    site.sharing.mode = whole_gpu(&[("chat", &[0, 1, 2, 3])]);
    if let WorkloadKind::Inference(engine) = &mut site.workloads[0].kind {
        engine.arguments = ["--tensor-parallel-size", "4"].map(str::to_owned).to_vec();
    }
    // 14.96 ÷ 4 = 3.74; 8 ÷ 4 = 2; + 3 = 8.74.
    let check = only(&site, "gpu_memory");
    assert_eq!(check.outcome, Outcome::Holds);
    assert_line(&check.arithmetic, &["weights 3.74 GiB", "÷ 4 GPUs", "kv 2 GiB", "= 8.74 GiB"]);
    // Beyond the number of heads every rank keeps a copy of one.
    if let WorkloadKind::Inference(engine) = &mut site.workloads[0].kind {
        engine.arguments = vec!["--tensor-parallel-size=16".to_owned()];
    }
    assert_line(&only(&site, "gpu_memory").arithmetic, &["kv 0.5 GiB to 1 GiB"]);
}

#[test]
fn requests_in_flight_give_the_cache_a_range_and_a_remedy() {
    let mut site = llama_site("80 GiB", 0.0);
    if let WorkloadKind::Inference(engine) = &mut site.workloads[0].kind {
        engine.capacity = None;
        engine.concurrency = Some(1000);
        engine.prompt_tokens = Some(TokenCounts { p50: 1000, p95: 4000 });
        engine.output_tokens = Some(TokenCounts { p50: 200, p95: 900 });
    }
    // At the least 1000 × 1,100 tokens × 128 KiB = 134 GiB beside 17.96 GiB of 80.
    let check = only(&site, "gpu_memory");
    assert_eq!(check.outcome, Outcome::Fails);
    // (80 − 17.957) GiB ÷ (1,100 × 128 KiB) = 462.05.
    assert_line(&check.would_be_conditional_on, &["at most 462 requests"]);
    if let WorkloadKind::Inference(engine) = &mut site.workloads[0].kind {
        engine.concurrency = Some(300);
    }
    // 40.3 to 179.4 GiB: neither surely fits nor surely does not.
    assert_eq!(outcome(&site, "gpu_memory"), Outcome::Open);
}

#[test]
fn a_measured_peak_beats_the_sum_of_its_parts() {
    let memory = MemoryNeed {
        origin: FigureOrigin::Measured,
        peak: Some(bytes("20 GiB")),
        weights: Some(bytes("30 GiB")),
        ..MEMORY
    };
    let site =
        site(server(1, "24 GiB"), vec![serving("chat", memory)], whole_gpu(&[("chat", &[0])]));
    let check = only(&site, "gpu_memory");
    assert_eq!(check.outcome, Outcome::Holds);
    assert!(!check.answer.contains("nobody measured"), "{}", check.answer);
}

#[test]
fn what_is_silent_is_asked_for_and_not_assumed() {
    let memory = MemoryNeed { weights: Some(bytes("16 GiB")), ..MEMORY };
    let mut place = server(1, "24 GiB");
    let chat = serving("chat", memory);
    let check =
        only(&site(place.clone(), vec![chat.clone()], whole_gpu(&[("chat", &[0])])), "gpu_memory");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(
        &check.missing,
        &["memory: { kv: … GiB, workspace: … GiB, graphs: … GiB }", "chat"],
    );
    place.gpu_memory = None;
    let check = only(&site(place, vec![chat], whole_gpu(&[("chat", &[0])])), "gpu_memory");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.missing, &["server: { gpu_memory: … GiB }"]);
}

#[test]
fn a_known_model_holds_what_a_real_card_shows() {
    // nvidia-smi shows 81,559 MiB for an H100 of 80 GB.
    let place = Server {
        gpu: Some("H100-SXM5-80GB".to_owned()),
        gpu_count: 1,
        gpu_memory: Some(bytes("80 GiB")),
        ..Server::default()
    };
    let peak = |text: &str| MemoryNeed { peak: Some(bytes(text)), ..MEMORY };
    let with = |peak| {
        let workloads = vec![serving("chat", peak)];
        outcome(&site(place.clone(), workloads, whole_gpu(&[("chat", &[0])])), "gpu_memory")
    };
    assert_eq!(with(peak("81559 MiB")), Outcome::Holds);
    assert_eq!(with(peak("81560 MiB")), Outcome::Fails);
}

#[test]
fn a_slice_holds_what_the_driver_says_and_not_what_its_name_says() {
    let place = Server {
        gpu: Some("H200-141GB".to_owned()),
        gpu_count: 1,
        gpu_memory: Some(bytes("141 GB")),
        ..Server::default()
    };
    let instance = |workload: &str| MigInstance {
        profile: "1g.18gb".to_owned(),
        placement: None,
        workload: Some(workload.to_owned()),
    };
    let layout =
        SharingMode::Mig(vec![MigGpu { gpus: vec![0], instances: vec![instance("chat")] }]);
    let with = |peak: &str| {
        let memory = MemoryNeed { peak: Some(bytes(peak)), ..MEMORY };
        only(&site(place.clone(), vec![serving("chat", memory)], layout.clone()), "gpu_memory")
    };
    // 1g.18gb of an H200 has 16.00 GiB.
    assert_eq!(with("16 GiB").outcome, Outcome::Holds);
    assert_eq!(with("16.5 GiB").outcome, Outcome::Fails);
}

#[test]
fn a_limit_of_mps_caps_a_tenant_and_refuses_what_needs_more() {
    let with = |limit: &str, peak: &str| {
        let memory_limits = BTreeMap::from([("tune".to_owned(), bytes(limit))]);
        let mode =
            SharingMode::Mps(MpsMode::Default { percentages: BTreeMap::new(), memory_limits });
        let peak = MemoryNeed { peak: Some(bytes(peak)), ..MEMORY };
        let chat = MemoryNeed { peak: Some(bytes("14 GiB")), ..MEMORY };
        let workloads = vec![serving("chat", chat), trainer("tune", peak, Training::default())];
        only(&site(server(1, "24 GiB"), workloads, mode), "gpu_memory")
    };
    assert_eq!(with("10 GiB", "10 GiB").outcome, Outcome::Holds);
    let refused = with("8 GiB", "9 GiB");
    assert_eq!(refused.outcome, Outcome::Fails);
    assert!(refused.answer.contains("is limited to 8 GiB"), "{}", refused.answer);
    assert_eq!(with("11 GiB", "11 GiB").outcome, Outcome::Fails);
    // What is capped needs no declared peak.
    let memory_limits = BTreeMap::from([("tune".to_owned(), bytes("10 GiB"))]);
    let mode = SharingMode::Mps(MpsMode::Default { percentages: BTreeMap::new(), memory_limits });
    let chat = MemoryNeed { peak: Some(bytes("14 GiB")), ..MEMORY };
    let workloads = vec![serving("chat", chat), trainer("tune", MEMORY, Training::default())];
    assert_eq!(outcome(&site(server(1, "24 GiB"), workloads, mode), "gpu_memory"), Outcome::Holds);
}

#[test]
fn in_a_pool_one_group_that_fits_is_enough() {
    let group = |name: &str, memory: &str| NodeGroup {
        name: name.to_owned(),
        count: 2,
        server: server(8, memory),
    };
    let peak = MemoryNeed { peak: Some(bytes("60 GiB")), ..MEMORY };
    let mut site =
        site(server(1, "1 GiB"), vec![serving("chat", peak)], SharingMode::CandidatesAll);
    site.kind = SiteKind::Pool(Pool {
        nodes: vec![group("small", "48 GiB"), group("large", "80 GiB")],
        ..Pool::default()
    });
    let check = only(&site, "gpu_memory");
    assert_eq!(check.outcome, Outcome::Holds);
    assert!(check.title.contains("of large"), "{}", check.title);
}

#[test]
fn in_a_pool_workloads_may_or_may_not_meet_on_a_node() {
    let host = |text: &str| MemoryNeed { host: Some(bytes(text)), processes: Some(1), ..MEMORY };
    let with = |chat: &str| {
        let workloads =
            vec![serving("chat", host(chat)), trainer("tune", host("60 GiB"), Training::default())];
        let mut site = site(server(1, "80 GiB"), workloads, SharingMode::CandidatesAll);
        let server = Server { memory: Some(bytes("100 GiB")), ..server(8, "80 GiB") };
        let nodes = vec![NodeGroup { name: "a".to_owned(), count: 2, server }];
        site.kind = SiteKind::Pool(Pool { nodes, ..Pool::default() });
        let found = with_key(&site, "host_memory");
        (found[0].outcome, found[0].would_be_conditional_on.clone())
    };
    assert_eq!(with("40 GiB").0, Outcome::Holds);
    let (outcome, conditions) = with("50 GiB");
    assert_eq!(outcome, Outcome::Open);
    assert_line(&conditions, &["a node without `tune`"]);
    assert_eq!(with("101 GiB").0, Outcome::Fails);
}

fn launched(env: &[(&str, &str)], argv: &[&str]) -> Workload {
    let mut engine = inference();
    engine.launch = Some(Launch {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: None,
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ready: Ready::default(),
    });
    workload("embed", WorkloadKind::Inference(Box::new(engine)), None)
}

/// tobocop2/lilbee#660: 96 cores are visible, the quota is 7.65.
#[test]
fn capacity_is_the_quota_and_not_the_visible_cores() {
    let place =
        Server { cpu_cores: Some(7.65), cpu_cores_visible: Some(96.0), ..server(1, "48 GiB") };
    let with = |workload| only(&site(place.clone(), vec![workload], sliced()), "cpu");
    let check = with(launched(&[], &["engine", "--threads", "48"]));
    assert_eq!(check.outcome, Outcome::Fails);
    assert_line(&check.arithmetic, &["floor(7.65) = 7 threads"]);
    assert_line(&check.would_be_conditional_on, &["at most 7 threads"]);
    assert_eq!(with(launched(&[("OMP_NUM_THREADS", "7")], &["engine"])).outcome, Outcome::Holds);
    assert_eq!(with(launched(&[("OMP_NUM_THREADS", "8")], &["engine"])).outcome, Outcome::Fails);
    let silent = with(launched(&[], &["engine"]));
    assert_eq!(silent.outcome, Outcome::Open);
    assert_line(&silent.missing, &["OMP_NUM_THREADS: \"7\""]);
}

#[test]
fn what_programs_see_is_asked_for() {
    let place = Server { cpu_cores: Some(8.0), ..server(1, "48 GiB") };
    let workloads = vec![launched(&[], &["engine"])];
    let check = only(&site(place, workloads, sliced()), "cpu");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.missing, &["cpu_cores_visible"]);
}

fn with_deadline(deadline: Deadline, training: Training, normal: f64) -> Workload {
    let training = Training {
        objectives: TrainingObjectives { deadline: Some(deadline), ..training.objectives },
        ..training
    };
    let mut job = trainer("tune", MEMORY, training);
    job.allocation = Some(Allocation {
        normal: Some(normal),
        minimum_useful: None,
        gang: None,
        minimum_run: None,
    });
    job
}

fn at(text: &str, start: Option<&str>) -> Deadline {
    Deadline::At {
        at: text.parse().unwrap(),
        time_zone: jiff::tz::TimeZone::UTC,
        start: start.map(|start| start.parse().unwrap()),
    }
}

fn throughput(rows: &[(u32, f64)]) -> Vec<ThroughputAt> {
    let row = |(gpus, rate): &(u32, f64)| ThroughputAt {
        gpus: *gpus,
        throughput: RatePerSecond::new(*rate, "tok"),
    };
    rows.iter().map(row).collect()
}

#[test]
fn a_deadline_is_held_against_the_gpus_that_could_ever_be_free() {
    let training = |hours| Training {
        duration: Some(duration(hours)),
        throughput_alone: throughput(&[(2, 23_000.0), (4, 42_000.0)]),
        ..Training::default()
    };
    let with = |hours, reserved| {
        let deadline = at("2026-12-02T00:00:00Z", Some("2026-12-01T00:00:00Z"));
        let mut chat = inference();
        chat.minimum_reserved = Some(reserved);
        let chat = workload("chat", WorkloadKind::Inference(Box::new(chat)), None);
        let job = with_deadline(deadline, training(hours), 4.0);
        let workloads = vec![chat, job];
        let check =
            only(&site(server(6, "80 GiB"), workloads, SharingMode::CandidatesAll), "deadline");
        (check.outcome, check)
    };
    // 20 h on 4 GPUs; on 2 it takes 20 × 42 ÷ 23 = 36.5 h, 73.04 GPU-hours, the best efficiency.
    let (held, check) = with("20 h", 2.0);
    assert_eq!(held, Outcome::Holds);
    assert_line(&check.arithmetic, &["6 − 2 never lent = 4"]);
    assert_line(&check.arithmetic, &["needed 73 GPU-h", "4 × 24 h = 96 GPU-h"]);
    // Enough GPU-hours, but the fastest way takes 25 of 24 h.
    assert_eq!(with("25 h", 2.0).0, Outcome::Fails);
    // Two GPUs are free: 36.5 h of 24.
    assert_eq!(with("20 h", 4.0).0, Outcome::Fails);
    // One is free: no declared way fits.
    let (held, check) = with("20 h", 5.0);
    assert_eq!(held, Outcome::Fails);
    assert!(check.answer.contains("fewest GPUs"), "{}", check.answer);
}

#[test]
fn jobs_that_fit_alone_may_not_fit_together() {
    let job = |name: &str, from: &str, until: &str| {
        let training = Training {
            work: Some(Work { amount: 3_600_000, unit: "tok".to_owned() }),
            // 100 tok/s on 4 GPUs: 10 h, 40 GPU-hours.
            throughput_alone: throughput(&[(4, 100.0)]),
            ..Training::default()
        };
        let mut job = with_deadline(at(until, Some(from)), training, 4.0);
        job.name = name.to_owned();
        job
    };
    let with = |second_until| {
        let first = job("one", "2026-12-01T00:00:00Z", "2026-12-01T15:00:00Z");
        let second = job("two", "2026-12-01T00:00:00Z", second_until);
        with_key(
            &site(server(4, "80 GiB"), vec![first, second], SharingMode::CandidatesAll),
            "deadline",
        )
    };
    let together = with("2026-12-01T15:00:00Z");
    assert_eq!(together.len(), 3);
    assert!(together[..2].iter().all(|check| check.outcome == Outcome::Holds));
    // 80 GPU-hours, 4 × 15 = 60.
    assert_eq!(together[2].outcome, Outcome::Fails);
    assert!(together[2].answer.contains("20 GPU-hours are missing"), "{}", together[2].answer);
    assert_eq!(with("2026-12-01T20:00:00Z")[2].outcome, Outcome::Holds);
}

#[test]
fn weekly_jobs_fill_the_week() {
    let training = |per_week| Training {
        duration: Some(duration("20 h")),
        jobs_per_week: Some(per_week),
        ..Training::default()
    };
    let deadline = Deadline::Weekly { days: WeekdaySet::parse("Fri").unwrap(), minute: 18 * 60 };
    let with = |per_week| {
        let job = with_deadline(deadline.clone(), training(per_week), 4.0);
        outcome(&site(server(4, "80 GiB"), vec![job], SharingMode::CandidatesAll), "deadline")
    };
    // 8 × 80 = 640 of 4 × 168 = 672; 9 × 80 = 720.
    assert_eq!(with(8.0), Outcome::Holds);
    assert_eq!(with(9.0), Outcome::Fails);
}

#[test]
fn a_batch_through_the_engine_needs_time_and_no_gpus() {
    let with = |items| {
        let batch = Batch {
            route: BatchRoute::Serving("chat".to_owned()),
            items: Some(items),
            throughput_alone: Some(RatePerSecond::new(10.0, "items")),
            deadline: Some(Deadline::Weekly { days: WeekdaySet::DAILY, minute: 360 }),
            class: None,
        };
        let batch = workload("embed", WorkloadKind::Batch(Box::new(batch)), None);
        outcome(&site(server(4, "80 GiB"), vec![batch], SharingMode::CandidatesAll), "deadline")
    };
    // 10 a second are 864,000 a day.
    assert_eq!(with(864_000), Outcome::Holds);
    assert_eq!(with(865_000), Outcome::Fails);
}

#[test]
fn without_gpus_only_time_counts() {
    let training = |hours| Training { duration: Some(duration(hours)), ..Training::default() };
    let with = |hours| {
        let deadline = at("2026-12-02T00:00:00Z", Some("2026-12-01T00:00:00Z"));
        let job = with_deadline(deadline, training(hours), 1.0);
        outcome(&site(Server::default(), vec![job], host_cpu()), "deadline")
    };
    assert_eq!(with("24 h"), Outcome::Holds);
    assert_eq!(with("25 h"), Outcome::Fails);
}

#[test]
fn what_a_sleeping_engine_leaves_is_measured() {
    let window = |when: &str, workload: &str| TemporalWindow {
        when: weekly(when),
        workload: workload.to_owned(),
        gpus: Vec::new(),
    };
    let mode = SharingMode::Temporal(vec![
        window("daily 06:00-22:00", "chat"),
        window("daily 22:00-06:00", "tune"),
    ]);
    let peak = |sleep_level| MemoryNeed { peak: Some(bytes("20 GiB")), sleep_level, ..MEMORY };
    let with = |sleep_level| {
        let workloads = vec![
            serving("chat", peak(sleep_level)),
            trainer("tune", peak(None), Training::default()),
        ];
        with_key(&site(server(1, "24 GiB"), workloads, mode.clone()), "gpu_memory")
    };
    assert!(with(None).iter().all(|check| check.outcome == Outcome::Holds));
    let asleep = with(Some(1));
    assert_eq!(asleep[0].outcome, Outcome::Holds);
    assert_eq!(asleep[1].outcome, Outcome::Open);
    assert_line(&asleep[1].would_be_conditional_on, &["`chat` asleep at level 1", "4 GiB"]);
}

#[test]
fn a_deadline_without_a_start_asks_for_the_moment() {
    let training = Training { duration: Some(duration("20 h")), ..Training::default() };
    let job = with_deadline(at("2026-12-02T00:00:00Z", None), training, 4.0);
    let mut site = site(server(4, "80 GiB"), vec![job], SharingMode::CandidatesAll);
    let check = only(&site, "deadline");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.missing, &["as_of: …"]);
    site.as_of = Some("2026-12-01T00:00:00Z".parse().unwrap());
    assert_eq!(outcome(&site, "deadline"), Outcome::Holds);
    site.as_of = Some("2026-12-01T05:00:00Z".parse().unwrap());
    assert_eq!(outcome(&site, "deadline"), Outcome::Fails);
}

fn mig(profile: &str, workload: &str, instances: usize) -> SharingMode {
    let instance = MigInstance {
        profile: profile.to_owned(),
        placement: None,
        workload: Some(workload.to_owned()),
    };
    SharingMode::Mig(vec![MigGpu { gpus: vec![0], instances: vec![instance; instances] }])
}

#[test]
fn a_compute_partition_draws_nothing() {
    let with = |gpu: &str, profile: &str, needs| {
        let place = Server { gpu: Some(gpu.to_owned()), ..server(1, "95 GiB") };
        let scene = Render { needs, ..render() };
        let workloads = vec![renderer("film", scene, MEMORY)];
        outcome(&site(place, workloads, mig(profile, "film", 1)), "partition")
    };
    let draws = Some(RenderNeeds::Graphics);
    let model = "RTX PRO 6000 Blackwell Server Edition";
    assert_eq!(with(model, "1g.24gb", draws), Outcome::Fails);
    assert_eq!(with(model, "1g.24gb+gfx", draws), Outcome::Holds);
    assert_eq!(with("H100-SXM5-80GB", "3g.40gb", draws), Outcome::Fails);
    assert_eq!(with("H100-SXM5-80GB", "3g.40gb", Some(RenderNeeds::Compute)), Outcome::Holds);
    assert_eq!(with("H100-SXM5-80GB", "3g.40gb", None), Outcome::Open);
}

#[test]
fn training_over_instances_depends_on_nccl() {
    let with = |nccl: Option<&str>, ranks| {
        let place = Server {
            gpu: Some("H100-SXM5-80GB".to_owned()),
            nccl: nccl.map(str::to_owned),
            cuda: Some("13.0".to_owned()),
            ..server(1, "80 GiB")
        };
        let training = Training {
            parallelism: Some(Parallelism { dp: ranks, ..Parallelism::single() }),
            ..Training::default()
        };
        let workloads = vec![trainer("tune", MEMORY, training)];
        with_key(&site(place, workloads, mig("3g.40gb", "tune", ranks as usize)), "partition")
            .first()
            .map(|check| check.outcome)
    };
    assert_eq!(with(Some("2.28.3"), 2), Some(Outcome::Fails));
    assert_eq!(with(Some("2.31.1"), 2), Some(Outcome::Open));
    assert_eq!(with(None, 2), Some(Outcome::Open));
    assert_eq!(with(Some("2.28.3"), 1), None);
}

fn weekly(text: &str) -> WeeklyWindow {
    WeeklyWindow::parse(text).unwrap()
}

fn cycle(workload: &str, driver: &str, window: &str) -> ChangeCycle {
    ChangeCycle {
        workload: workload.to_owned(),
        driver: Some(duration(driver)),
        windows: vec![weekly(window)],
        ..ChangeCycle::default()
    }
}

#[test]
fn the_tightest_cycle_decides_and_needs_a_common_window() {
    let with = |driver: &str, window: &str| {
        let workloads = vec![serving("chat", MEMORY), trainer("tune", MEMORY, Training::default())];
        let mut site = site(server(1, "80 GiB"), workloads, sliced());
        site.operations.change_cycle =
            vec![cycle("chat", "180 d", "Sun 02:00-06:00"), cycle("tune", driver, window)];
        only(&site, "changes")
    };
    let check = with("30 d", "Sat,Sun 00:00-24:00");
    assert_eq!(check.outcome, Outcome::Holds);
    assert_line(&check.arithmetic, &["the tightest decides for all: each 30 d, by tune"]);
    assert_line(&check.arithmetic, &["240 minutes a week in common"]);
    assert_eq!(with("30 d", "Mon 02:00-06:00").outcome, Outcome::Fails);
    // Common windows come once a week.
    assert_eq!(with("3 d", "daily 02:00-06:00").outcome, Outcome::Fails);
}

#[test]
fn availability_counts_planned_maintenance() {
    let with = |node: Option<&str>, window: &str, each: &str| {
        let mut chat = inference();
        chat.objectives.availability = Some(share("99.5 %"));
        let chat = workload("chat", WorkloadKind::Inference(Box::new(chat)), None);
        let mut site = site(server(1, "80 GiB"), vec![chat], sliced());
        site.operations.node_availability = node.map(share);
        site.operations.maintenance =
            Some(Maintenance { windows: vec![weekly(window)], accepted_by: None });
        site.operations.change_cycle = vec![cycle("chat", each, window)];
        only(&site, "availability")
    };
    // Allowed 216 min. Down 43.2; a change each 60 d of at most 240 min is 120 a month.
    let check = with(Some("99.9 %"), "Sun 02:00-06:00", "60 d");
    assert_eq!(check.outcome, Outcome::Holds);
    assert_line(&check.arithmetic, &["= 216 min a month"]);
    assert_line(&check.arithmetic, &["= at most 120 min a month"]);
    // Each 30 d it is 240 at the most: it may fit, or not.
    let check = with(Some("99.9 %"), "Sun 02:00-06:00", "30 d");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.would_be_conditional_on, &["at most 172.8 min a month"]);
    assert_eq!(with(Some("99 %"), "Sun 02:00-06:00", "60 d").outcome, Outcome::Fails);
    let silent = with(None, "Sun 02:00-06:00", "60 d");
    assert_eq!(silent.outcome, Outcome::Open);
    assert_line(&silent.missing, &["node_availability"]);
}

#[test]
fn a_site_that_says_nothing_gets_no_check_that_fails() {
    let workloads = vec![
        workload("chat", WorkloadKind::Inference(Box::new(inference())), None),
        workload("tune", WorkloadKind::Training(Box::default()), None),
    ];
    for mode in [sliced(), host_cpu(), SharingMode::CandidatesAll] {
        let count = u32::from(mode != host_cpu());
        let place = Server { gpu_count: count, ..Server::default() };
        let all = checks(&site(place, workloads.clone(), mode));
        assert!(all.iter().all(|check| check.outcome == Outcome::Open), "{all:#?}");
        assert!(all.iter().all(|check| !check.missing.is_empty()), "{all:#?}");
    }
}
