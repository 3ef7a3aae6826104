//! Jumping over passes and taking them one by one give the same, to the picosecond.

use cotenant_core::perf::IntegerStep;
use cotenant_core::sim::engine::{Prefix, Replica, ReplicaSpec, Role, SimRequest};
use cotenant_core::units::Picoseconds;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::stepper::{Outside, step_through};
use crate::watching::{Event, Log};

/// Random small workloads that are held side by side.
const WORKLOADS: u64 = 10_000;

#[test]
fn jumping_and_stepping_agree_on_ten_thousand_workloads() {
    let mut met = Met::default();
    for seed in 0..WORKLOADS {
        let (spec, outside) = workload(seed);
        let (jumped, stepped) = (jump(spec, &outside), step_through(spec, &outside));
        assert_eq!(jumped.events, stepped.events, "events of workload {seed}: {spec:?}");
        assert_eq!(jumped.loads, stepped.loads, "loads of workload {seed}: {spec:?}");
        assert_eq!(jumped.passes.len(), stepped.passes.len(), "passes of workload {seed}");
        for (one, other) in jumped.passes.iter().zip(&stepped.passes) {
            let mut other = *other;
            other.kv_blocks_used = other.kv_blocks_used.filter(|_| one.kv_blocks_used.is_some());
            assert_eq!(*one, other, "a pass of workload {seed}: {spec:?}");
        }
        met.count(&jumped);
    }
    // Agreement on workloads in which nothing happens would say nothing.
    assert!(met.preemptions > WORKLOADS, "{met:?}");
    assert!(met.livelocks > WORKLOADS / 100, "{met:?}");
    assert!(met.refusals > WORKLOADS / 10, "{met:?}");
    assert!(met.chunks > WORKLOADS, "{met:?}");
    assert!(met.passes > 2 * met.runs, "{met:?}");
}

/// As small ones, at the size of a real engine: hundreds of sequences, long prompts, and a cache that
/// is too small for all of them at times.
#[test]
fn jumping_and_stepping_agree_at_real_sizes() {
    let mut random = Pcg64::seed_from_u64(5);
    let spec = ReplicaSpec {
        step: IntegerStep {
            weights: Picoseconds(6_000_000_000),
            per_token: Picoseconds(60_000_000),
            per_token_pair: Picoseconds(374),
            per_sequence: Picoseconds(30_000_000),
            per_kv_token: Picoseconds(40_000),
            ..IntegerStep::default()
        },
        kv_blocks: 3_000,
        block_tokens: 16,
        sequences_max: 128,
        batched_tokens_max: 2_048,
        requests_max: None,
        prefix_cache: true,
        role: Role::Both,
    };
    let mut at = 0;
    let mut outside = Vec::new();
    for id in 0..600 {
        at += random.random_range(0..100_000_000_000);
        let group = random.random_range(0..20);
        let prefix = random.random_bool(0.7).then_some(Prefix { group, tokens: 40 * (group + 1) });
        let (prompt_tokens, output_tokens) =
            (random.random_range(1..3_000), random.random_range(1..500));
        let at_time = Picoseconds(at);
        outside.push((
            at,
            Outside::Arrives(SimRequest {
                id,
                at: at_time,
                prompt_tokens,
                output_tokens,
                class: 0,
                prefix,
            }),
        ));
    }
    let (jumped, stepped) = (jump(spec, &outside), step_through(spec, &outside));
    assert!(jumped.events == stepped.events && jumped.loads == stepped.loads);
    assert_eq!(jumped.passes.len(), stepped.passes.len());
    let spans = |log: &Log| -> Vec<(u64, u64)> {
        log.passes.iter().map(|pass| (pass.from, pass.until)).collect()
    };
    assert!(spans(&jumped) == spans(&stepped));
    let mut met = Met::default();
    met.count(&jumped);
    assert!(met.preemptions > 50 && met.passes > 3 * met.runs / 2, "{met:?}");
}

#[derive(Debug, Default)]
struct Met {
    preemptions: u64,
    livelocks: u64,
    refusals: u64,
    chunks: u64,
    passes: u64,
    runs: u64,
}

