//! The explanation finds what a made-up world was made of, and says what it cannot find.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::time::Duration;

use cotenant_core::evidence::{
    Aspect, Block, BlockFault, Condition, Fingerprint, HostSample, Missing, Observed, Origin,
    Outcome, Phase, Pilot, PlannedBlock, Pressure, RequestRecord, Run, Situation, Stress,
    StressRecord, Stressor, TestedLoad, TokenSource,
};
use cotenant_core::sensitivity::{
    Cause, Curve, Explained, Explanation, PartState, Question, explain, isotonic,
};
use cotenant_core::site::{LatencyMetric, LatencyObjective};
use proptest::prelude::*;

const JUDGED_NS: u64 = 10_000_000_000;
const ALONE_S: f64 = 0.1;

fn objective() -> LatencyObjective {
    LatencyObjective {
        name: "ttft_p95",
        metric: LatencyMetric::Ttft,
        quantile: 0.95,
        target: Duration::from_millis(500),
    }
}

/// What presses in a block, and what that does to inference.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    cores: f64,
    disk_bytes_per_s: f64,
    memory_bytes_per_s: f64,
}

/// The world: 0.3 in the logarithm for each core, 0.5 for each 100 MB/s written, 0.02 for each GB/s
/// of memory, and nothing else.
fn truth(load: Load) -> f64 {
    0.3 * load.cores + 0.5 * load.disk_bytes_per_s / 1e8 + 0.02 * load.memory_bytes_per_s / 1e9
}

fn request(index: u32, scale: f64) -> RequestRecord {
    let intended_ns = u64::from(index) * 100_000_000;
    let ttft_s = ALONE_S * scale * (0.5 + f64::from(index % 20) / 20.0);
    let first_ns = intended_ns + (ttft_s * 1e9) as u64;
    RequestRecord {
        index,
        class: 0,
        intended_ns,
        sent_ns: Some(intended_ns),
        first_token_ns: Some(first_ns),
        first_visible_ns: None,
        last_token_ns: Some(first_ns),
        end_ns: first_ns,
        prompt_tokens: 8,
        output_tokens: 1,
        token_source: TokenSource::Usage,
        gap_longest_ns: None,
        stalls: 0,
        stalled_ns: 0,
        outcome: Outcome::Completed,
    }
}

fn host(at_ns: u64, process: &str, load: Load) -> HostSample {
    let none = || Err(Missing("not made up".to_owned()));
    HostSample {
        at_ns,
        machine_cpu_cores: none(),
        steal_cores: Ok(0.0),
        workload_cpu_cores: vec![(process.to_owned(), Ok(load.cores))],
        workload_memory_bytes: Vec::new(),
        own_cpu_cores: none(),
        cgroup_cpu: Err(Missing("not made up".to_owned())),
        pressure_cpu: Ok(Pressure { some_share: 0.1 * load.cores, full_share: None }),
        pressure_memory: Err(Missing("not made up".to_owned())),
        pressure_io: Err(Missing("not made up".to_owned())),
        memory_available_bytes: Err(Missing("not made up".to_owned())),
        dirty_bytes: Err(Missing("not made up".to_owned())),
        disk_read_bytes_per_s: Ok(1e6),
        // The machine always writes a little.
        disk_write_bytes_per_s: Ok(2e6 + load.disk_bytes_per_s),
        network_receive_bytes_per_s: Ok(1e5),
        network_transmit_bytes_per_s: Ok(1e5),
        cpu_clock_mhz: none(),
        run_queue: Err(Missing("not made up".to_owned())),
    }
}

