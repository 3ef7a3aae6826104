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
