//! Series whose reserve is computed by hand.

use cotenant_core::demand::WorkUnit;
use cotenant_core::plan::{Grid, gpus_for};
use cotenant_core::site::{Demand, ReplicaCapacity};
use cotenant_core::units::RatePerSecond;
use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::support::{Case, MONDAY, burst_hour, capacity, gpus, in_flight, says, series};

#[test]
fn a_small_series_by_hand() {
    // 21 days alike: each hour of each kind of day is seen 15 or 6 times.
    let days = 21;
    let values = (0..days * 24).flat_map(|_| burst_hour());
    let mut case = Case::new(vec![in_flight(60, values)], Some(capacity(1.0)));
    // ε = 20 %: three weeks of one weekday do not support it (75 %), 15 weekdays do, 6 days of
    // weekends do (85.7 %).
    case.risk = Some(0.2);
    let plan = case.plan();
    assert!(plan.risk_supported && plan.bursts_seen);
    assert_eq!(plan.binding, WorkUnit::RequestsInFlight);
    for (hour, need) in plan.windows.iter().enumerate() {
        // Level: 56 of 60 minutes have 10: a mass of 0.875 of 15 days, of exactly 0.8 of 6. Growth
        // within two minutes: from 28 by 4, 29 by 5, 30 by 3, 31 by 2; 56 do not grow. The highest
        // within two minutes is 10 for 54 of 60, which is not enough of 6 days; with minute 33 (12)
        // and minute 28 (14) it is. The peak of every passing is 17.
        assert_eq!(gpus(need), if hour < 5 * 24 { (10, 0, 7) } else { (10, 4, 3) });
        assert!((need.demand - (56.0 * 10.0 + 58.0) / 60.0).abs() < 1e-9);
        assert_eq!(need.demand_peak, 17.0);
    }
    // ε = 1 % is supported by nothing here: the highest of each stands. 17 at any moment; growth of
    // 5; so 22 without a reclaim, and nothing beyond them.
    case.risk = Some(0.01);
    let plan = case.plan();
    assert!(!plan.risk_supported);
    assert!(plan.windows.iter().all(|need| gpus(need) == (17, 5, 0)));
    assert!(says(&plan, "21 days support at most 95.5 %; 99 % is asked for, which needs 99 days"));
    // A longer reclaim lets the burst from 10 to 17 fall into it.
    case.reclaim_s = Some(240);
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (17, 7, 0)));
}

#[test]
fn quantiles_weigh_days_and_not_moments() {
    // 19 weeks of one value a day: ε = 5 % is supported by each weekday alone, at its highest.
    let weeks = 19;
    let values = (0..weeks * 7).flat_map(|day| vec![f64::from(day / 7 + 1); 24]);
    let mut case = Case::new(vec![in_flight(3600, values)], Some(capacity(1.0)));
    case.reclaim_s = Some(3600);
    let plan = case.plan();
    assert!(plan.risk_supported && !says(&plan, "days of their kind"), "{:#?}", plan.remarks);
    assert!(plan.windows.iter().all(|need| need.reserved == 19));
    // At 10 % it is the ⌈20 · 0.9⌉ = 18th.
    case.risk = Some(0.1);
    assert!(case.plan().windows.iter().all(|need| need.reserved == 18));
}

#[test]
fn twenty_eight_days_support_at_most_966_per_mille() {
    let values = (0..28 * 24).flat_map(|_| burst_hour());
    let mut case = Case::new(vec![in_flight(60, values)], Some(capacity(1.0)));
    case.risk = Some(0.01);
    let plan = case.plan();
    assert!(
        says(&plan, "28 days support at most 96.6 %; 99 % is asked for, which needs 99 days"),
        "{:#?}",
        plan.remarks
    );
    assert!(!plan.risk_supported);
    // 20 weekdays support 95.2 %, 8 days of weekends 88.9 %.
    case.risk = Some(0.05);
    let plan = case.plan();
    assert!(says(&plan, "in 48 of 168 windows the history does not support 95 % (days"));
    assert!(says(&plan, "8 at the least, good for at most 88.9 %"));
    assert!(!plan.risk_supported);
}

#[test]
fn a_busy_weekday_keeps_what_it_showed() {
    // Four weeks; on Fridays 40 at all times, else 10; weekends 2.
    let of_day = |day: u32| match day % 7 {
        4 => 40.0,
        5 | 6 => 2.0,
        _ => 10.0,
    };
    let values = (0..28).flat_map(|day| vec![of_day(day); 24]);
    let mut case = Case::new(vec![in_flight(3600, values)], Some(capacity(1.0)));
    case.reclaim_s = Some(3600);
    // 20 weekdays: the ⌈21 · 0.75⌉ = 16th of their values is 10, but Fridays had 40.
    case.risk = Some(0.25);
    let plan = case.plan();
    let level = |day: usize| plan.windows[day * 24 + 5].reserved;
    assert_eq!([0, 3, 4, 5, 6].map(level), [10, 10, 40, 2, 2]);
}