fn block(plan: PlannedBlock, process: &str, load: Load, log_scale: f64) -> Block {
    let requests = match plan.condition {
        Condition::B => Vec::new(),
        Condition::A | Condition::C => {
            (0..100).map(|index| request(index, log_scale.exp())).collect()
        }
    };
    Block {
        plan,
        started: "2026-11-30T10:00:00Z".parse().unwrap(),
        judged_from_ns: 0,
        judged_until_ns: JUDGED_NS,
        ended_ns: JUDGED_NS,
        requests,
        gaps: Vec::new(),
        steps: Vec::new(),
        checkpoints: Vec::new(),
        drill: None,
        host: (1..10).map(|second| host(second * 1_000_000_000, process, load)).collect(),
        engine_waiting: Vec::new(),
        client: None,
        faults: Vec::new(),
        remarks: Vec::new(),
        load_factor: 1.0,
        observed: Observed::default(),
    }
}

fn planned(condition: Condition, pair: u32, situation: Situation) -> PlannedBlock {
    PlannedBlock { index: 0, condition, pair, remedy: None, phase: Phase::Steady, situation }
}

fn run(id: &str, blocks: Vec<Block>) -> Run {
    let mut fingerprint = Fingerprint::default();
    fingerprint.0.insert(Aspect::Device, "two cores".to_owned());
    Run {
        id: id.to_owned(),
        started: "2026-11-30T10:00:00Z".parse().unwrap(),
        origin: Origin::Measured,
        inference: "chat".to_owned(),
        neighbour: "tune".to_owned(),
        seed: 1,
        fingerprint,
        load: TestedLoad {
            description: "poisson".to_owned(),
            digest: "x".to_owned(),
            rate_per_s: 10.0,
            prompt_tokens_p50: 8,
            prompt_tokens_p95: 8,
            output_tokens_p50: 1,
            output_tokens_p95: 1,
        },
        pilot: Pilot {
            requests: 0,
            ttft_p95_s: None,
            itl_p95_s: None,
            steps: 0,
            step_s: None,
            warm_up_s: 0.0,
        },
        audits: Vec::new(),
        remedies: Vec::new(),
        schedule: Vec::new(),
        blocks,
        engine_supervised: true,
    }
}

/// What a stressor does at a dose: every one of them runs on cores too.
fn stressing(stress: Stress) -> Load {
    let dose = f64::from(stress.dose);
    match stress.stressor {
        Stressor::Cpu => Load { cores: dose * 2.0 / 3.0, ..Load::default() },
        Stressor::DiskSync => {
            Load { cores: 0.1 * dose, disk_bytes_per_s: 1e8 * dose, ..Load::default() }
        }
        Stressor::MemoryBandwidth => {
            Load { cores: dose * 2.0 / 3.0, memory_bytes_per_s: 5e9 * dose, ..Load::default() }
        }
        _ => Load::default(),
    }
}

/// Some noise that is the same each time, within ±size.
fn noise(seed: u32, size: f64) -> f64 {
    let mixed = seed.wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(40_503);
    size * (f64::from(mixed) / f64::from(u32::MAX) * 2.0 - 1.0)
}

/// A run under stress of three resources, with a drift from round to round that every block of a
/// round shares.
fn stressed(rounds: u32) -> Run {
    let mut blocks = Vec::new();
    for round in 0..rounds {
        for stressor in [Stressor::Cpu, Stressor::DiskSync, Stressor::MemoryBandwidth] {
            for dose in 0..=3 {
                let stress = Stress { stressor, dose };
                let load = if dose == 0 { Load::default() } else { stressing(stress) };
                let plan = planned(Condition::A, round, Situation::Stressed(stress));
                let seed = blocks.len() as u32;
                let log = truth(load) + 0.2 * f64::from(round % 3) + noise(seed, 0.01);
                let mut block = block(plan, Stressor::PROCESS, load, log);
                block.observed.stress = (dose > 0).then(|| StressRecord {
                    unit: if stressor == Stressor::Cpu { "cores" } else { "B/s" }.to_owned(),
                    calibrated: 2.0,
                    asked: None,
                    reached: vec![(
                        1,
                        match stressor {
                            Stressor::Cpu => load.cores,
                            Stressor::DiskSync => load.disk_bytes_per_s,
                            _ => load.memory_bytes_per_s,
                        },
                    )],
                    remarks: Vec::new(),
                });
                blocks.push(block);
            }
        }
    }
    run("20261130T100000Z-sensitivity", blocks)
}

