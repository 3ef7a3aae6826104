//! A run with everything in it, for the tests of the evidence on disk.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cotenant_core::evidence::{
    Aspect, Block, BlockFault, CgroupCpu, ChangeKind, ChangePart, CheckpointRecord, ChunkGaps,
    ClientHealth, Condition, Direction, Disturbance, EnforcementAudit, EngineGauge,
    EngineHistogram, EngineObservation, Fingerprint, GpuSample, HandChange, HeldMemory, HostSample,
    Missing, Observed, Origin, Outcome, Phase, Pilot, PlannedBlock, Pressure, ReclaimDrill, Remedy,
    RequestRecord, ResumeCheck, Situation, StepRecord, StressRecord, TestedLoad, TokenSource,
};
use cotenant_records::evidence::{ReadWhat, RunPlan, RunStatus, Store, StoredEvidence};
use jiff::Timestamp;

pub(crate) const ALL: ReadWhat = ReadWhat { gaps: true };

/// Every outcome there is.
pub(crate) const OUTCOMES: [Outcome; 12] = [
    Outcome::Completed,
    Outcome::CompletedWithoutUsage,
    Outcome::Refused(429),
    Outcome::HttpError(500),
    Outcome::ConnectFailed,
    Outcome::Reset,
    Outcome::Truncated,
    Outcome::Stalled,
    Outcome::TimedOut,
    Outcome::Malformed,
    Outcome::StreamError,
    Outcome::Cancelled,
];

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn plan() -> RunPlan {
    let planned = |index, condition, pair, remedy, phase| PlannedBlock {
        index,
        condition,
        pair,
        remedy,
        phase,
        situation: Situation::Ordinary,
    };
    RunPlan {
        started: at("2026-11-30T14:32:07.123456789Z"),
        origin: Origin::Measured,
        inference: "chat".to_owned(),
        neighbour: "fine-tune".to_owned(),
        seed: u64::MAX - 1,
        fingerprint: Fingerprint(BTreeMap::from([
            (Aspect::Device, "2 cores of Ünknown".to_owned()),
            (Aspect::EngineArguments, "--threads \"1\"\n".to_owned()),
        ])),
        load: TestedLoad {
            description: "poisson".to_owned(),
            digest: "ab12".to_owned(),
            rate_per_s: 0.1 + 0.2,
            prompt_tokens_p50: 100,
            prompt_tokens_p95: 900,
            output_tokens_p50: 32,
            output_tokens_p95: 256,
        },
        pilot: Pilot {
            requests: 40,
            ttft_p95_s: Some(0.512_345_678_901_234_5),
            itl_p95_s: None,
            steps: 9,
            step_s: Some(1.0 / 3.0),
            warm_up_s: 2.5,
        },
        remedies: vec![Remedy::IdlePriority],
        engine_supervised: true,
        site_digest: "cd34".to_owned(),
        warm_up_s: 2.5,
        block_s: 10.0,
        tail_s: 4.0,
        options: BTreeMap::from([("trace".to_owned(), "conv.csv".to_owned())]),
        schedule: vec![
            planned(0, Condition::A, 0, None, Phase::Steady),
            planned(1, Condition::C, 0, None, Phase::Checkpoint),
            planned(2, Condition::B, 0, None, Phase::Steady),
            planned(3, Condition::C, 1, Some(Remedy::IdlePriority), Phase::Steady),
        ],
    }
}

/// A block with every kind of record, `requests` requests of every outcome among them.
pub(crate) fn block(plan: &RunPlan, index: u32, requests: u32) -> Block {
    let planned = plan.schedule[index as usize];
    let (serves, trains) = (planned.condition != Condition::B, planned.condition != Condition::A);
    let requests = if serves { requests } else { 0 };
    Block {
        plan: planned,
        started: at("2026-11-30T14:33:00.5Z"),
        judged_from_ns: 2_500_000_000,
        judged_until_ns: 12_500_000_000,
        ended_ns: 16_000_000_001,
        requests: (0..requests).map(request).collect(),
        gaps: (0..requests).step_by(3).map(gaps).collect(),
        steps: if trains { (0..7).map(step).collect() } else { Vec::new() },
        checkpoints: if trains { checkpoints() } else { Vec::new() },
        drill: (planned.condition == Condition::C).then(drill),
        host: (0..3).map(host).collect(),
        engine_waiting: vec![(1, 0.0), (1_000_000_000, 2.5)],
        client: serves.then(client),
        faults: if index == 0 { faults() } else { Vec::new() },
        remarks: vec!["the page cache was cold".to_owned(), String::new()],
        load_factor: 1.25,
        observed: observed(),
    }
}

