//! Jobs by hand where a number can be computed by hand, by what must always hold, and against theory.

use cotenant_core::plan;
use cotenant_core::sim::job::{Every, JobRun, JobSpec, Pace, Phase, Saving, Stop};
use cotenant_core::stats::{checkpoint_overhead, daly_interval};
use cotenant_core::units::Picoseconds;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;

fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds::SECOND * seconds
}

/// 100 steps of 10 s on one GPU and of 6 s on two; start 30 s, exit 5 s.
fn spec(saving: Saving) -> JobSpec {
    JobSpec {
        name: "train".into(),
        units: Some(100),
        paces: vec![Pace { gpus: 1, unit: seconds(10) }, Pace { gpus: 2, unit: seconds(6) }],
        shape_ppm: Vec::new(),
        saving,
        start: seconds(30),
        stop: Stop { finishes_unit: true, saves: true, notice: None, exit: seconds(5) },
        mean_time_to_loss: None,
        deadline: None,
        priority: 0,
        beside_ppm: 1_500_000,
    }
}

fn blocking(units: u64, cost_s: u64) -> Saving {
    Saving::Blocking { every: Every::Units(units), cost: seconds(cost_s) }
}

fn begun(spec: JobSpec, gpus: u32) -> JobRun {
    let mut job = JobRun::new(spec);
    assert!(job.start(Picoseconds::ZERO, gpus));
    job
}

fn to_the_end(job: &mut JobRun) {
    while let Some(next) = job.next() {
        job.advance(next);
    }
}

#[test]
fn a_job_alone_takes_its_start_its_steps_its_saves_and_its_exit() {
    let mut job = begun(spec(blocking(25, 8)), 1);
    to_the_end(&mut job);
    // The fourth save is the last one, which ends it.
    assert_eq!(job.finished_at(), Some(seconds(30 + 1000 + 4 * 8)));
    assert_eq!((job.phase(), job.done(), job.kept()), (Phase::Away, 100, 100));
    let ledger = *job.ledger();
    assert_eq!(ledger.held(), seconds(30 + 1000 + 32 + 5));
    assert_eq!((ledger.saves, ledger.lost, ledger.units_lost), (4, Picoseconds::ZERO, 0));
    assert!(!job.start(seconds(9999), 1), "what is done is not started again");
}

#[test]
fn on_more_gpus_it_has_another_pace_and_on_others_none() {
    let mut job = JobRun::new(spec(Saving::Never));
    assert!(!job.start(seconds(0), 3));
    assert!(job.start(seconds(0), 2));
    to_the_end(&mut job);
    assert_eq!(job.finished_at(), Some(seconds(630)));
    assert_eq!(job.ledger().gpu_time, seconds(2 * 635));
    assert_eq!(job.ledger().gpu_time_working, seconds(2 * 600));
}

#[test]
fn told_to_stop_it_ends_its_step_saves_and_is_gone_and_goes_on_from_there() {
    let mut job = begun(spec(blocking(50, 8)), 1);
    job.stop(seconds(30 + 73));
    // The step ends at 110, the save at 118, memory is free at 123.
    assert_eq!(job.next(), Some(seconds(110)));
    job.advance(seconds(122));
    assert_eq!((job.phase(), job.kept()), (Phase::Leaving, 8));
    job.advance(seconds(123));
    assert_eq!((job.phase(), job.gpus()), (Phase::Away, 0));
    assert!(job.start(seconds(1000), 1));
    to_the_end(&mut job);
    assert_eq!(
        job.finished_at(),
        Some(seconds(1000 + 30 + 920 + 2 * 8)),
        "a save at 58, and the last"
    );
    assert_eq!((job.ledger().stops, job.ledger().units_lost), (1, 0));
}

