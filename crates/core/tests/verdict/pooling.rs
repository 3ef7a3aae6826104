//! What may be looked at together, and what is refused by the name of what differs.

use cotenant_core::evidence::{Aspect, Condition, Origin, Remedy, Run};
use cotenant_core::site::SiteKind;
use cotenant_core::verdict::{GateKind, Question, Ruling, judge};

use crate::support::{Recipe, check, check_gate, finding, judged, site, told};

fn later(recipe: &Recipe) -> Recipe {
    Recipe { id: "20270105T000000Z-abc", day: 4, seed: recipe.seed + 100, ..recipe.clone() }
}

#[test]
fn runs_pool_so_that_nobody_can_run_again_until_it_passes() {
    let bad = Recipe { misses_together: 0.3, ..Recipe::good() };
    check(&judged(&site(), &[bad.run(), later(&Recipe::good()).run()]), Ruling::Fail);
}

#[test]
fn a_run_on_another_driver_is_left_out_by_name() {
    let bad = Recipe { misses_together: 0.3, ..Recipe::good() }.run();
    let mut good = later(&Recipe::good()).run();
    good.fingerprint.0.insert(Aspect::Driver, "driver 2".to_owned());
    let verdict = judged(&site(), &[good.clone(), bad.clone()]);
    check(&verdict, Ruling::Pass);
    assert!(
        verdict.excluded.iter().any(|(run, why)| *run == bad.id && why.contains("driver 1 there")),
        "{}",
        told(&verdict)
    );
    // What the newer run did not observe is not taken from the older one.
    good.fingerprint.0.remove(&Aspect::Driver);
    let mut old = Recipe::good().run();
    old.id = "20261231T000000Z-abc".to_owned();
    let mut new_bad = bad;
    new_bad.started += jiff::SignedDuration::from_hours(240);
    new_bad.fingerprint.0.remove(&Aspect::Driver);
    check(&judged(&site(), &[old, new_bad]), Ruling::Fail);
}

#[test]
fn a_and_c_of_different_loads_are_refused_by_name() {
    let split = |keep: Condition| {
        let mut run = Recipe::good().run();
        run.blocks
            .retain(|block| block.plan.condition == keep || block.plan.condition == Condition::B);
        run
    };
    let a = split(Condition::A);
    let mut c = split(Condition::C);
    c.id = "20270105T000000Z-bc".to_owned();
    c.started += jiff::SignedDuration::from_hours(96);
    check(&judged(&site(), &[a.clone(), c.clone()]), Ruling::Pass);
    let refused = |c: &cotenant_core::evidence::Run, name: &str| {
        let verdict = judged(&site(), &[a.clone(), c.clone()]);
        check_gate(&verdict, GateKind::Inference, Ruling::NotProven);
        let finding = finding(&verdict, GateKind::Inference, "test A");
        assert!(finding.explanation.contains(name), "{}", finding.explanation);
    };
    let mut other = c.clone();
    other.load.description = "Poisson, 3 requests/s".to_owned();
    refused(&other, "load");
    let mut other = c.clone();
    other.load.rate_per_s = 1.0;
    refused(&other, "req/s");
    for (aspect, name) in [(Aspect::Model, "model"), (Aspect::Engine, "engine")] {
        let mut other = c.clone();
        other.fingerprint.0.insert(aspect, "another".to_owned());
        refused(&other, name);
    }
}

#[test]
fn a_run_of_other_workloads_says_nothing_of_these() {
    let mut run = Recipe::good().run();
    run.inference = "search".to_owned();
    let verdict = judged(&site(), &[run]);
    check_gate(&verdict, GateKind::Inference, Ruling::NotProven);
    assert!(verdict.excluded.iter().any(|(_, why)| why.contains("`search` there")));
    let mut run = Recipe::good().run();
    run.neighbour = "bake".to_owned();
    check_gate(&judged(&site(), &[run]), GateKind::Completion, Ruling::NotProven);
}

#[test]
fn what_the_site_declares_today_is_what_evidence_must_be_of() {
    let mut changed = site();
    let SiteKind::Server(server) = &mut changed.kind else { panic!("a server") };
    server.driver = Some("driver 9".to_owned());
    let verdict = judged(&changed, &[Recipe::good().run()]);
    check(&verdict, Ruling::NotProven);
    assert!(told(&verdict).contains("driver 9 declared"), "{}", told(&verdict));
    let mut run = Recipe::good().run();
    run.fingerprint.0.insert(Aspect::Sharing, "mps".to_owned());
    let verdict = judged(&site(), &[run]);
    check(&verdict, Ruling::NotProven);
    assert!(told(&verdict).contains("mps there, host_cpu declared"), "{}", told(&verdict));
}

#[test]
fn imported_evidence_counts_and_no_other_origin_does() {
    for (origin, expected) in [
        (Origin::Measured, Ruling::Pass),
        (Origin::Imported, Ruling::Pass),
        (Origin::Declared, Ruling::NotProven),
        (Origin::Simulated, Ruling::NotProven),
        (Origin::Assumed, Ruling::NotProven),
    ] {
        let mut run = Recipe::good().run();
        run.origin = origin;
        let verdict = judged(&site(), &[run]);
        check(&verdict, expected);
        if expected == Ruling::Pass {
            let ttft = finding(&verdict, GateKind::Inference, "ttft_p95");
            assert_eq!(ttft.origin, Some(origin));
        }
    }
}

