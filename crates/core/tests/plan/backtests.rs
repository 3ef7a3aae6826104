//! The history replayed: an oracle is what its name says, and gaps are nobody's fault.

use cotenant_core::plan::{BacktestQuestion, Held, backtest};
use jiff::tz::TimeZone;
use proptest::prelude::*;

use crate::support::{close, instant};

static UTC: TimeZone = TimeZone::UTC;

fn question<'a>(needs: &'a [Option<u32>], holds: &'a [Held]) -> BacktestQuestion<'a> {
    BacktestQuestion {
        start: instant("2026-11-30T00:00:00Z"),
        step_s: 3600,
        needs,
        gpus: 4,
        time_zone: &UTC,
        holds,
        reclaim_s: 0.0,
        minimum_reserved: 1,
        transition_hours: 0.0,
    }
}

fn need() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![1 => Just(None), 8 => (0_u32..=5).prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_rule_harvests_more_than_the_oracle_without_a_violation(
        needs in prop::collection::vec(need(), 1..60),
        stretch in 1_usize..6,
        reclaim in 0_u32..4,
        transition in 0.0_f64..3.0,
        hold in (0_u32..=4, 0_u32..=2, 0_u32..=2),
    ) {
        let needs: Vec<Option<u32>> =
            needs.into_iter().flat_map(|need| std::iter::repeat_n(need, stretch)).collect();
        let holds = [Held { reserved: hold.0, hot: hold.1, lent: hold.2 }];
        let asked = BacktestQuestion {
            reclaim_s: f64::from(reclaim) * 3600.0,
            transition_hours: transition,
            ..question(&needs, &holds)
        };
        let Some(result) = backtest(&asked) else {
            prop_assert!(needs.iter().all(Option::is_none));
            return Ok(());
        };
        let names: Vec<&str> = result.rows.iter().map(|row| row.name.as_str()).collect();
        prop_assert_eq!(
            names,
            ["this plan", "oracle", "static split", "night shift", "utilisation threshold"]
        );
        let oracle = &result.rows[1];
        // Where inference asks for more than there is, nobody can help.
        let seen = needs.iter().flatten().count() as f64;
        let hopeless = needs.iter().flatten().filter(|need| **need > 4).count() as f64;
        prop_assert!((oracle.violation_share - hopeless / seen).abs() < 1e-12, "{:?}", oracle);
        for row in &result.rows {
            prop_assert!(row.violation_share >= oracle.violation_share - 1e-12);
            if (row.violation_share - oracle.violation_share).abs() < 1e-12 && hopeless < 1.0 {
                prop_assert!(
                    row.gpu_hours_harvested <= oracle.gpu_hours_harvested + 1e-9,
                    "{row:?} harvests more than {oracle:?}"
                );
            }
        }
    }
}

#[test]
fn a_static_split_gives_what_the_highest_planned_peak_leaves() {
    let holds = [Held { reserved: 1, hot: 1, lent: 0 }, Held { reserved: 1, hot: 1, lent: 1 }];
    let needs = [Some(1), Some(2), None, Some(3), Some(4)];
    let result = backtest(&question(&needs, &holds)).unwrap();
    let split = &result.rows[2];
    close(split.gpu_hours_harvested, 4.0);
    close(split.violation_share, 0.25);
    close(split.violation_minutes, 60.0);
    assert_eq!((split.evictions, split.gpu_hours_lost), (0, 0.0));
    assert_eq!(result.until, instant("2026-11-30T05:00:00Z"));
}

#[test]
fn what_is_lent_before_a_gap_is_not_away_after_it() {
    // A reclaim takes an hour. Two hours of a gap lie before the peak.
    let needs = [Some(0), Some(0), None, None, Some(4), Some(4)];
    let holds = [Held::default()];
    let asked = BacktestQuestion { reclaim_s: 3600.0, ..question(&needs, &holds) };
    let oracle = &backtest(&asked).unwrap().rows[1];
    close(oracle.violation_share, 0.0);
    close(oracle.gpu_hours_harvested, 8.0);
}

#[test]
fn an_oracle_does_not_lend_for_less_than_a_change_of_hands_takes() {
    let needs = [Some(4), Some(3), Some(4), Some(3), Some(3), Some(3), Some(4)];
    let holds = [Held::default()];
    let asked = BacktestQuestion { transition_hours: 1.5, ..question(&needs, &holds) };
    let oracle = &backtest(&asked).unwrap().rows[1];
    assert_eq!(oracle.evictions, 1, "one hour is not worth it, three are");
    close(oracle.gpu_hours_harvested, 1.5);
    close(oracle.gpu_hours_lost, 1.5);
}
