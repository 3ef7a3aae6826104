//! What engine, GPUs and host say beside the tests.

use cotenant_core::evidence::{
    Block, CgroupCpu, CheckpointRecord, Condition, EngineGauge, EngineHistogram, EngineObservation,
    GpuSample, Missing, Phase, Run,
};
use cotenant_core::observed::{
    Agreement, Answer, ClientMetric, agreements, causes, covariates, groups,
};

use crate::support::{JUDGED_FROM_NS, JUDGED_UNTIL_NS, Recipe, SECOND};

const BOUNDS_S: [f64; 14] =
    [0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.25, 0.5, 0.6, 0.65, 0.7, 0.75, 1.0, f64::INFINITY];

pub(crate) fn histogram(metric: &str, values_s: &[f64]) -> EngineHistogram {
    let below = |bound: &f64| values_s.iter().filter(|value| *value <= bound).count() as f64;
    EngineHistogram {
        metric: metric.to_owned(),
        bounds: BOUNDS_S.to_vec(),
        cumulative: BOUNDS_S.iter().map(below).collect(),
        count: values_s.len() as f64,
        sum: Some(values_s.iter().sum()),
    }
}

/// Times to first token and of whole requests that the client saw between the scrapes, seconds from
/// the send.
fn client(block: &Block) -> (Vec<f64>, Vec<f64>) {
    let inside = JUDGED_FROM_NS..JUDGED_UNTIL_NS;
    let since = |at_ns: u64, sent_ns: Option<u64>| (at_ns - sent_ns.unwrap()) as f64 / 1e9;
    let first = block.requests.iter().filter_map(|request| {
        let at_ns = request.first_token_ns.filter(|ns| inside.contains(ns))?;
        Some(since(at_ns, request.sent_ns))
    });
    let whole = block.requests.iter().filter(|request| inside.contains(&request.end_ns));
    let whole = whole.map(|request| since(request.end_ns, request.sent_ns));
    (first.collect(), whole.collect())
}

/// An engine whose clock sees each request `before_s` later than the client sends it, and whose last
/// token leaves `after_s` before the client's last byte.
fn account(block: &mut Block, before_s: f64, after_s: f64, queue_s: f64) {
    let (first, whole) = client(block);
    let first: Vec<f64> = first.into_iter().map(|s| s - before_s).collect();
    let whole: Vec<f64> = whole.into_iter().map(|s| s - before_s - after_s).collect();
    let waits = vec![queue_s; first.len()];
    let prefill: Vec<f64> = first.iter().map(|first_s| first_s - queue_s).collect();
    block.observed.engine = Some(EngineObservation {
        engine: "vLLM 0.32.0".to_owned(),
        from_ns: JUDGED_FROM_NS,
        until_ns: JUDGED_UNTIL_NS,
        histograms: vec![
            histogram("ttft_s", &first),
            histogram("e2e_s", &whole),
            histogram("queue_time_s", &waits),
            histogram("prefill_s", &prefill),
        ],
        counters: Vec::new(),
        gauges: vec![EngineGauge {
            metric: "running_requests".to_owned(),
            readings: (0..50).map(|second| (second * SECOND, 2.0)).collect(),
        }],
        remarks: Vec::new(),
    });
}

fn run(before_s: f64, after_s: f64) -> Run {
    let mut run = Recipe::good().run();
    for block in run.blocks.iter_mut().filter(|block| block.plan.condition != Condition::B) {
        account(block, before_s, after_s, 0.03);
    }
    run
}

fn alone(run: &Run) -> Vec<&Block> {
    run.blocks.iter().filter(|block| block.plan.condition == Condition::A).collect()
}

fn of(run: &Run, metric: ClientMetric) -> Agreement {
    let found = agreements(&alone(run)).into_iter().find(|found| found.metric == metric);
    found.unwrap()
}

#[track_caller]
fn check(run: &Run, metric: ClientMetric, answer: Answer, why: &str) {
    let found = of(run, metric);
    assert_eq!(found.answer, answer, "{}: {found:?}", metric.name());
    assert!(found.why.contains(why), "{}", found.why);
}