/// A run of A, B and C with a neighbour of this load, and something that nobody stressed.
fn compared(neighbour: Load, hidden: f64) -> Run {
    let mut blocks =
        vec![block(planned(Condition::B, 0, Situation::Ordinary), "tune", neighbour, 0.0)];
    for pair in 0..8 {
        let drift = 0.1 * f64::from(pair % 4);
        let alone = planned(Condition::A, pair, Situation::Ordinary);
        blocks.push(block(alone, "tune", Load::default(), drift + noise(pair + 900, 0.01)));
        let log = truth(neighbour) + hidden + drift + noise(pair + 1900, 0.01);
        blocks.push(block(
            planned(Condition::C, pair, Situation::Ordinary),
            "tune",
            neighbour,
            log,
        ));
    }
    run("20261130T090000Z-abc", blocks)
}

fn asked(runs: &[Run]) -> Option<Explanation> {
    let objectives = [objective()];
    explain(&Question {
        runs,
        site_file: "site.yaml",
        inference: "chat",
        neighbour: Some("tune"),
        objectives: &objectives,
    })
}

fn told(runs: &[Run]) -> (Explanation, Explained) {
    let explanation = asked(runs).unwrap();
    let explained = explanation.objectives[0].clone();
    (explanation, explained)
}

#[track_caller]
fn near(value: f64, wanted: f64, tolerance: f64) {
    assert!((value - wanted).abs() <= tolerance, "{value} is not {wanted} ± {tolerance}");
}

#[test]
fn a_world_of_known_responses_is_recovered() {
    let neighbour = Load { cores: 1.0, disk_bytes_per_s: 5e7, memory_bytes_per_s: 0.0 };
    let (explanation, explained) = told(&[compared(neighbour, 0.0), stressed(6)]);
    assert_eq!((explanation.rounds, explanation.blocks, explanation.blocks_left_out), (6, 72, 0));
    for response in &explained.responses {
        let stress = Stress { stressor: response.stressor, dose: response.dose };
        let effect = response.effect.unwrap();
        near(effect.ratio.ln(), truth(stressing(stress)), 0.02);
        let (lower, upper) = effect.interval.unwrap();
        assert!(lower <= effect.ratio && effect.ratio <= upper, "{response:?}");
    }
    // The 95th percentile of 100 requests is the 95th: 0.5 + 18/20 or so of the scale.
    near(explained.alone_s.unwrap().ln(), (ALONE_S * 1.4_f64).ln() + 0.2, 0.02);
    let prediction = explained.prediction.unwrap();
    near(prediction.effect.ratio.ln(), 0.3 + 0.25, 0.03);
    near(explained.measured.unwrap().ratio.ln(), 0.55, 0.02);
    near(explained.unexplained.unwrap().ratio, 1.0, 0.03);
    let (lower, upper) = explained.unexplained.unwrap().interval.unwrap();
    assert!(lower < 1.03 && upper > 0.97 && lower <= upper, "{lower} {upper}");
    assert_eq!(explained.cause, Cause::Resource(Stressor::Cpu), "{}", explained.sentence);
    assert!(explained.sentence.contains("CPU"), "{}", explained.sentence);
}

