//! A pool that is made to be a queue of the books waits as the books say.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cotenant_core::sim::pool::{PoolOutcome, Workload, simulate};
use cotenant_core::units::Picoseconds;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::{alone, job, pool};

/// Poisson arrivals of 8 a second for ten GPUs, each held for an exponential time of one second.
fn drawn(seed: u64) -> Vec<Workload> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut exponential = || -(1.0 - random.random::<f64>()).ln();
    let mut at_s = 0.0;
    let mut draw = |id| {
        at_s += exponential() / 8.0;
        let work = Picoseconds::from_seconds(exponential());
        Workload { at: Picoseconds::from_seconds(at_s), work, ..job(id, 0, 0, 1, 0) }
    };
    (0..COUNT).map(&mut draw).collect()
}

const COUNT: u64 = 60_000;

#[test]
fn a_queue_of_ten_gpus_waits_for_quota_as_in_m_m_c() {
    let outcomes: Vec<PoolOutcome> =
        (0..8).map(|seed| simulate(&pool(vec![alone(10)]), &drawn(seed)).unwrap()).collect();
    let mean = |of: &dyn Fn(&PoolOutcome) -> f64| {
        outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
    };
    // Erlang C of ten servers at a load of 8 is 0.409 180 150 8; the mean wait C/(cμ − λ).
    let wait = mean(&|it| it.all.quota_wait.mean_s().unwrap());
    assert!((wait / (0.409_180_150_8 / 2.0) - 1.0).abs() < 0.07, "{wait}");
    let waits = |it: &PoolOutcome| {
        it.records.iter().filter(|record| record.quota_wait > Picoseconds::ZERO).count() as f64
    };
    let waited = mean(&|it| waits(it) / COUNT as f64);
    assert!((waited / 0.409_180_150_8 - 1.0).abs() < 0.03, "{waited}");
    // Little's law: the GPUs in use are the load.
    let busy = mean(&|it| it.queues[0].used.gpu_hours() / (it.end.seconds() / 3600.0));
    assert!((busy / 8.0 - 1.0).abs() < 0.01, "{busy}");
    assert!(outcomes.iter().all(|it| it.all.finished == COUNT));
    assert!(outcomes.iter().all(|it| it.all.placement_wait.largest() == Some(Picoseconds::ZERO)));
}

/// First come, first served by several servers needs no queue to be known: each goes to the server
/// that is free first (Kiefer and Wolfowitz).
#[test]
fn each_of_equal_size_starts_when_the_first_gpu_is_free_to_the_picosecond() {
    let workloads = drawn(99);
    let outcome = simulate(&pool(vec![alone(10)]), &workloads).unwrap();
    let mut free: BinaryHeap<Reverse<Picoseconds>> = vec![Reverse(Picoseconds::ZERO); 10].into();
    for (workload, record) in workloads.iter().zip(&outcome.records) {
        let Reverse(first) = free.pop().unwrap();
        let start = first.max(workload.at);
        assert_eq!(record.first_admitted_at, Some(start));
        free.push(Reverse(start + workload.work));
    }
}
