//! Bursts that steps hide, and rates that a replica evens out.

use std::time::Duration;

use cotenant_core::demand::WorkUnit;
use cotenant_core::site::{Demand, TokenCounts};
use cotenant_core::units::RatePerSecond;

use crate::support::{Case, MONDAY, capacity, gpus, in_flight, says, series};

#[test]
fn steps_longer_than_a_reclaim_hide_bursts_which_are_then_assumed() {
    let values = (0..21 * 24).map(|_| 10.0);
    let mut case = Case::new(vec![in_flight(3600, values)], Some(capacity(1.0)));
    case.risk = Some(0.2);
    let plan = case.plan();
    assert!(!plan.bursts_seen);
    assert!(says(&plan, "a step of 1 h hides bursts within a reclaim of 2 min"), "{plan:#?}");
    assert!(says(&plan, "NOT PROVEN"));
    // Poisson of mean 10: P(N ≤ 12) = 0.7916, P(N ≤ 13) = 0.8645.
    assert!(plan.windows.iter().all(|need| gpus(need) == (10, 3, 0)));
    // A request that takes 40 s gives a reclaim of 2 min four looks: 1 − 0.2/4 = 0.95, and
    // P(N ≤ 14) = 0.9165, P(N ≤ 15) = 0.9513.
    case.inference.service_time = Some(Duration::from_secs(40));
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (10, 5, 0)));
    // Even arrivals, declared, hide nothing.
    case.inference.demand = Demand::Constant { rate: RatePerSecond::new(1.0, "req") };
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (10, 0, 0)));
    case.inference.demand = Demand::Gamma { rate: RatePerSecond::new(1.0, "req"), burstiness: 4.0 };
    // Clusters of four: 4 · Q₀.₉₅ of a Poisson of mean 2.5, which is 5.
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (10, 10, 0)));
}

#[test]
fn rates_vary_inside_of_steps_as_between_them() {
    // Steps of an hour at 10 and 10.1 a second in turn: an index of dispersion of
    // 0.04 · 3,600 / (6 · 10.067) / 0.4549 = 5.24 between them.
    let values = (0..21 * 24).map(|step| Some(if step % 2 == 0 { 10.0 } else { 10.1 })).collect();
    let history = series(WorkUnit::Requests, MONDAY, 3600, values);
    let mut rate = capacity(1.0);
    (rate.requests_in_flight, rate.requests) = (None, Some(RatePerSecond::new(0.001, "req")));
    let mut case = Case::new(vec![history], Some(rate));
    (case.risk, case.reclaim_s) = (Some(0.2), Some(1800));
    // Over the 1,800 s of a reclaim it is half of that: 1 + 4.24/2 = 3.12, for a mean of 10.1 · 1,800
    // = 18,180; of two looks each has 10 %: 1.2816 · √(3.12 · 18,180)/1,800 = 0.170 above, and half
    // of the way to the next step, 0.05, is added where it grows.
    let plan = case.plan();
    let top = |window: usize| f64::from(plan.windows[window].reserved + plan.windows[window].hot);
    assert!((top(1) * 0.001 - 10.270).abs() < 0.01, "{}", top(1));
    assert!((top(0) * 0.001 - 10.219).abs() < 0.01, "{}", top(0));
    assert!(says(&plan, "an index of dispersion of 3.1"), "{:#?}", plan.remarks);
}

#[test]
fn what_is_declared_stands_for_itself_and_supports_nothing() {
    // Monday to Sunday 1 to 7 at all times: no day speaks for another.
    let values = (1..=7).flat_map(|day| vec![f64::from(day); 24]);
    let mut case = Case::new(vec![in_flight(3600, values)], Some(capacity(1.0)));
    case.inference.demand = Demand::Table(Vec::new());
    case.risk = Some(0.6);
    let plan = case.plan();
    let days: Vec<u32> = plan.windows.iter().step_by(24).map(|need| need.reserved).collect();
    assert_eq!(days, [1, 2, 3, 4, 5, 6, 7]);
    assert!(!plan.risk_supported && !plan.bursts_seen);
    assert!(says(&plan, "the demand is declared and was never observed"), "{:#?}", plan.remarks);
    // The same week as a history: weekdays speak for each other.
    case.inference.demand = Demand::SavedQuery("demand.json".to_owned());
    assert_eq!(case.plan().windows[0].reserved, 3);
}

#[test]
fn tokens_of_a_burst_come_from_the_declared_lengths() {
    let values = vec![Some(1_000.0); 21 * 24];
    let mut kv = capacity(1.0);
    (kv.requests_in_flight, kv.kv_tokens) = (None, Some(1.0));
    let history = series(WorkUnit::KvTokens, MONDAY, 3600, values);
    let mut case = Case::new(vec![history], Some(kv));
    case.risk = Some(0.2);
    assert!(says(&case.plan(), "nothing says how large they are"));
    // All requests have 100 tokens: ten are in the cache in the mean, 13 at the quantile.
    case.inference.prompt_tokens = Some(TokenCounts { p50: 80, p95: 80 });
    case.inference.output_tokens = Some(TokenCounts { p50: 20, p95: 20 });
    assert!(case.plan().windows.iter().all(|need| gpus(need) == (1_000, 300, 0)));
}

#[test]
fn rates_are_evened_out_over_the_time_of_service() {
    // Ten requests in the first second of every ten: a rate of one over the ten seconds in which
    // they are served.
    let values =
        (0..21 * 24 * 360).map(|_| [10.0, 0.0]).flat_map(|pair| pair.map(Some)).collect::<Vec<_>>();
    let history = series(WorkUnit::Requests, MONDAY, 5, values);
    let mut rate = capacity(1.0);
    (rate.requests_in_flight, rate.requests) = (None, Some(RatePerSecond::new(1.0, "req")));
    let mut case = Case::new(vec![history], Some(rate));
    case.risk = Some(0.2);
    assert!(case.plan().windows.iter().all(|need| need.reserved == 10));
    case.inference.service_time = Some(Duration::from_secs(10));
    let plan = case.plan();
    assert!(plan.windows.iter().all(|need| gpus(need) == (5, 0, 0)), "{:?}", plan.windows[0]);
    assert!(says(&plan, "evened out over the 10 s"));
}