#[test]
fn the_cores_of_another_stressor_are_not_its_own_effect() {
    let neighbour = Load { cores: 0.0, disk_bytes_per_s: 1.5e8, memory_bytes_per_s: 0.0 };
    let (explanation, explained) = told(&[compared(neighbour, 0.0), stressed(6)]);
    let prediction = explained.prediction.unwrap();
    let disk = prediction.parts.iter().find(|part| part.stressor == Stressor::DiskSync).unwrap();
    // The disk's stressor uses 0.1 cores a dose, which is 0.03 of its gross response.
    near(disk.effect.ratio.ln(), 0.75, 0.02);
    assert_eq!(
        (disk.state, &explained.cause),
        (PartState::Tested, &Cause::Resource(Stressor::DiskSync))
    );
    let resource = &explanation.resources[2];
    assert_eq!(resource.stressor, Stressor::DiskSync);
    near(resource.neighbour.value.unwrap(), 1.5e8, 1.0);
    near(resource.doses[1].pressure.unwrap(), 2e8, 1.0);
}

#[test]
fn memory_without_a_counter_is_bounded_and_stands_apart() {
    let neighbour = Load { cores: 1.0, ..Load::default() };
    let (explanation, explained) = told(&[compared(neighbour, 0.0), stressed(6)]);
    let memory = &explanation.resources[1];
    assert_eq!(memory.stressor, Stressor::MemoryBandwidth);
    // One core of the stressor moves 7.5 GB/s, and the neighbour has one core.
    assert_eq!(memory.neighbour.value, None);
    near(memory.neighbour.at_most.unwrap(), 7.5e9, 1e6);
    let prediction = explained.prediction.unwrap();
    assert!(prediction.is_floor);
    near(prediction.more_at_most.ln(), 0.15, 0.02);
    near(prediction.effect.ratio.ln(), 0.3, 0.02);
}

#[test]
fn what_nobody_stressed_stays_unexplained() {
    let idle = Load { cores: 0.02, ..Load::default() };
    let (_, explained) = told(&[compared(idle, 0.5), stressed(6)]);
    assert_eq!(explained.cause, Cause::None);
    near(explained.unexplained.unwrap().ratio.ln(), 0.494, 0.03);
    assert!(
        explained.sentence.contains("no tested resource explains it"),
        "{}",
        explained.sentence
    );
    assert!(explained.sentence.contains("remains unexplained"), "{}", explained.sentence);
    // The same with a cause that is a part of it alone.
    let disk = Load { disk_bytes_per_s: 5e7, ..Load::default() };
    let (_, explained) = told(&[compared(disk, 0.6), stressed(6)]);
    assert_eq!(explained.cause, Cause::Several(vec![Stressor::DiskSync]));
}

#[test]
fn a_neighbour_that_costs_nothing_needs_no_cause() {
    let (_, explained) = told(&[compared(Load::default(), 0.0), stressed(6)]);
    assert_eq!(explained.cause, Cause::NothingToExplain, "{}", explained.sentence);
}

#[test]
fn beyond_the_largest_dose_nothing_is_extrapolated() {
    let heavy = Load { cores: 0.0, disk_bytes_per_s: 9e8, memory_bytes_per_s: 0.0 };
    let (_, explained) = told(&[compared(heavy, 0.0), stressed(6)]);
    let prediction = explained.prediction.unwrap();
    let disk = prediction.parts.iter().find(|part| part.stressor == Stressor::DiskSync).unwrap();
    assert_eq!(disk.state, PartState::Beyond);
    near(disk.effect.ratio.ln(), 1.5, 0.02);
    assert!(prediction.is_floor);
    assert!(explained.sentence.contains("beyond what was tested"), "{}", explained.sentence);
}

#[test]
fn a_dose_at_which_requests_do_not_complete_is_no_point() {
    let mut stressed = stressed(4);
    for block in &mut stressed.blocks {
        let dead = Stress { stressor: Stressor::DiskSync, dose: 3 };
        if block.plan.situation == Situation::Stressed(dead) && block.plan.pair == 1 {
            for request in &mut block.requests[..10] {
                request.outcome = Outcome::TimedOut;
            }
        }
    }
    let neighbour = Load { disk_bytes_per_s: 2.9e8, ..Load::default() };
    let (_, explained) = told(&[compared(neighbour, 0.0), stressed]);
    let response = explained
        .responses
        .iter()
        .find(|response| response.stressor == Stressor::DiskSync && response.dose == 3)
        .unwrap();
    assert_eq!((response.effect, response.unbounded), (None, 1));
    let prediction = explained.prediction.unwrap();
    let disk = prediction.parts.iter().find(|part| part.stressor == Stressor::DiskSync).unwrap();
    assert_eq!(disk.state, PartState::Beyond, "dose 2 is the last that was tested");
}

