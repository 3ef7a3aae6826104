//! Cases that people met, with the numbers of their reports recomputed here.

use std::collections::BTreeMap;

use cotenant_core::plan::Outcome;
use cotenant_core::site::{
    Checkpoint, CheckpointInterval, Faults, FigureOrigin, IsolationNeed, IsolationProperty,
    LostWork, MemoryNeed, MpsMode, Parallelism, Preemption, Render, Server, SharingMode, Signal,
    Site, Storage, TemporalWindow, ThroughputAt, TimeSlicing, Training, WeeklyWindow, WorkloadKind,
};
use cotenant_core::units::{BytesPerSecond, RatePerSecond};

use crate::builder::{
    MEMORY, assert_line, bytes, duration, inference, only, outcome, render, renderer, server,
    serving, share, site, sliced, trainer, with_key, workload,
};

/// vllm-project/vllm#783: 44.56 GiB, 15 GiB of it taken by a trainer, and an engine with its fraction
/// of 0.9. Graphs and context of 1.5 GiB lie outside of the fraction and are declared here.
fn p01(fraction: &str) -> Site {
    let engine = MemoryNeed {
        fraction_of_total: Some(share(fraction)),
        graphs: Some(bytes("1.5 GiB")),
        ..MEMORY
    };
    let trainer_memory = MemoryNeed { peak: Some(bytes("15 GiB")), ..MEMORY };
    site(
        server(1, "44.56 GiB"),
        vec![serving("opt", engine), trainer("tune", trainer_memory, Training::default())],
        sliced(),
    )
}

#[test]
fn p01_a_fraction_is_of_the_total_and_not_of_what_is_free() {
    let check = only(&p01("0.9"), "memory_fraction");
    assert_eq!(check.outcome, Outcome::Fails);
    // 0.9 × 44.56 = 40.104; 44.56 − 15 = 29.56.
    assert_line(&check.arithmetic, &["budget: 0.9 × 44.56 GiB = 40.1 GiB"]);
    assert_line(&check.arithmetic, &["44.56 GiB − tune 15 GiB = 29.56 GiB"]);
    // (44.56 − 15 − 1.5) ÷ 44.56 = 0.6297.
    assert_line(
        &check.would_be_conditional_on,
        &["fraction_of_total at most 0.62", "44.56 GiB − 15 GiB − 1.5 GiB", "0.6297"],
    );
    assert_line(&check.would_be_conditional_on, &["`tune` is started first", "capped at 15 GiB"]);
}

#[test]
fn p01_holds_at_the_fraction_that_it_names() {
    assert_eq!(outcome(&p01("0.62"), "memory_fraction"), Outcome::Holds);
    assert_eq!(outcome(&p01("0.63"), "memory_fraction"), Outcome::Fails);
}

#[test]
fn p01_what_others_hold_counts_like_a_neighbour() {
    let engine = MemoryNeed {
        fraction_of_total: Some(share("0.9")),
        graphs: Some(bytes("1.5 GiB")),
        ..MEMORY
    };
    let place = Server { gpu_memory_taken: Some(bytes("15 GiB")), ..server(1, "44.56 GiB") };
    let check = only(&site(place, vec![serving("opt", engine)], sliced()), "memory_fraction");
    assert_eq!(check.outcome, Outcome::Fails);
    assert_line(&check.would_be_conditional_on, &["at most 0.62"]);
    assert_line(&check.would_be_conditional_on, &["15 GiB", "is there first and never grows"]);
}

/// vllm-project/vllm#7553: four cards of 24,564 MiB, a measured peak of 23,859 MiB of which graphs are
/// 2,464 MiB.
fn p02(neighbour: Option<MemoryNeed>) -> Site {
    let memory = MemoryNeed {
        origin: FigureOrigin::Measured,
        peak: Some(bytes("23859 MiB")),
        graphs: Some(bytes("2464 MiB")),
        fraction_of_total: Some(share("0.9")),
        ..MEMORY
    };
    let mut engine = inference();
    engine.version = Some("0.5.4".to_owned());
    let mut workloads =
        vec![workload("yi", WorkloadKind::Inference(Box::new(engine)), Some(memory))];
    workloads.extend(neighbour.map(|memory| trainer("tune", memory, Training::default())));
    site(server(4, "24564 MiB"), workloads, sliced())
}

