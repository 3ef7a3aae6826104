//! Small pools, worked out by hand.

use cotenant_core::sim::pool::{
    Ending, PlacementTimeout, PoolProblem, PoolSpec, QueueSpec, Quota, Reclaim, Strategy, Within,
    Workload, simulate,
};
use cotenant_core::units::Picoseconds;

use crate::support::{
    admitted_s, alone, job, pool, queue, record, run, seconds, with_nodes, with_priority,
};

fn borrowing(nominal: u32, borrowing_limit: u32) -> QueueSpec {
    let quotas =
        vec![Quota { nominal, borrowing_limit: Some(borrowing_limit), lending_limit: None }];
    QueueSpec { quotas, ..queue(nominal) }
}

fn lending(nominal: u32, lending_limit: u32) -> QueueSpec {
    let quotas = vec![Quota { nominal, borrowing_limit: None, lending_limit: Some(lending_limit) }];
    QueueSpec { quotas, ..queue(nominal) }
}

#[test]
fn the_higher_priority_goes_first_then_the_older() {
    let spec = pool(vec![alone(1)]);
    let jobs = [
        job(0, 0, 0, 1, 10),
        job(1, 0, 1, 1, 10),
        job(2, 0, 2, 1, 10),
        with_priority(5, job(3, 0, 3, 1, 10)),
    ];
    let outcome = run(&spec, &jobs);
    assert_eq!(admitted_s(&outcome), [Some(0), Some(20), Some(30), Some(10)]);
    assert_eq!(outcome.end, seconds(40));
    assert_eq!(outcome.all.quota_wait.largest(), Some(seconds(28)));
    assert_eq!(outcome.all.kept.gpu_hours(), 40.0 / 3600.0);
}

#[test]
fn a_queue_borrows_what_others_do_not_use_up_to_its_limit() {
    // Eight are free in all; the first queue has four and may borrow two.
    let spec = pool(vec![borrowing(4, 2), queue(4)]);
    let jobs: Vec<Workload> = (0..8).map(|id| job(id, 0, 0, 1, 10)).collect();
    let outcome = run(&spec, &jobs);
    let at = admitted_s(&outcome);
    assert_eq!(at, [[Some(0); 6].as_slice(), &[Some(10); 2]].concat());
    assert_eq!(outcome.queues[0].used_max, [6]);
    assert_eq!(outcome.queues[0].borrowed.gpu_hours(), 20.0 / 3600.0);
    assert_eq!(outcome.queues[1].borrowed.gpu_hours(), 0.0);
}

#[test]
fn a_lender_keeps_what_it_does_not_lend() {
    let spec = pool(vec![queue(2), lending(4, 1)]);
    let jobs: Vec<Workload> = (0..5).map(|id| job(id, 0, 0, 1, 10)).collect();
    let outcome = run(&spec, &jobs);
    assert_eq!(outcome.queues[0].used_max, [3]);
    let jobs: Vec<Workload> = (0..6).map(|id| job(id, (id / 3) as u16, 0, 1, 10)).collect();
    // Three borrowed from the pot of three; the other queue has its three.
    assert_eq!(run(&spec, &jobs).end, seconds(10));
}

#[test]
fn heads_that_need_not_borrow_go_before_those_that_do_whatever_their_priority() {
    // Three in all, one is held. The first queue's head would borrow, the second one's would not.
    let spec = pool(vec![queue(1), queue(2)]);
    let jobs = [
        job(0, 0, 0, 1, 100),
        job(1, 1, 0, 2, 10),
        with_priority(9, job(2, 0, 5, 1, 10)),
        job(3, 1, 6, 2, 10),
    ];
    let outcome = run(&spec, &jobs);
    assert_eq!(admitted_s(&outcome), [Some(0), Some(0), Some(20), Some(10)]);
}

