//! What must hold for any evidence.

use cotenant_core::evidence::{
    Aspect, Block, CheckpointRecord, Condition, Outcome, Phase, PlannedBlock, Remedy, Run,
    Situation, StepRecord,
};
use cotenant_core::verdict::{GateKind, Ruling, Verdict};
use proptest::prelude::*;

use crate::support::{
    Recipe, drill, gate, host, inference_mut, judged, request, site, training_mut,
};

fn recipe() -> impl Strategy<Value = Recipe> {
    (0_u64..1_000_000, 1_u32..9, 0.0_f64..0.12, 0.0_f64..0.12, 0.0_f64..0.8).prop_map(
        |(seed, pairs, misses_alone, misses_together, spread)| Recipe {
            seed,
            pairs,
            misses_alone,
            misses_together,
            spread,
            ..Recipe::good()
        },
    )
}

fn inference(verdict: &Verdict) -> Ruling {
    gate(verdict, GateKind::Inference).ruling
}

/// Whether more misses made no pass. (They may turn FAIL into NOT PROVEN: one block that is far worse
/// than the others makes all of them say less of the long run.)
fn is_no_better(before: &Verdict, after: &Verdict) -> bool {
    inference(after) != Ruling::Pass || inference(before) == Ruling::Pass
}

/// An arbitrary block: nothing of it fits together.
fn any_block() -> impl Strategy<Value = Block> {
    let plan = (0_u32..6, 0_u32..3, 0_u32..4, any::<bool>(), any::<bool>());
    let times = (0_u64..60_000_000_000, 0_u64..60_000_000_000, any::<u64>());
    let requests = proptest::collection::vec((0_u64..60, -5.0_f64..1e6, 0_u8..4), 0..20);
    let steps = proptest::collection::vec(
        (any::<u64>(), 0_u64..60_000_000_000, -1.0_f64..1e12, any::<bool>()),
        0..30,
    );
    let rest =
        (-1e9_f64..1e300, any::<bool>(), 0_u32..5, proptest::collection::vec(-1.0_f64..1e9, 0..30));
    (plan, times, requests, steps, rest).prop_map(
        |((index, condition, pair, remedied, saved), (from, until, end), requests, steps, rest)| {
            let (number, drilled, planned, waiting) = rest;
            let condition = [Condition::A, Condition::B, Condition::C][condition as usize];
            let mut block =
                Recipe { pairs: 1, training_blocks: 0, ..Recipe::good() }.run().blocks[0].clone();
            block.plan = PlannedBlock {
                index,
                condition,
                pair,
                remedy: remedied.then_some(Remedy::IdlePriority),
                phase: Phase::Steady,
                situation: Situation::Ordinary,
            };
            block.judged_from_ns = from;
            block.judged_until_ns = until;
            block.ended_ns = end;
            block.requests = requests
                .iter()
                .enumerate()
                .map(|(index, (at_s, ttft_s, how))| {
                    let mut record = request(index as u32, *at_s as f64, *ttft_s);
                    record.class = u16::from(*how);
                    if *how == 0 {
                        record.outcome = Outcome::Reset;
                        record.first_token_ns = None;
                    }
                    record
                })
                .collect();
            block.steps = steps
                .iter()
                .map(|(step, at_ns, duration_s, told)| StepRecord {
                    step: *step,
                    at_ns: *at_ns,
                    duration_s: told.then_some(*duration_s),
                    loss: None,
                    tokens: Some(*step),
                })
                .collect();
            block.checkpoints = saved
                .then_some(CheckpointRecord {
                    step: 1,
                    at_ns: from,
                    duration_s: number,
                    bytes: None,
                })
                .into_iter()
                .collect();
            block.drill = drilled.then(|| drill(number, saved));
            block.host = vec![host(from, number), host(until, 0.0)];
            block.engine_waiting = waiting
                .iter()
                .enumerate()
                .map(|(at, count)| (at as u64 * 1_000_000, *count))
                .collect();
            block.client.as_mut().unwrap().requests_planned = planned;
            block
        },
    )
}

