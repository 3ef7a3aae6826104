//! The queue: priority, fairness, bounds.

use std::collections::BTreeMap;

use cotenant_core::policy::admission::{Action, Admission, Band, Event, Limits, Refusal, Ticket};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;

fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds::SECOND * seconds
}

fn band(queued_max: usize, wait_s: u64) -> Band {
    Band { queued_max, wait_max: seconds(wait_s), in_flight_max: None }
}

fn ticket(id: u64, band: usize, flow: u32) -> Ticket {
    Ticket { id, band, flow, weight: 1, cost: 1, deadline: None }
}

/// A queue with what it was told to do, in short: +id is sent on, −id is refused.
struct Bench {
    queue: Admission,
    refused: Vec<(u64, Refusal)>,
}

impl Bench {
    fn new(bands: Vec<Band>, queued_max: usize, capacity: u64) -> Self {
        let queue = Admission::new(Limits { bands, queued_max }, capacity);
        Self { queue, refused: Vec::new() }
    }

    fn tell(&mut self, at: Picoseconds, event: Event) -> Vec<u64> {
        let mut actions = Vec::new();
        self.queue.step(at, event, &mut actions);
        let mut sent = Vec::new();
        for action in actions {
            match action {
                Action::Dispatch(id) => sent.push(id),
                Action::Refuse(id, why) => self.refused.push((id, why)),
                Action::WakeAt(_) => {}
            }
        }
        sent
    }
}

#[test]
fn a_higher_band_goes_first_and_flows_of_a_band_take_turns() {
    let mut bench = Bench::new(vec![band(9, 60), band(9, 60)], 99, 1);
    assert_eq!(bench.tell(seconds(0), Event::Arrived(ticket(1, 1, 7))), [1]);
    for (id, band, flow) in [(2, 1, 7), (3, 1, 7), (4, 1, 8), (5, 0, 1)] {
        assert!(bench.tell(seconds(0), Event::Arrived(ticket(id, band, flow))).is_empty());
    }
    let order: Vec<u64> =
        [1, 5, 4, 2].iter().flat_map(|id| bench.tell(seconds(1), Event::Finished(*id))).collect();
    // 5 is of the higher band; flow 7 has had one already, so 4 of flow 8 comes before 2 and 3.
    assert_eq!(order, [5, 4, 2, 3]);
}

#[test]
fn who_waits_too_long_or_past_a_deadline_is_told_so() {
    let mut bench = Bench::new(vec![band(9, 30)], 99, 0);
    bench.tell(seconds(0), Event::Arrived(ticket(1, 0, 0)));
    let due = Ticket { deadline: Some(seconds(10)), ..ticket(2, 0, 0) };
    bench.tell(seconds(0), Event::Arrived(due));
    bench.tell(seconds(9), Event::Clock);
    assert!(bench.refused.is_empty());
    bench.tell(seconds(10), Event::Clock);
    assert_eq!(bench.refused, [(2, Refusal::DeadlinePassed)]);
    bench.tell(seconds(30), Event::Capacity(5));
    assert_eq!(bench.refused[1], (1, Refusal::WaitedTooLong));
    assert_eq!((bench.queue.queued(), bench.queue.in_flight()), (0, 0));
    let late = Ticket { deadline: Some(seconds(10)), ..ticket(3, 0, 0) };
    bench.tell(seconds(31), Event::Arrived(late));
    assert_eq!(bench.refused[2], (3, Refusal::DeadlinePassed));
}

#[test]
fn a_full_queue_displaces_the_newest_of_a_lower_band_and_else_refuses() {
    let mut bench = Bench::new(vec![band(9, 60), band(9, 60)], 2, 0);
    for id in [1, 2, 3] {
        bench.tell(seconds(id), Event::Arrived(ticket(id, 1, id as u32)));
    }
    assert_eq!(bench.refused, [(3, Refusal::QueueFull)]);
    bench.tell(seconds(4), Event::Arrived(ticket(4, 0, 0)));
    assert_eq!(bench.refused[1], (2, Refusal::Displaced));
    bench.tell(seconds(5), Event::Arrived(ticket(1, 0, 0)));
    assert_eq!(bench.refused[2], (1, Refusal::Duplicate));
    assert_eq!(bench.queue.queued(), 2);
}

#[test]
fn a_band_that_may_not_wait_is_served_as_long_as_there_is_room() {
    let mut bench = Bench::new(vec![band(0, 60)], 0, 1);
    assert_eq!(bench.tell(seconds(0), Event::Arrived(ticket(1, 0, 0))), [1]);
    bench.tell(seconds(0), Event::Arrived(ticket(2, 0, 0)));
    assert_eq!(bench.refused, [(2, Refusal::QueueFull)]);
}

#[test]
fn a_band_held_to_a_number_in_flight_leaves_the_rest_to_lower_ones() {
    let held = Band { in_flight_max: Some(1), ..band(9, 60) };
    let mut bench = Bench::new(vec![held, band(9, 60)], 99, 2);
    bench.tell(seconds(0), Event::Arrived(ticket(1, 0, 0)));
    assert!(bench.tell(seconds(0), Event::Arrived(ticket(2, 0, 0))).is_empty());
    assert_eq!(bench.tell(seconds(0), Event::Arrived(ticket(3, 1, 0))), [3]);
}

