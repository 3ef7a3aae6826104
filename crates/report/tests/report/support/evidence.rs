//! A run that never ran: its numbers come from a small generator with a fixed seed.

use std::collections::BTreeMap;

use cotenant_core::evidence::{
    Aspect, Block, BlockFault, CgroupCpu, CheckpointRecord, ChunkGaps, ClientHealth, Condition,
    EnforcementAudit, EngineGauge, EngineHistogram, EngineObservation, Fingerprint, HostSample,
    Missing, Observed, Origin, Outcome, Phase, Pilot, PlannedBlock, Pressure, ReclaimDrill, Remedy,
    RequestRecord, ResumeCheck, Run, Situation, StepRecord, TestedLoad, TokenSource,
};

const SECOND: u64 = 1_000_000_000;
const BLOCK_S: u64 = 24;
const REQUESTS: u32 = 80;

/// A multiplicative congruential generator: good enough for a picture, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A skewed positive number around `median`.
    fn skewed(&mut self, median: f64, spread: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        // A whole number of microseconds: the last bits of `exp` differ between C libraries.
        (median * (spread * normal).exp() * 1e6).round() / 1e6
    }
}

/// A run of `rounds` rounds of A, C, B (and C under a remedy).
pub(crate) fn made_up_run(rounds: u32, remedy: bool) -> Run {
    let mut dice = Dice(20_261_130);
    let started = jiff::Timestamp::constant(1_796_029_200, 0);
    let mut schedule = Vec::new();
    for round in 0..rounds {
        let mut plan = |condition, remedy| {
            let phase = if condition == Condition::C && round % 2 == 1 {
                Phase::Checkpoint
            } else {
                Phase::Steady
            };
            schedule.push(PlannedBlock {
                index: schedule.len() as u32,
                condition,
                pair: round,
                remedy,
                phase,
                situation: Situation::Ordinary,
            });
        };
        let (first, second) = if round % 2 == 0 {
            (Condition::A, Condition::C)
        } else {
            (Condition::C, Condition::A)
        };
        plan(first, None);
        plan(second, None);
        plan(Condition::B, None);
        if remedy {
            plan(Condition::C, Some(Remedy::IdlePriority));
        }
    }
    let blocks = schedule
        .iter()
        .map(|plan| {
            let offset = i64::from(plan.index) * (BLOCK_S as i64 + 3);
            block(&mut dice, *plan, started + jiff::SignedDuration::from_secs(offset))
        })
        .collect();
    Run {
        id: "20261130T090000Z-abc".to_owned(),
        started,
        origin: Origin::Measured,
        inference: "chat".to_owned(),
        neighbour: "tune".to_owned(),
        seed: 7,
        fingerprint: fingerprint(),
        load: TestedLoad {
            description: "Poisson".to_owned(),
            digest: "5f2b0c9d4e1a7788aa00".to_owned(),
            rate_per_s: 4.0,
            prompt_tokens_p50: 64,
            prompt_tokens_p95: 180,
            output_tokens_p50: 24,
            output_tokens_p95: 60,
        },
        pilot: Pilot {
            requests: 60,
            ttft_p95_s: Some(0.2),
            itl_p95_s: Some(0.05),
            steps: 20,
            step_s: Some(0.9),
            warm_up_s: 2.5,
        },
        audits: vec![EnforcementAudit {
            mechanism: "trainer at idle CPU priority".to_owned(),
            ratio_expected: 0.01,
            ratio_measured: 0.0127,
            binds: true,
            method: "two busy loops on one core, one at each priority, for 2 s".to_owned(),
        }],
        remedies: if remedy { vec![Remedy::IdlePriority] } else { Vec::new() },
        schedule,
        blocks,
        engine_supervised: true,
    }
}