#[test]
fn a_notice_that_is_too_short_costs_what_was_not_saved() {
    let stop = Stop { notice: Some(seconds(10)), ..spec(Saving::Never).stop };
    let mut job = begun(JobSpec { stop, ..spec(blocking(5, 8)) }, 1);
    // Saved at 80 to 88 with 5 steps; told at 121, the step would end at 128, the save at 136.
    job.stop(seconds(121));
    assert_eq!(job.lost_if_stopped(), seconds(33 + 30));
    job.advance(seconds(131));
    assert_eq!((job.phase(), job.done()), (Phase::Leaving, 5));
    let ledger = job.ledger();
    assert_eq!((ledger.forced, ledger.units_lost, ledger.units_done), (1, 4, 9));
    assert_eq!(ledger.lost, seconds(40), "four steps; what it was saving when it ended is no work");
}

#[test]
fn a_save_beside_work_holds_only_when_it_is_written() {
    let saving = Saving::Asynchronous {
        every: Every::Units(10),
        stall: seconds(2),
        write: seconds(45),
        slowed_ppm: 1_200_000,
    };
    let mut job = begun(spec(saving), 1);
    // Copied at 130 to 132, written at 177; steps take 12 s until then.
    job.advance(seconds(176));
    assert_eq!((job.done(), job.kept()), (13, 0));
    job.lose(seconds(176));
    assert_eq!((job.done(), job.ledger().lost), (0, seconds(100 + 44)));
    let mut job = begun(spec(saving), 1);
    job.advance(seconds(177));
    assert_eq!(job.kept(), 10);
    // 9 s into the fourth step of 12 s: a quarter is left, 2.5 s at the pace of before.
    assert_eq!(job.next().map(Picoseconds::seconds), Some(177.0 + 2.5 + 60.0));
    job.lose(seconds(177));
    assert_eq!((job.done(), job.ledger().units_lost), (10, 3));
}

#[test]
fn told_to_stop_while_it_copies_it_writes_before_it_goes() {
    let saving = Saving::Asynchronous {
        every: Every::Units(10),
        stall: seconds(2),
        write: seconds(45),
        slowed_ppm: 1_200_000,
    };
    let mut job = begun(spec(saving), 1);
    job.stop(seconds(131));
    job.advance(seconds(177));
    assert_eq!((job.phase(), job.kept(), job.ledger().saves), (Phase::Leaving, 10, 1));
}

#[test]
fn items_and_frames_are_kept_one_by_one_and_frames_are_not_alike() {
    let stop = Stop { finishes_unit: false, saves: false, ..spec(Saving::Never).stop };
    let frames = JobSpec {
        shape_ppm: vec![1_000_000, 3_000_000],
        stop,
        units: Some(5),
        ..spec(Saving::EachUnit)
    };
    let mut job = begun(frames.clone(), 1);
    // Frames end at 40, 70, 80, 110, 120.
    job.stop(seconds(105));
    assert_eq!((job.done(), job.kept()), (3, 3));
    assert_eq!(job.ledger().lost, seconds(25), "the frame that it was in");
    job.advance(seconds(110));
    assert!(job.start(seconds(200), 1));
    to_the_end(&mut job);
    assert_eq!(
        job.finished_at(),
        Some(seconds(200 + 30 + 30 + 10)),
        "the fourth takes as long again"
    );
}

#[test]
fn beside_inference_the_rest_of_a_step_takes_longer() {
    let mut job = begun(spec(Saving::Never), 1);
    job.set_beside(seconds(34), true);
    job.advance(seconds(43));
    assert_eq!((job.done(), job.next()), (1, Some(seconds(43 + 15 * 99))));
    job.set_beside(seconds(58), false);
    to_the_end(&mut job);
    assert_eq!(job.finished_at(), Some(seconds(58 + 98 * 10)));
}

