//! The ways of sharing, in their order, and why each was or was not looked at.

use cotenant_core::plan::{Candidate, Plan, PlanWord};
use cotenant_core::site::{IsolationNeed, IsolationProperty, Site, SiteKind};

use crate::support::{inference, once, planned, serving, site, trainer};

const ORDER: [&str; 7] =
    ["whole_gpu", "temporal", "mig", "mps", "mps", "time_slicing", "two_servers"];

fn mode<'a>(plan: &'a Plan, mode: &str) -> &'a Candidate {
    plan.candidates.iter().find(|it| it.mode == mode).unwrap()
}

/// A chat that holds one of two GPUs, and a job that needs both.
fn hopeless(gpu: &str) -> Site {
    let chat = serving("chat", inference(&[("daily 00:00-24:00", 0.9)]));
    let tune = trainer("tune", 2, 10.0, once("2026-12-09T00:00:00Z", None));
    let mut place = site(2, vec![chat, tune]);
    let SiteKind::Server(server) = &mut place.kind else { panic!("a server") };
    server.gpu = Some(gpu.to_owned());
    place
}

fn requires(mut place: Site, properties: &[IsolationProperty]) -> Site {
    place.operations.isolation =
        vec![IsolationNeed { workload: "chat".into(), properties: properties.to_vec() }];
    place
}

#[test]
fn the_order_is_the_same_and_two_servers_come_last() {
    let enough = planned(&site(4, vec![serving("chat", inference(&[("daily 00:00-24:00", 0.9)]))]));
    let hopeless = planned(&hopeless("H100-SXM5-80GB"));
    for plan in [&enough, &hopeless] {
        let modes: Vec<&str> = plan.candidates.iter().map(|it| it.mode).collect();
        assert_eq!(modes, ORDER);
        assert!(plan.candidates.iter().all(|it| !it.why.is_empty()));
    }
    let looked_at =
        |plan: &Plan| -> Vec<bool> { plan.candidates.iter().map(|it| it.looked_at).collect() };
    assert_eq!(looked_at(&enough), [true, true, false, false, false, false, false]);
    assert_eq!(looked_at(&hopeless), [true; 7]);
    assert!(enough.candidates[0].chosen, "the split comes first");
    assert!(mode(&hopeless, "two_servers").why.contains("0 of 1 deadlines"));
    // What a partition gives to jobs is not known: nothing was scheduled in one.
    assert!(hopeless.candidates[2..].iter().all(|it| it.gpu_hours.is_none()));
}

#[test]
fn mig_is_refused_where_no_model_of_that_name_has_it() {
    let refused = planned(&hopeless("L40S"));
    let mig = mode(&refused, "mig");
    assert_eq!((mig.word, mig.looked_at), (Some(PlanWord::Fail), true));
    assert!(mig.why.contains("has no MIG"), "{}", mig.why);
    let can = planned(&hopeless("H100-SXM5-80GB"));
    assert_eq!(mode(&can, "mig").word, Some(PlanWord::NotProven));
    assert!(!mode(&can, "mig").why.contains("not known: "), "{}", mode(&can, "mig").why);
}

#[test]
fn a_name_of_several_models_or_of_none_does_not_silently_pass() {
    for (name, said) in [("H100", "may be"), ("a model of the future", "no model of the catalogue")]
    {
        let plan = planned(&hopeless(name));
        let mig = mode(&plan, "mig");
        assert_eq!(mig.word, Some(PlanWord::NotProven), "{name}");
        assert!(mig.why.contains(said) && mig.why.contains(name), "{name}: {}", mig.why);
    }
}

#[test]
fn a_way_that_does_not_isolate_as_required_fails() {
    let plan = planned(&requires(hopeless("H100-SXM5-80GB"), &[IsolationProperty::Faults]));
    let words: Vec<Option<PlanWord>> = plan.candidates[2..6].iter().map(|it| it.word).collect();
    let fail = Some(PlanWord::Fail);
    assert_eq!(words, [Some(PlanWord::NotProven), fail, fail, fail]);
    for candidate in &plan.candidates[3..6] {
        let isolation = candidate.gates.iter().find(|(name, _)| name == "isolation").unwrap();
        assert_eq!(isolation.1, PlanWord::Fail);
        assert!(candidate.to_test.is_empty(), "what fails needs no test");
    }
}

#[test]
fn what_no_way_isolates_fails_the_gate_as_well() {
    let chat = serving("chat", inference(&[("daily 00:00-24:00", 0.9)]));
    let place = requires(site(4, vec![chat]), &[IsolationProperty::Cpu]);
    let plan = planned(&place);
    let gate = plan.gates.iter().find(|gate| gate.name == "isolation").unwrap();
    assert_eq!((plan.word, gate.word), (PlanWord::Fail, PlanWord::Fail));
    assert!(gate.reason.contains("chat: whole GPU does not give cpu"), "{}", gate.reason);
}

#[test]
fn a_place_that_is_too_small_for_inference_alone_says_so_everywhere() {
    let chat = serving("chat", inference(&[("daily 00:00-24:00", 5.5)]));
    let plan = planned(&site(4, vec![chat, trainer("tune", 1, 3.0, None)]));
    let split = &plan.candidates[0];
    assert_eq!(split.name, "whole-GPU split 6 + 0");
    assert!(split.why.contains("needs 6 GPUs at its highest and there are 4"), "{}", split.why);
    assert!(plan.gates[0].reason.contains("up to 6 GPUs"), "{}", plan.gates[0].reason);
    assert!(plan.gates[0].would_be_conditional_on[0].starts_with("2 more GPUs"));
    let word = split.gates.iter().find(|(name, _)| name == "inference objectives").unwrap().1;
    assert_eq!(word, plan.gates[0].word);
    assert_eq!(plan.word, PlanWord::Fail);
}
