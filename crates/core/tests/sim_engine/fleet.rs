//! Several replicas.

use cotenant_core::perf::IntegerStep;
use cotenant_core::sim::Outcome;
use cotenant_core::sim::engine::{Prefix, ReplicaSpec, Role, SimRequest};
use cotenant_core::sim::fleet::{Fleet, FleetProblem, FleetSpec, Routing, Transfer};
use cotenant_core::units::Picoseconds;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::watching::{Event, Log};

fn replica(role: Role) -> ReplicaSpec {
    ReplicaSpec {
        step: IntegerStep {
            fixed: Picoseconds(10),
            per_token: Picoseconds(2),
            per_kv_token: Picoseconds(1),
            ..IntegerStep::default()
        },
        kv_blocks: 60,
        block_tokens: 4,
        sequences_max: 4,
        batched_tokens_max: 32,
        requests_max: None,
        prefix_cache: false,
        role,
    }
}

fn fleet(roles: &[Role], routing: Routing, transfer: Transfer) -> FleetSpec {
    FleetSpec { replicas: roles.iter().copied().map(replica).collect(), routing, transfer }
}

fn requests(seed: u64, count: u64) -> Vec<SimRequest> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut at = 0;
    let one = |id| {
        at += random.random_range(0..300);
        let group = random.random_range(0..4);
        SimRequest {
            id,
            at: Picoseconds(at),
            prompt_tokens: random.random_range(1..60),
            output_tokens: random.random_range(1..60),
            class: 0,
            prefix: random.random_bool(0.5).then_some(Prefix { group, tokens: 20 }),
        }
    };
    (0..count).map(one).collect()
}

#[test]
fn what_a_prefill_replica_computed_is_decoded_after_its_way() {
    let transfer = Transfer { fixed: Picoseconds(100), per_token: Picoseconds(3) };
    let spec = fleet(&[Role::Prefill, Role::Decode], Routing::RoundRobin, transfer);
    let one = SimRequest {
        id: 0,
        at: Picoseconds(7),
        prompt_tokens: 20,
        output_tokens: 3,
        class: 0,
        prefix: None,
    };
    let mut log = Log::default();
    Fleet::new(&spec).unwrap().serve([one, SimRequest { id: 1, ..one }], &mut log);
    // 20 tokens in 10 + 2·20, the first token. Of the second request 12 go along in that pass.
    // The way of the first takes 100 + 3·20; a token then takes 10 + 2 + its KV tokens.
    let first = 7 + 10 + 2 * 32;
    let arrives = first + 160;
    let second_token = arrives + 12 + 20;
    let of_first: Vec<Event> = log
        .events
        .iter()
        .copied()
        .filter(|event| match event {
            Event::Admitted { id, .. }
            | Event::First { id, .. }
            | Event::Late { id, .. }
            | Event::Finished { id, .. } => *id == 0,
            _ => false,
        })
        .collect();
    let expected = [
        Event::Admitted { id: 0, at: 7 },
        Event::First { id: 0, at: first },
        Event::Late { id: 0, since: first, at: second_token },
        Event::Finished { id: 0, first, at: second_token + 12 + 21 },
    ];
    assert_eq!(of_first, expected);
    // The second's first token comes 26 later, and its way begins when the link is free.
    let late = log.events.iter().find(|event| matches!(event, Event::Late { id: 1, .. }));
    let second_first = first + 10 + 2 * 8;
    let expected = Event::Late { id: 1, since: second_first, at: arrives + 160 + 12 + 20 };
    assert_eq!(late, Some(&expected));
}

#[test]
fn whatever_the_routing_everyone_is_served_and_twice_the_same() {
    let transfer = Transfer { fixed: Picoseconds(50), per_token: Picoseconds(2) };
    let ways = [Routing::RoundRobin, Routing::LeastRequests, Routing::LeastKv, Routing::ByPrefix];
    let shapes: [&[Role]; 3] =
        [&[Role::Both], &[Role::Both; 3], &[Role::Prefill, Role::Both, Role::Decode, Role::Decode]];
    for (number, roles) in shapes.into_iter().enumerate() {
        for routing in ways {
            let serve = || {
                let mut outcome = Outcome::default();
                let spec = fleet(roles, routing, transfer);
                Fleet::new(&spec).unwrap().serve(requests(number as u64, 400), &mut outcome);
                outcome
            };
            let outcome = serve();
            assert_eq!((outcome.arrived, outcome.finished, outcome.unfinished()), (400, 400, 0));
            assert_eq!(outcome.ttft.count() + outcome.itl.count(), outcome.output_tokens);
            assert_eq!(outcome, serve(), "{routing:?}");
        }
    }
}

#[test]
fn a_router_that_looks_beats_one_that_does_not() {
    let wait = |routing| {
        let mut outcome = Outcome::default();
        let spec = fleet(&[Role::Both; 4], routing, Transfer::default());
        Fleet::new(&spec).unwrap().serve(requests(9, 3_000), &mut outcome);
        outcome.queue.mean_s().unwrap()
    };
    let blind = wait(Routing::RoundRobin);
    assert!(wait(Routing::LeastRequests) < blind && wait(Routing::LeastKv) < blind);
}

#[test]
fn a_fleet_that_cannot_serve_is_refused() {
    let refused = |roles: &[Role]| {
        Fleet::new(&fleet(roles, Routing::RoundRobin, Transfer::default())).unwrap_err()
    };
    assert_eq!(refused(&[]), FleetProblem::NoEntry);
    assert_eq!(refused(&[Role::Decode]), FleetProblem::NoEntry);
    assert_eq!(refused(&[Role::Prefill]), FleetProblem::HalfSplit);
    assert_eq!(refused(&[Role::Both, Role::Decode]), FleetProblem::HalfSplit);
    let mut spec = fleet(&[Role::Both; 2], Routing::RoundRobin, Transfer::default());
    spec.replicas[1].kv_blocks = 0;
    let problem = Fleet::new(&spec).unwrap_err().to_string();
    assert_eq!(problem, "replica 1: the number of KV blocks is 0; it must be at least 1");
}
