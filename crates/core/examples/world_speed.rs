//! How fast the world is: requests on two replicas with a job beside them. Run it under a clock:
//! `cargo build --release -p cotenant-core --example world_speed`, then
//! `time target/release/examples/world_speed`.

#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use std::error::Error;

use cotenant_core::evidence::Origin;
use cotenant_core::perf::IntegerStep;
use cotenant_core::policy::admission::Ticket;
use cotenant_core::sim::engine::{ReplicaSpec, Role, SimRequest, Tokens, Watcher};
use cotenant_core::sim::job::{Every, JobSpec, ONE_PPM, Pace, Saving, Stop};
use cotenant_core::sim::transition::{StepKind, Transition};
use cotenant_core::sim::world::{
    Arrival, Demand, EngineReplica, ServiceSpec, Shared, Steps, World, WorldSpec,
};
use cotenant_core::units::Picoseconds;

const REQUESTS: u64 = 200_000;

/// Counts tokens.
#[derive(Debug, Default)]
struct Ends {
    tokens: u64,
}

impl Watcher for Ends {
    fn finished(&mut self, request: &SimRequest, _: Tokens) {
        self.tokens += u64::from(request.output_tokens);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let step = IntegerStep {
        fixed: Picoseconds::from_seconds(0.002),
        weights: Picoseconds::from_seconds(0.004),
        per_token: Picoseconds::from_seconds(0.000_03),
        per_sequence: Picoseconds::from_seconds(0.000_03),
        per_kv_token: Picoseconds::from_seconds(0.000_000_04),
        ..IntegerStep::default()
    };
    let spec = ReplicaSpec {
        step,
        kv_blocks: 27_000,
        block_tokens: 16,
        sequences_max: 256,
        batched_tokens_max: 2048,
        requests_max: None,
        prefix_cache: false,
        role: Role::Both,
    };
    let service = ServiceSpec {
        name: "chat".to_owned(),
        up: Transition::of(StepKind::EngineWake, Picoseconds::SECOND, Origin::Assumed),
        down: Transition::default(),
        drain_max: Picoseconds::SECOND,
        demand: Demand::Requests(Picoseconds::SECOND),
        reclaim: None,
        admission: None,
    };
    let job = JobSpec {
        name: "train".to_owned(),
        units: None,
        paces: vec![Pace { gpus: 2, unit: Picoseconds::SECOND }],
        shape_ppm: Vec::new(),
        saving: Saving::Blocking {
            every: Every::Time(Picoseconds::SECOND * 300),
            cost: Picoseconds::SECOND * 5,
        },
        start: Picoseconds::SECOND * 30,
        stop: Stop { finishes_unit: true, saves: true, notice: None, exit: Picoseconds::SECOND },
        mean_time_to_loss: None,
        deadline: None,
        priority: 0,
        beside_ppm: ONE_PPM * 3 / 2,
    };
    let until = Picoseconds::SECOND * 40_000;
    let world = WorldSpec::together(service, 1, job, 2, until, 1);
    let requests = (0..REQUESTS).map(|id| {
        let at = Picoseconds::SECOND * 60 + Picoseconds::from_seconds(id as f64 * 0.17);
        let request = SimRequest {
            id,
            at,
            prompt_tokens: 200 + (id * 7919 % 1900) as u32,
            output_tokens: 20 + (id * 104_729 % 380) as u32,
            class: 0,
            prefix: None,
        };
        let ticket = Ticket { id, band: 0, flow: 0, weight: 1, cost: 1, deadline: None };
        Arrival { at, service: 0, ticket, request }
    });
    let steps = Steps::same(step);
    let seen = Shared::new(Ends::default());
    let replica = EngineReplica::new(0, spec, steps, seen.clone())?;
    let make = move |_| replica.clone();
    let (outcome, _) = World::new(world, requests, make).run();
    let chat = &outcome.services[0];
    println!("{} of {} requests, {} events", chat.finished, chat.arrived, outcome.events);
    let ends = seen.into_watcher().map_or(0, |ends| ends.tokens);
    println!("{ends} tokens");
    Ok(())
}