fn fingerprint() -> Fingerprint {
    let mut aspects = BTreeMap::new();
    for (aspect, value) in [
        (Aspect::Device, "2 × Example CPU 9000"),
        (Aspect::VisibleDevices, "cores 0-1"),
        (Aspect::Kernel, "Linux 6.18"),
        (Aspect::Engine, "cotenant-engine 0.1.0"),
        (Aspect::EngineArguments, "serve --layers 4 --width 256 --threads 1"),
        (Aspect::Model, "seeded decoder, 4 layers, width 256"),
        (Aspect::Trainer, "cotenant-engine 0.1.0"),
        (Aspect::TrainerArguments, "train --layers 4 --width 256 --batch 8"),
        (Aspect::Sharing, "CPU scheduler, no limit"),
        (Aspect::Client, "cotenant 0.1.0"),
    ] {
        aspects.insert(aspect, value.to_owned());
    }
    Fingerprint(aspects)
}

/// How a condition behaves: TTFT and gap medians (seconds), their spread, and the step time.
fn character(plan: &PlannedBlock) -> (f64, f64, f64, f64) {
    match (plan.condition, plan.remedy) {
        (Condition::A | Condition::B, _) => (0.09, 0.03, 0.28, 0.92),
        (Condition::C, None) => (0.19, 0.055, 0.55, 1.28),
        (Condition::C, Some(_)) => (0.105, 0.034, 0.34, 1.46),
    }
}

fn block(dice: &mut Dice, plan: PlannedBlock, started: jiff::Timestamp) -> Block {
    let (ttft, gap, spread, step) = character(&plan);
    let checkpoint = plan.condition == Condition::C && plan.phase == Phase::Checkpoint;
    let (mut requests, mut gaps) = (Vec::new(), Vec::new());
    if plan.condition != Condition::B {
        for index in 0..REQUESTS {
            let (request, chunk) = request(dice, index, ttft, gap, spread, checkpoint);
            requests.push(request);
            gaps.push(chunk);
        }
    }
    let drill = (plan.condition == Condition::C).then(|| drill(dice, plan.index));
    let steps = if plan.condition == Condition::A { Vec::new() } else { steps(dice, step) };
    let checkpoints = if checkpoint {
        vec![CheckpointRecord {
            step: 9,
            at_ns: 12 * SECOND,
            duration_s: 1.4,
            bytes: Some(31 << 20),
        }]
    } else {
        Vec::new()
    };
    let rejected = plan.index == 7;
    let engine = (plan.condition != Condition::B).then(|| engine(&requests));
    let host = (0..BLOCK_S).map(|second| sample(dice, &plan, second, rejected)).collect();
    Block {
        plan,
        started,
        judged_from_ns: 5 * SECOND / 2,
        judged_until_ns: 21 * SECOND,
        ended_ns: BLOCK_S * SECOND,
        client: (plan.condition != Condition::B).then(|| client(dice)),
        requests,
        gaps,
        steps,
        checkpoints,
        drill,
        host,
        engine_waiting: Vec::new(),
        faults: if rejected {
            vec![BlockFault::Steal { cores: 0.31, cores_max: 0.05 }]
        } else {
            Vec::new()
        },
        remarks: if plan.index == 4 {
            vec!["other processes used 0.08 cores for 2 s".to_owned()]
        } else {
            Vec::new()
        },
        load_factor: 1.0,
        observed: Observed { engine, ..Observed::default() },
    }
}

/// An engine whose clock sees each request half a millisecond after it was sent, and whose queue is
/// a tenth of the time to first token.
fn engine(requests: &[RequestRecord]) -> EngineObservation {
    let judged = 5 * SECOND / 2..21 * SECOND;
    let first: Vec<f64> = requests
        .iter()
        .filter_map(|request| {
            let first_ns = request.first_token_ns.filter(|ns| judged.contains(ns))?;
            Some((first_ns - request.sent_ns? - 500_000) as f64 / 1e9)
        })
        .collect();
    let part = |share: f64| first.iter().map(|first_s| first_s * share).collect::<Vec<_>>();
    EngineObservation {
        engine: "embedded engine".to_owned(),
        from_ns: judged.start,
        until_ns: judged.end,
        histograms: vec![
            histogram("ttft_s", &first),
            histogram("queue_time_s", &part(0.1)),
            histogram("prefill_s", &part(0.9)),
        ],
        counters: vec![
            ("finished_requests".to_owned(), first.len() as f64),
            ("preemptions".to_owned(), 0.0),
        ],
        gauges: vec![EngineGauge {
            metric: "running_requests".to_owned(),
            readings: (0..BLOCK_S).map(|second| (second * SECOND, (second % 3) as f64)).collect(),
        }],
        remarks: vec!["vllm:a and vllm:b tell the same: read once".to_owned()],
    }
}