#[test]
fn a_queue_gets_its_own_back_from_borrowers_and_the_newest_of_the_lowest_goes() {
    let own = QueueSpec { reclaim: Reclaim::Any, ..queue(2) };
    let spec = pool(vec![own, queue(2)]);
    let jobs = [
        with_priority(3, job(0, 1, 0, 1, 100)),
        with_priority(3, job(1, 1, 1, 1, 100)),
        with_priority(2, job(2, 1, 2, 1, 100)),
        with_priority(2, job(3, 1, 3, 1, 100)),
        with_priority(-1, job(4, 0, 10, 1, 20)),
    ];
    let outcome = run(&spec, &jobs);
    assert_eq!(record(&outcome, 4).first_admitted_at, Some(seconds(10)));
    let stopped: Vec<u32> = outcome.records.iter().map(|record| record.preemptions).collect();
    assert_eq!(stopped, [0, 0, 0, 1, 0]);
    // Seven seconds of work are lost, and it begins again when the reclaimer has gone.
    assert_eq!(outcome.all.lost.gpu_hours(), 7.0 / 3600.0);
    assert_eq!(record(&outcome, 3).ending, Ending::Finished(seconds(130)));
    assert_eq!(record(&outcome, 3).quota_wait, seconds(20));
}

#[test]
fn one_that_is_within_its_own_quota_is_not_reclaimed_from() {
    let own = QueueSpec { reclaim: Reclaim::Any, ..queue(2) };
    let spec = pool(vec![own, queue(2)]);
    let jobs = [job(0, 1, 0, 2, 100), job(1, 0, 0, 2, 100), with_priority(9, job(2, 0, 1, 1, 1))];
    let outcome = run(&spec, &jobs);
    assert_eq!(outcome.all.preemptions, 0);
    assert_eq!(record(&outcome, 2).first_admitted_at, Some(seconds(100)));
}

#[test]
fn reclaim_of_lower_priority_spares_equals() {
    let own = QueueSpec { reclaim: Reclaim::LowerPriority, ..queue(1) };
    let spec = pool(vec![own, queue(1)]);
    let equal = [job(0, 1, 0, 2, 100), job(1, 0, 1, 1, 10)];
    assert_eq!(run(&spec, &equal).all.preemptions, 0);
    let higher = [job(0, 1, 0, 2, 100), with_priority(1, job(1, 0, 1, 1, 10))];
    assert_eq!(run(&spec, &higher).all.preemptions, 1);
}

#[test]
fn those_stopped_in_the_same_queue_are_no_more_than_needed() {
    let spec = pool(vec![QueueSpec { within: Within::LowerPriority, ..alone(8) }]);
    // The newest goes first: one GPU, then four, which are enough alone, so the first is spared.
    let jobs = [
        job(0, 0, 0, 3, 100),
        job(1, 0, 1, 4, 100),
        job(2, 0, 2, 1, 100),
        with_priority(1, job(3, 0, 10, 4, 10)),
    ];
    let outcome = run(&spec, &jobs);
    let stopped: Vec<u32> = outcome.records.iter().map(|record| record.preemptions).collect();
    assert_eq!(stopped, [0, 1, 0, 0]);
}

#[test]
fn those_of_other_queues_go_before_lower_priorities_of_the_same_one() {
    let own = QueueSpec { reclaim: Reclaim::Any, within: Within::LowerPriority, ..queue(4) };
    let spec = pool(vec![own, queue(2)]);
    let jobs = [
        with_priority(-5, job(0, 0, 0, 2, 100)),
        with_priority(9, job(1, 1, 0, 4, 100)),
        job(2, 0, 10, 2, 10),
    ];
    let outcome = run(&spec, &jobs);
    let stopped: Vec<u32> = outcome.records.iter().map(|record| record.preemptions).collect();
    assert_eq!(stopped, [0, 1, 0]);
}

