//! What must hold on any history: coverage, monotony, the limits of the place.

use std::f64::consts::TAU;

use cotenant_core::demand::WorkUnit;
use cotenant_core::plan::Grid;
use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::{Case, MONDAY, capacity, in_flight, says, series};

/// Days that are drawn alike: a wave over the day, a level of the day, and bursts of their own.
fn random_days(random: &mut Pcg64, days: usize) -> Vec<f64> {
    (0..days)
        .flat_map(|_| {
            let of_day = 50.0 + 100.0 * random.random::<f64>();
            let mut burst = 0.0;
            (0..24 * 4)
                .map(|step| {
                    burst *= 0.5;
                    if random.random::<f64>() < 0.05 {
                        burst += -60.0 * (1.0 - random.random::<f64>()).ln();
                    }
                    let wave = 1.0 + 0.5 * (f64::from(step) / 96.0 * TAU).sin();
                    of_day * wave + burst
                })
                .collect::<Vec<f64>>()
        })
        .collect()
}

/// The promise itself: over histories of 28 days that are drawn alike, the share of a further
/// weekday's moments from which demand grows beyond level and burst within a reclaim, is at most ε.
#[test]
fn the_reserve_is_short_no_more_often_than_the_risk_tolerance_says() {
    let (histories, epsilon, reclaim_steps) = (80_u64, 0.1, 2);
    let mut shares = Vec::new();
    let mut growth_shares = Vec::new();
    for seed in 0..histories {
        let mut random = Pcg64::seed_from_u64(seed);
        let history = in_flight(900, random_days(&mut random, 28));
        let mut case = Case::new(vec![history], Some(capacity(0.1)));
        case.grid = Grid::new(TimeZone::UTC, date(2026, 7, 6), 1, 60).unwrap();
        (case.risk, case.reclaim_s) = (Some(epsilon), Some(900 * reclaim_steps));
        let plan = case.plan();
        assert!(plan.risk_supported);
        let next = random_days(&mut random, 1);
        let (mut short, mut beyond) = (0, 0);
        for (at, now) in next.iter().enumerate() {
            let need = &plan.windows[at / 4];
            let until = (at + reclaim_steps as usize + 1).min(next.len());
            let highest = next[at..until].iter().copied().fold(0.0, f64::max);
            short += usize::from(highest * 10.0 > f64::from(need.reserved + need.hot));
            beyond += usize::from((highest - now) * 10.0 > f64::from(need.hot) + 1.0);
        }
        shares.push(short as f64 / next.len() as f64);
        growth_shares.push(beyond as f64 / next.len() as f64);
    }
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let error = |shares: &[f64]| {
        let centre = mean(shares);
        let squares: f64 = shares.iter().map(|share| (share - centre).powi(2)).sum();
        (squares / (shares.len() * (shares.len() - 1)) as f64).sqrt()
    };
    assert!(mean(&shares) <= epsilon + 2.0 * error(&shares), "{}", mean(&shares));
    // The growth by itself is bounded at ε and not far below it: it is no blanket.
    let growth = mean(&growth_shares);
    assert!(growth <= epsilon + 2.0 * error(&growth_shares), "{growth}");
    assert!(growth >= epsilon * 0.5, "{growth}");
}

/// 28 days support no 0.1 %, but their 672 hours have a tail.
#[test]
fn a_tail_is_fitted_where_days_are_too_few() {
    let mut random = Pcg64::seed_from_u64(11);
    let mut case =
        Case::new(vec![in_flight(900, random_days(&mut random, 28))], Some(capacity(0.1)));
    case.reclaim_s = Some(1800);
    let hot = |case: &Case| -> Vec<u32> {
        case.plan().windows.iter().map(|need| need.reserved + need.hot).collect()
    };
    case.risk = None;
    let highest = hot(&case);
    case.risk = Some(0.001);
    let plan = case.plan();
    assert!(says(&plan, "EXTRAPOLATED beyond everything that was seen"), "{:#?}", plan.remarks);
    assert!(says(&plan, "ξ = "));
    assert!(!plan.risk_supported, "the level has no more days than before");
    // Never below what was seen, and above it somewhere.
    let fitted = hot(&case);
    assert!(fitted.iter().zip(&highest).all(|(fitted, seen)| fitted >= seen));
    assert!(fitted.iter().zip(&highest).any(|(fitted, seen)| fitted > seen));
    // At 2 % the tail lies below what was seen, which stays.
    case.risk = Some(0.02);
    assert!(says(&case.plan(), "within the range of what was seen on other days"));
    let inner = hot(&case);
    assert!(inner.iter().zip(&highest).all(|(inner, seen)| inner >= seen));
    // Four days have too few bursts for a tail.
    case.series = vec![in_flight(900, random_days(&mut random, 4))];
    let plan = case.plan();
    assert!(says(&plan, "a fit of the tail needs at least 30 observations"), "{:#?}", plan.remarks);
}