fn histogram(metric: &str, values_s: &[f64]) -> EngineHistogram {
    let bounds = vec![0.025, 0.05, 0.1, 0.25, 0.5, 1.0, f64::INFINITY];
    let below = |bound: &f64| values_s.iter().filter(|value| *value <= bound).count() as f64;
    EngineHistogram {
        metric: metric.to_owned(),
        cumulative: bounds.iter().map(below).collect(),
        bounds,
        count: values_s.len() as f64,
        sum: Some((values_s.iter().sum::<f64>() * 1e6).round() / 1e6),
    }
}

fn request(
    dice: &mut Dice,
    index: u32,
    ttft: f64,
    gap: f64,
    spread: f64,
    checkpoint: bool,
) -> (RequestRecord, ChunkGaps) {
    let intended_ns = (f64::from(index) / f64::from(REQUESTS) * 21.0 * 1e9) as u64;
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let sent = intended_ns + ns(dice.skewed(0.0004, 0.5));
    let first = intended_ns + ns(dice.skewed(ttft, spread));
    let tokens = 8 + (dice.uniform() * 40.0) as u32;
    let mut gaps_us: Vec<u32> =
        (1..tokens).map(|_| (dice.skewed(gap, spread / 2.0) * 1e6) as u32).collect();
    // A checkpoint stalls the answers that are open while it is written.
    let stalled = checkpoint && (10.0..12.5).contains(&(intended_ns as f64 / 1e9));
    if stalled && let Some(gap) = gaps_us.first_mut() {
        *gap += 420_000;
    }
    let failed = ttft > 0.15 && index % 41 == 17;
    let total_us: u64 = gaps_us.iter().map(|gap| u64::from(*gap)).sum();
    let last = first + total_us * 1000;
    let longest = gaps_us.iter().copied().max();
    let request = RequestRecord {
        index,
        class: 0,
        intended_ns,
        sent_ns: Some(sent),
        first_token_ns: (!failed).then_some(first),
        first_visible_ns: None,
        last_token_ns: (!failed).then_some(last),
        end_ns: last + 200_000,
        prompt_tokens: 64,
        output_tokens: tokens,
        token_source: TokenSource::Usage,
        gap_longest_ns: longest.map(|gap| u64::from(gap) * 1000),
        stalls: u32::from(stalled),
        stalled_ns: if stalled { 420_000_000 } else { 0 },
        outcome: if failed { Outcome::TimedOut } else { Outcome::Completed },
    };
    (request, ChunkGaps { request: index, single_token: true, gaps_us })
}

fn steps(dice: &mut Dice, median: f64) -> Vec<StepRecord> {
    let mut at = 0.4;
    let mut steps = Vec::new();
    for step in 1.. {
        let duration = dice.skewed(median, 0.06);
        at += duration;
        if at > 22.0 {
            break;
        }
        steps.push(StepRecord {
            step,
            at_ns: (at * 1e9) as u64,
            duration_s: Some(duration),
            loss: Some(5.0 - 0.02 * step as f64),
            tokens: Some(1024),
        });
    }
    steps
}