#[derive(Clone, Debug)]
enum Move {
    Arrive { band: usize, flow: u32, cost: u64, deadline_s: Option<u64> },
    Finish(usize),
    Cancel(u64),
    Capacity(u64),
    Wait(u64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let arrive = (0_usize..3, 0_u32..4, 1_u64..100, proptest::option::of(0_u64..60))
        .prop_map(|(band, flow, cost, deadline_s)| Move::Arrive { band, flow, cost, deadline_s });
    let one = prop_oneof![
        6 => arrive,
        3 => (0_usize..8).prop_map(Move::Finish),
        1 => (0_u64..100).prop_map(Move::Cancel),
        1 => (0_u64..6).prop_map(Move::Capacity),
        3 => (0_u64..9).prop_map(Move::Wait),
    ];
    proptest::collection::vec(one, 1..150)
}

proptest! {
    #[test]
    fn bounds_hold_and_everybody_gets_one_answer(moves in moves()) {
        let bands = vec![band(4, 20), Band { in_flight_max: Some(2), ..band(6, 30) }, band(5, 10)];
        let mut bench = Bench::new(bands.clone(), 9, 3);
        let (mut now_s, mut capacity, mut next) = (0_u64, 3_u64, 0_u64);
        let mut waiting: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        let mut flying: Vec<u64> = Vec::new();
        for one in moves {
            let is_growing = matches!(one, Move::Arrive { .. } | Move::Finish(_) | Move::Capacity(_));
            let before = flying.len();
            let event = match one {
                Move::Arrive { band, flow, cost, deadline_s } => {
                    let deadline = deadline_s.map(|after| seconds(now_s + after));
                    next += 1;
                    waiting.insert(next, (band, now_s));
                    let weight = flow + 1;
                    Event::Arrived(Ticket { id: next, band, flow, weight, cost, deadline })
                }
                Move::Finish(place) if !flying.is_empty() => {
                    Event::Finished(flying.remove(place % flying.len()))
                }
                Move::Cancel(id) => {
                    waiting.remove(&id);
                    Event::Cancelled(id)
                }
                Move::Capacity(new) => {
                    capacity = new;
                    Event::Capacity(new)
                }
                Move::Wait(wait) => {
                    now_s += wait;
                    Event::Clock
                }
                Move::Finish(_) => Event::Clock,
            };
            let sent = bench.tell(seconds(now_s), event);
            for (id, why) in bench.refused.drain(..) {
                let (band, since) = waiting.remove(&id).unwrap();
                let waited = now_s - since;
                if why == Refusal::WaitedTooLong {
                    prop_assert!(seconds(waited) >= bands[band].wait_max);
                }
            }
            for id in sent {
                let (band, since) = waiting.remove(&id).unwrap();
                prop_assert!(seconds(now_s - since) < bands[band].wait_max, "no one waits longer");
                flying.push(id);
            }
            prop_assert!(is_growing || flying.len() >= before);
            prop_assert!(flying.len() as u64 <= capacity.max(before as u64));
            prop_assert_eq!(bench.queue.queued(), waiting.len());
            prop_assert!(waiting.len() <= 9);
            for (place, limits) in bands.iter().enumerate() {
                let queued = waiting.values().filter(|(band, _)| *band == place).count();
                prop_assert!(queued <= limits.queued_max);
            }
            // Work conservation: nobody of an unheld band waits while there is room.
            let waits = waiting.values().any(|(band, _)| *band != 1);
            prop_assert!(!waits || flying.len() as u64 >= capacity);
        }
    }

    /// Theorem 1 of Goyal, Vin and Cheng: of two flows that both wait all the time, the served cost
    /// by weight differs by no more than the sum of their largest costs by weight.
    #[test]
    fn flows_that_wait_share_by_weight(
        costs in proptest::collection::vec((1_u64..50, 1_u64..50, 1_u64..50), 60),
        weights in (1_u32..5, 1_u32..5, 1_u32..5),
    ) {
        let mut bench = Bench::new(vec![band(1000, 1000)], 1000, 0);
        let weights = [weights.0, weights.1, weights.2];
        let mut cost_of = BTreeMap::new();
        let mut id = 0;
        for (a, b, c) in costs {
            for (flow, cost) in [a, b, c].into_iter().enumerate() {
                id += 1;
                cost_of.insert(id, (flow, cost));
                let (flow, weight) = (flow as u32, weights[flow]);
                let ticket = Ticket { id, band: 0, flow, weight, cost, deadline: None };
                bench.tell(seconds(0), Event::Arrived(ticket));
            }
        }
        let mut served = [0.0_f64; 3];
        let mut left = [60_u32; 3];
        let mut last = bench.tell(seconds(1), Event::Capacity(1));
        while let Some(id) = last.pop() {
            let (flow, cost) = cost_of[&id];
            served[flow] += cost as f64 / f64::from(weights[flow]);
            left[flow] -= 1;
            for (a, b) in [(0, 1), (1, 2), (0, 2)] {
                if left[a] > 0 && left[b] > 0 {
                    let bound = 49.0 / f64::from(weights[a]) + 49.0 / f64::from(weights[b]);
                    prop_assert!((served[a] - served[b]).abs() <= bound + 1e-3, "{served:?}");
                }
            }
            last = bench.tell(seconds(1), Event::Finished(id));
        }
        prop_assert_eq!(left, [0, 0, 0]);
    }
}
