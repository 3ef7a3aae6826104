//! How fast a job works: only what the site says, and never in proportion to GPUs.

use cotenant_core::plan::{Mode, pace, transition_hours};
use cotenant_core::site::{
    Allocation, BatchRoute, Checkpoint, CheckpointInterval, Operations, Parallelism, Render,
    RestartUnit, Training, Transition, TransitionStep, TransitionStepKind, Work, Workload,
    WorkloadKind,
};

use crate::support::{
    ALLOCATION, at, batch, close, duration, inference, normal, serving, site, trainer, training,
    workload,
};

fn of(training: Training, allocation: Option<Allocation>) -> Workload {
    let mut made = workload("tune", WorkloadKind::Training(Box::new(training)));
    made.allocation = allocation;
    made
}

#[expect(clippy::unnecessary_wraps, reason = "the field takes it as it is")]
fn tokens(amount: u64) -> Option<Work> {
    Some(Work { amount, unit: "tok".to_owned() })
}

fn modes_of(workload: &Workload) -> Vec<(u32, f64)> {
    let pace = pace(&site(8, Vec::new()), workload).unwrap();
    pace.modes.iter().map(|Mode { gpus, work_per_hour }| (*gpus, *work_per_hour)).collect()
}

#[test]
fn each_number_of_gpus_has_the_throughput_that_was_seen() {
    let seen = Training {
        throughput_alone: vec![at(4, 47_000.0), at(1, 14_000.0), at(8, 80_000.0), at(2, 26_000.0)],
        work: tokens(1_200_000_000),
        ..training()
    };
    let all = of(seen.clone(), normal(4.0));
    let rates = [(1, 14_000.0 * 3600.0), (2, 26_000.0 * 3600.0), (4, 47_000.0 * 3600.0)];
    assert_eq!(modes_of(&all), rates, "eight are more than its normal four");
    let useful = Allocation { minimum_useful: Some(2.0), ..normal(4.0).unwrap() };
    assert_eq!(modes_of(&of(seen.clone(), Some(useful))), rates[1..]);
    let gang = Allocation { gang: Some(true), ..normal(4.0).unwrap() };
    assert_eq!(modes_of(&of(seen.clone(), Some(gang))), rates[2..]);
    let pace = pace(&site(8, Vec::new()), &of(seen, normal(4.0))).unwrap();
    close(pace.work.unwrap(), 1.2e9);
}

#[test]
fn without_throughputs_only_the_normal_allocation_is_known() {
    let timed = Training { duration: Some(duration("9 h")), ..training() };
    let pace_of = |training, gpus| pace(&site(8, Vec::new()), &of(training, gpus));
    let nine = pace_of(timed.clone(), normal(4.0)).unwrap();
    assert_eq!((nine.modes[0].gpus, nine.modes.len()), (4, 1));
    close(nine.work.unwrap() / nine.modes[0].work_per_hour, 9.0);
    let stepped = Training {
        steps: Some(9_000),
        step_time_alone: Some(duration("1.6 s")),
        parallelism: Some(Parallelism { dp: 2, tp: 2, ..Parallelism::single() }),
        ..training()
    };
    let four = pace_of(stepped.clone(), None).unwrap();
    assert_eq!(four.modes[0].gpus, 4, "2 × 2 ranks");
    close(four.work.unwrap() / four.modes[0].work_per_hour, 4.0);
    // Work whose time nobody knows is asked for, and so is an allocation.
    let untimed = Training { step_time_alone: None, ..stepped };
    assert!(pace_of(untimed, normal(4.0)).unwrap_err().contains("duration"));
    assert!(pace_of(timed, None).unwrap_err().contains("allocation: { normal"));
}

#[test]
fn work_in_another_unit_needs_the_time_of_one_job() {
    let odd = Training {
        throughput_alone: vec![at(4, 40_000.0), at(2, 25_000.0)],
        work: Some(Work { amount: 5_000, unit: "samples".to_owned() }),
        ..training()
    };
    let pace_of = |training| pace(&site(8, Vec::new()), &of(training, normal(4.0)));
    assert!(pace_of(odd.clone()).unwrap_err().contains("duration"));
    let timed = Training { duration: Some(duration("5 h")), ..odd };
    close(pace_of(timed).unwrap().work.unwrap(), 40_000.0 * 5.0 * 3600.0);
}

