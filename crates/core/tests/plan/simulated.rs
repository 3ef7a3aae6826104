//! A plan, carried out by the simulator.

use cotenant_core::demand::history_of_table;
use cotenant_core::plan::{PlanQuestion, plan};
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::job::{Every, Saving};
use cotenant_core::sim::transition::Drilled;
use cotenant_core::sim::world::{
    Conditions, Demand, carry_out, demand_of_gpus, planned_world, simulate_weeks,
};
use cotenant_core::site::{
    Checkpoint, CheckpointInterval, LostWork, Preemption, Transition, TransitionStep,
    TransitionStepKind,
};
use cotenant_core::units::Picoseconds;

use crate::support::{
    PREEMPTION, batch, duration, grid, inference, normal, question, serving, site, trainer,
    training_of, weekly, workload,
};
use cotenant_core::site::{Site, WorkloadKind};

fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds::SECOND * seconds
}

fn step(kind: TransitionStepKind, text: &str) -> TransitionStep {
    TransitionStep { kind, duration: Some(duration(text)) }
}

#[test]
fn a_week_of_a_site_is_carried_out_with_its_steps_saves_and_changes() {
    let chat = serving(
        "chat",
        inference(&[
            ("daily 00:00-08:00", 0.5),
            ("daily 08:00-20:00", 2.5),
            ("daily 20:00-24:00", 0.5),
        ]),
    );
    let mut train = trainer("train", 2, 20.0, weekly("Fri", "18:00"));
    let training = training_of(&mut train);
    training.steps = Some(7200);
    training.step_time_alone = Some(duration("10 s"));
    training.checkpoint = Some(Checkpoint {
        interval: Some(CheckpointInterval::Time(duration("10 min"))),
        duration: Some(duration("20 s")),
        resume_duration: Some(duration("40 s")),
        ..Checkpoint::default()
    });
    training.preemption = Some(Preemption { lost_work: Some(LostWork::None), ..PREEMPTION });
    let mut embed = workload("embed", WorkloadKind::Batch(Box::new(batch(Some(40_000), 1.0))));
    embed.allocation = normal(1.0);
    let mut site = site(4, vec![chat, train, embed]);
    site.operations.transition = Some(Transition {
        to_training: vec![
            step(TransitionStepKind::Drain, "30 s"),
            step(TransitionStepKind::ServiceRestart, "5 s"),
            step(TransitionStepKind::Resume, "40 s"),
        ],
        to_inference: vec![
            step(TransitionStepKind::Checkpoint, "30 s"),
            step(TransitionStepKind::ModelReload, "60 s"),
            step(TransitionStepKind::WarmUp, "15 s"),
        ],
        source: None,
        layout_for_training: None,
        layout_for_inference: None,
    });
    let planned = plan(&question(&site));
    let calendar = planned.calendar.as_ref().unwrap();
    let begins = calendar.grid.windows[0].start;
    let needs: Vec<_> = calendar
        .grid
        .windows
        .iter()
        .map(|window| {
            let hour = window.minute_of_week / 60 % 24;
            (window.start, if (8..20).contains(&hour) { 2.5 } else { 0.5 })
        })
        .collect();
    let demand = demand_of_gpus(begins, &needs, 1.0);
    let Demand::Replicas(levels) = &demand else { panic!("it is in replicas") };
    assert_eq!(levels[8], (seconds(8 * 3600), 2_500_000));
    let drilled = Drilled::default();
    let conditions = |demands| Conditions {
        demands,
        drilled: &drilled,
        reclaim: Some(Rule {
            high: 1.0,
            low: 0.6,
            high_for: seconds(30),
            low_for: seconds(600),
            turn_min: seconds(600),
            settle: seconds(120),
            gpus_per_change: 1,
        }),
        seed: 5,
    };
    assert!(planned_world(&site, &planned, conditions(Vec::new())).is_err());
    let world = planned_world(&site, &planned, conditions(vec![demand])).unwrap();
    assert_eq!(world.assumed, Vec::<String>::new());
    let train = world.spec.jobs.iter().find(|job| job.name.starts_with("train")).unwrap();
    assert_eq!((train.units, train.paces[0].unit), (Some(7200), seconds(10)));
    let every = Every::Time(seconds(600));
    assert_eq!(train.saving, Saving::Blocking { every, cost: seconds(20) });
    assert!(train.stop.saves);
    // Of the way back, 105 s, 75 s are the engine's, and 20 s of the job's are its save.
    assert_eq!(train.stop.exit, seconds(10));
    let embed = world.spec.jobs.iter().find(|job| job.name.starts_with("embed")).unwrap();
    assert_eq!((embed.start, embed.stop.exit), (seconds(40), seconds(30)));
    assert_eq!((train.start, world.spec.services[0].up.time_max()), (seconds(40), seconds(75)));
    assert_eq!(world.spec.services[0].drain_max, seconds(30));
    let outcome = carry_out(world.spec);
    let job = |name: &str| outcome.jobs.iter().find(|job| job.name.starts_with(name)).unwrap();
    assert_eq!((job("train").on_time, job("train").done), (Some(true), 7200));
    // 20 hours of steps, and a save of 20 s after each 10 minutes of them.
    assert_eq!(job("train").ledger.units_lost, 0);
    assert_eq!(job("train").ledger.working, seconds(72_000));
    assert!(job("train").ledger.saves >= 119);
    assert_eq!(job("embed").done, 40_000);
    let time = outcome.gpu_time;
    let held = time.serving + time.changing + time.working + time.job_overhead;
    assert_eq!(held + time.free, time.total);
    // Demand is met but for the start of the first replica.
    assert!(outcome.services[0].short <= seconds(7 * 2 * 200), "{:?}", outcome.services[0]);
}