#[test]
fn what_is_missing_is_told_with_its_command() {
    let (explanation, explained) = told(&[stressed(3)]);
    let commands: Vec<&str> =
        explanation.missing.iter().map(|missing| missing.command.as_str()).collect();
    assert_eq!(
        commands,
        ["cotenant measure site.yaml --tests b", "cotenant measure site.yaml --tests a,c"]
    );
    assert_eq!((explained.prediction, explained.measured), (None, None));
    assert_eq!(explained.cause, Cause::Unknown);
    assert!(explained.responses.iter().all(|response| response.effect.is_some()));
    assert!(explanation.remarks.iter().any(|remark| remark.contains("too narrow")));
    assert_eq!(asked(&[compared(Load::default(), 0.0)]), None);
    assert_eq!(asked(&[]), None);
}

#[test]
fn blocks_of_another_stack_or_load_or_with_faults_are_left_out() {
    let neighbour = Load { cores: 1.0, ..Load::default() };
    let mut other_stack = compared(neighbour, 3.0);
    other_stack.fingerprint.0.insert(Aspect::Device, "four cores".to_owned());
    let mut other_load = compared(neighbour, 3.0);
    other_load.load.rate_per_s = 20.0;
    let mut stressed = stressed(6);
    let fault = BlockFault::Steal { cores: 1.0, cores_max: 0.1 };
    stressed.blocks[1].faults.push(fault.clone());
    let right = compared(neighbour, 0.0);
    let runs = [other_stack, other_load, right, stressed];
    let (explanation, explained) = told(&runs);
    assert_eq!((explanation.blocks, explanation.blocks_left_out), (71, 1));
    assert_eq!(explained.pairs, 8);
    near(explained.measured.unwrap().ratio.ln(), 0.3, 0.02);
    let left: Vec<&String> =
        explanation.remarks.iter().filter(|remark| remark.contains("left out")).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].contains("four cores") || left[1].contains("four cores"));
}

#[test]
fn the_same_evidence_gives_the_same_answer() {
    let neighbour = Load { cores: 1.0, ..Load::default() };
    let runs = [compared(neighbour, 0.1), stressed(5)];
    assert_eq!(asked(&runs), asked(&runs));
}

proptest! {
    #[test]
    fn isotonic_values_never_fall_and_keep_their_mean(
        values in proptest::collection::vec(-10.0_f64..10.0, 0..30),
    ) {
        let fitted = isotonic(&values);
        prop_assert_eq!(fitted.len(), values.len());
        prop_assert!(fitted.windows(2).all(|two| two[0] <= two[1] + 1e-12));
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        prop_assert!((sum(&fitted) - sum(&values)).abs() < 1e-9);
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        prop_assert_eq!(isotonic(&sorted), sorted);
    }

    #[test]
    fn a_curve_never_falls_and_never_leaves_its_points(
        points in proptest::collection::vec((0.0_f64..10.0, -2.0_f64..5.0), 0..6),
        at in 0.0_f64..12.0,
        more in 0.0_f64..5.0,
    ) {
        let most = points.iter().map(|(_, response)| *response).fold(0.0, f64::max);
        let curve = Curve::new(points);
        let (low, high) = (curve.at(at), curve.at(at + more));
        prop_assert!(0.0 <= low && low <= high + 1e-12 && high <= most + 1e-12, "{low} {high}");
        prop_assert_eq!(curve.at(0.0), 0.0);
    }
}
