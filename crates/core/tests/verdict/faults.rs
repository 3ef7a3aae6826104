//! What the neighbour's faults cost, beside the availability target; and caps that bind or do not.

use std::time::Duration;

use cotenant_core::evidence::{
    Condition, Disturbance, EnforcementAudit, NeighbourFault, Outcome, Run, Situation,
};
use cotenant_core::site::{Faults, HostCaps, Site};
use cotenant_core::units::{Bytes, Share};
use cotenant_core::verdict::{Finding, GateKind, Ruling, audit_of_cap};

use crate::support::{Recipe, SECOND, check_gate, gate, inference_mut, judged, request, site};

/// A good run, and in front of it blocks in which the neighbour was killed 20 s after their start.
/// In the first `reached` of them all requests of the next 10 s are lost.
fn run(faults: usize, reached: usize) -> Run {
    let mut run = Recipe::good().run();
    let together = run.blocks.iter().find(|b| b.plan.condition == Condition::C).unwrap().clone();
    for number in 0..faults {
        let mut block = together.clone();
        block.plan.index = 1_000 + number as u32;
        block.plan.situation = Situation::Fault(NeighbourFault::Killed);
        let began_ns = 20 * SECOND;
        block.observed.disturbance = Some(Disturbance {
            what: "SIGKILL to `train`".to_owned(),
            began_ns,
            ended_ns: Some(began_ns),
            yielded_ns: Some(began_ns),
            inference_recovered_ns: None,
            neighbour_recovered_ns: None,
            requests_late: None,
            remarks: Vec::new(),
        });
        if number < reached {
            let after = began_ns..began_ns + 10 * SECOND;
            for request in &mut block.requests {
                if after.contains(&request.intended_ns) {
                    request.outcome = Outcome::Reset;
                }
            }
        }
        run.blocks.push(block);
    }
    run
}

fn declared(availability: f64, faults: Option<Faults>) -> Site {
    let mut site = site();
    inference_mut(&mut site).objectives.availability = Share::new(availability);
    site.operations.node_availability = Share::new(0.9999);
    site.workloads[1].faults = faults;
    site
}

fn faults(per_month: f64, recovery_min: Option<u64>) -> Faults {
    Faults { per_month, recovery: recovery_min.map(|minutes| Duration::from_secs(60 * minutes)) }
}

fn found(site: &Site, run: Run) -> Finding {
    let verdict = judged(site, &[run]);
    let findings = gate(&verdict, GateKind::FailureDomain).findings.clone();
    findings.into_iter().find(|finding| finding.subject.contains("fails")).unwrap()
}

#[test]
fn faults_that_never_reach_inference_pass_within_their_bound() {
    // None of 59: the upper bound is 1 − 0.05^(1/59) = 4.95 %. Two a month of five minutes each are
    // at most 0.5 bad minutes; the target leaves 43.2 − 4.3.
    let finding = found(&declared(0.999, Some(faults(2.0, Some(5)))), run(59, 0));
    assert_eq!(finding.ruling, Ruling::Pass, "{}", finding.explanation);
    assert!(finding.explanation.contains("0.0 to 0.5 bad minutes"), "{}", finding.explanation);
    assert!(finding.blind_spot.unwrap().contains("1 of 59"));
    // With three faults seen the bound is 63 %: too little for a target that leaves 4 minutes.
    let finding = found(&declared(0.9998, Some(faults(2.0, Some(5)))), run(3, 0));
    assert_eq!(finding.ruling, Ruling::NotProven, "{}", finding.explanation);
    assert!(finding.missing[0].remedy.contains("--tests faults"));
}

#[test]
fn faults_that_reach_inference_fail_where_they_cost_more_than_the_target_leaves() {
    // Six of six reached it, for 10 s each: at least 60.7 % of faults (0.05^(1/6)).
    let finding = found(&declared(0.999, Some(faults(1_000.0, None))), run(6, 6));
    assert_eq!(finding.ruling, Ruling::Fail, "{}", finding.explanation);
    assert!(finding.explanation.contains("6 of 6"), "{}", finding.explanation);
    // Rare ones cost little.
    let finding = found(&declared(0.999, Some(faults(1.0, None))), run(6, 6));
    assert_eq!(finding.ruling, Ruling::Pass, "{}", finding.explanation);
}

#[test]
fn many_harmless_faults_do_not_hide_a_kind_that_is_not() {
    // 59 kills did no harm, and the one time that memory ran out it did: who knows which kind comes?
    let mut run = run(60, 1);
    let harmful = run.blocks.iter_mut().find(|block| block.plan.index == 1_000).unwrap();
    harmful.plan.situation = Situation::Fault(NeighbourFault::OutOfMemory);
    // One request each two seconds: of those from 20 to 28 s all are lost, and that of 30 s is served.
    harmful.requests = (0..22)
        .map(|number| {
            let mut one = request(number, 2.0 * f64::from(number), 0.2);
            if (10..15).contains(&number) {
                one.outcome = Outcome::Reset;
            }
            one
        })
        .collect();
    // Of one of one the upper bound is 1: 100 faults of ten seconds are 16.7 minutes, and of the
    // target's 43.2 the node takes 38.9.
    let mut site = declared(0.999, Some(faults(100.0, None)));
    site.operations.node_availability = Share::new(0.9991);
    let finding = found(&site, run);
    assert_eq!(finding.ruling, Ruling::NotProven, "{}", finding.explanation);
    assert!(finding.explanation.contains("killed 0 of 59, out of memory 1 of 1"));
    assert!(finding.explanation.contains("0.0 to 16.7 bad minutes"), "{}", finding.explanation);
}

#[test]
fn what_is_not_declared_or_not_tried_is_open() {
    for (site, run, word) in [
        (declared(0.999, None), run(3, 0), "how often"),
        (declared(0.999, Some(faults(1.0, None))), run(3, 0), "how long"),
        (declared(0.999, Some(faults(1.0, Some(5)))), run(0, 0), "none was tried"),
    ] {
        let finding = found(&site, run);
        assert_eq!(finding.ruling, Ruling::NotProven);
        assert!(finding.explanation.contains(word), "{}", finding.explanation);
        assert!(!finding.missing.is_empty());
    }
    // Nothing to hold minutes against.
    let verdict = judged(&site(), &[run(3, 3)]);
    assert!(
        gate(&verdict, GateKind::FailureDomain)
            .findings
            .iter()
            .all(|f| !f.subject.contains("fails"))
    );
}

#[test]
fn a_cap_that_is_declared_must_be_shown_to_bind() {
    let mut site = site();
    let caps = HostCaps { memory: Some(Bytes(1 << 30)), ..HostCaps::default() };
    site.sharing.caps.insert("train".to_owned(), caps);
    check_gate(&judged(&site, &[Recipe::good().run()]), GateKind::Isolation, Ruling::NotProven);
    let audit = |binds| EnforcementAudit {
        mechanism: audit_of_cap("train", HostCaps::MEMORY),
        ratio_expected: 0.9,
        ratio_measured: if binds { 0.9 } else { 1.0 },
        binds,
        method: "a load asked for more".to_owned(),
    };
    for (binds, ruling) in [(true, Ruling::Pass), (false, Ruling::Fail)] {
        let mut run = Recipe::good().run();
        run.audits.push(audit(binds));
        check_gate(&judged(&site, &[run]), GateKind::Isolation, ruling);
    }
}