#[test]
fn p02_alone_it_fits_beyond_its_budget_by_the_measured_peak() {
    let check = only(&p02(None), "memory_fraction");
    assert_eq!(check.outcome, Outcome::Holds);
    // 0.9 × 24,564 = 22,107.6; 23,859 − 22,107.6 = 1,751.4; 24,564 − 23,859 = 705.
    assert_line(&check.arithmetic, &["0.9 × 24,564 MiB = 22,107.6 MiB"]);
    assert_line(&check.arithmetic, &["1,751.4 MiB beyond its budget"]);
    assert_line(&check.arithmetic, &["24,564 MiB − 23,859 MiB = 705 MiB"]);
    assert_line(&check.arithmetic, &["graphs take 2,464 MiB: 21,395 MiB without them"]);
    assert_line(&check.arithmetic, &["vllm 0.5.4"]);
    assert!(check.answer.contains("measured peak"), "{}", check.answer);
    assert_eq!(outcome(&p02(None), "gpu_memory"), Outcome::Holds);
}

#[test]
fn p02_any_neighbour_fails() {
    let unknown = only(&p02(Some(MEMORY)), "memory_fraction");
    assert_eq!(unknown.outcome, Outcome::Fails);
    assert!(unknown.answer.contains("leaves 705 MiB"), "{}", unknown.answer);
    assert_line(&unknown.would_be_conditional_on, &["hard-capped at 705 MiB"]);
    let small = MemoryNeed { peak: Some(bytes("706 MiB")), ..MEMORY };
    assert_eq!(outcome(&p02(Some(small)), "memory_fraction"), Outcome::Fails);
    assert_eq!(outcome(&p02(Some(small)), "gpu_memory"), Outcome::Fails);
}

#[test]
fn p02_the_version_of_the_engine_is_asked_for() {
    let mut site = p02(None);
    if let WorkloadKind::Inference(inference) = &mut site.workloads[0].kind {
        inference.version = None;
    }
    assert_line(&only(&site, "memory_fraction").missing, &["version: …"]);
}

/// huggingface/open-r1#571: an engine on GPU 0 at half of its memory, training on all eight.
fn p03(throughput: &[(u32, f64)], rank: MemoryNeed) -> Site {
    let engine = MemoryNeed {
        fraction_of_total: Some(share("0.5")),
        weights: Some(bytes("16 GiB")),
        graphs: Some(bytes("0")),
        ..MEMORY
    };
    let training = Training {
        parallelism: Some(Parallelism { dp: 8, ..Parallelism::single() }),
        throughput_alone: throughput
            .iter()
            .map(|(gpus, rate)| ThroughputAt {
                gpus: *gpus,
                throughput: RatePerSecond::new(*rate, "samples"),
            })
            .collect(),
        ..Training::default()
    };
    let gpus =
        BTreeMap::from([("rollout".to_owned(), vec![0]), ("grpo".to_owned(), (0..8).collect())]);
    let mode = SharingMode::TimeSlicing(TimeSlicing { gpus, ..TimeSlicing::default() });
    site(
        server(8, "80 GiB"),
        vec![serving("rollout", engine), trainer("grpo", rank, training)],
        mode,
    )
}

#[test]
fn p03_unequal_ranks_are_for_a_test_to_decide() {
    let rank = MemoryNeed { peak: Some(bytes("38 GiB")), ..MEMORY };
    let check = only(&p03(&[(7, 70.0), (8, 79.0)], rank), "ranks");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.arithmetic, &["GPU 0", "80 GiB", "= 40 GiB"]);
    assert_line(&check.arithmetic, &["GPUs 1-7", "80 GiB"]);
    assert_line(&check.arithmetic, &["must fit the smallest: 40 GiB"]);
    assert_line(&check.arithmetic, &["all 8 wait for the shared one"]);
    // 79 ÷ 70 = 1.129.
    assert_line(&check.arithmetic, &["at most 12.9 % slower before 7 ranks"]);
    assert!(check.answer.contains("split 1 + 7"), "{}", check.answer);
    assert_line(&check.would_be_conditional_on, &["test C", "8 ranks than on 7"]);
    assert_line(&check.would_be_conditional_on, &["NCCL", "duplicate GPU"]);
}

#[test]
fn p03_fails_where_a_rank_does_not_fit_or_nothing_is_gained() {
    let large = MemoryNeed { peak: Some(bytes("41 GiB")), ..MEMORY };
    assert_eq!(outcome(&p03(&[], large), "ranks"), Outcome::Fails);
    let fits = MemoryNeed { peak: Some(bytes("38 GiB")), ..MEMORY };
    let flat = p03(&[(7, 70.0), (8, 69.0)], fits);
    assert_eq!(outcome(&flat, "ranks"), Outcome::Fails);
    let silent = only(&p03(&[], fits), "ranks");
    assert_eq!(silent.outcome, Outcome::Open);
    assert_line(&silent.missing, &["throughput_alone", "gpus: 7", "gpus: 8"]);
}

