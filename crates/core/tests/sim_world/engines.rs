//! Real replicas in the world: the same as without it, slower beside a job, and nothing is lost when
//! they leave.

use std::cell::RefCell;
use std::rc::Rc;

use cotenant_core::perf::IntegerStep;
use cotenant_core::policy::admission::Ticket;
use cotenant_core::policy::hand_over::Use::{Idle, Job as Held, Lent, Service};
use cotenant_core::sim::engine::{Replica, ReplicaSpec, Role, SimRequest, Tokens, Watcher};
use cotenant_core::sim::job::JobSpec;
use cotenant_core::sim::transition::Transition;
use cotenant_core::sim::world::{
    Arrival, Demand, EngineReplica, Reach, ServiceSpec, Steps, World, WorldSpec,
};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

use super::support::{job, place, seconds, service};

const MILLISECOND: Picoseconds = Picoseconds(1_000_000_000);

fn step(factor: u64) -> IntegerStep {
    IntegerStep {
        fixed: MILLISECOND * 2 * factor,
        weights: MILLISECOND * 5 * factor,
        per_token: Picoseconds(60_000_000) * factor,
        per_kv_token: Picoseconds(40_000) * factor,
        ..IntegerStep::default()
    }
}

fn replica_spec() -> ReplicaSpec {
    ReplicaSpec {
        step: step(1),
        kv_blocks: 400,
        block_tokens: 16,
        sequences_max: 16,
        batched_tokens_max: 256,
        requests_max: None,
        prefix_cache: false,
        role: Role::Both,
    }
}

/// The end of each request, with its number.
#[derive(Clone, Debug, Default)]
struct Ends(Rc<RefCell<Vec<(u64, Picoseconds, Picoseconds)>>>);

impl Watcher for Ends {
    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        self.0.borrow_mut().push((request.id, tokens.first_at, tokens.last_at));
    }
}

fn request(id: u64, at: Picoseconds, prompt_tokens: u32, output_tokens: u32) -> SimRequest {
    SimRequest { id, at, prompt_tokens, output_tokens, class: 0, prefix: None }
}

fn arrivals(requests: Vec<SimRequest>) -> impl Iterator<Item = Arrival<SimRequest>> {
    requests.into_iter().map(|request| {
        let ticket =
            Ticket { id: request.id, band: 0, flow: 0, weight: 1, cost: 1, deadline: None };
        Arrival { at: request.at, service: 0, ticket, request }
    })
}

/// The requests on a replica alone.
fn directly(requests: &[SimRequest]) -> Vec<(u64, Picoseconds, Picoseconds)> {
    let mut ends = Ends::default();
    let mut replica = Replica::new(0, replica_spec()).unwrap();
    let mut left = requests.iter().peekable();
    loop {
        let arrival = left.peek().map(|request| request.at);
        match (replica.next(), arrival) {
            (None, None) => return ends.0.take(),
            // What arrives at the moment at which a pass ends or begins is in before it begins.
            (Some(next), Some(at)) if next < at => {
                replica.advance(next, &mut ends);
                replica.start(next, &mut ends);
            }
            (_, Some(at)) => {
                replica.advance(at, &mut ends);
                while let Some(request) = left.next_if(|request| request.at == at) {
                    replica.offer(at, *request, &mut ends);
                }
                replica.start(at, &mut ends);
            }
            (Some(next), None) => {
                replica.advance(next, &mut ends);
                replica.start(next, &mut ends);
            }
        }
    }
}

fn at_once(demand: Demand) -> ServiceSpec {
    ServiceSpec { up: Transition::default(), down: Transition::default(), ..service(demand) }
}

fn asked() -> Demand {
    Demand::Requests(seconds(1))
}

type Ended = Vec<(u64, Picoseconds, Picoseconds)>;

fn in_the_world(
    spec: WorldSpec,
    steps: &Steps,
    requests: Vec<SimRequest>,
) -> (cotenant_core::sim::world::Outcome, Ended) {
    let ends = Ends::default();
    let seen = ends.clone();
    let make = |_| EngineReplica::new(0, replica_spec(), *steps, seen.clone()).unwrap();
    let (outcome, _) = World::new(spec, arrivals(requests), make).run();
    (outcome, ends.0.take())
}

