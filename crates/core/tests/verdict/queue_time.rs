//! The queue's time by the engine's own histogram: what its buckets allow to say, and no more.

use std::time::Duration;

use cotenant_core::evidence::{Block, Condition, EngineHistogram, EngineObservation, Run};
use cotenant_core::site::{InferenceObjectives, RequestClass, Site};
use cotenant_core::verdict::{Finding, GateKind, Ruling, Strategy};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::{
    JUDGED_FROM_NS, JUDGED_UNTIL_NS, Recipe, gate, inference_mut, judged, site, told,
};

const BOUNDS_S: [f64; 4] = [0.3, 0.5, 1.0, f64::INFINITY];

/// Answers that end between the scrapes of a block, as the client saw them.
fn answers(block: &Block) -> usize {
    let inside = JUDGED_FROM_NS..JUDGED_UNTIL_NS;
    block
        .requests
        .iter()
        .filter(|request| request.outcome.is_complete() && inside.contains(&request.end_ns))
        .count()
}

fn counted(bounds_s: &[f64], waits_s: &[f64]) -> EngineHistogram {
    let below = |bound: &f64| waits_s.iter().filter(|wait| *wait <= bound).count() as f64;
    EngineHistogram {
        metric: "queue_time_s".to_owned(),
        bounds: bounds_s.to_vec(),
        cumulative: bounds_s.iter().map(below).collect(),
        count: waits_s.len() as f64,
        sum: Some(waits_s.iter().sum()),
    }
}

fn observed(histograms: Vec<EngineHistogram>) -> EngineObservation {
    EngineObservation {
        engine: "vLLM 0.32.0".to_owned(),
        from_ns: JUDGED_FROM_NS,
        until_ns: JUDGED_UNTIL_NS,
        histograms,
        counters: Vec::new(),
        gauges: Vec::new(),
        remarks: Vec::new(),
    }
}

/// Gives every block of A and C the waits that `wait_s` draws for its answers.
fn with_waits(run: &mut Run, bounds_s: &[f64], mut wait_s: impl FnMut(&mut Pcg64) -> f64) {
    let mut random = Pcg64::seed_from_u64(7);
    for block in run.blocks.iter_mut().filter(|block| block.plan.condition != Condition::B) {
        let waits: Vec<f64> = (0..answers(block)).map(|_| wait_s(&mut random)).collect();
        block.observed.engine = Some(observed(vec![counted(bounds_s, &waits)]));
    }
}

fn asked(target_ms: u64) -> Site {
    let mut site = site();
    inference_mut(&mut site).objectives.queue_time = Some(Duration::from_millis(target_ms));
    site
}

/// The finding about test C.
fn of_c(site: &Site, run: Run) -> Finding {
    let verdict = judged(site, &[run]);
    gate(&verdict, GateKind::Inference)
        .findings
        .iter()
        .find(|f| f.subject.ends_with("queue_time") && f.strategy == Strategy::AsDeclared)
        .unwrap_or_else(|| panic!("{}", told(&verdict)))
        .clone()
}

#[track_caller]
fn check(target_ms: u64, share: f64, long_s: f64, expected: Ruling) -> Finding {
    let mut run = Recipe::good().run();
    with_waits(&mut run, &BOUNDS_S, |random| if random.random_bool(share) { long_s } else { 0.01 });
    let finding = of_c(&asked(target_ms), run);
    assert_eq!(finding.ruling, expected, "{}", finding.explanation);
    finding
}

#[test]
fn a_target_on_a_bound_is_judged_as_any_share() {
    let passed = check(300, 0.002, 0.4, Ruling::Pass);
    assert!(passed.explanation.contains("p95 is at most 300 ms"), "{}", passed.explanation);
    assert!(passed.blind_spot.is_some());
    check(300, 0.3, 0.4, Ruling::Fail);
}

#[test]
fn between_two_bounds_a_pass_takes_the_lower_and_a_fail_the_upper_bound() {
    check(400, 0.002, 0.4, Ruling::Pass);
    check(400, 0.3, 0.7, Ruling::Fail);
}

#[test]
fn what_the_bucket_hides_is_not_proven_and_the_nearest_bounds_are_told() {
    let within = check(400, 0.3, 0.45, Ruling::NotProven);
    assert!(within.explanation.contains("too coarse"), "{}", within.explanation);
    assert!(within.explanation.contains("between the bounds 300 ms and 500 ms"));
    assert!(within.missing[0].remedy.contains("queue_time: 300 ms"), "{:?}", within.missing);
    assert!(within.missing[0].what.contains("300 ms or 500 ms"));

    // All waits are 10 ms, and yet nothing below 300 ms can be shown.
    let below = check(100, 0.0, 0.0, Ruling::NotProven);
    assert!(below.explanation.contains("below the first bound, 300 ms"), "{}", below.explanation);
    assert!(below.explanation.contains("mean 10 ms"), "{}", below.explanation);

    let beyond = check(2000, 0.3, 5.0, Ruling::NotProven);
    assert!(beyond.explanation.contains("beyond the last bound, 1 s"), "{}", beyond.explanation);
}

