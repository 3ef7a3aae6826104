//! Each gate's PASS, FAIL and NOT PROVEN, and the whole.

use std::time::Duration;

use cotenant_core::evidence::{BlockFault, Condition, Outcome, Remedy, Run, Situation};
use cotenant_core::site::{
    CheckpointInterval, Deadline, HostCpu, InferenceObjectives, IsolationNeed, IsolationProperty,
    NeighbourPriority, Render, RequestClass, SharingMode, Site, Training, WeeklyWindow,
    WorkloadKind,
};
use cotenant_core::units::{RatePerSecond, Share};
use cotenant_core::verdict::{GateKind, Question, Ruling, Validity, judge};

use crate::support::{
    Recipe, check, check_gate, finding, gate, inference_mut, judged, site, told, training_mut,
    workload,
};

use GateKind::{Completion, FailureDomain, Inference, Isolation, Maintenance, Preemption};
use Ruling::{Conditional, Fail, NotProven, Pass};

fn c_blocks(run: &mut Run) -> impl Iterator<Item = &mut cotenant_core::evidence::Block> {
    run.blocks.iter_mut().filter(|block| block.plan.condition == Condition::C)
}

#[test]
fn what_holds_passes() {
    let verdict = judged(&site(), &[Recipe::good().run()]);
    check(&verdict, Pass);
    assert!(verdict.missing.is_empty() && verdict.conditions.is_empty());
    assert_eq!(verdict.gates.len(), 6);
    let ttft = finding(&verdict, Inference, "ttft_p95");
    assert!(ttft.blind_spot.as_ref().is_some_and(|spot| spot.contains("12 blocks")));
}

#[test]
fn nothing_measured_is_not_proven() {
    let verdict = judged(&site(), &[]);
    check(&verdict, NotProven);
    check_gate(&verdict, Inference, NotProven);
    check_gate(&verdict, Completion, NotProven);
    check_gate(&verdict, Preemption, NotProven);
    assert!(verdict.missing.iter().any(|missing| missing.remedy.contains("measure")));
}

#[test]
fn misses_fail_and_few_blocks_decide_nothing() {
    let bad = Recipe { misses_together: 0.3, ..Recipe::good() };
    let verdict = judged(&site(), &[bad.run()]);
    check(&verdict, Fail);
    check_gate(&verdict, Inference, Fail);
    let few = Recipe { pairs: 1, ..Recipe::good() };
    check_gate(&judged(&site(), &[few.run()]), Inference, NotProven);
    let near = Recipe { misses_together: 0.045, ..Recipe::good() };
    let verdict = judged(&site(), &[near.run()]);
    check_gate(&verdict, Inference, NotProven);
    assert!(verdict.missing.iter().any(|missing| missing.what.contains("more pair")));
}

#[test]
fn inference_that_fails_alone_fails_under_every_remedy() {
    let declared = Recipe { misses_alone: 0.3, misses_together: 0.3, ..Recipe::good() };
    let remedy = Recipe {
        id: "20270102T000000Z-ac",
        day: 1,
        seed: 2,
        misses_alone: 0.3,
        remedy: Some(Remedy::IdlePriority),
        ..Recipe::good()
    };
    check(&judged(&site(), &[declared.run(), remedy.run()]), Fail);
}

#[test]
fn a_remedy_that_was_tested_makes_a_condition() {
    let declared = Recipe { misses_together: 0.3, ..Recipe::good() };
    let remedy = Recipe {
        id: "20270102T000000Z-abc",
        day: 1,
        seed: 2,
        remedy: Some(Remedy::IdlePriority),
        ..Recipe::good()
    };
    let verdict = judged(&site(), &[declared.run(), remedy.run()]);
    check(&verdict, Conditional);
    assert_eq!(verdict.conditions.len(), 1);
    assert_eq!(verdict.conditions[0].tested_by, ["20270102T000000Z-abc"]);
    assert!(verdict.missing.is_empty());

    // Tested for inference, but no drill and no step was seen under it.
    let mut partial = remedy.run();
    for block in c_blocks(&mut partial) {
        block.drill = None;
    }
    check(&judged(&site(), &[declared.run(), partial]), NotProven);
    let mut partial = remedy.run();
    for block in c_blocks(&mut partial) {
        block.steps.clear();
    }
    let verdict = judged(&site(), &[declared.run(), partial]);
    assert!(verdict.ruling >= NotProven, "{}", told(&verdict));

    // The audit of the remedy did not bind.
    let mut unbound = remedy.run();
    unbound.audits[0].ratio_measured = 0.9;
    check(&judged(&site(), &[declared.run(), unbound]), Fail);
    let mut unaudited = remedy.run();
    unaudited.audits.clear();
    check(&judged(&site(), &[declared.run(), unaudited]), NotProven);
}