#[test]
fn one_for_whom_others_are_stopped_is_not_overtaken_by_an_older_one() {
    // The 6 GPUs of the borrower are taken back for 3. An older one of 8 waits in the same queue, and
    // would fit in the moment in which they are free, and would be stopped for those 3 again.
    let own = QueueSpec { reclaim: Reclaim::Any, ..queue(6) };
    let spec = pool(vec![own, queue(2)]);
    let jobs = [job(0, 1, 4, 6, 11), job(1, 0, 4, 8, 5), job(2, 0, 9, 3, 2)];
    let outcome = run(&spec, &jobs);
    assert_eq!(outcome.livelock, None);
    // At 11 both that are left would borrow and are as old; the one with the smaller number goes first
    // and works its 11 s again.
    assert_eq!(admitted_s(&outcome), [Some(4), Some(22), Some(9)]);
    assert_eq!(outcome.all.preemptions, 1);
}

/// Three that take from each other without end: 3 (within its queue's own) takes back from 2, which
/// borrows; 4 stops 3, which is below it, to borrow; 2 is older than 4 and takes what 3 leaves.
fn circle() -> (PoolSpec, Vec<Workload>) {
    let own = QueueSpec { reclaim: Reclaim::Any, within: Within::LowerPriority, ..queue(4) };
    let jobs = vec![
        with_priority(9, job(0, 0, 0, 1, 5000)),
        with_priority(9, job(1, 1, 0, 1, 5000)),
        with_priority(2, job(2, 1, 0, 5, 50)),
        with_priority(1, job(3, 0, 10, 3, 50)),
        with_priority(2, job(4, 0, 11, 4, 50)),
    ];
    (pool(vec![own, queue(4)]), jobs)
}

#[test]
fn workloads_that_stop_each_other_in_a_circle_are_named() {
    let (spec, jobs) = circle();
    let outcome = run(&spec, &jobs);
    assert_eq!(outcome.livelock, Some(seconds(11)));
    assert_eq!((outcome.end, outcome.all.finished), (seconds(11), 0));
    // Without the last one there is no circle.
    let outcome = run(&spec, &jobs[..4]);
    assert_eq!((outcome.livelock, outcome.all.finished, outcome.all.preemptions), (None, 4, 1));
}

#[test]
fn two_that_want_the_same_victim_are_served_one_after_the_other() {
    let own = || QueueSpec { reclaim: Reclaim::Any, ..queue(2) };
    let spec = pool(vec![own(), own(), queue(0)]);
    // The borrower has all four; the end of it is enough for both, in two rounds of one moment.
    let jobs = [job(0, 2, 0, 4, 100), job(1, 0, 10, 2, 20), job(2, 1, 10, 2, 30)];
    let outcome = run(&spec, &jobs);
    assert_eq!(admitted_s(&outcome), [Some(0), Some(10), Some(10)]);
    assert_eq!(outcome.all.preemptions, 1);
    assert_eq!(record(&outcome, 0).ending, Ending::Finished(seconds(140)));
}

#[test]
fn flavours_have_their_own_quota() {
    let mut spec = pool(vec![alone(1)]);
    spec.flavours.push(spec.flavours[0].clone());
    spec.queues[0].quotas.push(Quota { nominal: 2, ..Quota::default() });
    let of = |flavour, workload: Workload| Workload { flavour, ..workload };
    let jobs = [
        of(0, job(0, 0, 0, 1, 10)),
        of(0, job(1, 0, 0, 1, 10)),
        of(1, job(2, 0, 0, 1, 10)),
        of(1, job(3, 0, 0, 1, 10)),
    ];
    let outcome = run(&spec, &jobs);
    assert_eq!(admitted_s(&outcome), [Some(0), Some(10), Some(0), Some(0)]);
    assert_eq!(outcome.queues[0].used_max, [1, 2]);
}

