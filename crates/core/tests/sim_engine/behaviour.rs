//! What can be computed by hand.

use cotenant_core::perf::IntegerStep;
use cotenant_core::sim::engine::{
    Prefix, Replica, ReplicaSpec, Role, SimRequest, SpecProblem, Unwatched,
};
use cotenant_core::sim::{LoadMargin, Outcome, Predictable};
use cotenant_core::units::Picoseconds;

use crate::watching::{Event, Log};

/// A pass takes 10, and 1 for each KV token of who decodes.
fn spec() -> ReplicaSpec {
    ReplicaSpec {
        step: IntegerStep {
            fixed: Picoseconds(10),
            per_kv_token: Picoseconds(1),
            ..IntegerStep::default()
        },
        kv_blocks: 100,
        block_tokens: 4,
        sequences_max: 8,
        batched_tokens_max: 8,
        requests_max: None,
        prefix_cache: false,
        role: Role::Both,
    }
}

fn request(id: u64, at: u64, prompt_tokens: u32, output_tokens: u32) -> SimRequest {
    SimRequest { id, at: Picoseconds(at), prompt_tokens, output_tokens, class: 0, prefix: None }
}

fn run(spec: ReplicaSpec, requests: &[SimRequest]) -> (Log, Outcome) {
    let (mut log, mut outcome) = (Log::default(), Outcome::default());
    let mut replica = Replica::new(0, spec).unwrap();
    let mut second = Replica::new(0, spec).unwrap();
    for request in requests {
        replica.offer(request.at, *request, &mut log);
        second.offer(request.at, *request, &mut outcome);
    }
    replica.advance(Picoseconds::MAX, &mut log);
    second.advance(Picoseconds::MAX, &mut outcome);
    (log, outcome)
}

#[test]
fn a_prompt_in_chunks_and_its_tokens() {
    // 20 tokens in passes of 8: three passes of 10. Then three tokens on 20, 21 and 22 KV tokens.
    let (log, outcome) = run(spec(), &[request(0, 5, 20, 4)]);
    let expected = [
        Event::Admitted { id: 0, at: 5 },
        Event::First { id: 0, at: 35 },
        Event::Finished { id: 0, first: 35, at: 35 + 30 + 31 + 32 },
    ];
    assert_eq!(log.events, expected);
    let prefill: Vec<u64> = log.passes.iter().map(|pass| pass.prefill_tokens).collect();
    assert_eq!(prefill, [8, 8, 4, 0, 0, 0]);
    assert_eq!((log.runs, outcome.passes, outcome.itl.count()), (4, 6, 3));
    assert_eq!(outcome.itl.sum_picoseconds(), 93);
    // 23 tokens in blocks of 4.
    assert_eq!(outcome.kv_blocks_used_max, 6);
}

#[test]
fn who_arrives_within_a_pass_joins_the_next() {
    // The first decodes from 10 on, on 4 KV tokens: passes end at 24, 39, 55.
    let (log, _) = run(spec(), &[request(0, 0, 4, 9), request(1, 39, 4, 1), request(2, 40, 4, 1)]);
    assert!(log.events.contains(&Event::Admitted { id: 1, at: 39 }));
    assert!(log.events.contains(&Event::Admitted { id: 2, at: 55 }));
}

#[test]
fn a_common_beginning_is_computed_once() {
    let prefix = Some(Prefix { group: 3, tokens: 18 });
    let requests = [
        SimRequest { prefix, ..request(0, 0, 20, 2) },
        SimRequest { prefix, ..request(1, 1_000, 20, 2) },
        request(2, 2_000, 20, 2),
    ];
    let (_, without) = run(spec(), &requests);
    let (_, with) = run(ReplicaSpec { prefix_cache: true, ..spec() }, &requests);
    // Four whole blocks of the 18 common tokens.
    assert_eq!(without.prefill_tokens - with.prefill_tokens, 16);
}