#[test]
fn a_job_of_a_plan_takes_the_hours_that_the_plan_reckons_with() {
    let modes = vec![
        plan::Mode { gpus: 1, work_per_hour: 10.0 },
        plan::Mode { gpus: 2, work_per_hour: 16.0 },
    ];
    let planned = plan::Job {
        name: "fine-tune".into(),
        workload: "train".into(),
        modes,
        work: 40.0,
        release: 0,
        deadline: None,
        weight: 1.0,
        preemptible: true,
        min_run: 1,
        start_hours: 0.25,
        stop_hours: 0.5,
    };
    let mut job = begun(JobSpec::of_plan(&planned, 400, None), 2);
    to_the_end(&mut job);
    assert_eq!(job.finished_at(), Some(seconds(15 * 60 + 9000)));
    let endless = plan::Job { work: f64::INFINITY, ..planned };
    let mut job = begun(JobSpec::of_plan(&endless, 400, None), 1);
    job.advance(seconds(15 * 60 + 7200));
    assert_eq!((job.done(), job.finished_at()), (120, None));
}

fn savings() -> impl Strategy<Value = Saving> {
    let every = prop_oneof![
        (1_u64..9).prop_map(Every::Units),
        (1_u64..60).prop_map(|time_s| Every::Time(seconds(time_s)))
    ];
    prop_oneof![
        Just(Saving::Never),
        Just(Saving::EachUnit),
        (every.clone(), 0_u64..12)
            .prop_map(|(every, cost_s)| Saving::Blocking { every, cost: seconds(cost_s) }),
        (every, 0_u64..5, 0_u64..40, 1_000_000_u64..1_400_000).prop_map(
            |(every, stall_s, write_s, slowed_ppm)| Saving::Asynchronous {
                every,
                stall: seconds(stall_s),
                write: seconds(write_s),
                slowed_ppm,
            }
        ),
    ]
}

fn specs() -> impl Strategy<Value = JobSpec> {
    let shape = proptest::collection::vec(500_000_u64..3_000_000, 0..3);
    let stop = (any::<bool>(), any::<bool>(), proptest::option::of(0_u64..40), 0_u64..9);
    (savings(), shape, stop, proptest::option::of(1_u64..60), 0_u64..20).prop_map(
        |(saving, shape_ppm, (finishes_unit, saves, notice_s, exit_s), units, start_s)| JobSpec {
            units,
            shape_ppm,
            start: seconds(start_s),
            stop: Stop {
                finishes_unit,
                saves,
                notice: notice_s.map(seconds),
                exit: seconds(exit_s),
            },
            ..spec(saving)
        },
    )
}

/// What is done to a job: how long after the last, what, and how many looks lie between.
type Deed = (u64, u8, u8);