impl Met {
    fn count(&mut self, log: &Log) {
        for event in &log.events {
            match event {
                Event::Preempted { .. } => self.preemptions += 1,
                Event::Livelock { .. } => self.livelocks += 1,
                Event::TooLong { .. } | Event::QueueFull { .. } => self.refusals += 1,
                _ => {}
            }
        }
        self.chunks += log.passes.iter().filter(|pass| pass.prefill_tokens > 0).count() as u64;
        self.passes += log.passes.len() as u64;
        self.runs += log.runs;
    }
}

pub(crate) fn jump(spec: ReplicaSpec, outside: &[(u64, Outside)]) -> Log {
    let mut replica = Replica::new(0, spec).unwrap();
    let mut log = Log::default();
    for (at, what) in outside {
        let at = Picoseconds(*at);
        replica.advance(at, &mut log);
        match what {
            Outside::Step(step) => replica.set_step(at, *step, &mut log).unwrap(),
            Outside::Pause => replica.pause(at, &mut log),
            Outside::Resume => replica.resume(at, &mut log),
            Outside::Arrives(request) => {
                log.loads.push(replica.load(at));
                replica.offer(at, *request, &mut log);
            }
        }
    }
    replica.advance(Picoseconds::MAX, &mut log);
    assert!(replica.is_idle() && replica.next().is_none());
    assert_eq!(replica.load(Picoseconds::MAX).kv_blocks_used, 0);
    log
}

pub(crate) fn workload(seed: u64) -> (ReplicaSpec, Vec<(u64, Outside)>) {
    let mut random = Pcg64::seed_from_u64(seed);
    let block_tokens = random.random_range(1..=6);
    let sequences_max = random.random_range(1..=6);
    let spec = ReplicaSpec {
        step: step(&mut random),
        kv_blocks: random.random_range(4..=40),
        block_tokens,
        sequences_max,
        batched_tokens_max: sequences_max + random.random_range(0..=20),
        requests_max: random.random_bool(0.2).then(|| random.random_range(1..=6)),
        prefix_cache: random.random_bool(0.6),
        role: Role::Both,
    };
    let shared: Vec<u32> = (0..3).map(|_| random.random_range(1..=25)).collect();
    // From far apart to all at once, and often at the very moments at which passes end.
    let apart = [0, 3, 40, 200, 1500][random.random_range(0..5)];
    let mut at = 0;
    let mut outside = Vec::new();
    for id in 0..random.random_range(1..=10) {
        at += random.random_range(0..=apart);
        let group = random.random_range(0..3_usize);
        let prefix =
            random.random_bool(0.5).then(|| Prefix { group: group as u32, tokens: shared[group] });
        let request = SimRequest {
            id,
            at: Picoseconds(at),
            prompt_tokens: random.random_range(1..=40),
            output_tokens: random.random_range(1..=40),
            class: 0,
            prefix,
        };
        outside.push((at, Outside::Arrives(request)));
    }
    if random.random_bool(0.3) {
        interfere(&mut random, at, &mut outside);
    }
    (spec, outside)
}

/// The step changes, and the replica pauses for a while.
fn interfere(random: &mut Pcg64, until: u64, outside: &mut Vec<(u64, Outside)>) {
    let mut moment = || random.random_range(0..=until + 300);
    let (first, second, changed) = (moment(), moment(), moment());
    outside.push((first.min(second), Outside::Pause));
    outside.push((first.max(second), Outside::Resume));
    outside.push((changed, Outside::Step(step(random))));
    outside.sort_by_key(|(at, _)| *at);
}

/// Few and small numbers, so that moments often coincide.
fn step(random: &mut Pcg64) -> IntegerStep {
    let mut number = |most: u64| Picoseconds(random.random_range(0..=most));
    IntegerStep {
        fixed: number(5) + Picoseconds(1),
        weights: number(8),
        per_token: number(2),
        per_token_pair: number(1),
        per_sequence: number(2),
        per_kv_token: number(2),
        communication_per_token: number(1),
        ..IntegerStep::default()
    }
}