fn observed() -> Observed {
    let histogram = EngineHistogram {
        metric: "queue_time_s".to_owned(),
        bounds: vec![0.3, 1.0, f64::INFINITY],
        cumulative: vec![3.0, 4.0, 5.0],
        count: 5.0,
        sum: Some(4.75),
    };
    let gauge =
        EngineGauge { metric: "running_requests".to_owned(), readings: vec![(7, 0.0), (9, 3.0)] };
    Observed {
        engine: Some(EngineObservation {
            engine: "vLLM 0.32.0".to_owned(),
            from_ns: 1,
            until_ns: 2_000_000_000,
            histograms: vec![histogram],
            counters: vec![("preemptions".to_owned(), 2.0)],
            gauges: vec![gauge],
            remarks: vec!["two families told the same".to_owned()],
        }),
        gpus: vec![gpu()],
        disturbance: Some(Disturbance {
            what: "SIGKILL to `train`".to_owned(),
            began_ns: 5,
            ended_ns: Some(6),
            yielded_ns: None,
            inference_recovered_ns: Some(u64::MAX),
            neighbour_recovered_ns: None,
            requests_late: Some((3, 20)),
            remarks: vec![String::new()],
        }),
        stress: Some(StressRecord {
            unit: "B/s".to_owned(),
            calibrated: 1.5e10,
            asked: None,
            reached: vec![(1_000_000_007, 1.25e10), (2_000_000_009, f64::INFINITY)],
            remarks: vec!["bounded by memory".to_owned()],
        }),
        changes: vec![change()],
    }
}

fn change() -> HandChange {
    HandChange {
        kind: ChangeKind::EngineStart,
        what: "vllm".to_owned(),
        direction: Direction::ToInference,
        began_ns: 7,
        total_s: Some(59.0),
        parts: vec![ChangePart { name: "init engine".to_owned(), seconds: 34.1, logged: true }],
        failure: None,
        remarks: vec!["the cache was cold".to_owned()],
    }
}

fn gpu() -> GpuSample {
    GpuSample {
        at_ns: 1_000_000_000,
        uuid: "MIG-4d1b".to_owned(),
        utilization_share: Err(Missing("a MIG device has none".to_owned())),
        memory_used_bytes: Ok(1 << 34),
        sm_clock_mhz: Ok(1980.0),
        memory_clock_mhz: Ok(2619.0),
        power_w: Ok(312.5),
        power_limit_w: Ok(700.0),
        temperature_c: Err(Missing("no permission".to_owned())),
        clocks_limited_by: Ok(vec!["power cap".to_owned()]),
    }
}

fn request(index: u32) -> RequestRecord {
    let intended_ns = u64::from(index) * 7_654_321 + 13;
    let outcome = OUTCOMES[index as usize % OUTCOMES.len()];
    let answered = outcome.is_complete();
    RequestRecord {
        index,
        class: (index % 3) as u16,
        intended_ns,
        sent_ns: (outcome != Outcome::ConnectFailed).then_some(intended_ns + 40_000),
        first_token_ns: answered.then_some(intended_ns + 123_456_789),
        first_visible_ns: index.is_multiple_of(2).then_some(intended_ns + 223_456_789),
        last_token_ns: answered.then_some(intended_ns + 2_123_456_789),
        end_ns: intended_ns + 2_200_000_000,
        prompt_tokens: 100 + index,
        output_tokens: index % 200,
        token_source: if outcome == Outcome::Completed {
            TokenSource::Usage
        } else {
            TokenSource::Chunks
        },
        gap_longest_ns: answered.then_some(80_000_000),
        stalls: index % 2,
        stalled_ns: u64::from(index) * 1_000,
        outcome,
    }
}

fn gaps(request: u32) -> ChunkGaps {
    let gaps_us = (0..request % 50).map(|n| 20_000 + n * 37 % 900).collect();
    ChunkGaps { request, single_token: request.is_multiple_of(2), gaps_us }
}

fn step(n: u64) -> StepRecord {
    StepRecord {
        step: 100 + n,
        at_ns: n * 1_900_000_000,
        duration_s: (n != 2).then_some(1.9 + n as f64 / 7.0),
        loss: match n {
            3 => Some(f64::INFINITY),
            4 => None,
            _ => Some(3.0 - n as f64 / 11.0),
        },
        tokens: (n != 1).then_some(4_096),
    }
}

fn checkpoints() -> Vec<CheckpointRecord> {
    vec![
        CheckpointRecord { step: 103, at_ns: 6_000_000_000, duration_s: 0.7, bytes: Some(1 << 40) },
        CheckpointRecord { step: 105, at_ns: 9_000_000_000, duration_s: 0.6, bytes: None },
    ]
}