#[test]
fn unanswered_requests_miss_and_fail() {
    let mut run = Recipe::good().run();
    for block in c_blocks(&mut run) {
        block.requests.iter_mut().for_each(|request| request.outcome = Outcome::TimedOut);
    }
    let verdict = judged(&site(), &[run]);
    check_gate(&verdict, Inference, Fail);
    assert_eq!(finding(&verdict, Inference, "ttft_p95").observed, Some(f64::INFINITY));
}

#[test]
fn half_the_requests_failing_break_the_inter_token_objective() {
    let mut site = site();
    inference_mut(&mut site).objectives = InferenceObjectives {
        itl_p95: Some(Duration::from_millis(50)),
        ..InferenceObjectives::default()
    };
    check_gate(&judged(&site, &[Recipe::good().run()]), Inference, Pass);
    let mut run = Recipe::good().run();
    for block in c_blocks(&mut run) {
        for request in block.requests.iter_mut().step_by(2) {
            request.outcome = Outcome::Reset;
        }
        block.gaps.retain(|gaps| gaps.request % 2 == 1);
    }
    check_gate(&judged(&site, &[run]), Inference, Fail);
    // Gaps that were not read are no gaps that held.
    let mut run = Recipe::good().run();
    c_blocks(&mut run).for_each(|block| block.gaps.truncate(3));
    check_gate(&judged(&site, &[run]), Inference, NotProven);
}

#[test]
fn blocks_without_requests_prove_nothing() {
    let mut run = Recipe::good().run();
    c_blocks(&mut run).for_each(|block| block.requests.clear());
    let verdict = judged(&site(), &[run]);
    check_gate(&verdict, Inference, Fail);
    let mut run = Recipe::good().run();
    for block in c_blocks(&mut run) {
        block.requests.clear();
        block.client = None;
    }
    check_gate(&judged(&site(), &[run]), Inference, NotProven);
}

#[test]
fn requests_without_a_record_count_as_failed() {
    let mut run = Recipe::good().run();
    c_blocks(&mut run).for_each(|block| block.requests.truncate(70));
    let verdict = judged(&site(), &[run]);
    assert!(gate(&verdict, Inference).ruling >= NotProven, "{}", told(&verdict));
    assert!(matches!(&verdict.validity, Validity::Degraded(why) if why[0].contains("no record")));
}

#[test]
fn an_error_rate_of_zero_is_refuted_by_one_failure_and_never_proven() {
    let mut site = site();
    inference_mut(&mut site).objectives.error_rate = Share::new(0.0);
    let verdict = judged(&site, &[Recipe::good().run()]);
    check_gate(&verdict, Inference, NotProven);
    assert!(finding(&verdict, Inference, "error_rate").explanation.contains("no number"));
    let mut run = Recipe::good().run();
    run.blocks[1].requests[30].outcome = Outcome::Refused(429);
    check_gate(&judged(&site, &[run]), Inference, Fail);
}

#[test]
fn an_objective_that_no_test_can_judge_is_none() {
    let mut site = site();
    inference_mut(&mut site).objectives =
        InferenceObjectives { availability: Share::new(0.99), ..InferenceObjectives::default() };
    check_gate(&judged(&site, &[Recipe::good().run()]), Inference, NotProven);
}

