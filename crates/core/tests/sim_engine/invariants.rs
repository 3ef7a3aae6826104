//! What holds whatever happens: Little's law, no idleness beside work, no token lost, and more
//! capacity never carries less.

use cotenant_core::perf::IntegerStep;
use cotenant_core::sim::engine::{ReplicaSpec, Role, SimRequest};
use cotenant_core::sim::fleet::{Fleet, FleetSpec, Routing, Transfer};
use cotenant_core::sim::{Outcome, capacity};
use cotenant_core::units::Picoseconds;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::agreement::{jump, workload};
use crate::stepper::Outside;
use crate::watching::Event;

/// The requests of a workload, without pauses and refusals.
fn requests(seed: u64) -> (ReplicaSpec, Vec<(u64, Outside)>) {
    let (mut spec, outside) = workload(seed);
    spec.requests_max = None;
    let arrivals = outside.into_iter().filter(|(_, what)| matches!(what, Outside::Arrives(_)));
    (spec, arrivals.collect())
}

#[test]
fn littles_law_holds_to_the_picosecond() {
    for seed in 0..2_000 {
        let (spec, outside) = requests(seed);
        let mut outcome = Outcome::default();
        let arrivals = outside.iter().map(|(_, what)| match what {
            Outside::Arrives(request) => *request,
            _ => panic!("only arrivals are left"),
        });
        let fleet = FleetSpec {
            replicas: vec![spec],
            routing: Routing::RoundRobin,
            transfer: Transfer::default(),
        };
        Fleet::new(&fleet).unwrap().serve(arrivals.clone(), &mut outcome);
        // The area below the number in the system, moment by moment, is the sum of the times in it.
        let log = jump(spec, &outside);
        let too_long =
            |id| log.events.iter().any(|e| matches!(e, Event::TooLong { id: i, .. } if *i == id));
        let mut changes: Vec<(u64, i64)> = arrivals
            .filter(|request| !too_long(request.id))
            .map(|request| (request.at.0, 1))
            .chain(log.events.iter().filter_map(|event| match event {
                Event::Finished { at, .. } => Some((*at, -1)),
                _ => None,
            }))
            .collect();
        changes.sort_unstable();
        let (mut area, mut present, mut before) = (0_u128, 0_i64, 0);
        for (at, change) in changes {
            area += u128::from(at - before) * present as u128;
            (present, before) = (present + change, at);
        }
        assert_eq!(present, 0, "someone is left in workload {seed}");
        assert_eq!(area, outcome.e2e.sum_picoseconds(), "workload {seed}");
    }
}

#[test]
fn no_replica_is_idle_beside_work_and_no_token_is_lost() {
    for seed in 0..2_000 {
        let (spec, outside) = requests(seed);
        let log = jump(spec, &outside);
        let (mut due, mut given) = (0, 0);
        let mut present = Vec::new();
        for (at, what) in &outside {
            let Outside::Arrives(request) = what else { continue };
            let end = log.events.iter().find_map(|event| match event {
                Event::Finished { id, at, .. } if *id == request.id => Some(*at),
                _ => None,
            });
            if let Some(end) = end {
                due += u64::from(request.output_tokens);
                present.push((*at, end));
            }
        }
        for pass in &log.passes {
            given += pass.sequences;
            let idle_from = pass.from - pass.waited;
            let beside = present.iter().find(|(from, until)| {
                pass.waited > 0 && (*from).max(idle_from) < (*until).min(pass.from)
            });
            assert_eq!(beside, None, "idle beside work in workload {seed}");
        }
        let single = |event: &&Event| matches!(event, Event::First { .. } | Event::Late { .. });
        given += log.events.iter().filter(single).count() as u64;
        assert_eq!(due, given, "tokens of workload {seed}");
    }
}

fn medium() -> ReplicaSpec {
    let microseconds = |count: u64| Picoseconds(count * 1_000_000);
    ReplicaSpec {
        step: IntegerStep {
            weights: microseconds(6_000),
            per_token: microseconds(60),
            per_sequence: microseconds(30),
            per_kv_token: Picoseconds(40_000),
            ..IntegerStep::default()
        },
        kv_blocks: 2_000,
        block_tokens: 16,
        sequences_max: 64,
        batched_tokens_max: 512,
        requests_max: None,
        prefix_cache: false,
        role: Role::Both,
    }
}

fn mix(count: u64, apart_s: f64) -> Vec<SimRequest> {
    let mut random = Pcg64::seed_from_u64(3);
    let one = |id| SimRequest {
        id,
        at: Picoseconds::from_seconds(id as f64 * apart_s),
        prompt_tokens: random.random_range(50..800),
        output_tokens: random.random_range(10..400),
        class: 0,
        prefix: None,
    };
    (0..count).map(one).collect()
}

#[test]
fn more_capacity_never_carries_less() {
    let carried = |spec| capacity(spec, mix(1_500, 0.0)).unwrap().unwrap().requests_per_s;
    let rising = |rates: Vec<f64>, what: &str| {
        let rises = rates.windows(2).all(|pair| pair[1] >= pair[0]);
        assert!(rises && rates[rates.len() - 1] > 1.2 * rates[0], "{what}: {rates:?}");
    };
    let blocks = [150, 300, 600, 1_200, 2_400];
    rising(blocks.map(|kv_blocks| carried(ReplicaSpec { kv_blocks, ..medium() })).into(), "blocks");
    let sequences = [1, 4, 16, 64];
    let by_sequences =
        sequences.map(|sequences_max| carried(ReplicaSpec { sequences_max, ..medium() }));
    rising(by_sequences.into(), "sequences");
    let faster = [4, 3, 2, 1].map(|times| {
        let one = medium().step;
        let step = IntegerStep {
            weights: one.weights * times,
            per_token: one.per_token * times,
            per_sequence: one.per_sequence * times,
            per_kv_token: one.per_kv_token * times,
            ..one
        };
        carried(ReplicaSpec { step, ..medium() })
    });
    rising(faster.into(), "speed");
    // Twice as slow is half as much, to the integer.
    assert!((faster[3] / faster[2] - 2.0).abs() < 1e-9, "{faster:?}");
}

#[test]
fn more_replicas_answer_sooner() {
    let mean = |replicas: usize| {
        let spec = FleetSpec {
            replicas: vec![medium(); replicas],
            routing: Routing::LeastRequests,
            transfer: Transfer::default(),
        };
        let mut outcome = Outcome::default();
        Fleet::new(&spec).unwrap().serve(mix(2_000, 0.05), &mut outcome);
        outcome.e2e.mean_s().unwrap()
    };
    let means: Vec<f64> = (1..=6).map(mean).collect();
    assert!(means.windows(2).all(|pair| pair[1] < pair[0]), "{means:?}");
}