fn drill() -> ReclaimDrill {
    ReclaimDrill {
        driver: "signal TERM".to_owned(),
        signal_ns: 12_600_000_000,
        step_boundary_s: Some(0.9),
        checkpoint_s: Some(0.8),
        exit_s: Some(1.9),
        memory_free_s: None,
        held: vec![HeldMemory {
            holder: "process 17 (python)".to_owned(),
            bytes: 1 << 30,
            until_s: None,
        }],
        engine_ready_s: None,
        first_token_s: Some(2.25),
        last_step: Some(106),
        checkpoint_step: Some(106),
        failure: None,
        resume: None,
    }
}

pub(crate) fn resume() -> ResumeCheck {
    ResumeCheck {
        first_step_s: Some(3.25),
        restore_s: None,
        steady_s: Some(4.5),
        step_before_s: Some(0.4),
        first_step: 107,
        lost_steps: 0,
        loss_before: Some(2.41),
        loss_after: Some(2.40),
        loss_tolerance: Some(0.1),
        failure: None,
    }
}

fn host(n: u64) -> HostSample {
    let hidden = || Missing("the kernel has no /proc/pressure".to_owned());
    HostSample {
        at_ns: n * 1_000_000_000,
        machine_cpu_cores: Ok(1.97),
        steal_cores: if n == 1 { Err(hidden()) } else { Ok(0.0) },
        workload_cpu_cores: vec![
            ("chat".to_owned(), Ok(0.9)),
            ("fine-tune".to_owned(), Err(Missing("gone".to_owned()))),
        ],
        workload_memory_bytes: vec![("chat".to_owned(), Ok(u64::MAX))],
        own_cpu_cores: Ok(0.1),
        cgroup_cpu: Ok(CgroupCpu { quota_cores: None, throttled_share: 0.0, throttled_s: 1e-300 }),
        pressure_cpu: Ok(Pressure { some_share: 0.5, full_share: None }),
        pressure_memory: Err(hidden()),
        pressure_io: Ok(Pressure { some_share: 0.0, full_share: Some(-0.0) }),
        memory_available_bytes: Ok(1 << 33),
        dirty_bytes: Ok(0),
        disk_read_bytes_per_s: Ok(0.0),
        disk_write_bytes_per_s: Ok(1e9 / 3.0),
        network_receive_bytes_per_s: Err(hidden()),
        network_transmit_bytes_per_s: Ok(5e-324),
        cpu_clock_mhz: Ok(2_999.999),
        run_queue: Ok(7),
    }
}

fn client() -> ClientHealth {
    ClientHealth {
        requests_planned: 50,
        requests_sent: 49,
        lateness_p50_s: 0.000_04,
        lateness_p99_s: 0.001,
        lateness_max_s: 0.002,
        cpu_s: 0.5,
        run_queue_wait_s: None,
        streams_open_max: 12,
    }
}

fn faults() -> Vec<BlockFault> {
    vec![
        BlockFault::Steal { cores: 0.3, cores_max: 0.1 },
        BlockFault::ForeignCpu { cores: 0.4, cores_max: 0.2 },
        BlockFault::ForeignGpu("python (process 7) was on GPU-1".to_owned()),
        BlockFault::ClientLate { lateness_p99_s: 0.2, lateness_max_s: 0.01 },
        BlockFault::Guarded { objective: "ttft_p95".to_owned(), bound: 2.0, seen: 3.5 },
        BlockFault::Incomplete("the engine went away".to_owned()),
    ]
}

pub(crate) fn audit() -> EnforcementAudit {
    EnforcementAudit {
        mechanism: "trainer at idle CPU priority".to_owned(),
        ratio_expected: 0.003,
        ratio_measured: 0.004,
        binds: true,
        method: "two spinning processes on one core".to_owned(),
    }
}

/// Writes one complete run with an audit and two resumes, and gives its folder.
pub(crate) fn write_run(root: &Path) -> PathBuf {
    write_run_at(root, "2026-11-30T14:32:07Z")
}

/// The same at another time.
pub(crate) fn write_run_at(root: &Path, started: &str) -> PathBuf {
    let plan = RunPlan { started: at(started), ..plan() };
    let mut writer = Store::open(root).unwrap().create_run(&plan).unwrap();
    writer.add_audit(&audit()).unwrap();
    for index in 0..4 {
        writer.write_block(&block(&plan, index, 60)).unwrap();
        if index == 2 {
            writer.write_resume(1, &resume()).unwrap();
        }
    }
    writer.write_resume(3, &resume()).unwrap();
    let folder = writer.folder().to_owned();
    writer.finish(RunStatus::Complete, at("2026-11-30T14:40:00Z")).unwrap();
    folder
}

pub(crate) fn read(root: &Path) -> StoredEvidence {
    Store::open(root).unwrap().read_all(ALL).unwrap()
}

/// Every regular file below `folder`, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    found.sort();
    found
}