/// NousResearch/hermes-agent#92304: 24 GiB, a model of 17.8 GB and a render of 10 GiB (the report
/// does not say how much; this is ours).
fn p04(mode: SharingMode) -> Site {
    let model = MemoryNeed { peak: Some(bytes("17.8 GB")), ..MEMORY };
    let scene = Render { scene_memory: Some(bytes("10 GiB")), ..render() };
    let nothing_else = MemoryNeed { workspace: Some(bytes("0")), ..MEMORY };
    let place = Server {
        storage: Some(Storage { read_bandwidth: Some(BytesPerSecond(2e9)), write_bandwidth: None }),
        ..server(1, "24 GiB")
    };
    site(place, vec![serving("agent", model), renderer("comfy", scene, nothing_else)], mode)
}

#[test]
fn p04_memory_sets_that_do_not_fit_together_need_an_exclusive_lease() {
    let check = only(&p04(sliced()), "gpu_memory");
    assert_eq!(check.outcome, Outcome::Fails);
    // 17.8e9 ÷ 2³⁰ = 16.58; 16.58 + 10 = 26.58.
    assert_line(&check.arithmetic, &["16.58 GiB", "10 GiB", "= 26.58 GiB"]);
    assert_line(&check.arithmetic, &["8.9 s at the least"]);
    assert_line(&check.would_be_conditional_on, &["an exclusive lease", "temporal"]);
    assert_line(&check.would_be_conditional_on, &["requests to `agent` are held"]);
    assert_line(&check.would_be_conditional_on, &["status polls touch no GPU"]);
}

#[test]
fn p04_in_turns_it_fits() {
    let window = |when: &str, workload: &str| TemporalWindow {
        when: WeeklyWindow::parse(when).unwrap(),
        workload: workload.to_owned(),
        gpus: Vec::new(),
    };
    let turns = SharingMode::Temporal(vec![
        window("daily 08:00-20:00", "agent"),
        window("daily 20:00-08:00", "comfy"),
    ]);
    let found = with_key(&p04(turns), "gpu_memory");
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|check| check.outcome == Outcome::Holds));
    let overlapping = SharingMode::Temporal(vec![
        window("daily 08:00-20:00", "agent"),
        window("daily 19:00-08:00", "comfy"),
    ]);
    assert_eq!(outcome(&p04(overlapping), "gpu_memory"), Outcome::Fails);
}

/// radixark/Megatron-LM#61: a node with 780 GB, of which a checkpoint stages 650 GB, and a tenant that
/// keeps a copy of its weights.
fn p05(copy: Option<&str>) -> Site {
    let training = Training {
        checkpoint: Some(Checkpoint {
            host_memory: Some(bytes("650 GB")),
            ..Checkpoint::default()
        }),
        ..Training::default()
    };
    let trainer_memory = MemoryNeed { host: Some(bytes("0")), processes: Some(4), ..MEMORY };
    let mut workloads = vec![trainer("rl", trainer_memory, training)];
    workloads.extend(copy.map(|copy| {
        let memory = MemoryNeed {
            host: Some(bytes("0")),
            processes: Some(1),
            weights: Some(bytes(copy)),
            sleep_level: Some(1),
            ..MEMORY
        };
        serving("chat", memory)
    }));
    let place = Server { memory: Some(bytes("780 GB")), ..server(4, "279 GiB") };
    site(place, workloads, sliced())
}

#[test]
fn p05_a_checkpoint_takes_host_memory_for_a_while() {
    let alone = only(&p05(None), "host_memory");
    assert_eq!(alone.outcome, Outcome::Holds);
    // 650 ÷ 780 = 0.8333; 780 − 650 = 130.
    assert_line(&alone.arithmetic, &["650 GB of 780 GB: 83 %", "130 GB stay"]);
    let check = only(&p05(Some("140 GB")), "host_memory");
    assert_eq!(check.outcome, Outcome::Fails);
    assert_line(&check.would_be_conditional_on, &["staged buckets of at most 640 GB"]);
    assert_eq!(outcome(&p05(Some("130 GB")), "host_memory"), Outcome::Holds);
    assert_eq!(outcome(&p05(Some("131 GB")), "host_memory"), Outcome::Fails);
}