fn of_blocks(blocks: Vec<Block>) -> Run {
    let mut run = Recipe { remedy: Some(Remedy::IdlePriority), ..Recipe::good() }.run();
    run.blocks = blocks;
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn more_misses_never_make_a_pass(
        recipe in recipe(), block in 0_usize..28, from in 0_usize..60, count in 1_usize..40,
    ) {
        let site = site();
        let before = recipe.run();
        let mut after = before.clone();
        let place = block % after.blocks.len();
        for request in after.blocks[place].requests.iter_mut().skip(from).take(count) {
            request.first_token_ns = Some(request.intended_ns + 700_000_000);
        }
        let (before, after) = (judged(&site, &[before]), judged(&site, &[after]));
        prop_assert!(is_no_better(&before, &after));
    }

    #[test]
    fn failures_in_place_of_answers_never_make_a_pass(
        recipe in recipe(), block in 0_usize..28, from in 0_usize..60, count in 1_usize..40,
    ) {
        let mut site = site();
        inference_mut(&mut site).objectives.itl_p95 = Some(std::time::Duration::from_millis(24));
        let before = recipe.run();
        let mut after = before.clone();
        let place = block % after.blocks.len();
        for request in after.blocks[place].requests.iter_mut().skip(from).take(count) {
            request.outcome = Outcome::TimedOut;
        }
        let (before, after) = (judged(&site, &[before]), judged(&site, &[after]));
        prop_assert!(is_no_better(&before, &after));
    }

    #[test]
    fn without_test_c_nothing_passes(recipe in recipe()) {
        let mut run = recipe.run();
        run.blocks.retain(|block| block.plan.condition != Condition::C);
        prop_assert!(judged(&site(), &[run]).ruling >= Ruling::NotProven);
    }

    #[test]
    fn fewer_blocks_alone_never_make_a_pass(recipe in recipe(), keep in 0_usize..4) {
        // Whatever was said of all blocks: two of A and C at most are never enough here.
        let mut run = recipe.run();
        let mut seen = [0; 3];
        run.blocks.retain(|block| {
            let place = block.plan.condition as usize;
            seen[place] += 1;
            seen[place] <= keep.min(2)
        });
        prop_assert!(judged(&site(), &[run]).ruling >= Ruling::NotProven);
    }

    #[test]
    fn runs_that_differ_in_any_aspect_are_never_pooled(aspect in 0_usize..14, gone in any::<bool>()) {
        let few = Recipe { pairs: 3, ..Recipe::good() };
        let one = few.run();
        let mut other = Recipe { id: "20270105T000000Z-abc", day: 4, seed: 9, ..few }.run();
        let aspect = Aspect::ALL[aspect];
        if gone {
            other.fingerprint.0.remove(&aspect);
        } else {
            other.fingerprint.0.insert(aspect, "host_cpu, another".to_owned());
        }
        let is_same = other.fingerprint == one.fingerprint;
        let verdict = judged(&site(), &[one, other]);
        let together = cotenant_core::verdict::Strategy::AsDeclared;
        for finding in verdict.gates.iter().flat_map(|gate| &gate.findings) {
            if finding.strategy == together {
                prop_assert!(finding.evidence.len() < 2 || is_same, "{finding:?}");
            }
        }
    }

    #[test]
    fn the_same_question_has_the_same_answer(recipe in recipe()) {
        let other = Recipe { id: "20270105T000000Z-abc", day: 4, seed: recipe.seed + 1, ..recipe.clone() };
        let (one, other) = (recipe.run(), other.run());
        let site = site();
        let answer = format!("{:?}", judged(&site, &[one.clone(), other.clone()]));
        prop_assert_eq!(&answer, &format!("{:?}", judged(&site, &[one.clone(), other.clone()])));
        prop_assert_eq!(&answer, &format!("{:?}", judged(&site, &[other, one])));
    }

    #[test]
    fn no_evidence_panics_and_nonsense_never_passes(
        blocks in proptest::collection::vec(any_block(), 0..8), steps in any::<u64>(),
    ) {
        let mut site = site();
        let objectives = &mut inference_mut(&mut site).objectives;
        objectives.itl_p95 = Some(std::time::Duration::from_millis(50));
        objectives.queue_length = Some(3);
        objectives.throughput = Some(cotenant_core::units::RatePerSecond::new(1.0, "tok"));
        let training = training_mut(&mut site);
        training.steps = Some(steps);
        training.objectives.throughput_min = Some(cotenant_core::units::RatePerSecond::new(1.0, "tok"));
        training.objectives.deadline = Some(cotenant_core::site::Deadline::At {
            at: "2027-06-01T00:00:00Z".parse().unwrap(),
            time_zone: jiff::tz::TimeZone::UTC,
            start: None,
        });
        let verdict = judged(&site, &[of_blocks(blocks)]);
        prop_assert!(verdict.ruling >= Ruling::NotProven);
        // Whatever is open says what is missing, and everything has its reason.
        for finding in verdict.gates.iter().flat_map(|gate| &gate.findings) {
            prop_assert!(!finding.explanation.is_empty(), "{finding:?}");
            if finding.ruling == Ruling::NotProven {
                prop_assert!(!finding.missing.is_empty(), "{finding:?}");
            }
        }
    }

    #[test]
    fn a_judged_interval_of_no_length_passes_nothing(recipe in recipe()) {
        let mut run = recipe.run();
        run.blocks.iter_mut().for_each(|block| block.judged_until_ns = block.judged_from_ns);
        prop_assert!(judged(&site(), &[run]).ruling >= Ruling::NotProven);
    }
}
