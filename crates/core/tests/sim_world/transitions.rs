//! Steps of a change of hands, declared and drilled.

use cotenant_core::evidence::{Origin, ReclaimDrill, ResumeCheck};
use cotenant_core::sim::transition::{Drilled, StepKind, Transition};
use cotenant_core::site::{TransitionStep, TransitionStepKind};
use cotenant_core::units::Picoseconds;
use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::support::seconds;

fn drill(failure: Option<&str>, checkpoint_s: f64, memory_free_s: f64) -> ReclaimDrill {
    ReclaimDrill {
        driver: "signal TERM".into(),
        signal_ns: 0,
        step_boundary_s: Some(0.5),
        checkpoint_s: Some(checkpoint_s),
        exit_s: Some(memory_free_s - 1.0),
        memory_free_s: Some(memory_free_s),
        held: Vec::new(),
        engine_ready_s: Some(memory_free_s + 3.0),
        first_token_s: Some(memory_free_s + 3.25),
        last_step: None,
        checkpoint_step: None,
        failure: failure.map(str::to_owned),
        resume: Some(ResumeCheck {
            first_step_s: Some(12.0),
            restore_s: None,
            steady_s: None,
            step_before_s: Some(2.0),
            first_step: 1,
            lost_steps: 0,
            loss_before: None,
            loss_after: None,
            loss_tolerance: None,
            failure: None,
        }),
    }
}

#[test]
fn drills_give_each_part_and_failed_ones_none() {
    let parts = Drilled::of(&[
        drill(None, 2.0, 4.0),
        drill(Some("gone too late"), 99.0, 999.0),
        drill(None, 3.0, 6.0),
    ]);
    assert_eq!(parts.failed, 1);
    assert_eq!(parts.checkpoint, [seconds(2), seconds(3)]);
    assert_eq!(parts.exit, [1.5, 2.5].map(Picoseconds::from_seconds));
    assert_eq!(parts.engine_back, [seconds(3), seconds(3)]);
    assert_eq!(parts.warm_up, [0.25, 0.25].map(Picoseconds::from_seconds));
    assert_eq!(parts.resume, [seconds(10), seconds(10)]);
    let back = parts.to_inference().unwrap();
    assert_eq!(back.time_max(), Picoseconds::from_seconds(3.25));
    assert!(back.steps.iter().all(|step| step.origin == Origin::Measured));
    assert_eq!(Drilled::of(&[]).to_inference(), None);
}

#[test]
fn declared_steps_follow_each_other_and_one_without_a_time_is_named() {
    let step = |kind, seconds| TransitionStep {
        kind,
        duration: Some(std::time::Duration::from_secs(seconds)),
    };
    let steps = [
        step(TransitionStepKind::Drain, 100),
        step(TransitionStepKind::MigReconfiguration, 7),
        step(TransitionStepKind::ModelReload, 20),
        step(TransitionStepKind::Resume, 50),
    ];
    let transition = Transition::of_site(&steps).unwrap();
    let drawn = transition.draw(seconds(5), &mut Pcg64::seed_from_u64(1));
    // The drain is simulated, and the resume is the job's.
    let kinds: Vec<StepKind> = drawn.iter().map(|interval| interval.kind).collect();
    assert_eq!(kinds, [StepKind::Layout, StepKind::ModelReload]);
    assert_eq!(
        (drawn[0].from, drawn[1].from, drawn[1].until),
        (seconds(5), seconds(12), seconds(32))
    );
    let open = TransitionStep { kind: TransitionStepKind::Reboot, duration: None };
    assert_eq!(Transition::of_site(&[open]), Err(vec![StepKind::Reboot]));
}