proptest! {
    #[test]
    fn a_replica_in_the_world_is_the_replica_alone(
        shapes in proptest::collection::vec((1_u64..400, 1_u32..300, 1_u32..60), 1..40),
    ) {
        let mut at = MILLISECOND;
        let requests: Vec<SimRequest> = (0..)
            .zip(shapes)
            .map(|(id, (gap_ms, prompt, output))| {
                // Every other one comes together with the one before.
                if id % 2 == 0 { at += MILLISECOND * gap_ms; }
                request(id, at, prompt, output)
            })
            .collect();
        let spec = place(&[(0, vec![Service(0)])], 1000, at_once(asked()), Vec::new());
        let (outcome, ends) = in_the_world(spec, &Steps::same(step(1)), requests.clone());
        prop_assert_eq!(outcome.stuck_at, None);
        prop_assert_eq!(outcome.services[0].finished, requests.len() as u64);
        prop_assert_eq!(ends, directly(&requests));
    }
}

#[test]
fn beside_a_job_passes_take_longer_and_without_it_as_before() {
    let job = job("train", 9);
    let spec = WorldSpec::together(at_once(asked()), 1, job, 1, seconds(400), 1);
    let steps = Steps { beside_work: step(3), ..Steps::same(step(1)) };
    // The job starts at once, works from 20 to 110, saves to 114, and has left by 116.
    let requests = vec![request(1, seconds(10), 32, 20), request(2, seconds(200), 32, 20)];
    let (outcome, ends) = in_the_world(spec, &steps, requests);
    assert_eq!(outcome.jobs[0].finished_at, Some(seconds(114)));
    let took = |place: usize, at_s: u64| ends[place].2 - seconds(at_s);
    assert_eq!(took(0, 10), took(1, 200) * 3);
}

#[test]
fn a_replica_that_leaves_drains_and_what_it_cannot_finish_is_finished_elsewhere() {
    let windows = [(0, vec![Service(0), Service(0)]), (100, vec![Service(0), Lent(0)])];
    let requests: Vec<SimRequest> =
        (0..60).map(|id| request(id, seconds(99) + MILLISECOND * id, 100, 250)).collect();
    for drain_s in [0, 1, 100] {
        let chat = ServiceSpec { drain_max: seconds(drain_s), ..at_once(asked()) };
        let spec = place(&windows, 1000, chat, vec![job("train", 20)]);
        let (outcome, ends) = in_the_world(spec, &Steps::same(step(1)), requests.clone());
        let chat = &outcome.services[0];
        assert_eq!((chat.arrived, chat.finished, chat.held), (60, 60, 0), "{drain_s}");
        let mut ids: Vec<u64> = ends.iter().map(|(id, ..)| *id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..60).collect::<Vec<u64>>());
        assert_eq!(chat.moved == 0, drain_s == 100, "{}", chat.moved);
        assert!(outcome.jobs[0].finished_at.is_some());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = || {
        let windows = [(0, vec![Service(0), Lent(0)]), (300, vec![Service(0), Service(0)])];
        let mut spec = place(
            &windows,
            600,
            at_once(asked()),
            vec![JobSpec { mean_time_to_loss: Some(seconds(60)), ..job("train", 900) }],
        );
        spec.reach = Reach::SameHost;
        let requests = (0..2000)
            .map(|id| {
                let at = MILLISECOND * (id * 250);
                request(id, at, 20 + (id % 90) as u32, 5 + (id * 7 % 80) as u32)
            })
            .collect();
        let steps = Steps { beside_work: step(2), ..Steps::same(step(1)) };
        format!("{:?}", in_the_world(spec, &steps, requests))
    };
    assert_eq!(run(), run());
}

#[test]
fn a_replica_that_comes_again_beside_a_job_is_as_slow_as_before() {
    // The second GPU is lent from 100 to 200; a job works on the third all the time, and slows
    // everybody on the machine.
    let windows = [
        (0, vec![Service(0), Held(0)]),
        (100, vec![Idle, Held(0)]),
        (101, vec![Lent(1), Held(0)]),
        (200, vec![Service(0), Held(0)]),
    ];
    let jobs = vec![job("train", 9000), job("short", 1)];
    let mut spec = place(&windows, 400, at_once(asked()), jobs);
    spec.reach = Reach::SameHost;
    let steps = Steps { beside_work: step(3), ..Steps::same(step(1)) };
    let requests = vec![request(1, seconds(50), 32, 20), request(2, seconds(350), 32, 20)];
    let (outcome, ends) = in_the_world(spec, &steps, requests);
    assert_eq!(outcome.services[0].starts, 2);
    assert_eq!(ends[0].2 - seconds(50), ends[1].2 - seconds(350));
}
