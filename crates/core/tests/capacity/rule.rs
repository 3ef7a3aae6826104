//! The rule by itself.

use cotenant_core::capacity::{Ending, Look, SearchRule, SeenObjective, Step, estimate, next_step};
use cotenant_core::stats::BlockMisses;
use proptest::prelude::*;

fn rule() -> SearchRule {
    SearchRule {
        first_per_s: 8.0,
        least_per_s: 0.5,
        most_per_s: 128.0,
        looks_max: 30,
        resolution: 0.10,
    }
}

/// A look of a hundred requests of which some missed.
fn made(rate_per_s: f64, misses: u64, grows: bool) -> Look {
    Look {
        rate_per_s,
        judged_s: 100.0 / rate_per_s,
        requests: 100,
        objectives: vec![SeenObjective {
            name: "ttft_p95".into(),
            quantile: 0.95,
            misses: Ok(BlockMisses { misses, requests: 100, autocorrelation: 0.0 }),
        }],
        growth_per_s: grows.then_some(1.0),
        in_flight: rate_per_s / 2.0,
        prompt_tokens_per_s: 100.0 * rate_per_s,
        output_tokens_per_s: 20.0 * rate_per_s,
        kv_use_share: None,
    }
}

/// Searches where the misses are a function of the rate.
fn search(rule: &SearchRule, of: impl Fn(f64) -> (u64, bool)) -> (Vec<Look>, Ending) {
    let mut looks = Vec::new();
    loop {
        match next_step(rule, &looks, &[]) {
            Step::Done(ending) => return (looks, ending),
            Step::Look(rate) => {
                let (misses, grows) = of(rate);
                looks.push(made(rate, misses, grows));
            }
        }
    }
}

#[test]
fn it_doubles_halves_and_bisects() {
    let rule = rule();
    assert_eq!(next_step(&rule, &[], &[]), Step::Look(8.0));
    let fine = made(8.0, 0, false);
    assert_eq!(next_step(&rule, std::slice::from_ref(&fine), &[]), Step::Look(16.0));
    let bad = made(8.0, 40, false);
    assert_eq!(next_step(&rule, std::slice::from_ref(&bad), &[]), Step::Look(4.0));
    // A queue that grows is too much, though nothing missed yet.
    assert_eq!(next_step(&rule, &[made(8.0, 0, true)], &[]), Step::Look(4.0));
    let Step::Look(rate) = next_step(&rule, &[fine, made(16.0, 50, false)], &[]) else { panic!() };
    assert!((rate - 128.0_f64.sqrt()).abs() < 1e-9, "the middle by logarithms: {rate}");
}

#[test]
fn a_server_without_limit_and_one_that_serves_nothing() {
    let (looks, ending) = search(&rule(), |_| (0, false));
    assert_eq!(ending, Ending::EverythingIsFine);
    assert!(looks.len() < 10, "{}", looks.len());
    let answer = estimate(&looks).unwrap();
    assert_eq!(
        (answer.high, answer.limited_by.to_string().as_str()),
        (None, "nothing that was tried")
    );
    assert!(answer.low.is_some_and(|low| low < 128.0), "{answer:#?}");

    let (looks, ending) = search(&rule(), |_| (100, true));
    assert_eq!(ending, Ending::NothingIsFine);
    let answer = estimate(&looks).unwrap();
    assert_eq!(answer.low, None, "no rate may be called fine: {answer:#?}");
    assert!(answer.high.is_some_and(|high| high <= 1.0), "{answer:#?}");
}

#[test]
fn a_sharp_limit_is_found_from_both_sides() {
    for limit in [1.3, 7.9, 8.1, 33.0, 120.0] {
        let (looks, ending) =
            search(&rule(), |rate| if rate < limit { (0, false) } else { (80, true) });
        let answer = estimate(&looks).unwrap();
        assert!(matches!(ending, Ending::Resolved | Ending::LooksSpent), "{limit}: {ending:?}");
        let (low, high) = (answer.low.unwrap(), answer.high.unwrap());
        assert!(low < limit && limit <= high * 1.001, "{limit}: {low} to {high}");
        assert!(high / low < 1.7, "{limit}: {low} to {high}");
        assert_eq!(answer.limited_by.to_string(), "overload: the queue grows");
        let carried = answer.carried.unwrap();
        assert!((carried.output_tokens_per_s / low - 20.0).abs() < 1e-6, "{carried:?}");
    }
}