#[test]
fn a_livelock_of_preemption_is_named() {
    // Two requests that together need twice the cache: the second is let in and thrown out again.
    let cramped = ReplicaSpec { kv_blocks: 16, batched_tokens_max: 8, ..spec() };
    let (log, outcome) = run(cramped, &[request(0, 0, 24, 40), request(1, 1, 24, 40)]);
    assert_eq!(outcome.livelocks, 1);
    let (id, at) = outcome.first_livelock.unwrap();
    assert!(log.events.contains(&Event::Livelock { id, at: at.0 }));
    assert_eq!((id, outcome.finished), (1, 2));
    assert!(outcome.lost_share().unwrap() > 0.5, "{:?}", outcome.lost_share());
    // With room for both nothing is lost.
    let (_, roomy) = run(ReplicaSpec { kv_blocks: 32, ..cramped }, &[request(0, 0, 24, 40)]);
    assert_eq!((roomy.livelocks, roomy.lost_tokens), (0, 0));
}

#[test]
fn a_paused_replica_takes_requests_and_begins_nothing() {
    let mut replica = Replica::new(0, spec()).unwrap();
    let mut log = Log::default();
    replica.offer(Picoseconds(0), request(0, 0, 4, 9), &mut log);
    // Passes end at 10, 24, 39: the one under way at 30 ends.
    replica.pause(Picoseconds(30), &mut log);
    replica.offer(Picoseconds(60), request(1, 60, 4, 1), &mut log);
    replica.advance(Picoseconds(500), &mut log);
    assert_eq!(log.passes.last().unwrap().until, 39);
    assert_eq!((replica.load(Picoseconds(500)).running, replica.next()), (1, None));
    // The model leaves the GPU: everything is computed again, after what waits is in order.
    assert!(replica.unload(Picoseconds(500), &mut log));
    assert_eq!(replica.load(Picoseconds(500)).kv_blocks_used, 0);
    replica.drain(true);
    replica.resume(Picoseconds(600), &mut log);
    replica.advance(Picoseconds::MAX, &mut log);
    assert!(log.events.contains(&Event::Preempted { id: 0, at: 500, lost: 6 }));
    assert!(log.events.contains(&Event::Late { id: 0, since: 39, at: 610 }));
    assert!(replica.is_idle());
}

#[test]
fn numbers_that_cannot_be_meant_are_refused() {
    let refused = |spec: ReplicaSpec| Replica::new(0, spec).unwrap_err();
    assert!(matches!(refused(ReplicaSpec { kv_blocks: 0, ..spec() }), SpecProblem::Zero { .. }));
    let wide = ReplicaSpec { sequences_max: 9, ..spec() };
    assert!(matches!(refused(wide), SpecProblem::PassTooSmall { .. }));
    let timeless = ReplicaSpec { step: IntegerStep::default(), ..spec() };
    assert_eq!(refused(timeless), SpecProblem::TimelessPass);
    let mut replica = Replica::new(0, spec()).unwrap();
    let changed = replica.set_step(Picoseconds::ZERO, IntegerStep::default(), &mut Unwatched);
    assert_eq!(changed, Err(SpecProblem::TimelessPass));
}

#[test]
fn kv_blocks_are_held_against_the_memory_first() {
    // An 8B with 131,072 bytes for each token, and 56 GB for them: 26,702 blocks of 16 tokens.
    let (bytes, memory) = (131_072, 56_000_000_000);
    let with = |kv_blocks| ReplicaSpec { kv_blocks, block_tokens: 16, ..spec() };
    assert_eq!(with(26_702).check_memory(bytes, memory), Ok(()));
    let tokens = with(427_000).check_memory(bytes, memory).unwrap_err();
    assert!(matches!(tokens, SpecProblem::KvBeyondMemory { tokens_for_blocks: true, .. }));
    assert!(tokens.to_string().ends_with("looks like a number of tokens"), "{tokens}");
    let more = with(40_000).check_memory(bytes, memory).unwrap_err();
    assert!(matches!(more, SpecProblem::KvBeyondMemory { tokens_for_blocks: false, .. }));
    let few = with(1_669).check_memory(bytes, memory).unwrap_err();
    assert!(matches!(few, SpecProblem::KvFarBelowMemory { fitting_blocks: 26_702, .. }));
}