#[test]
fn checkpoints_that_stop_it_take_their_part() {
    let saving = |interval, asynchronous, step: Option<&str>| Training {
        duration: Some(duration("9 h")),
        step_time_alone: step.map(duration),
        checkpoint: Some(Checkpoint {
            interval: Some(interval),
            duration: Some(duration("100 s")),
            asynchronous: Some(asynchronous),
            ..Checkpoint::default()
        }),
        ..training()
    };
    let rate = |training| modes_of(&of(training, normal(4.0)))[0].1;
    let by_time = CheckpointInterval::Time(duration("900 s"));
    close(rate(saving(by_time, false, None)), 0.9);
    close(rate(saving(by_time, true, None)), 1.0);
    close(rate(saving(CheckpointInterval::Steps(450), false, Some("2 s"))), 0.9);
    let unknown = saving(CheckpointInterval::Steps(450), false, None);
    close(rate(unknown.clone()), 1.0);
    let pace = pace(&site(8, Vec::new()), &of(unknown, normal(4.0))).unwrap();
    assert!(pace.remarks[0].contains("step_time_alone"), "{:?}", pace.remarks);
}

#[test]
fn batch_and_render_have_one_way_to_run() {
    let mut score = workload("score", WorkloadKind::Batch(Box::new(batch(Some(7200), 2.0))));
    let place = site(8, vec![serving("chat", inference(&[("daily 00:00-24:00", 1.0)]))]);
    assert!(pace(&place, &score).unwrap_err().contains("allocation"));
    score.allocation = normal(2.0);
    let two = pace(&place, &score).unwrap();
    assert_eq!(two.modes, [Mode { gpus: 2, work_per_hour: 7200.0 }]);
    close(two.work.unwrap(), 7200.0);
    // Through an engine it takes replicas of that engine.
    let through = cotenant_core::site::Batch {
        route: BatchRoute::Serving("chat".to_owned()),
        ..batch(Some(7200), 2.0)
    };
    let through = workload("score", WorkloadKind::Batch(Box::new(through)));
    assert_eq!(pace(&place, &through).unwrap().modes[0].gpus, 1);
    let render = Render {
        restart_unit: Some(RestartUnit::Frame),
        job: Training {
            steps: Some(900),
            step_time_alone: Some(duration("40 s")),
            ..Training::default()
        },
        ..Render::default()
    };
    let mut frames = workload("frames", WorkloadKind::Render(Box::new(render)));
    frames.allocation = Some(Allocation { normal: Some(0.5), ..ALLOCATION });
    let pace = pace(&place, &frames).unwrap();
    assert_eq!(pace.modes[0].gpus, 1, "half a GPU is one that nobody else has");
    close(pace.work.unwrap() / pace.modes[0].work_per_hour, 10.0);
}

#[test]
fn a_change_of_hands_costs_its_steps_or_is_not_known() {
    let step = |kind, time: Option<&str>| TransitionStep { kind, duration: time.map(duration) };
    let transition = |back: Option<&str>| Operations {
        transition: Some(Transition {
            to_training: vec![
                step(TransitionStepKind::Drain, Some("30 s")),
                step(TransitionStepKind::Resume, Some("60 s")),
            ],
            to_inference: vec![
                step(TransitionStepKind::Checkpoint, Some("40 s")),
                step(TransitionStepKind::WarmUp, back),
            ],
            source: None,
            layout_for_training: None,
            layout_for_inference: None,
        }),
        ..Operations::default()
    };
    let known = transition_hours(&transition(Some("50 s")), None);
    close(known.start_hours * 3600.0, 90.0);
    close(known.stop_hours * 3600.0, 90.0);
    assert!(known.known);
    assert!(!transition_hours(&transition(None), None).known, "one step is without a time");
    let mut tune = trainer("tune", 1, 1.0, None);
    let training = crate::support::training_of(&mut tune);
    training.checkpoint = Some(Checkpoint {
        duration: Some(duration("20 s")),
        resume_duration: Some(duration("80 s")),
        ..Checkpoint::default()
    });
    let own = transition_hours(&Operations::default(), Some(training));
    close(own.start_hours * 3600.0, 80.0);
    close(own.stop_hours * 3600.0, 20.0);
}
