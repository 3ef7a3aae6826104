//! Drills beside tests A, B and C, resumes as a gate, and changes of hands.

use cotenant_core::evidence::{
    BlockFault, ChangeKind, Condition, Direction, HandChange, HeldMemory, ReclaimDrill, Run,
    Situation,
};
use cotenant_core::site::{Transition, TransitionStep, TransitionStepKind};
use cotenant_core::units::Share;
use cotenant_core::verdict::{GateKind, Ruling};

use crate::support::{
    Recipe, SECOND, check_gate, drill, finding, gate, judged, site, training_mut,
};

use GateKind::Preemption;
use Ruling::{Fail, NotProven, Pass};

/// A run of nothing but drills, after the run that [`Recipe::good`] makes.
fn drills(count: usize, mut change: impl FnMut(usize, &mut ReclaimDrill)) -> Run {
    let mut run =
        Recipe { id: "20270102T000000Z-reclaim", day: 1, seed: 2, ..Recipe::good() }.run();
    run.blocks.retain(|block| block.plan.condition == Condition::C);
    let block = run.blocks[0].clone();
    run.blocks = (0..count)
        .map(|number| {
            let mut block = block.clone();
            block.plan.index = number as u32;
            block.plan.situation = Situation::Drill;
            let mut made = drill(3.0, true);
            change(number, &mut made);
            block.drill = Some(made);
            block
        })
        .collect();
    run.schedule = run.blocks.iter().map(|block| block.plan).collect();
    run
}

#[test]
fn drills_count_beside_the_tests_and_are_no_test() {
    // Twelve blocks of test C and fifty drills: 62 without a failure show at most 4.7 %.
    let mut strict = site();
    training_mut(&mut strict).preemption.as_mut().unwrap().failure_share_max = Share::new(0.05);
    let few = judged(&strict, &[Recipe::good().run(), drills(40, |_, _| {})]);
    check_gate(&few, Preemption, NotProven);
    let reclaim = finding(&few, Preemption, "reclaim and resume");
    assert_eq!(reclaim.sample.count, 52);
    assert!(reclaim.missing[0].remedy.contains("--tests reclaim"), "{:?}", reclaim.missing);
    let enough = judged(&strict, &[Recipe::good().run(), drills(50, |_, _| {})]);
    check_gate(&enough, Preemption, Pass);
    // They say nothing of latency: the gates of the tests are what they were.
    let alone = judged(&strict, &[Recipe::good().run()]);
    for kind in [GateKind::Inference, GateKind::Completion] {
        assert_eq!(gate(&enough, kind), gate(&alone, kind));
    }
    // And without any test they still show what a reclaim takes.
    check_gate(&judged(&strict, &[drills(60, |_, _| {})]), Preemption, Pass);
}

#[test]
fn a_few_short_drills_are_no_other_load() {
    // Nine requests in one block of four seconds, where the tests had two a second: chance.
    let few = |rate_per_s: f64| {
        let mut run = drills(1, |_, _| {});
        run.load.rate_per_s = rate_per_s;
        for block in &mut run.blocks {
            block.judged_until_ns = block.judged_from_ns + 4 * SECOND;
        }
        run
    };
    let tests = Recipe::good().run();
    let alone = judged(&site(), std::slice::from_ref(&tests));
    let beside = judged(&site(), &[tests.clone(), few(4.5)]);
    assert_eq!(gate(&beside, GateKind::Inference), gate(&alone, GateKind::Inference));
    let drilled = |verdict| finding(verdict, Preemption, "reclaim and resume").sample.count;
    assert_eq!(drilled(&beside), drilled(&alone) + 1);
    // A hundred times the rate is another load: the drill is left out, and never the tests.
    let other = judged(&site(), &[tests, few(200.0)]);
    assert_eq!(gate(&other, GateKind::Inference), gate(&alone, GateKind::Inference));
    assert_eq!(drilled(&other), drilled(&alone));
}

#[test]
fn a_noisy_machine_makes_no_drill_undone() {
    let mut run = drills(60, |_, made| made.failure = Some("it was killed".into()));
    for block in &mut run.blocks {
        block.faults = vec![BlockFault::Steal { cores: 1.0, cores_max: 0.1 }];
    }
    check_gate(&judged(&site(), &[Recipe::good().run(), run]), Preemption, Fail);
}

