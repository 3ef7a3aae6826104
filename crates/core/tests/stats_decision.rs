//! The rule that decides: its refusals, its monotony, and what it does at the edges.

#![expect(clippy::unwrap_used, reason = "a helper of tests may panic")]

use cotenant_core::stats::{
    ALPHA, BlockMisses, Decision, LookPlan, Refusal, ShareDecision, Side, Stratum,
    assumed_spread_upper, bound_misses, clopper_pearson_upper, cox_bounds, cox_upper_lifted,
    decide_mean, decide_share, holm, student_bounds, unseen_phase,
};
use proptest::prelude::*;

fn blocks(misses: &[u64], requests: u64, autocorrelation: f64) -> Vec<BlockMisses> {
    misses.iter().map(|&misses| BlockMisses { misses, requests, autocorrelation }).collect()
}

fn one_stratum(blocks: Vec<BlockMisses>) -> Vec<Stratum> {
    vec![Stratum { name: "all".into(), weight: 1.0, blocks }]
}

fn p95(misses: &[u64], requests: u64) -> ShareDecision {
    decide_share(&one_stratum(blocks(misses, requests, 0.0)), 0.95, ALPHA).unwrap()
}

#[test]
fn clear_cases() {
    assert_eq!(p95(&[0; 12], 80).decision, Decision::Pass);
    assert_eq!(p95(&[30; 12], 80).decision, Decision::Fail);
    let close = p95(&[4; 12], 80);
    let Decision::Undecided(need) = &close.decision else { panic!("{close:?}") };
    // The estimate is the objective: no number of blocks decides.
    assert_eq!(close.bounds.estimate, close.allowed);
    assert_eq!(need.further_blocks, None);
}

#[test]
fn the_need_shrinks_with_the_distance() {
    let need = |misses: &[u64]| match p95(misses, 80).decision {
        Decision::Undecided(need) => need.further_blocks.expect("a number of blocks"),
        other => panic!("{other:?}"),
    };
    let (near, far) = (need(&[3, 3, 2, 3, 3, 2]), need(&[1, 2, 1, 2, 1, 2]));
    assert!(near > far, "{near} {far}");
    // What is said to decide does decide, if it looks like what was seen.
    let repeated: Vec<u64> = [1, 2].into_iter().cycle().take(6 + far + 2).collect();
    assert_eq!(p95(&repeated, 80).decision, Decision::Pass);
}

#[test]
fn one_block_decides_nothing() {
    for misses in [0, 400] {
        let decided = decide_share(&one_stratum(blocks(&[misses], 400, 0.0)), 0.95, ALPHA).unwrap();
        let Decision::Undecided(need) = decided.decision else { panic!("{misses}") };
        assert_eq!(need.obstacles, [Refusal::TooFewBlocks { needed: 2, seen: 1 }]);
        assert_eq!((decided.bounds.lower, decided.bounds.upper), (0.0, 1.0));
    }
}

/// Eight requests in all support no p99, and the refusal says so; nor do misses of zero look
/// certain.
#[test]
fn eight_requests_support_no_p99() {
    let decided = decide_share(&one_stratum(blocks(&[0; 4], 2, 0.0)), 0.99, ALPHA).unwrap();
    let Decision::Undecided(need) = decided.decision else { panic!() };
    assert_eq!(need.obstacles[0].to_string(), "p99 needs 299 effective requests, 8 seen");
    assert!(decided.bounds.upper > 0.3);
}

/// Requests that come in a slow row are worth fewer: what passes without persistence does not with
/// it.
#[test]
fn persistence_costs_requests() {
    let decide =
        |rho| decide_share(&one_stratum(blocks(&[0, 1, 0, 1], 120, rho)), 0.95, ALPHA).unwrap();
    let (independent, persistent) = (decide(0.0), decide(0.8));
    assert!(persistent.bounds.effective_requests < independent.bounds.effective_requests / 8.0);
    assert!(persistent.bounds.upper > independent.bounds.upper);
    // A negative estimate is no evidence of more requests.
    assert_eq!(decide(-0.5).bounds.upper, independent.bounds.upper);
}