#[test]
fn a_plan_is_carried_out_in_weeks_drawn_from_its_history() {
    // Three weeks in which each hour asks for what the table says, so that every drawn week is alike.
    let rates: [(&str, f64); 3] =
        [("daily 00:00-08:00", 0.5), ("daily 08:00-20:00", 2.5), ("daily 20:00-24:00", 0.5)];
    let train = trainer("train", 2, 20.0, weekly("Fri", "18:00"));
    let site = site(4, vec![serving("chat", inference(&rates)), train]);
    let grid = grid("UTC", "2026-11-16", 21, 60);
    let Site { workloads, .. } = &site;
    let WorkloadKind::Inference(chat) = &workloads[0].kind else { panic!("it serves") };
    let cotenant_core::site::Demand::Table(rows) = &chat.demand else { panic!("by a table") };
    let history = history_of_table(rows, &grid, None).unwrap();
    let histories = [("chat".to_owned(), history)];
    let question = PlanQuestion { histories: &histories, weeks_drawn: 4, ..question(&site) };
    let planned = plan(&question);
    let simulated = simulate_weeks(&question, &planned, &Drilled::default(), None).unwrap();
    assert_eq!(simulated.weeks, 4);
    let train = &simulated.jobs[0];
    assert_eq!((train.on_time_share, train.done_share), (Some(1.0), 1.0));
    // 20 hours on two GPUs; nothing declares that a change takes any time.
    assert!((train.gpu_hours_kept - 40.0).abs() < 1e-6, "{train:?}");
    assert_eq!(simulated.services[0].short_share_max, 0.0);
    assert_eq!(simulated.assumed.len(), 3, "{:?}", simulated.assumed);
    assert_eq!(simulated.gpu_time.total, seconds(4 * 7 * 24 * 3600));
    let none = PlanQuestion { histories: &[], ..question };
    let refused = simulate_weeks(&none, &planned, &Drilled::default(), None);
    assert!(refused.unwrap_err().contains("no week can be drawn for chat"));
}