#[test]
fn what_never_goes_on_is_not_preemptible() {
    let restarts = |_: usize, made: &mut ReclaimDrill| {
        let resume = made.resume.as_mut().unwrap();
        (resume.first_step, resume.lost_steps) = (1, 70);
        resume.failure = Some("began at step 1, before its checkpoint of step 70".into());
    };
    // One start is enough: there is no evidence that it ever goes on.
    let verdict = judged(&site(), &[drills(1, restarts)]);
    check_gate(&verdict, Preemption, Fail);
    let resume = finding(&verdict, Preemption, "goes on where it stopped");
    assert!(resume.explanation.contains("not preemptible"), "{}", resume.explanation);
    assert!(resume.explanation.contains("began at step 1"));
    // One of many is a rare failure, and how rare is the question.
    let once = |number: usize, made: &mut ReclaimDrill| {
        if number == 3 {
            restarts(number, made);
        }
    };
    let verdict = judged(&site(), &[drills(60, once)]);
    assert_eq!(finding(&verdict, Preemption, "goes on where it stopped").ruling, NotProven);
    assert_eq!(finding(&verdict, Preemption, "reclaim and resume").ruling, Pass);
    // A log without losses shows a counter, and counters are easily kept.
    let quiet = |_: usize, made: &mut ReclaimDrill| made.resume.as_mut().unwrap().loss_after = None;
    let verdict = judged(&site(), &[drills(60, quiet)]);
    assert_eq!(finding(&verdict, Preemption, "goes on where it stopped").ruling, NotProven);
}

#[test]
fn the_notice_runs_until_the_memory_is_free() {
    // The notice is 30 s. The exit is in time, the memory is not.
    let late = |_: usize, made: &mut ReclaimDrill| {
        made.memory_free_s = Some(45.0);
        made.held = vec![HeldMemory {
            holder: "process 9 (python)".into(),
            bytes: 1 << 33,
            until_s: Some(45.0),
        }];
    };
    let verdict = judged(&site(), &[drills(20, late)]);
    check_gate(&verdict, Preemption, Fail);
    assert!(gate(&verdict, Preemption).summary.contains("45 s"));
    let soon = |_: usize, made: &mut ReclaimDrill| {
        late(0, made);
        made.memory_free_s = Some(10.0);
    };
    let verdict = judged(&site(), &[drills(20, soon)]);
    check_gate(&verdict, Preemption, Pass);
    let said = &finding(&verdict, Preemption, "reclaim and resume").explanation;
    assert!(said.contains("7 s beyond the exit"), "{said}");
}

#[test]
fn a_declared_reclaim_time_must_cover_the_first_token() {
    let mut quick = site();
    quick.operations.reclaim_time = Some(std::time::Duration::from_secs(2));
    let verdict = judged(&quick, &[drills(20, |_, _| {})]);
    check_gate(&verdict, Preemption, Fail);
    assert!(gate(&verdict, Preemption).summary.contains("operations.reclaim_time"));
}

fn change(kind: ChangeKind, total_s: Option<f64>, failure: Option<&str>) -> HandChange {
    HandChange {
        kind,
        what: "as the site says".into(),
        direction: Direction::ToInference,
        began_ns: 0,
        total_s,
        parts: Vec::new(),
        failure: failure.map(str::to_owned),
        remarks: Vec::new(),
    }
}

#[test]
fn declared_steps_of_a_change_of_hands_must_be_in_a_drill() {
    let step = |kind| TransitionStep { kind, duration: None };
    let mut declared = site();
    declared.operations.transition = Some(Transition {
        to_inference: vec![
            step(TransitionStepKind::MigReconfiguration),
            step(TransitionStepKind::WarmUp),
        ],
        ..Transition::default()
    });
    let with = |changes: &[HandChange]| {
        let mut run = drills(20, |_, _| {});
        for block in &mut run.blocks {
            block.observed.changes = changes.to_vec();
        }
        judged(&declared, &[run])
    };
    let ruling = |changes: &[HandChange]| {
        let verdict = with(changes);
        let finding = finding(&verdict, Preemption, "change of hands").clone();
        (finding.ruling, finding)
    };
    let (none, finding) = ruling(&[]);
    assert_eq!(none, NotProven);
    assert!(finding.missing[0].remedy.contains("--tests transition"), "{:?}", finding.missing);
    let wake = change(ChangeKind::EngineWake, Some(4.0), None);
    let layout = change(ChangeKind::Layout, Some(61.0), None);
    let (half, finding) = ruling(std::slice::from_ref(&wake));
    assert_eq!(half, NotProven);
    assert!(finding.explanation.contains("mig_reconfiguration"), "{}", finding.explanation);
    let (whole, finding) = ruling(&[layout.clone(), wake.clone()]);
    assert_eq!(whole, Pass);
    assert!(finding.explanation.contains("layout 1 min 1 s"), "{}", finding.explanation);
    let stuck = change(ChangeKind::Layout, None, Some("pods were not deleted"));
    assert_eq!(ruling(&[stuck.clone(), layout, wake]).0, Fail);
    // What never came to its end was not measured.
    assert_eq!(ruling(&[stuck]).0, NotProven);
}