/// verl-project/verl#224: eight engines that sleep at level 1 with 11.1 GB each, on 96 GB. What the
/// trainer takes is ours.
fn p06(sleep_level: u32, engines: u32) -> Site {
    let rollout = MemoryNeed {
        host: Some(bytes("0")),
        processes: Some(engines),
        weights: Some(bytes("11.1 GB")),
        sleep_level: Some(sleep_level),
        ..MEMORY
    };
    let trainer_memory = MemoryNeed { host: Some(bytes("2 GB")), processes: Some(8), ..MEMORY };
    let place = Server { memory: Some(bytes("96 GB")), ..server(8, "80 GiB") };
    site(
        place,
        vec![serving("rollout", rollout), trainer("trainer", trainer_memory, Training::default())],
        sliced(),
    )
}

#[test]
fn p06_sleeping_engines_keep_their_weights_on_the_host() {
    let check = only(&p06(1, 8), "host_memory");
    assert_eq!(check.outcome, Outcome::Fails);
    // 8 × 11.1 = 88.8; + 8 × 2 = 104.8 of 96.
    assert_line(&check.arithmetic, &["8 engines asleep at level 1 × weights 11.1 GB = 88.8 GB"]);
    assert_line(&check.arithmetic, &["trainer", "8 processes × host 2 GB = 16 GB"]);
    assert_line(&check.arithmetic, &["= 104.8 GB", "page cache is not counted"]);
    assert_line(&check.would_be_conditional_on, &["level 2", "16 GB of 96 GB"]);
    // (96 − 16) ÷ 11.1 = 7.2.
    assert_line(&check.would_be_conditional_on, &["at most 7 engines"]);
    assert_eq!(outcome(&p06(1, 7), "host_memory"), Outcome::Holds);
    assert_eq!(outcome(&p06(2, 8), "host_memory"), Outcome::Holds);
}

/// kai-scheduler/KAI-Scheduler#274: half of a GPU is booked.
fn p11(isolation: Vec<IsolationNeed>) -> Site {
    let booked =
        BTreeMap::from([("chat".to_owned(), share("0.7")), ("tune".to_owned(), share("0.3"))]);
    let mode = SharingMode::TimeSlicing(TimeSlicing { booked, ..TimeSlicing::default() });
    let workloads = vec![serving("chat", MEMORY), trainer("tune", MEMORY, Training::default())];
    let mut site = site(server(1, "80 GiB"), workloads, mode);
    site.operations.isolation = isolation;
    site
}

#[test]
fn p11_a_booked_fraction_places_and_guarantees_nothing() {
    let check = only(&p11(Vec::new()), "booked");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.arithmetic, &["chat: booked 70 %", "1 ÷ 2 = 50 %"]);
    assert_line(&check.arithmetic, &["tune: booked 30 %", "1 ÷ 2 = 50 %"]);
    assert_line(&check.arithmetic, &["56 GiB", "nothing enforces it"]);
    assert!(check.answer.contains("time-slicing without protection"), "{}", check.answer);
    assert_line(&check.missing, &["isolation", "chat"]);
    let need = IsolationNeed {
        workload: "chat".to_owned(),
        properties: vec![IsolationProperty::MemoryCapacity],
    };
    assert_eq!(outcome(&p11(vec![need]), "booked"), Outcome::Fails);
}

/// MPS error containment: two cards, one server, a trainer that crashes.
fn p13(server_per_gpu: Option<bool>, per_month: f64, availability: Option<&str>) -> Site {
    let mode = SharingMode::Mps(MpsMode::Default {
        percentages: BTreeMap::new(),
        memory_limits: BTreeMap::new(),
    });
    let mut tune = trainer("tune", MEMORY, Training::default());
    tune.faults = Some(Faults { per_month, recovery: Some(duration("5 min")) });
    let mut chat = inference();
    chat.objectives.availability = availability.map(share);
    let chat = workload("chat", WorkloadKind::Inference(Box::new(chat)), None);
    let mut site = site(server(2, "24 GiB"), vec![chat, tune], mode);
    site.sharing.mps_server_per_gpu = server_per_gpu;
    site
}

