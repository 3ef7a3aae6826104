//! Requests, on replicas that are made here: a number of servers with known times.

use cotenant_core::policy::admission::{Band, Limits, Refusal, Ticket};
use cotenant_core::policy::hand_over::Use::{Lent, Service};
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::job::Phase;
use cotenant_core::sim::world::{
    Arrival, Demand, Load, Neighbour, Queue, Reach, ServiceSpec, Serving, World,
};
use cotenant_core::stats::bounded_queue;
use cotenant_core::units::Picoseconds;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

use super::support::{job, place, seconds, service};

/// So many servers and a queue before them; each request brings its time of service.
#[derive(Clone, Debug, Default)]
struct Servers {
    count: usize,
    serves: bool,
    running: Vec<(Picoseconds, u64, Picoseconds)>,
    queue: Vec<(u64, Picoseconds)>,
    finished: Vec<u64>,
    seen: Vec<(Picoseconds, Neighbour)>,
    served_at: Vec<(u64, Picoseconds)>,
}

impl Servers {
    fn begin(&mut self, now: Picoseconds) {
        while self.serves && self.running.len() < self.count && !self.queue.is_empty() {
            let (id, time) = self.queue.remove(0);
            self.running.push((now + time, id, time));
        }
    }
}

impl Serving for Servers {
    type Request = (u64, Picoseconds);
    fn offer(&mut self, now: Picoseconds, request: Self::Request) {
        self.queue.push(request);
        self.begin(now);
    }
    fn next(&self) -> Option<Picoseconds> {
        self.running.iter().map(|(until, ..)| *until).min()
    }
    fn advance(&mut self, until: Picoseconds) {
        while let Some(next) = self.next().filter(|next| *next <= until) {
            self.running.sort_unstable();
            let (_, id, _) = self.running.remove(0);
            self.finished.push(id);
            self.served_at.push((id, next));
            self.begin(next);
        }
    }
    fn take_finished(&mut self, finished: &mut Vec<u64>) {
        finished.append(&mut self.finished);
    }
    fn set_neighbour(&mut self, now: Picoseconds, neighbour: Neighbour) {
        self.seen.push((now, neighbour));
    }
    fn resume(&mut self, now: Picoseconds) {
        self.serves = true;
        self.begin(now);
    }
    fn pause(&mut self, _: Picoseconds) {
        assert!(self.running.is_empty() && self.queue.is_empty(), "it is empty then");
        self.serves = false;
    }
    fn withdraw(&mut self, _: Picoseconds, running: bool) -> Vec<Self::Request> {
        let mut back = std::mem::take(&mut self.queue);
        if running {
            back.extend(self.running.drain(..).map(|(_, id, time)| (id, time)));
        }
        back
    }
    fn load(&self) -> Load {
        Load {
            running: self.running.len() as u64,
            waiting: self.queue.len() as u64,
            running_max: self.count as u64,
            memory: 0.0,
        }
    }
}

fn servers(count: usize) -> impl FnMut(u32) -> Servers {
    move |_| Servers { count, ..Servers::default() }
}

type Request = (u64, Picoseconds);

fn arrival(id: u64, at: Picoseconds, time: Picoseconds) -> Arrival<Request> {
    let ticket = Ticket { id, band: 0, flow: 0, weight: 1, cost: 1, deadline: None };
    Arrival { at, service: 0, ticket, request: (id, time) }
}

fn requests() -> Demand {
    Demand::Requests(seconds(1))
}

#[test]
fn a_replica_that_leaves_finishes_what_runs_and_gives_back_what_waits() {
    // One server each; the second replica leaves at 200.
    let windows = [(0, vec![Service(0), Service(0)]), (200, vec![Service(0), Lent(0)])];
    let spec = place(&windows, 1000, service(requests()), vec![job("train", 500)]);
    // Four requests: one runs on each, one waits in each.
    let arrivals =
        (0..4).map(|id| arrival(id, seconds(190), seconds(if id == 0 { 40 } else { 20 })));
    let (outcome, replicas) = World::new(spec, arrivals, servers(1)).run();
    let chat = &outcome.services[0];
    assert_eq!((chat.arrived, chat.finished, chat.moved, chat.held), (4, 4, 1, 0));
    let of = |place: usize| replicas[place].1.served_at.clone();
    assert_eq!(of(0), [(0, seconds(230)), (2, seconds(250)), (3, seconds(270))]);
    assert_eq!(of(1), [(1, seconds(210))], "it drains to 210");
    // It is gone at 213, and the job starts there.
    assert_eq!(outcome.jobs[0].ledger.held(), seconds(1000 - 213));
}

#[test]
fn what_does_not_drain_in_time_begins_again_elsewhere() {
    let windows = [(0, vec![Service(0), Service(0)]), (200, vec![Service(0), Lent(0)])];
    let chat = ServiceSpec { drain_max: seconds(5), ..service(requests()) };
    let spec = place(&windows, 1000, chat, vec![job("train", 500)]);
    let arrivals = (0..2).map(|id| arrival(id, seconds(190), seconds(30)));
    let (outcome, replicas) = World::new(spec, arrivals, servers(1)).run();
    assert_eq!(outcome.services[0].moved, 1);
    assert_eq!(replicas[0].1.served_at, [(0, seconds(220)), (1, seconds(250))]);
}