fn drill(dice: &mut Dice, index: u32) -> ReclaimDrill {
    let boundary = dice.skewed(0.6, 0.4);
    let checkpoint = dice.skewed(0.42, 0.1);
    let exit = boundary + checkpoint + dice.skewed(0.12, 0.3);
    let failed = index == 12;
    ReclaimDrill {
        driver: "signal TERM".to_owned(),
        signal_ns: 21 * SECOND,
        step_boundary_s: Some(boundary),
        checkpoint_s: Some(checkpoint),
        exit_s: Some(exit),
        memory_free_s: Some(exit + dice.skewed(0.05, 0.3)),
        held: Vec::new(),
        engine_ready_s: None,
        first_token_s: Some(exit + dice.skewed(0.4, 0.2)),
        last_step: Some(15),
        checkpoint_step: Some(15),
        failure: None,
        resume: Some(ResumeCheck {
            first_step_s: Some(dice.skewed(1.9, 0.1)),
            restore_s: Some(0.4),
            steady_s: Some(dice.skewed(2.6, 0.1)),
            step_before_s: Some(0.7),
            first_step: if failed { 13 } else { 16 },
            lost_steps: if failed { 3 } else { 0 },
            loss_before: Some(4.7),
            loss_after: Some(4.69),
            loss_tolerance: Some(0.05),
            failure: failed.then(|| "3 steps had to be done again".to_owned()),
        }),
    }
}

fn sample(dice: &mut Dice, plan: &PlannedBlock, second: u64, stolen: bool) -> HostSample {
    let (inference, trainer, pressure) = match (plan.condition, plan.remedy) {
        (Condition::A, _) => (0.62, 0.0, 0.03),
        (Condition::B, _) => (0.0, 0.98, 0.02),
        (Condition::C, None) => (0.71, 0.93, 0.34),
        (Condition::C, Some(_)) => (0.66, 0.74, 0.12),
    };
    let mut near = |value: f64| value * (0.95 + 0.1 * dice.uniform());
    let (inference, trainer) = (near(inference), near(trainer));
    let client = if plan.condition == Condition::B { 0.01 } else { near(0.06) };
    let foreign = near(0.03);
    let mut workloads = Vec::new();
    if plan.condition != Condition::B {
        workloads.push(("chat".to_owned(), Ok(inference)));
    }
    if plan.condition != Condition::A {
        workloads.push(("tune".to_owned(), Ok(trainer)));
    }
    HostSample {
        at_ns: second * SECOND,
        machine_cpu_cores: Ok(inference + trainer + client + foreign),
        steal_cores: Ok(if stolen { 0.31 } else { 0.0 }),
        workload_cpu_cores: workloads,
        workload_memory_bytes: vec![("chat".to_owned(), Ok(210 << 20))],
        own_cpu_cores: Ok(client),
        cgroup_cpu: Ok(CgroupCpu { quota_cores: None, throttled_share: 0.0, throttled_s: 0.0 }),
        pressure_cpu: Ok(Pressure { some_share: near(pressure), full_share: None }),
        pressure_memory: Ok(Pressure { some_share: 0.0, full_share: Some(0.0) }),
        pressure_io: Ok(Pressure { some_share: near(0.004), full_share: Some(0.0) }),
        memory_available_bytes: Ok(6 << 30),
        dirty_bytes: Ok(12 << 20),
        disk_read_bytes_per_s: Ok(0.0),
        disk_write_bytes_per_s: Ok(near(2.2e6)),
        network_receive_bytes_per_s: Ok(900.0),
        network_transmit_bytes_per_s: Ok(700.0),
        cpu_clock_mhz: Err(Missing("/proc/cpuinfo names no clock on this machine".to_owned())),
        run_queue: Ok(2),
    }
}

fn client(dice: &mut Dice) -> ClientHealth {
    ClientHealth {
        requests_planned: REQUESTS,
        requests_sent: REQUESTS,
        lateness_p50_s: dice.skewed(0.0003, 0.1),
        lateness_p99_s: dice.skewed(0.0014, 0.2),
        lateness_max_s: dice.skewed(0.003, 0.3),
        cpu_s: dice.skewed(0.9, 0.1),
        run_queue_wait_s: Some(dice.skewed(0.05, 0.3)),
        streams_open_max: 9,
    }
}