#[test]
fn near_capacity_no_latency_is_foretold() {
    let at = |rate: f64| LoadMargin::new(rate, 10.0, 0.05).predictable();
    assert_eq!(at(9.4), Predictable::Yes);
    assert_eq!((at(9.6), at(10.4)), (Predictable::No, Predictable::No));
    assert_eq!(at(10.6), Predictable::Overloaded);
    assert_eq!(LoadMargin::new(1.0, 10.0, 1.5).predictable(), Predictable::No);
    assert_eq!(LoadMargin::new(1.0, f64::NAN, 0.05).predictable(), Predictable::No);
    assert_eq!(LoadMargin::new(0.0, 0.0, 0.05).predictable(), Predictable::No);
}

#[test]
fn a_backlog_that_drifts_is_told_from_one_that_does_not() {
    let drift = |apart: u64| {
        let requests: Vec<SimRequest> =
            (0..3_000).map(|id| request(id, id * apart * 1_000_000_000, 4, 20)).collect();
        let slow = IntegerStep { fixed: Picoseconds(1_000_000_000), ..IntegerStep::default() };
        run(ReplicaSpec { step: slow, ..spec() }, &requests).1.backlog.drift().unwrap()
    };
    // Eight places, 20 passes each: one request every 2.5 passes is all that it carries.
    let (growing, steady) = (drift(2), drift(3));
    assert!(growing.p_increasing_corrected < 0.001 && growing.slope > 1.0, "{growing:?}");
    assert!(steady.p_increasing_corrected > 0.05 && steady.slope == 0.0, "{steady:?}");
}

#[test]
fn the_warm_up_is_served_and_not_counted() {
    let requests: Vec<SimRequest> = (0..10).map(|id| request(id, id * 100, 4, 3)).collect();
    let mut outcome = Outcome::new(Picoseconds(500));
    let mut replica = Replica::new(0, spec()).unwrap();
    for request in requests {
        replica.offer(request.at, request, &mut outcome);
    }
    replica.advance(Picoseconds::MAX, &mut outcome);
    assert_eq!((outcome.finished, outcome.e2e.count(), outcome.ttft.count()), (10, 5, 5));
    assert_eq!(outcome.itl.count(), 10);
}

#[test]
fn what_waits_can_go_elsewhere() {
    let mut replica = Replica::new(0, ReplicaSpec { sequences_max: 1, ..spec() }).unwrap();
    let mut log = Log::default();
    for id in 0..3 {
        replica.offer(Picoseconds(id), request(id, id, 4, 5), &mut log);
    }
    let withdrawn = replica.withdraw_waiting(Picoseconds(20), &mut log);
    assert_eq!(withdrawn.iter().map(|request| request.id).collect::<Vec<_>>(), [1, 2]);
    replica.advance(Picoseconds::MAX, &mut log);
    assert!(replica.is_idle() && log.passes.len() == 5);
}

#[test]
fn warm_up_ends_when_the_backlog_is_steady() {
    // 400 requests are there at once; after them come half as many as are carried.
    let slow = IntegerStep { fixed: Picoseconds(1_000_000_000), ..IntegerStep::default() };
    let at = |id: u64| if id < 400 { 0 } else { (id - 400) * 5_000_000_000 };
    let all: Vec<SimRequest> = (0..4_000).map(|id| request(id, at(id), 4, 20)).collect();
    let outcome = run(ReplicaSpec { step: slow, ..spec() }, &all).1;
    // 400 in excess, gone at the rate at which more is carried than comes: 0.4 − 0.2 each ms.
    let steady_s = outcome.backlog.warm_up().unwrap().seconds();
    assert!((1.9..=3.5).contains(&steady_s), "{steady_s}");
}