#[test]
fn classes_are_judged_by_their_own_objectives_and_those_of_the_whole() {
    let mut site = site();
    let class = |name: &str, objectives| RequestClass {
        name: name.to_owned(),
        share: None,
        prompt_tokens: None,
        output_tokens: None,
        objectives,
    };
    let own = InferenceObjectives {
        e2e_p95: Some(Duration::from_secs(9)),
        ..InferenceObjectives::default()
    };
    site.workloads[0].classes = vec![class("short", None), class("long", Some(own))];
    let with_classes = |misses: f64| {
        let mut run = Recipe { pairs: 24, misses_together: misses, ..Recipe::good() }.run();
        for block in &mut run.blocks {
            for request in &mut block.requests {
                request.class = (request.index % 2) as u16;
            }
        }
        run
    };
    let verdict = judged(&site, &[with_classes(0.002)]);
    check_gate(&verdict, Inference, Pass);
    finding(&verdict, Inference, "(long): ttft_p95");
    finding(&verdict, Inference, "(long): e2e_p95");
    check_gate(&judged(&site, &[with_classes(0.4)]), Inference, Fail);
    // A class that the site does not know is held against nothing.
    let mut run = with_classes(0.002);
    run.blocks[1].requests.iter_mut().for_each(|request| request.class = 7);
    check_gate(&judged(&site, &[run]), Inference, NotProven);
}

#[test]
fn a_lower_load_than_declared_passes_nothing_and_a_higher_one_fails_nothing() {
    let mut more = site();
    inference_mut(&mut more).peak_rate = Some(RatePerSecond::new(4.0, "req"));
    let verdict = judged(&more, &[Recipe::good().run()]);
    check_gate(&verdict, Inference, NotProven);
    check_gate(&verdict, Completion, NotProven);
    let mut less = site();
    inference_mut(&mut less).peak_rate = Some(RatePerSecond::new(0.5, "req"));
    let bad = Recipe { misses_alone: 0.3, misses_together: 0.3, ..Recipe::good() };
    check_gate(&judged(&less, &[bad.run()]), Inference, NotProven);
    check_gate(&judged(&less, &[Recipe::good().run()]), Inference, Pass);
    // Constant arrivals are gentler than the declared ones.
    let mut smooth = Recipe::good().run();
    smooth.load.description = "constant, 2 requests/s".to_owned();
    check_gate(&judged(&site(), &[smooth]), Inference, NotProven);
    // Longer prompts were declared than were tested.
    let mut longer = site();
    inference_mut(&mut longer).prompt_tokens =
        Some(cotenant_core::site::TokenCounts { p50: 200, p95: 300 });
    check_gate(&judged(&longer, &[Recipe::good().run()]), Inference, NotProven);
}

#[test]
fn throughput_that_was_not_asked_for_cannot_fail() {
    let mut site = site();
    inference_mut(&mut site).objectives.throughput = Some(RatePerSecond::new(5.0, "req"));
    let verdict = judged(&site, &[Recipe::good().run()]);
    check_gate(&verdict, Inference, NotProven);
    assert!(finding(&verdict, Inference, "throughput").explanation.contains("asked for"));
    inference_mut(&mut site).objectives.throughput = Some(RatePerSecond::new(1.5, "req"));
    check_gate(&judged(&site, &[Recipe::good().run()]), Inference, Pass);
}

#[test]
fn a_checkpoint_phase_must_be_seen() {
    let mut site = site();
    training_mut(&mut site).checkpoint.as_mut().unwrap().interval =
        Some(CheckpointInterval::Time(Duration::from_secs(80)));
    let recipe = Recipe { pairs: 24, misses_together: 0.001, ..Recipe::good() };
    let verdict = judged(&site, &[recipe.run()]);
    check_gate(&verdict, Inference, NotProven);
    assert!(finding(&verdict, Inference, "ttft_p95").explanation.contains("checkpoint"));
    let seen = Recipe { checkpoints: true, ..recipe.clone() };
    check_gate(&judged(&site, &[seen.run()]), Inference, Pass);
    // How often it saves is needed to weight the phases.
    training_mut(&mut site).checkpoint = None;
    check_gate(&judged(&site, &[seen.run()]), Inference, NotProven);
    // A checkpoint in every block of production, but in half of those tested.
    training_mut(&mut site).checkpoint = Some(cotenant_core::site::Checkpoint {
        interval: Some(CheckpointInterval::Time(Duration::from_secs(20))),
        ..cotenant_core::site::Checkpoint::default()
    });
    let mut hidden = seen.run();
    for block in c_blocks(&mut hidden).filter(|block| !block.checkpoints.is_empty()) {
        for request in block.requests.iter_mut().step_by(12) {
            request.outcome = Outcome::Stalled;
        }
    }
    let verdict = judged(&site, &[hidden]);
    assert!(gate(&verdict, Inference).ruling >= NotProven, "{}", told(&verdict));
}