#[test]
fn without_buckets_only_the_mean_is_known() {
    let mut run = Recipe::good().run();
    with_waits(&mut run, &[], |_| 0.01);
    let finding = of_c(&asked(300), run);
    assert_eq!(finding.ruling, Ruling::NotProven);
    assert!(finding.explanation.contains("mean 10 ms"), "{}", finding.explanation);
    assert!(finding.missing[0].remedy.contains("ttft_p95"));
}

#[test]
fn a_block_without_the_engines_account_leaves_it_open() {
    let mut run = Recipe::good().run();
    with_waits(&mut run, &BOUNDS_S, |_| 0.01);
    let silent = run.blocks.iter().position(|b| b.plan.condition == Condition::C).unwrap();

    let mut without = run.clone();
    without.blocks[silent].observed.engine = None;
    let finding = of_c(&asked(300), without);
    assert_eq!(finding.ruling, Ruling::NotProven);
    assert!(finding.explanation.contains("not seen in 1 of 12 blocks"), "{}", finding.explanation);

    // An account of the first third of the judged time is none of the whole.
    let mut short = run.clone();
    let engine = short.blocks[silent].observed.engine.as_mut().unwrap();
    engine.until_ns = JUDGED_FROM_NS + (JUDGED_UNTIL_NS - JUDGED_FROM_NS) / 3;
    assert_eq!(of_c(&asked(300), short).ruling, Ruling::NotProven);

    let mut lacking = run;
    lacking.blocks[silent].observed.engine.as_mut().unwrap().histograms.clear();
    let finding = of_c(&asked(300), lacking);
    assert_eq!(finding.ruling, Ruling::NotProven);
    assert!(finding.explanation.contains("no histogram"), "{}", finding.explanation);
}

/// An engine whose process began anew has lost what it counted: those requests may have waited long.
#[test]
fn answers_that_the_engine_did_not_count_are_no_short_waits() {
    let mut run = Recipe::good().run();
    with_waits(&mut run, &BOUNDS_S, |_| 0.01);
    for block in run.blocks.iter_mut().filter(|block| block.plan.condition == Condition::C) {
        let kept = answers(block) / 2;
        let engine = block.observed.engine.as_mut().unwrap();
        engine.histograms = vec![counted(&BOUNDS_S, &vec![0.01; kept])];
    }
    let finding = of_c(&asked(300), run);
    assert_eq!(finding.ruling, Ruling::NotProven);
    assert!(finding.explanation.contains("counts as a long one"), "{}", finding.explanation);
}

#[test]
fn a_class_has_no_histogram_of_its_own() {
    let mut site = site();
    site.workloads[0].classes = vec![RequestClass {
        name: "short".to_owned(),
        share: None,
        prompt_tokens: None,
        output_tokens: None,
        objectives: Some(InferenceObjectives {
            queue_time: Some(Duration::from_millis(300)),
            ..InferenceObjectives::default()
        }),
    }];
    let mut run = Recipe::good().run();
    with_waits(&mut run, &BOUNDS_S, |_| 0.01);
    let finding = of_c(&site, run);
    assert_eq!(finding.ruling, Ruling::NotProven);
    assert!(finding.explanation.contains("all classes together"), "{}", finding.explanation);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Coarser buckets may leave open what finer ones decide, and never decide otherwise: whatever
    /// the target, the answer from buckets agrees with that from a bucket whose bound is the target.
    #[test]
    fn buckets_never_decide_what_the_waits_do_not(
        share in prop::sample::select(vec![0.0, 0.002, 0.05, 0.3, 0.9]),
        long_s in 0.05..1.5_f64,
        target_ms in 50_u64..1500,
    ) {
        let judged_with = |bounds_s: &[f64]| {
            let mut run = Recipe::good().run();
            let draw = |random: &mut Pcg64| if random.random_bool(share) { long_s } else { 0.01 };
            with_waits(&mut run, bounds_s, draw);
            of_c(&asked(target_ms), run).ruling
        };
        let target_s = Duration::from_millis(target_ms).as_secs_f64();
        let exact = judged_with(&[target_s, f64::INFINITY]);
        let coarse = judged_with(&BOUNDS_S);
        prop_assert!(coarse == Ruling::NotProven || coarse == exact, "{coarse:?} of {exact:?}");
    }
}