#[test]
fn what_was_not_seen_is_never_zero() {
    // Two weekdays from 09:00 to 12:00 alone, with the second hour of the second day missing.
    let mut values = vec![None; 48];
    for (index, value) in [(9, 4.0), (10, 6.0), (11, 5.0), (33, 7.0), (35, 5.0)] {
        values[index] = Some(value);
    }
    let history = series(WorkUnit::RequestsInFlight, MONDAY, 3600, values);
    let mut case = Case::new(vec![history], Some(capacity(1.0)));
    case.reclaim_s = Some(3600);
    let plan = case.plan();
    let at = |day: usize, hour: usize| plan.windows[day * 24 + hour].reserved;
    assert_eq!((at(0, 9), at(2, 9), at(0, 10)), (7, 7, 6));
    // A weekend that was never seen takes the same time of other days, a night the whole history.
    assert_eq!((at(6, 11), at(0, 3), at(5, 20)), (5, 7, 7));
    assert!(plan.windows.iter().all(|need| need.reserved >= 5));
    assert!(says(&plan, "lie at a time of day that the history never shows"));
    assert!(says(&plan, "a gap is no demand of 0"));
    assert!(!plan.risk_supported);
}

#[test]
fn slots_go_by_the_clock_on_the_wall() {
    // Berlin, from Monday 2026-10-12 to after the change of the clocks on the 25th: 9 to 10 local
    // time is busy on every day, before the change and after it.
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let start: Timestamp = "2026-10-12T00:00:00+02:00".parse().unwrap();
    let values = (0..=21 * 24)
        .map(|hour| {
            let at = start.checked_add(jiff::SignedDuration::from_hours(hour)).unwrap();
            Some(if zone.to_datetime(at).hour() == 9 { 8.0 } else { 1.0 })
        })
        .collect();
    let mut history = series(WorkUnit::RequestsInFlight, MONDAY, 3600, values);
    history.start = start;
    let mut case = Case::new(vec![history], Some(capacity(1.0)));
    case.reclaim_s = Some(1);
    case.inference.demand = Demand::Constant { rate: RatePerSecond::new(1.0, "req") };
    case.grid = Grid::new(zone.clone(), date(2027, 3, 22), 14, 60).unwrap();
    for (window, need) in case.grid.windows.iter().zip(&case.plan().windows) {
        let hour = zone.to_datetime(window.start).hour();
        assert_eq!(need.reserved, if hour == 9 { 8 } else { 1 }, "{}", window.start);
    }
}

#[test]
fn the_unit_that_needs_most_binds_and_the_worst_of_both_counts() {
    // In flight 8 and 2 in turn, KV tokens 100 and 900 in turn: each alone asks for 4 and 3 GPUs
    // (2 and 300 a GPU), together one of them is always high, and nothing grows beyond.
    let steps = 21 * 24 * 6;
    let flights = (0..steps).map(|index| if index % 2 == 0 { 8.0 } else { 2.0 });
    let kv = (0..steps).map(|index| Some(if index % 2 == 0 { 100.0 } else { 900.0 })).collect();
    let mut both = capacity(2.0);
    both.kv_tokens = Some(300.0);
    let mut case = Case::new(
        vec![in_flight(600, flights), series(WorkUnit::KvTokens, MONDAY, 600, kv)],
        Some(both),
    );
    (case.risk, case.reclaim_s) = (Some(0.2), Some(600));
    let plan = case.plan();
    assert_eq!(plan.binding, WorkUnit::RequestsInFlight);
    // Level 8 in flight is 4 GPUs; a start at 2 grows by 6, which asks for 7 without a reclaim.
    assert!(plan.windows.iter().all(|need| gpus(need) == (4, 3, 0)));
    assert_eq!(plan.windows[0].demand_peak, 8.0);
    // A capacity that is silent on a unit says nothing about it.
    case.inference.capacity = Some(capacity(2.0));
    assert_eq!(case.plan().windows, plan.windows);
}

#[test]
fn whole_replicas_and_shared_gpus() {
    let mut pair = capacity(10.0);
    pair.gpus = 2.0;
    let unit = WorkUnit::RequestsInFlight;
    let of = |value| gpus_for(&pair, unit, value);
    assert_eq!([0.0, 0.1, 10.0, 10.1, 30.0].map(of), [0, 2, 2, 4, 6].map(Some));
    assert_eq!(gpus_for(&pair, WorkUnit::Prefill, 1.0), None);
    assert_eq!(gpus_for(&pair, WorkUnit::Gpus, 2.5), Some(4));
    let slice = ReplicaCapacity { gpus: 0.5, ..capacity(10.0) };
    assert_eq!([9.0, 20.0, 21.0].map(|value| gpus_for(&slice, unit, value)), [1, 1, 2].map(Some));
    let tenth = ReplicaCapacity { requests_in_flight: Some(0.1), ..capacity(1.0) };
    assert_eq!(gpus_for(&tenth, unit, 0.3), Some(3), "0.3/0.1 is just above 3 in binary");
}