#[test]
fn what_the_client_cannot_send_is_not_tried_again_and_again() {
    let looks = [made(8.0, 0, false)];
    assert_eq!(next_step(&rule(), &looks, &[16.0]), Step::Look(16.0), "once is chance");
    let Step::Look(rate) = next_step(&rule(), &looks, &[16.0, 16.0]) else { panic!() };
    assert!(rate > 8.0 && rate < 16.0, "{rate}");
    // Below the declared rate looks that do not count are bad luck, and no limit.
    assert_eq!(next_step(&rule(), &[], &[8.0, 8.0]), Step::Look(8.0));
    assert_eq!(next_step(&rule(), &[], &[8.0; 30]), Step::Done(Ending::LooksSpent));
}

#[test]
fn what_was_not_seen_proves_nothing() {
    let mut looks: Vec<Look> = (0..12).map(|_| made(8.0, 0, false)).collect();
    looks.extend((0..6).map(|_| made(9.0, 60, false)));
    assert!(estimate(&looks).unwrap().low.is_some());
    for look in &mut looks {
        let unseen =
            SeenObjective { name: "itl_p95".into(), quantile: 0.95, misses: Err("no".into()) };
        look.objectives.push(unseen);
    }
    let answer = estimate(&looks).unwrap();
    assert_eq!(answer.low, None, "{answer:#?}");
    assert!(answer.remarks.iter().any(|remark| remark.contains("itl_p95")), "{answer:#?}");
}

#[test]
fn an_objective_too_strict_for_so_few_requests_is_named_and_bounds_nothing() {
    let strict = |mut look: Look| {
        look.objectives.push(SeenObjective {
            name: "error_rate".into(),
            quantile: 0.999,
            misses: Ok(BlockMisses { misses: 0, requests: 100, autocorrelation: 0.0 }),
        });
        look
    };
    let mut looks: Vec<Look> = (0..12).map(|_| strict(made(8.0, 0, false))).collect();
    looks.extend((0..6).map(|_| strict(made(9.0, 60, false))));
    let answer = estimate(&looks).unwrap();
    assert!(answer.low.is_some(), "{answer:#?}");
    assert!(answer.remarks.iter().any(|r| r.contains("error_rate") && r.contains("needed")));
    assert_eq!(answer.limited_by.to_string(), "ttft_p95");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the looks say, the search ends in time, stays in its range, and does not depend on
    /// the order in which the looks are told.
    #[test]
    fn it_ends_whatever_it_sees(answers in proptest::collection::vec((0_u64..=100, any::<bool>(), any::<bool>()), 30)) {
        let rule = rule();
        let (mut looks, mut void) = (Vec::new(), Vec::new());
        for (misses, grows, counts) in answers {
            let Step::Look(rate) = next_step(&rule, &looks, &void) else { break };
            prop_assert!((rule.least_per_s..=rule.most_per_s).contains(&rate), "{rate}");
            if counts { looks.push(made(rate, misses, grows)) } else { void.push(rate) }
            let mut turned = looks.clone();
            turned.reverse();
            let (one, other) = (next_step(&rule, &looks, &void), next_step(&rule, &turned, &void));
            match (one, other) {
                (Step::Look(one), Step::Look(other)) => prop_assert!((one / other - 1.0).abs() < 1e-6),
                (one, other) => prop_assert_eq!(one, other),
            }
        }
        let is_over = matches!(next_step(&rule, &looks, &void), Step::Done(_));
        prop_assert!(is_over || looks.len() + void.len() >= 30);
        if let Some(answer) = estimate(&looks) {
            prop_assert!(answer.low.unwrap_or(0.0) <= answer.requests_per_s * (1.0 + 1e-9));
        }
    }
}