#[test]
fn a_stratum_that_was_not_seen_cannot_pass_but_can_fail() {
    let strata = |steady: &[u64]| {
        vec![
            Stratum { name: "steps only".into(), weight: 0.9, blocks: blocks(steady, 200, 0.0) },
            Stratum { name: "with a checkpoint".into(), weight: 0.1, blocks: Vec::new() },
        ]
    };
    let unseen = decide_share(&strata(&[0; 12]), 0.95, ALPHA).unwrap();
    let Decision::Undecided(need) = unseen.decision else { panic!() };
    assert_eq!(need.obstacles[0].to_string(), "phase \"with a checkpoint\" needs 2 blocks, 0 seen");
    // Even a weight so small that it could not break the objective stays in the way.
    let mut rare = strata(&[0; 40]);
    (rare[0].weight, rare[1].weight) = (0.999, 0.001);
    assert!(matches!(decide_share(&rare, 0.95, ALPHA).unwrap().decision, Decision::Undecided(_)));
    // Half of all requests miss in the phase that takes 90 % of the time: that suffices.
    assert_eq!(decide_share(&strata(&[100; 12]), 0.95, ALPHA).unwrap().decision, Decision::Fail);
}

#[test]
fn weights_are_checked() {
    let stratum = |weight| Stratum { name: "x".into(), weight, blocks: blocks(&[0; 4], 50, 0.0) };
    for weights in
        [vec![], vec![0.5], vec![0.6, 0.6], vec![1.0, 0.0], vec![1.5, -0.5], vec![f64::NAN]]
    {
        let strata: Vec<Stratum> = weights.iter().map(|weight| stratum(*weight)).collect();
        assert!(bound_misses(&strata, ALPHA).is_err(), "{weights:?}");
    }
    let wrong = one_stratum(blocks(&[60, 1], 50, 0.0));
    assert!(bound_misses(&wrong, ALPHA).is_err());
}

/// The reason for mending Cox's bound: five more misses lower it from 22 % to 3 %.
#[test]
fn cox_bound_falls_when_misses_are_added() {
    let logarithms = |misses: [f64; 4]| misses.map(|k: f64| ((k + 0.5) / 201.0).ln());
    let (fewer, more) = (logarithms([0.0, 5.0, 5.0, 5.0]), logarithms([5.0; 4]));
    let upper = |l: &[f64]| cox_bounds(l, ALPHA).unwrap().upper;
    assert!((upper(&fewer) - 0.2219).abs() < 1e-3, "{}", upper(&fewer));
    assert!((upper(&more) - 0.0274).abs() < 1e-4, "{}", upper(&more));
    // The mended one does not, and lies nowhere above Cox's.
    let lifted = |l: &[f64]| cox_upper_lifted(l, ALPHA).unwrap();
    assert!(lifted(&fewer) <= lifted(&more) + 1e-12);
    assert!(lifted(&fewer) <= upper(&fewer));
}

/// The assumed spread against its definition, and against simulation-free limits.
#[test]
fn assumed_spread_is_a_root() {
    let upper = assumed_spread_upper(14.4, 960.0, 12, ALPHA).unwrap();
    let share: f64 = 15.4 / 960.0;
    let variance = (1_f64.exp_m1() / 12.0 + (1.0 - upper) / (upper * 960.0)).ln_1p();
    let image = share * (0.5 * variance + 1.644_853_626_951_472_7 * variance.sqrt()).exp();
    assert!((upper - image).abs() < 1e-12, "{upper} {image}");
    // Many blocks and requests leave the share itself.
    let long = assumed_spread_upper(3e7, 1e9, 1_000_000, ALPHA).unwrap();
    assert!((long / 0.03 - 1.0).abs() < 0.003, "{long}");
    assert_eq!(assumed_spread_upper(9.0, 10.0, 2, ALPHA).unwrap(), 1.0);
    assert!(assumed_spread_upper(0.0, 10.0, 1, ALPHA).is_err());
}

