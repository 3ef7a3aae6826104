//! Which evidence counts for a capacity, and what it does to the rest of the answer.

use cotenant_core::capacity::measured;
use cotenant_core::evidence::{Aspect, Block, BlockFault, Run};
use cotenant_core::site::Site;
use cotenant_core::verdict::{Question, judge};

use super::queue::{Queue, Shape};
use super::support::{Recipe, inference_mut, site};

/// A run of looks at a fast server, at multiples of 2 req/s.
fn searched(day: i64) -> Run {
    let queue = Queue { servers: 1, service: 10.0, places: None };
    let shape = Shape { warm_up: 1.0, judged: 30.0 };
    let mut run = Recipe { day, ..Recipe::good() }.run();
    let started: jiff::Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
    run.started = started + jiff::SignedDuration::from_hours(24 * day);
    run.id = format!("2027010{}T000000Z-capacity", day + 1);
    run.neighbour = String::new();
    run.load.rate_per_s = 2.0;
    let rates = [2.0, 4.0, 4.0, 4.5, 5.0, 5.0, 5.5, 6.0, 6.0, 7.0, 8.0, 8.0];
    run.blocks = rates
        .iter()
        .zip(0..)
        .map(|(rate, number)| {
            let mut block = queue.block(*rate, shape, number, 7);
            block.load_factor = rate / 2.0;
            block
        })
        .collect();
    run.schedule = run.blocks.iter().map(|block| block.plan).collect();
    run
}

fn of(site: &Site, runs: &[Run]) -> cotenant_core::capacity::MeasuredCapacity {
    let mut all = measured(site, runs);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

#[test]
fn looks_of_one_stack_pool_over_runs_and_those_of_another_are_named() {
    let site = site();
    let (one, two) = (searched(0), searched(1));
    let both = of(&site, &[one.clone(), two.clone()]);
    assert_eq!((both.runs.len(), both.stale.len()), (2, 0));
    assert_eq!(both.estimate.unwrap().looks, 24);

    let mut other = two.clone();
    other.fingerprint.0.insert(Aspect::Driver, "590.2".into());
    let now = of(&site, &[one.clone(), other]);
    assert_eq!(now.runs, std::slice::from_ref(&two.id));
    assert!(now.stale[0].why.contains("driver") && now.stale[0].run == one.id, "{now:#?}");

    // The trainer is no part of inference alone.
    let mut trainer = two;
    trainer.fingerprint.0.insert(Aspect::Trainer, "another".into());
    assert_eq!(of(&site, &[one, trainer]).runs.len(), 2);
}

#[test]
fn another_load_than_is_declared_is_stale_but_another_rate_is_not() {
    let run = searched(0);
    let mut changed = site();
    inference_mut(&mut changed).output_tokens.as_mut().unwrap().p50 = 200;
    inference_mut(&mut changed).output_tokens.as_mut().unwrap().p95 = 400;
    let stale = of(&changed, std::slice::from_ref(&run));
    assert_eq!(stale.estimate, None);
    assert!(stale.stale[0].why.contains("output tokens"), "{stale:#?}");

    let mut faster = site();
    inference_mut(&mut faster).peak_rate = None;
    inference_mut(&mut faster).demand = cotenant_core::site::Demand::Poisson {
        rate: cotenant_core::units::RatePerSecond::new(5.0, "req"),
    };
    assert!(of(&faster, std::slice::from_ref(&run)).estimate.is_some());

    inference_mut(&mut faster).demand = cotenant_core::site::Demand::Gamma {
        rate: cotenant_core::units::RatePerSecond::new(5.0, "req"),
        burstiness: 4.0,
    };
    assert!(of(&faster, &[run]).stale[0].why.contains("gamma"));
}

#[test]
fn rejected_looks_are_counted_and_not_used() {
    let mut run = searched(0);
    run.blocks[3].faults.push(BlockFault::Steal { cores: 1.0, cores_max: 0.1 });
    let seen = of(&site(), &[run]);
    assert_eq!((seen.rejected, seen.estimate.unwrap().looks), (1, 11));
}

#[test]
fn looks_never_enter_tests_a_b_and_c() {
    let site = site();
    let judged = |runs: &[Run]| {
        let question = Question {
            site: &site,
            site_file: "s.yaml",
            runs,
            excluded: &[],
            as_of: None,
            points: &[],
        };
        judge(&question)
    };
    let compared = Recipe::good().run();
    let alone = judged(std::slice::from_ref(&compared));
    let mut search = searched(1);
    // All of it would fail every objective.
    let spoil =
        |block: &mut Block| block.requests.iter_mut().for_each(|r| r.end_ns += 1_000_000_000_000);
    search.blocks.iter_mut().for_each(spoil);
    // The search ended before its last planned look, as searches do.
    search.schedule.push(search.schedule[0]);
    let with = judged(&[compared, search]);
    assert_eq!(with.ruling, alone.ruling);
    assert_eq!(with.gates, alone.gates);
    assert_eq!(with.validity, alone.validity);
}