#[test]
fn a_neighbour_that_was_dead_proves_nothing() {
    let mut run = Recipe::good().run();
    for block in c_blocks(&mut run) {
        block.steps.retain(|step| step.at_ns < 10 * crate::support::SECOND);
    }
    let verdict = judged(&site(), &[run]);
    check_gate(&verdict, Inference, NotProven);
    finding(&verdict, Inference, "at work in test C");
    // Ten steps and then nothing is no step of a second.
    let mut site = site();
    training_mut(&mut site).objectives.throughput_min = Some(RatePerSecond::new(1.5, "steps"));
    let mut run = Recipe::good().run();
    check_gate(&judged(&site, &[run.clone()]), Completion, Pass);
    for block in c_blocks(&mut run) {
        block.steps.retain(|step| step.at_ns < 10 * crate::support::SECOND);
    }
    check_gate(&judged(&site, &[run]), Completion, Fail);
}

#[test]
fn an_invalid_test_proves_nothing_in_either_direction() {
    let steal = BlockFault::Steal { cores: 0.5, cores_max: 0.1 };
    let mut run = Recipe { misses_together: 0.3, ..Recipe::good() }.run();
    for block in run.blocks.iter_mut().filter(|block| block.plan.condition == Condition::A) {
        block.faults.push(steal.clone());
    }
    let verdict = judged(&site(), &[run]);
    assert!(matches!(verdict.validity, Validity::Invalid(_)));
    check(&verdict, NotProven);
    for kind in [Inference, Completion, Preemption] {
        check_gate(&verdict, kind, NotProven);
    }
    assert_eq!(verdict.rejected.len(), 12);
    // Some blocks fewer degrade a test and leave it able to prove.
    let mut run = Recipe::good().run();
    run.blocks[0].faults.push(steal);
    let verdict = judged(&site(), &[run]);
    assert!(matches!(verdict.validity, Validity::Degraded(_)));
    check(&verdict, Pass);
}

#[test]
fn a_block_that_broke_off_keeps_a_pass_back() {
    let mut run = Recipe::good().run();
    run.blocks[1].faults.push(BlockFault::Incomplete("`train` ended with code 137".to_owned()));
    let verdict = judged(&site(), &[run]);
    check_gate(&verdict, Inference, NotProven);
    check_gate(&verdict, Completion, NotProven);
    assert!(gate(&verdict, Completion).summary.contains("137"));
}

#[test]
fn what_was_done_on_purpose_is_not_pooled_with_the_tests() {
    let plain = Recipe::good().run();
    let mut stressed = plain.clone();
    // A search at many times the declared rate misses everything, and is no test A.
    let mut search = plain.blocks[0].clone();
    search.plan.situation = Situation::Search(0);
    search.load_factor = 5.0;
    search.requests.iter_mut().for_each(|request| request.outcome = Outcome::TimedOut);
    stressed.blocks.push(search);
    let (with, without) = (judged(&site(), &[stressed]), judged(&site(), &[plain]));
    check(&with, Pass);
    assert_eq!(with.gates, without.gates);
}

#[test]
fn training_steps_pass_and_fail() {
    let slow = Recipe { step_together_s: 1.3, ..Recipe::good() };
    check_gate(&judged(&site(), &[slow.run()]), Completion, Fail);
    let mut run = Recipe::good().run();
    run.blocks.retain(|block| block.plan.condition != Condition::B);
    check_gate(&judged(&site(), &[run]), Completion, NotProven);
}

#[test]
fn a_counter_that_falls_is_no_progress() {
    let mut site = site();
    training_mut(&mut site).objectives.throughput_min = Some(RatePerSecond::new(1.0, "steps"));
    let mut run = Recipe::good().run();
    for block in c_blocks(&mut run) {
        for step in block.steps.iter_mut().filter(|s| s.at_ns > 30 * crate::support::SECOND) {
            step.step %= 10;
        }
    }
    check_gate(&judged(&site, &[run]), Completion, Fail);
}