#[test]
fn a_copy_is_no_more_evidence() {
    let few = Recipe { pairs: 3, ..Recipe::good() };
    let once = judged(&site(), &[few.run()]);
    let mut copy = few.run();
    copy.id = "20270109T000000Z-abc".to_owned();
    for again in [few.run(), copy] {
        let twice = judged(&site(), &[few.run(), again]);
        assert_eq!(twice.gates, once.gates);
        assert!(twice.excluded.iter().any(|(_, why)| why.contains("copy")));
    }
    let mut doubled = few.run();
    let again = doubled.blocks.clone();
    doubled.blocks.extend(again);
    let verdict = judged(&site(), &[doubled]);
    let ttft = |v| finding(v, GateKind::Inference, "ttft_p95").sample;
    assert_eq!(ttft(&verdict), ttft(&once));
}

#[test]
fn runs_that_were_left_out_are_shown() {
    let excluded = [("20261224T000000Z-ac".to_owned(), "the fan was broken (ops)".to_owned())];
    let site = site();
    let runs = [Recipe::good().run()];
    let verdict = judge(&Question {
        site: &site,
        site_file: "site.yaml",
        runs: &runs,
        excluded: &excluded,
        as_of: None,
        points: &[],
    });
    assert_eq!(verdict.excluded, excluded);
}

#[test]
fn an_audit_of_another_stack_counts_for_nothing() {
    let declared = later(&Recipe { misses_together: 0.3, ..Recipe::good() });
    let mut remedy = later(&Recipe { remedy: Some(Remedy::IdlePriority), ..Recipe::good() }).run();
    remedy.id = "20270106T000000Z-abc".to_owned();
    remedy.seed = 7;
    let audits = std::mem::take(&mut remedy.audits);
    let mut old = Recipe::good().run();
    old.audits = audits;
    old.fingerprint.0.insert(Aspect::Kernel, "kernel 0".to_owned());
    let verdict = judged(&site(), &[old, declared.run(), remedy]);
    check(&verdict, Ruling::NotProven);
    assert!(told(&verdict).contains("no audit has shown"), "{}", told(&verdict));
}

/// Pairs that the amplification of TTFT rests on, and its ratio.
fn amplification(runs: &[Run]) -> Option<(u32, f64)> {
    let verdict = judged(&site(), runs);
    let ttft = verdict.comparisons.iter().find(|c| c.name == "amplification of TTFT p95")?;
    Some((ttft.pairs, ttft.ratio))
}

#[test]
fn the_same_seed_and_pair_replay_the_same_arrivals_in_another_run() {
    let split = |recipe: &Recipe, leave_out: Condition| {
        let mut run = recipe.run();
        run.blocks.retain(|block| block.plan.condition != leave_out);
        run
    };
    let a = split(&Recipe::good(), Condition::C);
    let eight = Recipe { id: "20270105T000000Z-bc", day: 4, pairs: 8, ..Recipe::good() };
    let mut c = split(&eight, Condition::A);
    // The digest is of all pairs, and this run planned fewer.
    c.load.digest = "another".to_owned();
    let pairs = |c: &Run| amplification(&[a.clone(), c.clone()]).map(|(pairs, _)| pairs);
    assert_eq!(pairs(&c), Some(8));
    let mut other = c.clone();
    other.seed += 1;
    assert_eq!(pairs(&other), None, "another seed");
    let mut other = c.clone();
    other.blocks.iter_mut().for_each(|block| block.judged_from_ns += 1);
    assert_eq!(pairs(&other), None, "another beginning");
    let mut other = c.clone();
    other.blocks.iter_mut().for_each(|block| block.judged_until_ns -= 1);
    assert_eq!(pairs(&other), None, "another end");
    let mut other = c.clone();
    other.blocks.iter_mut().for_each(|block| block.plan.pair += 6);
    assert_eq!(pairs(&other), Some(6), "pairs 6 to 11 of 6 to 13");
}

#[test]
fn a_block_is_paired_within_its_run_where_it_can_be() {
    let first = Recipe::good().run();
    let (_, ratio) = amplification(std::slice::from_ref(&first)).unwrap();
    // The same again on a day on which everything takes twice as long.
    let mut slow = Recipe { id: "20270105T000000Z-abc", day: 4, ..Recipe::good() }.run();
    for request in slow.blocks.iter_mut().flat_map(|block| &mut block.requests) {
        let twice = |at_ns: u64| 2 * at_ns - request.intended_ns;
        request.first_token_ns = request.first_token_ns.map(twice);
    }
    let (pairs, of_both) = amplification(&[first, slow]).unwrap();
    assert_eq!(pairs, 24);
    assert!((of_both - ratio).abs() < 1e-9, "{of_both} of both, {ratio} of each");
}