#[test]
fn work_is_kept_from_one_save_to_the_next_and_starts_are_paid_again() {
    let spec = pool(vec![QueueSpec { within: Within::LowerPriority, ..alone(1) }]);
    let saves =
        Workload { start: seconds(2), checkpoint: Some(seconds(10)), ..job(0, 0, 0, 1, 50) };
    // Stopped after 2 s of start and 25 s of work: 20 s are kept, 5 s lost. Then 2 + 30 s are left.
    let outcome = run(&spec, &[saves, with_priority(1, job(1, 0, 27, 1, 10))]);
    assert_eq!(record(&outcome, 0).ending, Ending::Finished(seconds(69)));
    assert_eq!(outcome.all.lost.gpu_hours(), 5.0 / 3600.0);
    assert_eq!(record(&outcome, 0).held, seconds(59));
    // An exit of three seconds comes between, and the one that stops it waits that long.
    let outcome = run(
        &PoolSpec { exit: seconds(3), ..spec },
        &[saves, with_priority(1, job(1, 0, 27, 1, 10))],
    );
    assert_eq!(record(&outcome, 1).quota_wait, seconds(3));
    assert_eq!(record(&outcome, 0).ending, Ending::Finished(seconds(72)));
}

#[test]
fn a_strict_queue_waits_behind_its_head_and_another_one_does_not() {
    let jobs = [job(0, 0, 0, 2, 10), job(1, 0, 1, 3, 10), job(2, 0, 2, 1, 10)];
    let best_effort = run(&pool(vec![alone(3)]), &jobs);
    assert_eq!(admitted_s(&best_effort), [Some(0), Some(12), Some(2)]);
    let strict = QueueSpec { strategy: Strategy::StrictFifo, ..alone(3) };
    assert_eq!(admitted_s(&run(&pool(vec![strict]), &jobs)), [Some(0), Some(10), Some(20)]);
}

#[test]
fn a_large_one_that_small_ones_overtake_for_ever_is_seen_to_starve() {
    let mut jobs: Vec<Workload> = (0..100).map(|id| job(id, 0, id, 1, 3)).collect();
    jobs.push(job(100, 0, 10, 3, 1));
    let spec = PoolSpec { until: seconds(90), ..pool(vec![alone(3)]) };
    let outcome = run(&spec, &jobs);
    assert_eq!(outcome.all.starving, 1);
    assert_eq!(record(&outcome, 100).ending, Ending::WaitingForQuota);
    assert_eq!(outcome.all.waiting_max, Some(seconds(80)));
    let strict = QueueSpec { strategy: Strategy::StrictFifo, ..alone(3) };
    let outcome = run(&PoolSpec { queues: vec![strict], ..spec }, &jobs);
    assert_eq!(outcome.all.starving, 0);
    assert!(matches!(record(&outcome, 100).ending, Ending::Finished(_)));
}

#[test]
fn more_quota_moves_a_wait_from_quota_to_places() {
    // Two nodes of eight, each with five held for 100 s. Six are free, and no node has four.
    let jobs = [job(0, 0, 0, 5, 100), job(1, 0, 0, 5, 100), job(2, 0, 10, 4, 10)];
    let little = run(&with_nodes(pool(vec![alone(13)]), &[(2, 8)]), &jobs);
    let more = run(&with_nodes(pool(vec![alone(16)]), &[(2, 8)]), &jobs);
    let (before, after) = (record(&little, 2), record(&more, 2));
    assert_eq!((before.quota_wait, before.placement_wait), (seconds(90), Picoseconds::ZERO));
    assert_eq!((after.quota_wait, after.placement_wait), (Picoseconds::ZERO, seconds(90)));
    assert_eq!(little.end, more.end);
    // Six GPUs were free for 90 s that the gang could not use, and without quota nobody wanted them.
    assert_eq!(more.fragmented.gpu_hours(), 6.0 * 90.0 / 3600.0);
    assert_eq!(little.fragmented.gpu_hours(), 0.0);
    assert_eq!(more.capacity.gpu_hours(), 16.0 * 110.0 / 3600.0);
    let held = 10.0 * 100.0 + 4.0 * 10.0;
    assert!((more.utilisation().unwrap() - held / (16.0 * 110.0)).abs() < 1e-12);
}