#[test]
fn a_deadline_is_met_missed_or_passed() {
    let with_deadline = |hours: i64| {
        let mut site = site();
        let from: jiff::Timestamp = "2027-01-02T00:00:00Z".parse().unwrap();
        site.as_of = Some(from);
        training_mut(&mut site).objectives.deadline = Some(Deadline::At {
            at: from + jiff::SignedDuration::from_hours(hours),
            time_zone: jiff::tz::TimeZone::UTC,
            start: None,
        });
        site
    };
    // 10,000 steps of 0.6 s are 1.67 h.
    let runs = [Recipe::good().run()];
    check_gate(&judged(&with_deadline(3), &runs), Completion, Pass);
    check_gate(&judged(&with_deadline(1), &runs), Completion, Fail);
    check_gate(&judged(&with_deadline(-1), &runs), Completion, Fail);
    // The user may ask for another instant.
    let site = with_deadline(3);
    let late = site.as_of.unwrap() + jiff::SignedDuration::from_hours(2);
    let verdict = judge(&Question {
        site: &site,
        site_file: "site.yaml",
        runs: &runs,
        excluded: &[],
        as_of: Some(late),
        points: &[],
    });
    check_gate(&verdict, Completion, Fail);
    assert_eq!(verdict.as_of, Some(late));
    // What checkpoints cost is part of it.
    let mut site = with_deadline(3);
    training_mut(&mut site).checkpoint.as_mut().unwrap().interval =
        Some(CheckpointInterval::Steps(100));
    check_gate(&judged(&site, &runs), Completion, NotProven);
}

#[test]
fn drills_pass_fail_and_need_what_they_need() {
    let slow = Recipe { exit_s: 148.8, ..Recipe::good() };
    let verdict = judged(&site(), &[slow.run()]);
    check_gate(&verdict, Preemption, Fail);
    assert!(gate(&verdict, Preemption).summary.contains("2 min 29 s"));
    // Without a notice nothing is late, so nothing passes.
    let mut silent = site();
    training_mut(&mut silent).preemption.as_mut().unwrap().notice = None;
    check_gate(&judged(&silent, &[Recipe::good().run()]), Preemption, NotProven);
    // Twelve drills do not show that fewer than one in twenty fails.
    let mut strict = site();
    training_mut(&mut strict).preemption.as_mut().unwrap().failure_share_max = Share::new(0.05);
    let verdict = judged(&strict, &[Recipe::good().run()]);
    check_gate(&verdict, Preemption, NotProven);
    assert!(gate(&verdict, Preemption).findings[0].missing[0].what.contains("59 are needed"));
    // What was not seen is no success.
    for hide in [
        |drill: &mut cotenant_core::evidence::ReclaimDrill| drill.exit_s = None,
        |drill: &mut cotenant_core::evidence::ReclaimDrill| drill.memory_free_s = None,
        |drill: &mut cotenant_core::evidence::ReclaimDrill| drill.resume = None,
        |drill: &mut cotenant_core::evidence::ReclaimDrill| {
            drill.resume.as_mut().unwrap().loss_after = None;
        },
    ] {
        let mut run = Recipe::good().run();
        c_blocks(&mut run).for_each(|block| hide(block.drill.as_mut().unwrap()));
        check_gate(&judged(&site(), &[run]), Preemption, NotProven);
    }
    // The last drill of a run has no next start, and spoils nothing.
    let unfinished = Recipe { training_blocks: 0, ..Recipe::good() };
    check_gate(&judged(&site(), &[unfinished.run()]), Preemption, Pass);
    // Where nothing is preempted nothing is drilled.
    let mut never = site();
    training_mut(&mut never).preemption.as_mut().unwrap().allowed = false;
    check_gate(&judged(&never, &[Recipe::good().run()]), Preemption, Pass);
}

#[test]
fn isolation_follows_the_mode_and_an_audit() {
    let need = |properties: Vec<IsolationProperty>| {
        vec![IsolationNeed { workload: "chat".to_owned(), properties }]
    };
    let mut site = site();
    site.operations.isolation = need(vec![IsolationProperty::Cpu]);
    check_gate(&judged(&site, &[Recipe::good().run()]), Isolation, Fail);
    site.sharing.mode = SharingMode::HostCpu(HostCpu {
        neighbour_priority: NeighbourPriority::Idle,
        affinity: std::collections::BTreeMap::new(),
    });
    check_gate(&judged(&site, &[Recipe::good().run()]), Isolation, NotProven);
    let mut audited = Recipe { remedy: Some(Remedy::IdlePriority), ..Recipe::good() }.run();
    for block in &mut audited.blocks {
        block.plan.remedy = None;
    }
    check_gate(&judged(&site, &[audited]), Isolation, Pass);
    site.operations.isolation = need(vec![IsolationProperty::MemoryBandwidth]);
    check_gate(&judged(&site, &[Recipe::good().run()]), Isolation, Fail);
    site.operations.isolation.clear();
    check_gate(&judged(&site, &[Recipe::good().run()]), Isolation, NotProven);
}