#[test]
fn requests_wait_for_the_first_replica() {
    let windows = [(0, vec![Service(0)])];
    let spec = place(&windows, 100, service(requests()), Vec::new());
    let arrivals = (0..3).map(|id| arrival(id, seconds(id), seconds(40)));
    let (outcome, replicas) = World::new(spec, arrivals, servers(1)).run();
    assert_eq!(replicas[0].1.served_at, [(0, seconds(70))]);
    assert_eq!((outcome.services[0].finished, outcome.services[0].held), (1, 0));
}

#[test]
fn pressure_of_requests_takes_a_gpu_back_and_a_replica_sees_its_neighbour() {
    let windows = [(0, vec![Service(0), Lent(0)])];
    let rule = Rule {
        high: 2.0,
        low: 0.1,
        high_for: seconds(3),
        low_for: seconds(50),
        turn_min: seconds(60),
        settle: seconds(60),
        gpus_per_change: 1,
    };
    let chat = ServiceSpec { reclaim: Some(rule), ..service(requests()) };
    let mut spec = place(&windows, 1000, chat, vec![job("train", 500)]);
    spec.reach = Reach::SameHost;
    let arrivals = (0..10).map(|id| arrival(id, seconds(100), seconds(20)));
    let (outcome, replicas) = World::new(spec, arrivals, servers(1)).run();
    assert_eq!(outcome.services[0].finished, 10);
    // Looked at each second; the pressure is 10 from 100 on.
    assert_eq!(outcome.reclaims[0].asked_at, seconds(103));
    assert!(outcome.reclaims[0].ready_at.is_some());
    assert_eq!(outcome.jobs[0].ledger.stops, 1);
    // The job works from 20, the replica serves from 30; it saves at 120, and is told to go at 103,
    // which it does after the step that ends at 110, with a save.
    let seen = &replicas[0].1.seen;
    assert_eq!(seen[0], (seconds(30), Neighbour::Working));
    assert_eq!(seen[1], (seconds(110), Neighbour::Saving));
    assert_eq!(seen[2], (seconds(114), Neighbour::None));
    assert!(
        outcome.jobs[0].ledger.held() > seconds(600),
        "and it comes back: {:?}",
        Phase::Working
    );
}

/// M/M/1/K: one server, room for K − 1 that wait. Loss and throughput have closed forms, which
/// `core::stats` computes and its own tests hold against published tables.
#[test]
fn a_bounded_queue_loses_what_theory_says() {
    let (rate, places, count) = (0.9, 5_usize, 30_000_u64);
    let band = Band { queued_max: places - 1, wait_max: Picoseconds::MAX, in_flight_max: None };
    let queue = Queue {
        limits: Limits { bands: vec![band], queued_max: places - 1 },
        in_flight_per_replica: 1,
    };
    let mut random = Pcg64::seed_from_u64(11);
    let mut draw = |mean: f64| -> f64 {
        let factor: f64 = Exp1.sample(&mut random);
        factor * mean
    };
    let mut at = 100.0;
    let arrivals: Vec<Arrival<Request>> = (0..count)
        .map(|id| {
            at += draw(1.0 / rate);
            arrival(id, Picoseconds::from_seconds(at), Picoseconds::from_seconds(draw(1.0)))
        })
        .collect();
    let windows = [(0, vec![Service(0)])];
    let chat = ServiceSpec { admission: Some(queue), ..service(requests()) };
    let spec = place(&windows, 100_000, chat, Vec::new());
    let (outcome, _) = World::new(spec, arrivals.into_iter(), servers(1)).run();
    let chat = &outcome.services[0];
    let refused = chat.refused[&Refusal::QueueFull];
    assert_eq!(chat.finished + refused, count, "everybody has an answer");
    let theory = bounded_queue(1, places as u32, rate, 1.0).unwrap();
    let simulated = refused as f64 / count as f64;
    // Losses come in bunches: the standard error is some 2.5 times that of independent ones.
    let error = 2.5 * (simulated / count as f64).sqrt();
    let expected = theory.blocked_share;
    assert!((simulated - expected).abs() < 3.0 * error, "{simulated} {expected} ± {error}");
}

/// A replica that always has something to do now.
struct Restless;

impl Serving for Restless {
    type Request = ();
    fn offer(&mut self, _: Picoseconds, (): ()) {}
    fn next(&self) -> Option<Picoseconds> {
        Some(seconds(50))
    }
    fn advance(&mut self, _: Picoseconds) {}
    fn take_finished(&mut self, _: &mut Vec<u64>) {}
    fn set_neighbour(&mut self, _: Picoseconds, _: Neighbour) {}
    fn resume(&mut self, _: Picoseconds) {}
    fn pause(&mut self, _: Picoseconds) {}
    fn withdraw(&mut self, _: Picoseconds, _: bool) -> Vec<()> {
        Vec::new()
    }
    fn load(&self) -> Load {
        Load::default()
    }
}

#[test]
fn a_circle_without_end_is_named_and_not_gone_through() {
    let windows = [(0, vec![Service(0)])];
    let spec = place(&windows, 100, service(requests()), Vec::new());
    let (outcome, _) = World::new(spec, std::iter::empty(), |_| Restless).run();
    assert_eq!(outcome.stuck_at, Some(seconds(50)));
}