/// Every second hour has a burst that is exponential with a mean of 1, so that one in a thousand is
/// above ln 1,000 = 6.9; its 95 % bound is somewhat higher, and the highest of 20 days near 3.6.
#[test]
fn the_tail_of_exponential_bursts_is_the_one_of_the_closed_form() {
    let mut random = Pcg64::seed_from_u64(3);
    let values: Vec<f64> = (0..28 * 24)
        .map(|hour| if hour % 2 == 0 { 0.0 } else { -(1.0 - random.random::<f64>()).ln() })
        .collect();
    let mut case = Case::new(vec![in_flight(3600, values)], Some(capacity(0.001)));
    (case.risk, case.reclaim_s) = (Some(0.001), Some(3600));
    let plan = case.plan();
    let quiet: Vec<_> = plan.windows[..5 * 24].iter().step_by(2).collect();
    assert!(quiet.iter().all(|need| need.reserved == 0));
    let mean = quiet.iter().map(|need| f64::from(need.hot) * 0.001).sum::<f64>() / 60.0;
    assert!((6.0..10.0).contains(&mean), "{mean}");
    case.risk = None;
    let seen = case.plan().windows[..5 * 24].iter().step_by(2).map(|need| need.hot).sum::<u32>();
    assert!((2.8..4.4).contains(&(f64::from(seen) * 0.001 / 60.0)), "{seen}");
}

/// Two to six days of 15-minute steps with gaps, small whole numbers.
fn histories() -> impl Strategy<Value = Vec<Option<f64>>> {
    let value = prop_oneof![1 => Just(None), 8 => (0_u32..30).prop_map(|v| Some(f64::from(v)))];
    prop::collection::vec(value, 2 * 96..6 * 96)
}

fn from_history(values: Vec<Option<f64>>) -> Case {
    let mut case = Case::new(
        vec![series(WorkUnit::RequestsInFlight, MONDAY, 900, values)],
        Some(capacity(1.0)),
    );
    case.reclaim_s = Some(1800);
    case
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// More time to reclaim, and less risk, never ask for less.
    #[test]
    fn longer_reclaims_and_smaller_risks_never_lower_the_reserve(
        values in histories(),
        reclaims in (1_u64..8, 1_u64..8),
        risks in (0.02_f64..0.9, 0.02_f64..0.9),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let mut case = from_history(values);
        let held = |case: &Case| -> Vec<u32> {
            case.plan().windows.iter().map(|need| need.reserved + need.hot).collect()
        };
        case.risk = Some(risks.0);
        case.reclaim_s = Some(900 * reclaims.0.min(reclaims.1));
        let shorter = held(&case);
        case.reclaim_s = Some(900 * reclaims.0.max(reclaims.1));
        let longer = held(&case);
        prop_assert!(shorter.iter().zip(&longer).all(|(shorter, longer)| shorter <= longer));
        case.risk = Some(risks.0.max(risks.1));
        let bolder = held(&case);
        case.risk = Some(risks.0.min(risks.1));
        let safer = held(&case);
        prop_assert!(bolder.iter().zip(&safer).all(|(bolder, safer)| bolder <= safer));
    }

    /// Where days support nothing, nothing that was seen lies above the reserve.
    #[test]
    fn beyond_what_days_support_nothing_seen_lies_above(values in histories()) {
        prop_assume!(values.iter().any(Option::is_some));
        let mut case = from_history(values.clone());
        case.risk = Some(0.001);
        let plan = case.plan();
        prop_assert!(!plan.risk_supported);
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
            let until = (index + 3).min(values.len());
            let highest = values[index..until].iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
            let need = &plan.windows[index / 4 % 168];
            prop_assert!(highest <= f64::from(need.reserved + need.hot), "{index} {value:?}");
        }
    }

    /// No window gives more GPUs than the place has, and the same question has the same answer.
    #[test]
    fn the_place_is_never_exceeded(values in histories(), gpus in 0_u32..40, floor in 0_u32..9) {
        prop_assume!(values.iter().any(Option::is_some));
        let mut case = from_history(values);
        case.gpus = gpus;
        case.inference.minimum_reserved = Some(f64::from(floor));
        let plan = case.plan();
        for need in &plan.windows {
            prop_assert!(need.reserved + need.hot + need.lent <= gpus);
            prop_assert!(need.reserved >= floor.min(gpus));
        }
        prop_assert_eq!(plan, case.plan());
    }
}