#[test]
fn declarations_need_somebody() {
    let mut nobody = site();
    nobody.operations.maintenance.as_mut().unwrap().accepted_by = Some("  ".to_owned());
    nobody.operations.failure_domain.as_mut().unwrap().accepted_by = None;
    let verdict = judged(&nobody, &[Recipe::good().run()]);
    check_gate(&verdict, Maintenance, NotProven);
    check_gate(&verdict, FailureDomain, NotProven);
    assert_eq!(verdict.missing[0].minutes, Some(0.0), "declarations come first");
    let mut refused = site();
    refused.operations.failure_domain.as_mut().unwrap().accepted = false;
    check(&judged(&refused, &[Recipe::good().run()]), Fail);
}

#[test]
fn windows_without_a_common_minute_can_never_be_used() {
    let window = |text: &str| vec![WeeklyWindow::parse(text).unwrap()];
    let mut site = site();
    site.operations.maintenance.as_mut().unwrap().windows = window("Sat-Sun 00:00-24:00");
    site.operations.change_cycle[0].windows = window("Sat 08:00-12:00");
    check_gate(&judged(&site, &[Recipe::good().run()]), Maintenance, Pass);
    // Each has a window in common with the place, the two have none with each other.
    site.operations.change_cycle[1].windows = window("Sun 08:00-12:00");
    check_gate(&judged(&site, &[Recipe::good().run()]), Maintenance, Fail);
}

#[test]
fn a_target_of_availability_above_the_node_fails() {
    let mut site = site();
    inference_mut(&mut site).objectives.availability = Share::new(0.9999);
    check_gate(&judged(&site, &[Recipe::good().run()]), FailureDomain, NotProven);
    site.operations.node_availability = Share::new(0.999);
    check_gate(&judged(&site, &[Recipe::good().run()]), FailureDomain, Fail);
}

#[test]
fn workloads_that_were_not_in_the_test_keep_a_pass_back() {
    let mut two = site();
    let mut other = two.workloads[0].clone();
    other.name = "search".to_owned();
    two.workloads.push(other);
    check_gate(&judged(&two, &[Recipe::good().run()]), Inference, NotProven);
    let mut three = site();
    three.workloads.push(workload("film", WorkloadKind::Render(Box::default())));
    check_gate(&judged(&three, &[Recipe::good().run()]), Completion, NotProven);
}

/// A neighbour that renders: its frames are what training's steps are, it prints no loss, and each
/// frame is saved by itself.
fn rendering() -> Site {
    let mut site = site();
    let training = training_mut(&mut site).clone();
    let job = Training { checkpoint: None, ..training };
    let render = Render { job, ..Render::default() };
    let neighbour = site.workloads.iter_mut().find(|w| w.name == "train").unwrap();
    neighbour.kind = WorkloadKind::Render(Box::new(render));
    site
}

#[test]
fn a_renderer_is_judged_by_its_frames() {
    let verdict = judged(&rendering(), &[Recipe::good().run()]);
    check_gate(&verdict, Completion, Pass);
    let gate = verdict.gates.iter().find(|gate| gate.kind == Completion).unwrap();
    assert!(
        gate.findings.iter().any(|finding| finding.subject == "train: frame_time_max"),
        "{:?}",
        gate.findings.iter().map(|finding| &finding.subject).collect::<Vec<_>>()
    );
}

#[test]
fn a_renderers_reclaims_need_no_loss() {
    let without_loss = |site: &Site| {
        let mut run = Recipe::good().run();
        for block in &mut run.blocks {
            if let Some(resume) = block.drill.as_mut().and_then(|drill| drill.resume.as_mut()) {
                (resume.loss_before, resume.loss_after) = (None, None);
            }
        }
        judged(site, &[run])
    };
    check_gate(&without_loss(&rendering()), Preemption, Pass);
    check_gate(&without_loss(&site()), Preemption, NotProven);
}