#[test]
fn p13_clients_of_mps_die_together_and_others_are_refused() {
    let check = only(&p13(Some(false), 4.0, Some("99.9 %")), "fault_domain");
    assert_eq!(check.outcome, Outcome::Open);
    assert_line(&check.arithmetic, &["fault domain: all MPS clients of the GPU"]);
    assert_line(&check.arithmetic, &["admission domain: 2 GPUs", "until every affected client"]);
    // 4 × 5 min = 20 min; 0.1 % of 43,200 min = 43.2 min.
    assert_line(&check.arithmetic, &["4 faults a month × 5 min = 20 bad minutes a month"]);
    assert_line(&check.arithmetic, &["43.2 min a month"]);
    assert_line(&check.would_be_conditional_on, &["one MPS server for each GPU"]);
    assert_eq!(outcome(&p13(Some(true), 4.0, Some("99.9 %")), "fault_domain"), Outcome::Holds);
}

#[test]
fn p13_crashes_count_against_the_error_budget() {
    // 9 × 5 = 45 > 43.2.
    assert_eq!(outcome(&p13(Some(true), 9.0, Some("99.9 %")), "fault_domain"), Outcome::Fails);
    let silent = only(&p13(None, 4.0, None), "fault_domain");
    assert_eq!(silent.outcome, Outcome::Open);
    assert_line(&silent.missing, &["mps_server: per_gpu"]);
    assert_line(&silent.missing, &["availability"]);
}

/// ray-project/ray#63968: saves of 6.3 s and 148.8 s against notices of 30 s and 120 s; a loss each
/// four hours and a resume of 120 s.
fn p17(checkpoint: &str, notice: &str, lost_work: Option<LostWork>) -> Site {
    let training = Training {
        step_time_alone: Some(duration("1 s")),
        checkpoint: Some(Checkpoint {
            interval: Some(CheckpointInterval::Steps(1000)),
            duration: Some(duration(checkpoint)),
            resume_duration: Some(duration("120 s")),
            ..Checkpoint::default()
        }),
        preemption: Some(Preemption {
            allowed: true,
            signal: Some(Signal::Term),
            notice: Some(duration(notice)),
            lost_work,
            mean_time_to_loss: Some(duration("4 h")),
            failure_share_max: None,
            slurm: None,
        }),
        ..Training::default()
    };
    site(server(8, "80 GiB"), vec![trainer("tune", MEMORY, training)], sliced())
}

#[test]
fn p17_a_save_fits_its_notice_or_is_periodic() {
    for (checkpoint, notice, expected) in [
        ("6.3 s", "30 s", Outcome::Holds),
        ("6.3 s", "120 s", Outcome::Holds),
        ("148.8 s", "30 s", Outcome::Fails),
        ("148.8 s", "120 s", Outcome::Fails),
    ] {
        let site = p17(checkpoint, notice, None);
        assert_eq!(outcome(&site, "notice"), expected, "{checkpoint} in {notice}");
    }
    let short = only(&p17("6.3 s", "30 s", None), "notice");
    // √(2 × 6.3 × 14,400) = 426; Daly 422; 422 ÷ 2 + 120 = 331; overhead 3.9 %.
    assert_line(&short.arithmetic, &["426 s (Young)", "422 s (Daly)"]);
    assert_line(&short.arithmetic, &["= 331 s"]);
    assert_line(&short.arithmetic, &["3.9 % of the work"]);
    let long = only(&p17("148.8 s", "120 s", None), "notice");
    // √(2 × 148.8 × 14,400) = 2,070; Daly 1,972; 1,972 ÷ 2 + 120 = 1,106; overhead 16.8 %.
    assert_line(&long.arithmetic, &["2,070 s (Young)", "1,972 s (Daly)"]);
    assert_line(&long.arithmetic, &["= 1,106 s"]);
    assert_line(&long.arithmetic, &["16.8 % of the work"]);
    assert!(long.answer.contains("up to 1000 steps of work"), "{}", long.answer);
    assert_line(&long.would_be_conditional_on, &["checkpoint about every", "since_checkpoint"]);
    assert_line(&long.would_be_conditional_on, &["a notice of more than 149.8 s"]);
}

#[test]
fn p17_a_loss_that_is_accepted_is_no_failure() {
    let of = |lost_work| outcome(&p17("148.8 s", "120 s", Some(lost_work)), "notice");
    assert_eq!(of(LostWork::SinceCheckpoint), Outcome::Holds);
    assert_eq!(of(LostWork::Steps(1000)), Outcome::Holds);
    // The interval is 1000 steps of 1 s: a death at step 999 loses more than this.
    assert_eq!(of(LostWork::Steps(500)), Outcome::Fails);
    assert_eq!(of(LostWork::Time(duration("10 min"))), Outcome::Fails);
    assert_eq!(of(LostWork::None), Outcome::Fails);
}
