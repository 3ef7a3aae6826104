//! A replica that is made to be a queue of the books behaves as the books say. One sequence is one
//! server, a pass is a thousandth of the mean service, and the number of tokens is the service.
//!
//! The references are closed forms written out here, or the values of the stored vectors of the
//! statistics (`stats_vectors.rs`), which were not computed by this crate.

use cotenant_core::perf::IntegerStep;
use cotenant_core::sim::engine::{Replica, ReplicaSpec, Role, SimRequest};
use cotenant_core::sim::{Outcome, Replications};
use cotenant_core::units::Picoseconds;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Tokens of the mean service, which takes one second.
const MEAN_TOKENS: f64 = 1000.0;

struct Queue {
    servers: u32,
    places: Option<u32>,
    arrivals_per_s: f64,
    requests: u64,
}

impl Queue {
    /// Serves requests whose service times in seconds are drawn by `service_s` from a number in
    /// (0, 1].
    fn serve(&self, service_s: impl Fn(f64) -> f64) -> Outcome {
        self.serve_seeded(7, service_s)
    }

    fn serve_seeded(&self, seed: u64, service_s: impl Fn(f64) -> f64) -> Outcome {
        let spec = ReplicaSpec {
            step: IntegerStep { fixed: Picoseconds(1_000_000_000), ..IntegerStep::default() },
            kv_blocks: 1 << 24,
            block_tokens: 64,
            sequences_max: self.servers,
            batched_tokens_max: 2 * self.servers,
            requests_max: self.places,
            prefix_cache: false,
            role: Role::Both,
        };
        let mut random = Pcg64::seed_from_u64(seed);
        let mut uniform = || 1.0 - random.random::<f64>();
        let mut replica = Replica::new(0, spec).unwrap();
        let mut outcome = Outcome::new(Picoseconds::SECOND * 500);
        let mut at_s = 0.0;
        for id in 0..self.requests {
            at_s -= uniform().ln() / self.arrivals_per_s;
            let at = Picoseconds::from_seconds(at_s);
            let output_tokens = (service_s(uniform()) * MEAN_TOKENS).round().max(1.0) as u32;
            let request =
                SimRequest { id, at, prompt_tokens: 1, output_tokens, class: 0, prefix: None };
            replica.offer(at, request, &mut outcome);
        }
        replica.advance(Picoseconds::MAX, &mut outcome);
        assert_eq!(outcome.unfinished(), 0);
        outcome
    }
}

fn exponential(uniform: f64) -> f64 {
    -uniform.ln()
}

#[track_caller]
fn near(actual: f64, expected: f64, tolerance: f64) {
    let error = (actual / expected - 1.0).abs();
    assert!(error <= tolerance, "{actual} is not {expected}: off by {:.1} %", 100.0 * error);
}

#[test]
fn one_server_waits_as_in_m_m_1() {
    let queue = Queue { servers: 1, places: None, arrivals_per_s: 0.7, requests: 200_000 };
    let outcome = queue.serve(exponential);
    // ρ/(μ − λ) and 1/(μ − λ).
    near(outcome.queue.mean_s().unwrap(), 0.7 / 0.3, 0.04);
    near(outcome.e2e.mean_s().unwrap(), 1.0 / 0.3, 0.04);
    // P(wait > t) = ρ·exp(−(μ − λ)t).
    let wait_p95 = outcome.queue.quantile(0.95).unwrap().at_most_s.unwrap();
    near(wait_p95, (0.7_f64 / 0.05).ln() / 0.3, 0.05);
    near(outcome.busy_share(1).unwrap(), 0.7, 0.01);
}

#[test]
fn ten_servers_wait_as_in_m_m_c() {
    let queue = Queue { servers: 10, places: None, arrivals_per_s: 8.0, requests: 200_000 };
    let outcome = queue.serve(exponential);
    // Erlang C of ten servers at a load of 8 is 0.409 180 150 8; the mean wait C/(cμ − λ).
    near(outcome.queue.mean_s().unwrap(), 0.409_180_150_8 / 2.0, 0.06);
    near(outcome.batch_mean().unwrap() * outcome.busy_share(1).unwrap(), 8.0, 0.01);
    // Whoever finds a place free still waits for the end of the pass: at most a millisecond.
    let at_once = outcome.queue.quantile(1.0 - 0.43).unwrap().at_most_s.unwrap();
    assert!(at_once <= 0.001_01, "{at_once}");
    assert!(outcome.queue.quantile(1.0 - 0.39).unwrap().at_most_s.unwrap() > 0.001_01);
}

#[test]
fn a_server_of_any_service_waits_as_pollaczek_and_khinchine_say() {
    // λE[S²]/(2(1 − ρ)): constant service, and one of two lengths with mean 1 and E[S²] = 2.92.
    let constant = Queue { servers: 1, places: None, arrivals_per_s: 0.8, requests: 200_000 };
    near(constant.serve(|_| 1.0).queue.mean_s().unwrap(), 0.8 / (2.0 * 0.2), 0.04);
    let mixed = Queue { arrivals_per_s: 0.6, ..constant };
    let outcome = mixed.serve(|uniform| if uniform <= 0.75 { 0.2 } else { 3.4 });
    near(outcome.queue.mean_s().unwrap(), 0.6 * 2.92 / (2.0 * 0.4), 0.04);
}

#[test]
fn a_bounded_queue_refuses_as_m_m_c_k_does() {
    let queue = Queue { servers: 8, places: Some(40), arrivals_per_s: 9.0, requests: 200_000 };
    let outcome = queue.serve(exponential);
    let refused = outcome.refused_queue_full as f64 / outcome.arrived as f64;
    near(refused, 0.112_712_476_9, 0.03);
    near(outcome.queue.mean_s().unwrap(), 3.072_177_871, 0.02);
    near(outcome.e2e.mean_s().unwrap(), 4.072_177_871, 0.02);
}

#[test]
fn servers_without_a_queue_lose_as_erlang_says_whatever_the_service() {
    let queue = Queue { servers: 10, places: Some(10), arrivals_per_s: 8.0, requests: 200_000 };
    for service in [exponential, |_| 1.0, |uniform| 2.0 * uniform] {
        let outcome = queue.serve(service);
        let lost = outcome.refused_queue_full as f64 / outcome.arrived as f64;
        near(lost, 0.121_661_064_3, 0.03);
    }
}

#[test]
fn replications_enclose_the_truth_as_often_as_they_say() {
    let queue = Queue { servers: 1, places: None, arrivals_per_s: 0.5, requests: 4_000 };
    // 30 intervals with 90 %, each of ten replications: fewer than 22 hold with a chance of 0.3 %.
    let holds = (0..30_u64).filter(|set| {
        let seeds = 10 * set..10 * set + 10;
        let runs = Replications::run(seeds, |seed| queue.serve_seeded(seed, exponential));
        let bounds = runs.bounds(0.05, |outcome| outcome.queue.mean_s()).unwrap().unwrap();
        bounds.lower <= 1.0 && 1.0 <= bounds.upper
    });
    assert!(holds.count() >= 22);
}
