//! Looks at queues whose capacity has a closed form.

use std::collections::BinaryHeap;

use cotenant_core::capacity::{Look, SearchRule, Step, look, next_step};
use cotenant_core::evidence::{
    Block, Condition, Observed, Outcome, Phase, PlannedBlock, RequestRecord, Situation, TokenSource,
};
use cotenant_core::site::{Inference, Site, Workload};
use cotenant_core::stats::{bounded_queue, wait_tail};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

/// A queue of the kind M/M/c, or M/M/c/K where its places are bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) servers: u32,
    /// Requests that one server ends per second.
    pub(crate) service: f64,
    /// Places in service and waiting together.
    pub(crate) places: Option<u32>,
}

impl Queue {
    /// The rate at which 5 % wait longer than `target` seconds.
    pub(crate) fn capacity_by_wait(self, target: f64) -> f64 {
        crossing(|rate| {
            wait_tail(self.servers, rate, self.service, target).map_or(1.0, |share| share) - 0.05
        })
    }

    /// The rate at which a share is refused.
    pub(crate) fn capacity_by_refusals(self, allowed: f64) -> f64 {
        let places = self.places.unwrap();
        crossing(|rate| {
            bounded_queue(self.servers, places, rate, self.service).unwrap().blocked_share - allowed
        })
    }

    /// The rate beyond which the queue grows without end.
    pub(crate) fn stable(self) -> f64 {
        f64::from(self.servers) * self.service
    }

    /// One block under Poisson arrivals: first come, first served, beginning empty.
    pub(crate) fn block(self, rate: f64, shape: Shape, number: u32, seed: u64) -> Block {
        let mut random = Pcg64::seed_from_u64(seed ^ (u64::from(number) << 32));
        let mut unit = || -> f64 { Exp1.sample(&mut random) };
        let ns = |at: f64| (at * 1e9) as u64;
        let length = shape.warm_up + shape.judged;
        // When each server is free, the earliest first; and when each request in the place leaves it.
        let mut free: BinaryHeap<std::cmp::Reverse<u64>> =
            (0..self.servers).map(|_| std::cmp::Reverse(0)).collect();
        let mut leaves: BinaryHeap<std::cmp::Reverse<u64>> = BinaryHeap::new();
        let mut requests = Vec::new();
        let mut at = unit() / rate;
        while at < length {
            let intended_ns = ns(at);
            while leaves.peek().is_some_and(|leave| leave.0 <= intended_ns) {
                leaves.pop();
            }
            let refused = self.places.is_some_and(|places| leaves.len() >= places as usize);
            let service_ns = ns(unit() / self.service);
            let (start, end) = if refused {
                (None, intended_ns + 1)
            } else {
                let start = free.pop().unwrap().0.max(intended_ns);
                free.push(std::cmp::Reverse(start + service_ns));
                leaves.push(std::cmp::Reverse(start + service_ns));
                (Some(start), start + service_ns)
            };
            requests.push(RequestRecord {
                index: requests.len() as u32,
                class: 0,
                intended_ns,
                sent_ns: Some(intended_ns),
                first_token_ns: start,
                first_visible_ns: start,
                last_token_ns: start.map(|_| end),
                end_ns: end,
                prompt_tokens: 100,
                output_tokens: 20,
                token_source: TokenSource::Usage,
                gap_longest_ns: None,
                stalls: 0,
                stalled_ns: 0,
                outcome: if refused { Outcome::Refused(429) } else { Outcome::Completed },
            });
            at += unit() / rate;
        }
        Block {
            plan: PlannedBlock {
                index: number,
                condition: Condition::A,
                pair: number,
                remedy: None,
                phase: Phase::Steady,
                situation: Situation::Search(number),
            },
            started: "2027-01-01T00:00:00Z".parse().unwrap(),
            judged_from_ns: ns(shape.warm_up),
            judged_until_ns: ns(length),
            ended_ns: requests.iter().map(|request| request.end_ns).fold(ns(length), u64::max),
            requests,
            gaps: Vec::new(),
            steps: Vec::new(),
            checkpoints: Vec::new(),
            drill: None,
            host: Vec::new(),
            engine_waiting: Vec::new(),
            client: None,
            faults: Vec::new(),
            remarks: Vec::new(),
            load_factor: rate,
            observed: Observed::default(),
        }
    }
}

/// Seconds of a look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) warm_up: f64,
    pub(crate) judged: f64,
}

/// Root of a function that grows, by bisection.
fn crossing(above: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1e-6, 1e6);
    for _ in 0..200 {
        let middle = f64::sqrt(low * high);
        if above(middle) > 0.0 { high = middle } else { low = middle }
    }
    low
}

/// Searches a queue to its end.
pub(crate) fn search(
    queue: Queue,
    shape: Shape,
    rule: &SearchRule,
    site: &Site,
    seed: u64,
) -> (Vec<Look>, cotenant_core::capacity::Ending) {
    let (workload, inference): (&Workload, &Inference) = site.inference().next().unwrap();
    let mut looks = Vec::new();
    loop {
        match next_step(rule, &looks, &[]) {
            Step::Done(ending) => return (looks, ending),
            Step::Look(rate) => {
                let block = queue.block(rate, shape, looks.len() as u32, seed);
                looks.push(look(workload, inference, &block, rate));
            }
        }
    }
}
