//! The design of a sensitivity test holds what it promises, whatever it is made from.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::evidence::{Condition, PlannedBlock, Situation, Stress, Stressor};
use cotenant_core::protocol::{
    ROUNDS_MIN, SensitivityBudget, SensitivityDesign, sensitivity_schedule,
};
use proptest::prelude::*;
use proptest::sample::subsequence;

fn stress(block: &PlannedBlock) -> Stress {
    match block.situation {
        Situation::Stressed(stress) => stress,
        other => panic!("{other} is no stress"),
    }
}

proptest! {
    #[test]
    fn every_round_holds_every_dose_once(
        stressors in subsequence(Stressor::ALL.to_vec(), 1..=7),
        rounds in 1_u32..7,
        seed: u64,
    ) {
        let design = SensitivityDesign { stressors: stressors.clone(), rounds, seed };
        let blocks = sensitivity_schedule(&design);
        prop_assert_eq!(blocks.len(), rounds as usize * stressors.len() * 4);
        let mut seen: BTreeMap<(u32, Stress), u32> = BTreeMap::new();
        for (at, block) in blocks.iter().enumerate() {
            prop_assert_eq!(block.index as usize, at);
            prop_assert_eq!(block.condition, Condition::A);
            prop_assert!(stressors.contains(&stress(block).stressor) && stress(block).dose <= 3);
            *seen.entry((block.pair, stress(block))).or_default() += 1;
        }
        prop_assert!(seen.values().all(|count| *count == 1));
        prop_assert_eq!(seen.len(), blocks.len());
        prop_assert!(blocks.is_sorted_by_key(|block| block.pair));
        prop_assert_eq!(&sensitivity_schedule(&design), &blocks);
    }

    #[test]
    fn every_second_round_mirrors_the_one_before(rounds in 2_u32..7, seed: u64) {
        let stressors = vec![Stressor::Cpu, Stressor::Network, Stressor::Cpu];
        let blocks = sensitivity_schedule(&SensitivityDesign { stressors, rounds, seed });
        let of = |round: u32| -> Vec<Stress> {
            blocks.iter().filter(|block| block.pair == round).map(stress).collect()
        };
        for round in (1..rounds).step_by(2) {
            let mut mirrored = of(round);
            mirrored.reverse();
            prop_assert_eq!(of(round - 1), mirrored);
        }
    }

    #[test]
    fn what_fits_takes_no_longer_than_the_time(
        minutes in 1_u32..300,
        stressors in 1_u32..8,
        rate_per_s in 0.05_f64..200.0,
        judged in proptest::option::of(1_u64..90),
    ) {
        let budget = SensitivityBudget {
            time: Duration::from_mins(u64::from(minutes)),
            stressors,
            rate_per_s,
            warm_up: Duration::from_millis(700),
            around: Duration::from_millis(1300),
            judged: judged.map(Duration::from_secs),
        };
        if let Some(fit) = budget.fit() {
            prop_assert!(fit.rounds >= ROUNDS_MIN);
            let blocks = fit.rounds * stressors * 4;
            prop_assert!((fit.shape.load() + budget.around) * blocks <= budget.time, "{fit:?}");
            if let Some(judged) = budget.judged {
                prop_assert_eq!(fit.shape.judged, judged);
            }
        } else {
            let least = budget.judged.unwrap_or(Duration::from_secs(5));
            let shortest = (least + budget.warm_up + budget.around) * (2 * stressors * 4);
            prop_assert!(shortest > budget.time, "{shortest:?} would have fitted");
        }
        let needed = SensitivityBudget { time: budget.needed(), ..budget };
        prop_assert!(needed.fit().is_some_and(|fit| fit.rounds >= 6));
    }
}

#[test]
fn orders_differ_between_seeds() {
    let order = |seed| {
        let stressors = vec![Stressor::Cpu, Stressor::DiskSync, Stressor::PageCache];
        sensitivity_schedule(&SensitivityDesign { stressors, rounds: 2, seed })
    };
    assert!((1..20).any(|seed| order(seed) != order(0)));
}