#[test]
fn unseen_phases() {
    assert_eq!(unseen_phase(0, 0.95), 1.0);
    assert!((unseen_phase(1, 0.95) - 0.95).abs() < 1e-12);
    assert!((unseen_phase(59, 0.95) - 0.0495).abs() < 1e-4);
}

#[test]
fn holm_steps_down() {
    let rejects = |p: &[f64]| holm(p.len(), 0.05, |index, level| p[index] <= level);
    assert_eq!(rejects(&[0.04]), [true]);
    assert_eq!(rejects(&[0.04, 0.04]), [false, false]);
    // Once the first is closed the second is tried at 0.05.
    assert_eq!(rejects(&[0.04, 0.02]), [true, true]);
    assert_eq!(rejects(&[0.012, 0.02, 0.04, 0.03]), [true, false, false, false]);
    assert_eq!(rejects(&[]), [false; 0]);
}

#[test]
fn means_have_a_side() {
    let steps = [1.02, 0.97, 1.10, 1.05, 0.99];
    let decide = |limit, side| decide_mean(&steps, limit, side, ALPHA).unwrap().decision;
    assert_eq!(decide(1.2, Side::AtMost), Decision::Pass);
    assert_eq!(decide(0.9, Side::AtMost), Decision::Fail);
    assert_eq!(decide(0.9, Side::AtLeast), Decision::Pass);
    assert_eq!(decide(1.2, Side::AtLeast), Decision::Fail);
    let Decision::Undecided(need) = decide(1.04, Side::AtMost) else { panic!() };
    assert!(need.towards_pass && need.further_blocks.is_some_and(|blocks| blocks > 10));
    assert!(decide_mean(&[1.0], 1.2, Side::AtMost, ALPHA).is_err());
    assert!(decide_mean(&[1.0, f64::INFINITY], 1.2, Side::AtMost, ALPHA).is_err());
    assert_eq!(student_bounds(&steps, ALPHA).unwrap().blocks, 5);
}

#[test]
fn looks_pay_for_themselves() {
    let looks: Vec<usize> = LookPlan::STUDIED.looks().collect();
    assert_eq!(looks, [4, 6, 8, 10, 12, 14, 16]);
    assert_eq!(LookPlan::STUDIED.alpha_per_look(0.05), 0.0125);
    assert_eq!(LookPlan::fixed(12).alpha_per_look(0.05), 0.05);
    let many = LookPlan { first_blocks: 2, step_blocks: 1, last_blocks: 21 };
    assert_eq!(many.alpha_per_look(0.05), 0.0025);
}

/// Blocks of a test: misses out of requests, and an autocorrelation of each.
fn any_blocks() -> impl Strategy<Value = Vec<BlockMisses>> {
    let block = (1_u64..300).prop_flat_map(|requests| {
        (0..=requests, -0.5_f64..0.95).prop_map(move |(misses, autocorrelation)| BlockMisses {
            // Squaring favours few misses, where decisions are close.
            misses: misses * misses / requests.max(1),
            requests,
            autocorrelation,
        })
    });
    prop::collection::vec(block, 2..14)
}