#[test]
fn the_same_times_agree_bucket_by_bucket() {
    let run = run(0.0, 0.0);
    for metric in [ClientMetric::FirstToken, ClientMetric::WholeRequest] {
        check(&run, metric, Answer::Agrees, "each quantile lies");
        let found = of(&run, metric);
        assert_eq!(found.quantiles.len(), 3);
        assert_eq!(found.engine_count, found.client_count as f64);
    }
    check(&run, ClientMetric::Queue, Answer::Agrees, "the means differ by");
    let queue = of(&run, ClientMetric::Queue);
    assert!((queue.client_mean_s.unwrap() - 0.03).abs() < 1e-6, "{queue:?}");
    check(&run, ClientMetric::InterToken, Answer::NotCompared, "no such histogram");
}

#[test]
fn a_wait_before_the_engines_clock_shifts_first_token_and_end_alike() {
    let run = run(0.09, 0.0);
    check(&run, ClientMetric::FirstToken, Answer::Explained, "before the engine's clock starts");
    check(&run, ClientMetric::FirstToken, Answer::Explained, "90.0 ms later");
    check(&run, ClientMetric::WholeRequest, Answer::Explained, "before the engine's clock starts");
    check(&run, ClientMetric::Queue, Answer::Explained, "90.0 ms more");
}

#[test]
fn what_nothing_measured_explains_stays_unexplained_with_its_numbers() {
    // First tokens agree, and yet the ends come 400 ms late.
    let late = run(0.0, 0.4);
    check(&late, ClientMetric::FirstToken, Answer::Agrees, "");
    check(&late, ClientMetric::WholeRequest, Answer::Unexplained, "means differ by 400.0 ms");
    // A client cannot see a token before the engine has it.
    let early = run(-0.2, 0.0);
    check(&early, ClientMetric::FirstToken, Answer::Unexplained, "below the engine's bucket");
}

/// An engine that tells a sum and a count of each latency, as Triton and llama.cpp do.
fn without_buckets(mut run: Run, engine: &str) -> Run {
    for account in run.blocks.iter_mut().filter_map(|block| block.observed.engine.as_mut()) {
        engine.clone_into(&mut account.engine);
        for histogram in &mut account.histograms {
            histogram.bounds = vec![f64::INFINITY];
            histogram.cumulative = vec![histogram.count];
        }
    }
    run
}

#[test]
fn an_engine_without_buckets_is_held_by_its_means() {
    let told = |before_s, after_s, engine| without_buckets(run(before_s, after_s), engine);
    let (whole, first) = (ClientMetric::WholeRequest, ClientMetric::FirstToken);
    check(&told(0.001, 0.0, "llama.cpp b1"), whole, Answer::Agrees, "by the means alone");
    check(&told(0.1, 0.0, "llama.cpp b1"), first, Answer::Explained, "before the engine's clock");
    // The end alone is later: no wait before the clock does that.
    check(&told(0.0, 0.2, "llama.cpp b1"), whole, Answer::Unexplained, "differ by 200.0 ms");
    check(&told(0.0, 0.2, "Triton 2.51.0"), whole, Answer::Explained, "decoupled");
    check(&told(0.0, 0.2, "Triton 2.51.0"), first, Answer::Agrees, "by the means alone");
    // A model that answers in one piece is not decoupled.
    let mut whole_answers = told(0.0, 0.2, "Triton 2.51.0");
    for request in whole_answers.blocks.iter_mut().flat_map(|block| &mut block.requests) {
        request.gap_longest_ns = None;
    }
    check(&whole_answers, whole, Answer::Unexplained, "differ by 200.0 ms");
    let mut silent = told(0.001, 0.0, "llama.cpp b1");
    for account in silent.blocks.iter_mut().filter_map(|block| block.observed.engine.as_mut()) {
        account.histograms.iter_mut().for_each(|histogram| histogram.sum = None);
    }
    check(&silent, whole, Answer::NotCompared, "tells no sum");
}

#[test]
fn an_engine_that_serves_others_counted_other_requests() {
    let mut run = run(0.0, 0.0);
    for block in &mut run.blocks {
        for histogram in block.observed.engine.iter_mut().flat_map(|e| &mut e.histograms) {
            histogram.count *= 2.0;
            for below in &mut histogram.cumulative {
                *below *= 2.0;
            }
        }
    }
    check(&run, ClientMetric::FirstToken, Answer::Explained, "it answered others, too");
}