#[test]
fn a_gang_that_finds_no_places_gives_its_quota_back_and_stays_away_longer_each_time() {
    let timeout =
        PlacementTimeout { after: seconds(10), backoff: seconds(5), backoff_max: seconds(1000) };
    let spec = PoolSpec { placement_timeout: Some(timeout), ..pool(vec![alone(16)]) };
    let jobs = [job(0, 0, 0, 5, 50), job(1, 0, 0, 5, 50), job(2, 0, 0, 4, 10)];
    // Admitted at 0, 15 and 35, away from 10, 25 and 45 for 5, 10 and 20: placed at 65.
    let outcome = run(&with_nodes(spec, &[(2, 8)]), &jobs);
    let last = record(&outcome, 2);
    assert_eq!(last.placement_timeouts, 3);
    assert_eq!((last.quota_wait, last.placement_wait), (Picoseconds::ZERO, seconds(65)));
    assert_eq!(last.ending, Ending::Finished(seconds(75)));
}

#[test]
fn the_time_ends_with_the_last_one_and_not_with_what_is_no_longer_planned() {
    let timeout =
        PlacementTimeout { after: seconds(500), backoff: seconds(1), backoff_max: seconds(1) };
    let spec = PoolSpec { placement_timeout: Some(timeout), ..pool(vec![alone(8)]) };
    let outcome = run(&with_nodes(spec, &[(1, 8)]), &[job(0, 0, 0, 8, 5)]);
    assert_eq!((outcome.end, outcome.utilisation()), (seconds(5), Some(1.0)));
}

#[test]
fn deadlines_are_kept_or_missed() {
    let due =
        |workload: Workload, after_s| Workload { deadline: Some(seconds(after_s)), ..workload };
    let jobs =
        [due(job(0, 0, 0, 1, 10), 10), due(job(1, 0, 0, 1, 10), 19), due(job(2, 0, 0, 1, 90), 50)];
    let outcome = run(&PoolSpec { until: seconds(60), ..pool(vec![alone(1)]) }, &jobs);
    assert_eq!((outcome.all.on_time, outcome.all.late, outcome.all.running), (1, 2, 1));
}

#[test]
fn what_can_never_run_is_refused_with_the_reason() {
    let of = |spec: &PoolSpec, workload: Workload| simulate(spec, &[workload]).unwrap_err();
    let spec = with_nodes(pool(vec![borrowing(4, 3), queue(20)]), &[(2, 8)]);
    assert_eq!(
        of(&spec, job(7, 0, 0, 8, 1)).to_string(),
        "workload 7: 8 GPUs are more than the 7 that queue queue of 4 can ever have with all that it may borrow"
    );
    assert_eq!(
        of(&spec, job(7, 1, 0, 9, 1)).to_string(),
        "workload 7: 1 pods of 9 GPUs never fit on the nodes of h100, which take 0 such pods when empty"
    );
    let three = Workload { pods: 3, ..job(7, 1, 0, 5, 1) };
    assert!(matches!(of(&spec, three), PoolProblem::NeverPlaced { most: 2, .. }));
    assert!(matches!(
        of(&pool(vec![alone(0)]), job(1, 0, 0, 1, 1)),
        PoolProblem::NeverAdmitted { most: 0, .. }
    ));
    assert_eq!(of(&spec, job(1, 0, 0, 0, 1)), PoolProblem::Empty(1));
    assert!(matches!(of(&spec, job(1, 2, 0, 1, 1)), PoolProblem::Unknown { what: "queue", .. }));
    let never = Workload { checkpoint: Some(Picoseconds::ZERO), ..job(1, 0, 0, 1, 1) };
    assert_eq!(of(&spec, never), PoolProblem::Checkpoint(1));
    let twice = [job(1, 0, 0, 1, 1), job(1, 1, 0, 1, 1)];
    assert_eq!(simulate(&spec, &twice), Err(PoolProblem::Twice(1)));
    assert_eq!(simulate(&pool(Vec::new()), &[]), Err(PoolProblem::Nothing("queue")));
    let uneven = PoolSpec { queues: vec![QueueSpec { quotas: Vec::new(), ..alone(1) }], ..spec };
    assert!(matches!(simulate(&uneven, &[]), Err(PoolProblem::Quotas { found: 0, .. })));
}