proptest! {
    /// The property that matters most: no further miss anywhere makes PASS easier.
    #[test]
    fn a_miss_never_lowers_the_upper_bound(
        first in any_blocks(),
        second in any_blocks(),
        weight in 0.02_f64..0.98,
        (stratum, block) in (0_usize..2, 0_usize..14),
    ) {
        let mut strata = vec![
            Stratum { name: "one".into(), weight, blocks: first },
            Stratum { name: "two".into(), weight: 1.0 - weight, blocks: second },
        ];
        let before = bound_misses(&strata, ALPHA).unwrap();
        let chosen = &mut strata[stratum].blocks;
        let index = block % chosen.len();
        prop_assume!(chosen[index].misses < chosen[index].requests);
        chosen[index].misses += 1;
        let after = bound_misses(&strata, ALPHA).unwrap();
        prop_assert!(after.upper >= before.upper - 1e-10, "{} {}", after.upper, before.upper);
        prop_assert!(after.estimate > before.estimate);
        for (b, a) in before.strata.iter().zip(&after.strata) {
            prop_assert!(a.cox_upper_lifted >= b.cox_upper_lifted - 1e-10);
            prop_assert!(a.assumed_spread_upper >= b.assumed_spread_upper - 1e-10);
            prop_assert!(a.clopper_pearson_upper >= b.clopper_pearson_upper - 1e-10);
        }
    }

    #[test]
    fn bounds_enclose_the_estimate(one in any_blocks(), alpha in 0.001_f64..0.4) {
        let bounds = bound_misses(&one_stratum(one), alpha).unwrap();
        prop_assert!(0.0 <= bounds.lower && bounds.lower <= bounds.estimate + 1e-12);
        prop_assert!(bounds.estimate <= bounds.upper + 1e-12 && bounds.upper <= 1.0);
        prop_assert!(bounds.effective_requests <= bounds.requests as f64 + 1e-9);
        // The upper bound is at least each of those it is made of.
        let stratum = &bounds.strata[0];
        prop_assert!(bounds.upper >= stratum.clopper_pearson_upper - 1e-12);
        prop_assert!(bounds.upper >= stratum.assumed_spread_upper - 1e-12);
    }

    #[test]
    fn a_stricter_level_widens(one in any_blocks(), (a, b) in (0.001_f64..0.4, 0.001_f64..0.4)) {
        let (strict, loose) = (a.min(b), a.max(b));
        let strata = one_stratum(one);
        let (strict, loose) =
            (bound_misses(&strata, strict).unwrap(), bound_misses(&strata, loose).unwrap());
        prop_assert!(strict.upper >= loose.upper - 1e-10);
        prop_assert!(strict.lower <= loose.lower + 1e-10);
    }

    #[test]
    fn the_order_of_blocks_says_nothing(one in any_blocks()) {
        let mut reversed = one.clone();
        reversed.reverse();
        let (one, other) = (
            bound_misses(&one_stratum(one), ALPHA).unwrap(),
            bound_misses(&one_stratum(reversed), ALPHA).unwrap(),
        );
        prop_assert!((one.upper - other.upper).abs() < 1e-9);
        prop_assert!((one.lower - other.lower).abs() < 1e-9);
    }

    /// The lifted bound is the smallest that Cox's takes on samples that lie nowhere below: no
    /// random lift gets under it.
    #[test]
    fn no_lift_gets_below_the_lifted_bound(
        logarithms in prop::collection::vec(-7.0_f64..-0.5, 2..10),
        lifts in prop::collection::vec(0.0_f64..3.0, 10),
    ) {
        let lifted = cox_upper_lifted(&logarithms, ALPHA).unwrap();
        let above: Vec<f64> =
            logarithms.iter().zip(&lifts).map(|(value, lift)| value + lift * lift / 3.0).collect();
        let other = cox_bounds(&above, ALPHA).unwrap().upper;
        prop_assert!(lifted <= other * (1.0 + 1e-9), "{lifted} {other}");
    }

    #[test]
    fn clopper_pearson_grows_with_misses(k in 0.0_f64..400.0, more in 0.01_f64..50.0, n in 450.0_f64..2e3) {
        let (low, high) = (
            clopper_pearson_upper(k, n, ALPHA).unwrap(),
            clopper_pearson_upper(k + more, n, ALPHA).unwrap(),
        );
        prop_assert!(low < high && k / n < low);
    }
}