#[test]
fn gaps_agree_unless_one_read_returned_several_tokens() {
    let with_gaps = |gaps_us: fn(usize) -> u32| {
        let mut run = run(0.0, 0.0);
        for block in run.blocks.iter_mut().filter(|block| block.plan.condition == Condition::A) {
            for gaps in &mut block.gaps {
                gaps.gaps_us = (0..18).map(gaps_us).collect();
            }
            // The engine made a token each 21 ms; those that end between the scrapes are counted.
            let seen = block.requests.iter().flat_map(|request| {
                let first_us = request.first_token_ns.unwrap() / 1000;
                (1..=18_u64).map(move |token| first_us + token * 21_000)
            });
            let inside = JUDGED_FROM_NS / 1000..JUDGED_UNTIL_NS / 1000;
            let count = seen.filter(|at_us| inside.contains(at_us)).count();
            let engine = block.observed.engine.as_mut().unwrap();
            engine.histograms.push(histogram("itl_s", &vec![0.021; count]));
        }
        run
    };
    let single = with_gaps(|_| 21_000);
    check(&single, ClientMetric::InterToken, Answer::Agrees, "");
    let pairs = with_gaps(|token| if token % 2 == 0 { 42_000 } else { 10 });
    check(&pairs, ClientMetric::InterToken, Answer::Explained, "that one read returned");
    // An engine that divides the same time by all tokens, the first of each answer included.
    let mut tokens = with_gaps(|_| 21_000);
    for block in tokens.blocks.iter_mut().filter(|block| block.plan.condition == Condition::A) {
        let inside = JUDGED_FROM_NS..JUDGED_UNTIL_NS;
        let first = |ns: Option<u64>| ns.is_some_and(|ns| inside.contains(&ns));
        let answers = block.requests.iter().filter(|r| first(r.first_token_ns)).count();
        let engine = block.observed.engine.as_mut().unwrap();
        let gaps = engine.histograms.iter_mut().find(|h| h.metric == "itl_s").unwrap();
        (gaps.bounds, gaps.cumulative) = (Vec::new(), Vec::new());
        gaps.count += answers as f64;
    }
    check(&tokens, ClientMetric::InterToken, Answer::Agrees, "differ by 0.0 ms");
    let mut several = with_gaps(|_| 21_000);
    several.blocks[0].gaps[0].single_token = false;
    check(&several, ClientMetric::InterToken, Answer::NotCompared, "several tokens");
}

pub(crate) fn gpu(at_ns: u64, used: f64, clock_mhz: f64, held: &[&str]) -> GpuSample {
    GpuSample {
        at_ns,
        uuid: "GPU-1".to_owned(),
        utilization_share: Ok(used),
        memory_used_bytes: Ok(40 << 30),
        sm_clock_mhz: Ok(clock_mhz),
        memory_clock_mhz: Ok(2619.0),
        power_w: Ok(500.0),
        power_limit_w: Ok(700.0),
        temperature_c: Err(Missing("not supported".to_owned())),
        clocks_limited_by: Ok(held.iter().map(|cause| (*cause).to_owned()).collect()),
    }
}

/// Gives every block of a condition a reading a second.
pub(crate) fn with_gpus(
    run: &mut Run,
    condition: Condition,
    mut reading: impl FnMut(u64) -> GpuSample,
) {
    for block in run.blocks.iter_mut().filter(|block| block.plan.condition == condition) {
        block.observed.gpus = (1..50).map(|second| reading(second * SECOND)).collect();
    }
}

fn all_causes(run: &Run) -> Vec<String> {
    causes(&run.blocks.iter().collect::<Vec<_>>())
}

#[test]
fn conditions_at_unequal_clocks_say_so() {
    let mut run = Recipe::good().run();
    with_gpus(&mut run, Condition::A, |at_ns| gpu(at_ns, 0.6, 1965.0, &[]));
    with_gpus(&mut run, Condition::C, |at_ns| gpu(at_ns, 0.9, 1580.0, &["power cap"]));
    let told = all_causes(&run).join("\n");
    assert!(told.contains("1580 MHz in C, 20 % below its 1965 MHz in A"), "{told}");
    assert!(told.contains("held down in 100 % of the readings of C (power cap)"), "{told}");

    let mut equal = Recipe::good().run();
    with_gpus(&mut equal, Condition::A, |at_ns| gpu(at_ns, 0.6, 1965.0, &[]));
    with_gpus(&mut equal, Condition::C, |at_ns| gpu(at_ns, 0.9, 1950.0, &[]));
    assert_eq!(all_causes(&equal), [""; 0]);
}