fn carry_out(spec: &JobSpec, deeds: &[Deed], looks: bool) -> Vec<(Phase, u64, u64, String)> {
    let mut job = JobRun::new(spec.clone());
    let mut at = Picoseconds::ZERO;
    let mut seen = Vec::new();
    for (wait_ms, what, between) in deeds {
        let then = at + Picoseconds(wait_ms * 1_000_000_000);
        if looks {
            for look in 1..=u64::from(*between) {
                job.advance(at + (then - at).scaled(look, u64::from(*between) + 1));
            }
        }
        at = then;
        match what {
            0 | 1 => {
                job.start(at, u32::from(*what) + 1);
            }
            2 => job.stop(at),
            3 => job.lose(at),
            4 => job.set_beside(at, true),
            5 => job.set_beside(at, false),
            _ => job.advance(at),
        }
        seen.push((job.phase(), job.done(), job.kept(), format!("{:?}", job.ledger())));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// How often somebody looks changes nothing; steps done are steps kept, lost, or not yet saved;
    /// each moment is in one line of the ledger.
    #[test]
    fn work_is_conserved_and_looking_changes_nothing(
        spec in specs(),
        deeds in proptest::collection::vec((0_u64..120_000, 0_u8..8, 0_u8..4), 1..40),
    ) {
        let seldom = carry_out(&spec, &deeds, false);
        prop_assert_eq!(&seldom, &carry_out(&spec, &deeds, true));
        let mut job = JobRun::new(spec.clone());
        let mut at = Picoseconds::ZERO;
        let mut away = Picoseconds::ZERO;
        let mut finished = false;
        for (wait_ms, what, _) in deeds {
            let then = at + Picoseconds(wait_ms * 1_000_000_000);
            while let Some(next) = job.next().filter(|next| *next <= then) {
                prop_assert!(next >= at, "no step back");
                if job.phase() == Phase::Away { away += next - at; }
                job.advance(next);
                at = next;
            }
            if job.phase() == Phase::Away { away += then - at; }
            job.advance(then);
            at = then;
            match what {
                0 | 1 => { job.start(at, u32::from(what) + 1); }
                2 => job.stop(at),
                3 => job.lose(at),
                4 => job.set_beside(at, true),
                5 => job.set_beside(at, false),
                _ => {}
            }
            let ledger = *job.ledger();
            prop_assert_eq!(ledger.units_done, job.done() + ledger.units_lost);
            prop_assert!(job.kept() <= job.done());
            prop_assert!(spec.units.is_none_or(|units| job.done() <= units));
            prop_assert_eq!(ledger.held() + away, at, "each moment once");
            prop_assert!(ledger.lost <= ledger.working);
            prop_assert!(!finished || job.finished_at().is_some(), "what is done stays done");
            finished = job.finished_at().is_some();
            prop_assert!(!finished || Some(job.kept()) == spec.units);
            if job.phase() == Phase::Away {
                prop_assert_eq!(job.kept(), job.done(), "who is away has lost what it did not keep");
            }
        }
    }
}

/// Overhead of a long job that is lost at exponential times: wall time ÷ work − 1. Everything in
/// steps of one second. The same seed gives the same losses to every interval.
fn simulated_overhead(interval_s: u64, cost_s: u64, loss_s: f64, restart_s: u64, seed: u64) -> f64 {
    let work_s = 400_000;
    let spec = JobSpec {
        units: Some(work_s),
        paces: vec![Pace { gpus: 1, unit: seconds(1) }],
        start: seconds(restart_s),
        ..spec(Saving::Blocking { every: Every::Units(interval_s), cost: seconds(cost_s) })
    };
    let mut job = begun(spec, 1);
    let mut random = Pcg64::seed_from_u64(seed);
    let Ok(gap) = Exp::new(1.0 / loss_s) else { return f64::NAN };
    let mut at = 0.0;
    while job.finished_at().is_none() {
        at += gap.sample(&mut random);
        job.advance(Picoseconds::from_seconds(at));
        if job.finished_at().is_none() {
            job.lose(Picoseconds::from_seconds(at));
        }
    }
    // The first start is no restart.
    let wall = job.finished_at().map_or(f64::NAN, Picoseconds::seconds) - restart_s as f64;
    wall / work_s as f64 - 1.0
}

#[test]
fn lost_and_saved_time_is_what_daly_says_and_his_interval_is_the_best() {
    let (cost_s, loss_s, restart_s) = (20, 2000.0, 45);
    let daly_s = daly_interval(cost_s as f64, loss_s).unwrap_or(f64::NAN).round() as u64;
    assert_eq!(daly_s, 270, "√(2·20·2000)·(1 + ⅓√(1/200) + 1/1800) − 20 = 269.67");
    let mean = |interval_s: u64| {
        let runs = 6;
        let overheads =
            (0..runs).map(|seed| simulated_overhead(interval_s, cost_s, loss_s, restart_s, seed));
        overheads.sum::<f64>() / runs as f64
    };
    let intervals = [daly_s / 3, daly_s / 2, daly_s, daly_s * 2, daly_s * 3];
    let simulated: Vec<f64> = intervals.iter().map(|interval_s| mean(*interval_s)).collect();
    for (interval_s, simulated) in intervals.iter().zip(&simulated) {
        let exact =
            checkpoint_overhead(*interval_s as f64, cost_s as f64, loss_s, restart_s as f64)
                .unwrap_or(f64::NAN);
        // Some 1500 losses in all: their number alone scatters by 2.6 %, and each costs at most
        // half an interval more or less.
        assert!((simulated / exact - 1.0).abs() < 0.06, "{interval_s}: {simulated} {exact}");
    }
    let best = simulated.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(simulated[2] <= best, "{simulated:?}");
}
