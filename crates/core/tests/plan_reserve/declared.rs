//! What the site declares or leaves open.

use std::time::Duration;

use cotenant_core::evidence::Origin;
use cotenant_core::plan::{ReserveRefusal, missing_for_reserve, plan_reserve};
use cotenant_core::site::{Allocation, BurstReserve};
use cotenant_core::units::RatePerSecond;

use crate::support::{Case, burst_hour, capacity, gpus, in_flight, says};

#[test]
fn a_place_that_is_too_small_is_said_and_not_exceeded() {
    let values = (0..21 * 24).flat_map(|_| burst_hour());
    let mut case = Case::new(vec![in_flight(60, values)], Some(capacity(1.0)));
    (case.risk, case.gpus) = (Some(0.01), 20);
    let plan = case.plan();
    assert_eq!(plan.gpus_needed_max, 22);
    assert!(plan.windows.iter().all(|need| gpus(need) == (17, 3, 0)));
    assert!(says(&plan, "the place is too small: 168 of 168 windows need more GPUs"), "{plan:#?}");
    assert!(says(&plan, "than its 20, the most 22 (Mon 00:00)"));
}

#[test]
fn declared_floors_and_reserves_take_their_place() {
    let values = (0..21 * 24).flat_map(|_| burst_hour());
    let mut case = Case::new(vec![in_flight(60, values)], Some(capacity(1.0)));
    case.risk = Some(0.01);
    // 17 + 5 without either; a floor of 20 carries three of the burst.
    case.inference.minimum_reserved = Some(19.5);
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (20, 2, 0)));
    case.inference.minimum_reserved = None;
    case.inference.burst_reserve = Some(BurstReserve::Gpus(3.0));
    let plan = case.plan();
    assert!(plan.windows.iter().all(|need| gpus(need) == (17, 3, 0)));
    assert!(says(&plan, "the burst reserve of 3 GPUs is declared"));
    assert!(says(&plan, "ask for more in 168 of 168 windows, up to 5"));
    case.inference.burst_reserve = Some(BurstReserve::Derived);
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (17, 5, 0)));
}

#[test]
fn without_a_time_to_reclaim_the_peak_is_kept() {
    let values = (0..21 * 24).flat_map(|_| burst_hour());
    let mut case = Case::new(vec![in_flight(60, values)], Some(capacity(1.0)));
    (case.risk, case.reclaim_s) = (Some(0.2), None);
    let plan = case.plan();
    assert!(plan.windows.iter().all(|need| need.reserved == 10 && need.lent == 0 && need.hot >= 7));
    assert!(!plan.bursts_seen);
    assert!(says(&plan, "no time to reclaim is known (`reclaim_time: 2 min`"));
    // The declared steps of the way back stand in, and a reclaim is never shorter than they are.
    case.back = Duration::from_mins(2);
    let stands_in = case.plan();
    assert_eq!(gpus(&stands_in.windows[0]), (10, 0, 7));
    assert_eq!(stands_in.reclaim_time, Some((Duration::from_mins(2), Origin::Declared)));
    case.reclaim_s = Some(60);
    assert_eq!(case.plan().windows, stands_in.windows);
    assert!(says(&case.plan(), "is shorter than the steps of the way back"));
}

#[test]
fn without_a_capacity_the_declared_allocation_stands_or_the_line_is_named() {
    let mut case = Case::new(vec![in_flight(3600, [3.0, 5.0])], None);
    let refusal = plan_reserve(&case.question()).unwrap_err();
    assert_eq!(refusal, ReserveRefusal::NoCapacity { workload: "chat".to_owned() });
    assert!(refusal.to_string().contains("`allocation: { normal: 4 }` of `chat`"), "{refusal}");
    assert_eq!(missing_for_reserve(&case.question()).len(), 1);
    let mut prefill = capacity(1.0);
    prefill.requests_in_flight = None;
    prefill.prefill = Some(RatePerSecond::new(1.0, "tok"));
    case.inference.capacity = Some(prefill);
    let refusal = plan_reserve(&case.question()).unwrap_err().to_string();
    assert!(refusal.contains("stated in prompt tokens/s, and its demand shows requests in flight"));
    case.workload.allocation =
        Some(Allocation { normal: Some(4.0), minimum_useful: None, gang: None, minimum_run: None });
    case.inference.capacity = None;
    let plan = case.plan();
    assert!(plan.windows.iter().all(|need| gpus(need) == (4, 0, 0)));
    assert_eq!(plan.windows[0].demand, 3.0);
    assert!(!plan.bursts_seen && !plan.risk_supported);
    assert!(says(&plan, "nothing says what one replica carries"));
    (case.risk, case.reclaim_s) = (None, None);
    assert_eq!(missing_for_reserve(&case.question()).len(), 3);
}

#[test]
fn without_a_risk_tolerance_the_highest_stands() {
    let values = (0..21 * 24).flat_map(|_| burst_hour());
    let mut case = Case::new(vec![in_flight(60, values)], Some(capacity(1.0)));
    case.risk = None;
    let plan = case.plan();
    assert_eq!(plan.risk_tolerance, None);
    assert!(!plan.risk_supported);
    assert!(plan.windows.iter().all(|need| gpus(need) == (17, 5, 0)));
    assert!(says(
        &plan,
        "no risk tolerance is declared (`risk_tolerance: 1 %` under `operations`)"
    ));
}
