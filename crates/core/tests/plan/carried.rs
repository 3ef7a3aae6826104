//! A measured capacity in the place of a declared one.

use cotenant_core::capacity::{CapacityEstimate, Carried, LimitedBy, MeasuredCapacity, StaleLooks};
use cotenant_core::plan::{Plan, PlanQuestion, plan};
use cotenant_core::site::Site;

use crate::support::{inference, question, serving, site};

/// A site of eight GPUs whose demand is 4 req/s at every hour, 1 req/s declared for a replica.
fn declared() -> Site {
    site(8, vec![serving("chat", inference(&[("daily 00:00-24:00", 4.0)]))])
}

fn measured(low: Option<f64>) -> MeasuredCapacity {
    MeasuredCapacity {
        workload: "chat".into(),
        estimate: Some(CapacityEstimate {
            requests_per_s: 0.6,
            low,
            high: Some(0.7),
            confidence: 0.9,
            limited_by: LimitedBy::Objective("ttft_p95".into()),
            looks: 20,
            requests: 2_000,
            carried: low.map(|low| Carried {
                requests_in_flight: 3.0 * low,
                prefill_tokens_per_s: 100.0 * low,
                output_tokens_per_s: 20.0 * low,
                kv_use_share: None,
            }),
            curve: Vec::new(),
            remarks: Vec::new(),
        }),
        gpus: Some(1.0),
        runs: vec!["20270101T000000Z-capacity".into()],
        rejected: 0,
        stale: Vec::new(),
    }
}

fn planned(site: &Site, capacities: &[MeasuredCapacity]) -> Plan {
    plan(&PlanQuestion { capacities, ..question(site) })
}

fn reserved(plan: &Plan) -> u32 {
    plan.reserves[0].windows.iter().map(|window| window.reserved).max().unwrap()
}

fn says(plan: &Plan, words: &str) -> bool {
    plan.reserves[0].remarks.iter().any(|remark| remark.contains(words))
}

#[test]
fn the_lower_end_goes_before_what_is_declared_and_says_so() {
    let site = declared();
    assert_eq!(reserved(&planned(&site, &[])), 4, "4 req/s at 1 req/s a GPU");
    let plan = planned(&site, &[measured(Some(0.5))]);
    assert_eq!(reserved(&plan), 8, "4 req/s at 0.5 req/s a GPU");
    assert!(says(&plan, "0.50 to 0.70 req/s"), "{:#?}", plan.reserves[0].remarks);
    assert!(says(&plan, "before the declared 1.00 req/s") && says(&plan, "ttft_p95"));
    assert!(!says(&plan, "is declared and was not measured"));
}

#[test]
fn without_a_lower_end_the_declared_figure_stands() {
    let site = declared();
    let plan = planned(&site, &[measured(None)]);
    assert_eq!(reserved(&plan), 4);
    assert!(says(&plan, "prove no rate to count on"), "{:#?}", plan.reserves[0].remarks);
}

#[test]
fn stale_looks_and_unknown_gpus_are_named() {
    let site = declared();
    let mut stale = measured(Some(0.5));
    stale.estimate = None;
    stale.stale.push(StaleLooks { run: "old".into(), why: "driver: 1 there, 2 now".into() });
    let plan = planned(&site, &[stale]);
    assert_eq!(reserved(&plan), 4);
    assert!(says(&plan, "run old") && says(&plan, "driver: 1 there, 2 now"));

    let mut nowhere = measured(Some(0.5));
    nowhere.gpus = None;
    let plan = planned(&site, &[nowhere]);
    assert_eq!(reserved(&plan), 4);
    assert!(says(&plan, "allocation: {"), "{:#?}", plan.reserves[0].remarks);
}