/// flashinfer-ai/flashinfer#2899: the SM clock falls from 1965 to 1580 MHz under sustained load.
#[test]
fn a_test_b_whose_clock_still_falls_overstates() {
    let mut run = Recipe::good().run();
    with_gpus(&mut run, Condition::B, |at_ns| {
        let second = at_ns as f64 / 1e9;
        gpu(at_ns, 1.0, 1580.0 + 385.0 * (-second / 15.0).exp(), &[])
    });
    let told = all_causes(&run).join("\n");
    assert!(told.contains("a short test B overstates"), "{told}");
    with_gpus(&mut run, Condition::B, |at_ns| gpu(at_ns, 1.0, 1580.0, &[]));
    assert_eq!(all_causes(&run), [""; 0]);
}

/// vllm-project/vllm#31602: after idle seconds the clock is down, and C may look better than A.
#[test]
fn a_gpu_that_ramps_down_when_idle_makes_alone_look_worse() {
    let mut run = Recipe::good().run();
    with_gpus(&mut run, Condition::A, |at_ns| {
        if (at_ns / SECOND).is_multiple_of(3) {
            gpu(at_ns, 0.0, 345.0, &[])
        } else {
            gpu(at_ns, 0.7, 1980.0, &[])
        }
    });
    with_gpus(&mut run, Condition::C, |at_ns| gpu(at_ns, 0.95, 1980.0, &[]));
    let told = all_causes(&run).join("\n");
    assert!(told.contains("C may look better than it is"), "{told}");
}

#[test]
fn readings_stand_by_condition_and_phase_and_what_is_missing_says_why() {
    let mut run = run(0.0, 0.0);
    with_gpus(&mut run, Condition::A, |at_ns| gpu(at_ns, 0.5, 1965.0, &[]));
    for block in &mut run.blocks {
        for sample in &mut block.host {
            let quota_cores = Some(4.0);
            let cpu = CgroupCpu { quota_cores, throttled_share: 0.25, throttled_s: 0.1 };
            sample.cgroup_cpu = Ok(cpu);
            sample.disk_write_bytes_per_s = Ok(1e6);
        }
    }
    // One C block saves for three seconds, and writes a hundred times as much then.
    let saving = run.blocks.iter_mut().find(|block| block.plan.condition == Condition::C).unwrap();
    saving.checkpoints =
        vec![CheckpointRecord { step: 9, at_ns: 20 * SECOND, duration_s: 3.0, bytes: None }];
    for sample in &mut saving.host {
        if (18 * SECOND..=20 * SECOND).contains(&sample.at_ns) {
            sample.disk_write_bytes_per_s = Ok(1e8);
        }
    }
    let members: Vec<_> = run.blocks.iter().map(|block| (block, "chat", "train")).collect();
    let groups = groups(&members);
    let labels: Vec<String> = groups.iter().map(cotenant_core::observed::Group::label).collect();
    assert_eq!(labels, ["A", "B", "C", "C, saving"]);
    assert_eq!(groups[3].phase, Phase::Checkpoint);
    let all = covariates(&groups);
    let row = |name: &str| all.iter().find(|row| row.name == name).unwrap();

    let writes = row("disk writes");
    assert!((writes.groups[3].clone().unwrap().mean - 1e8).abs() < 3e7, "{writes:?}");
    assert!((writes.groups[2].clone().unwrap().p95 - 1e6).abs() < 1.0, "{writes:?}");
    let throttled = row("throttled, share of periods").groups[0].clone().unwrap();
    assert!((throttled.mean - 0.25).abs() < 1e-9);
    assert_eq!(throttled.count, 12 * 40);
    assert_eq!(row("SM clock").groups[1], Err(Missing("no GPU was read".to_owned())));
    assert_eq!(row("GPU temperature").groups[0], Err(Missing("not supported".to_owned())));
    assert!(row("requests running in the engine").groups[1].is_err());
    let running = row("requests running in the engine").groups[0].clone().unwrap();
    assert!((running.mean - 2.0).abs() < 1e-9);
    assert!(row("KV cache in use").groups[0].is_err());
}
