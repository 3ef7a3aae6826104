//! The whole plan: what always holds of its calendar, and sites that lack something.

use cotenant_core::demand::history_of_table;
use cotenant_core::plan::{Holder, Plan, PlanQuestion, PlanWord, Tenant, plan};
use cotenant_core::site::{
    BurstReserve, Demand, Maintenance, NodeGroup, Pool, Server, Site, SiteKind, Transition,
    TransitionStep, TransitionStepKind, WeeklyWindow, Workload,
};
use proptest::prelude::*;

use crate::support::{
    at, close, duration, grid, inference, inference_of, normal, once, planned, question, serving,
    site, trainer, training_of, weekly, zone,
};

fn chat(night: f64, day: f64) -> Workload {
    serving(
        "chat",
        inference(&[
            ("daily 00:00-08:00", night),
            ("daily 08:00-20:00", day),
            ("daily 20:00-24:00", night),
        ]),
    )
}

fn transition(start: u64, stop: u64) -> Transition {
    let step = |kind, seconds| TransitionStep {
        kind,
        duration: Some(std::time::Duration::from_secs(seconds)),
    };
    Transition {
        to_training: vec![step(TransitionStepKind::Resume, start)],
        to_inference: vec![step(TransitionStepKind::WarmUp, stop)],
        source: None,
        layout_for_training: None,
        layout_for_inference: None,
    }
}

#[derive(Clone, Debug)]
struct Shape {
    gpus: u32,
    night: f64,
    day: f64,
    hot: f64,
    second: bool,
    maintained: bool,
    /// Whether the clocks change in its week.
    changes: bool,
    jobs: Vec<(u32, f64, u8, bool)>,
}

fn shape() -> impl Strategy<Value = Shape> {
    let job = (1_u32..=3, 1.0_f64..40.0, 0_u8..5, any::<bool>());
    (
        1_u32..=5,
        0.0_f64..3.0,
        0.0_f64..7.0,
        0_u32..=2,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(job, 0..3),
    )
        .prop_map(|(gpus, night, day, hot, second, maintained, changes, jobs)| Shape {
            gpus,
            night,
            day,
            hot: f64::from(hot),
            second,
            maintained,
            changes,
            jobs,
        })
}

fn site_of(shape: &Shape) -> Site {
    let mut workloads = vec![chat(shape.night, shape.day)];
    inference_of(&mut workloads[0]).burst_reserve = Some(BurstReserve::Gpus(shape.hot));
    if shape.second {
        workloads.push(serving("search", inference(&[("daily 00:00-24:00", 0.8)])));
    }
    for (place, (gpus, hours, due, preemptible)) in shape.jobs.iter().enumerate() {
        let deadline = match due {
            0 => weekly("Wed,Sat", "08:00"),
            1 => once("2026-12-09T12:00:00Z", Some("2026-12-08T03:00:00Z")),
            2 => once("2026-12-01T12:00:00Z", None),
            3 => once("2026-12-11T12:00:00Z", Some("2026-12-12T03:00:00Z")),
            _ => None,
        };
        let mut job = trainer(&format!("job-{place}"), *gpus, *hours, deadline);
        training_of(&mut job).preemption.as_mut().unwrap().allowed = *preemptible;
        workloads.push(job);
    }
    let mut site = site(shape.gpus, workloads);
    site.operations.transition = Some(transition(90, 120));
    if shape.changes {
        in_spring(&mut site);
    }
    if shape.maintained {
        let windows = vec![WeeklyWindow::parse("Tue,Sun 02:30-05:30").unwrap()];
        site.operations.maintenance = Some(Maintenance { windows, accepted_by: None });
    }
    site
}

/// The week in which Berlin puts its clocks forward, on Sunday at two.
fn in_spring(site: &mut Site) {
    site.time_zone = zone("Europe/Berlin");
    site.operations.calendar.as_mut().unwrap().begins = Some("2027-03-22".parse().unwrap());
}

fn tenant(plan: &Plan, holder: Holder) -> Option<&Tenant> {
    let place = match holder {
        Holder::Inference(place)
        | Holder::HotReserve(place)
        | Holder::Job(place)
        | Holder::Lent(place) => place,
        Holder::Idle | Holder::Maintenance => return None,
    };
    plan.calendar.as_ref()?.tenants.get(place as usize)
}

/// What must hold of every calendar.
fn check_calendar(site: &Site, plan: &Plan) {
    let calendar = plan.calendar.as_ref().unwrap();
    let gpus = site.gpu_count();
    let maintained: Vec<bool> = (0..calendar.grid.windows.len())
        .map(|window| {
            let windows = site.operations.maintenance.iter().flat_map(|it| &it.windows);
            windows.into_iter().any(|weekly| calendar.grid.touched(*weekly)[window])
        })
        .collect();
    assert_eq!(calendar.holders.len(), calendar.grid.windows.len());
    for (window, row) in calendar.holders.iter().enumerate() {
        assert_eq!(row.len(), gpus as usize, "one holder for each GPU");
        if maintained[window] {
            assert!(row.iter().all(|holder| *holder == Holder::Maintenance), "window {window}");
            continue;
        }
        assert!(!row.contains(&Holder::Maintenance), "window {window}");
        let count =
            |keep: &dyn Fn(Holder) -> bool| row.iter().filter(|it| keep(**it)).count() as u32;
        let needs: Vec<_> = plan.reserves.iter().map(|reserve| reserve.windows[window]).collect();
        let held: u32 = needs.iter().map(|need| need.reserved + need.hot).sum();
        let lent: u32 = needs.iter().map(|need| need.lent).sum();
        let jobs = count(&|it| matches!(it, Holder::Job(_) | Holder::Lent(_)));
        assert!(jobs <= gpus.saturating_sub(held), "window {window}: {row:?}");
        assert!(count(&|it| matches!(it, Holder::Lent(_))) <= lent, "window {window}: {row:?}");
        if held <= gpus {
            for (place, need) in (0_u32..).zip(&needs) {
                assert_eq!(count(&|it| it == Holder::Inference(place)), need.reserved);
                assert_eq!(count(&|it| it == Holder::HotReserve(place)), need.hot);
            }
        }
        for holder in row {
            if let Holder::Lent(_) = holder {
                let name = &tenant(plan, *holder).unwrap().workload;
                let mut workload = site.workload(name).unwrap().clone();
                assert!(training_of(&mut workload).preemption.as_ref().unwrap().allowed);
            }
        }
    }
    assert!(calendar.transitions.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let changes = calendar.levels.iter().find(|level| level.unit == "changes").unwrap();
    close(changes.value, calendar.transitions.len() as f64);
    check_promises(plan);
}

/// GPU-hours of each job, counted in the calendar.
fn check_promises(plan: &Plan) {
    let calendar = plan.calendar.as_ref().unwrap();
    for promise in &plan.promises {
        let place = calendar.tenants.iter().position(|it| it.name == promise.job).unwrap() as u32;
        let mut counted = 0.0;
        for (row, window) in calendar.holders.iter().zip(&calendar.grid.windows) {
            let held =
                row.iter().filter(|it| **it == Holder::Job(place) || **it == Holder::Lent(place));
            counted += held.count() as f64 * window.hours();
        }
        close(counted, promise.gpu_hours);
        assert!(promise.gpu_hours_in_time <= promise.gpu_hours + 1e-9);
        assert!(promise.on_time_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn every_calendar_keeps_its_promises(shape in shape()) {
        let site = site_of(&shape);
        let plan = planned(&site);
        check_calendar(&site, &plan);
        prop_assert!(plan.gates.len() == 6);
        let fails = plan.gates.iter().any(|gate| gate.word == PlanWord::Fail);
        prop_assert_eq!(plan.word == PlanWord::Fail, fails);
        for certificate in &plan.certificates {
            prop_assert!(certificate.missing() > 0.0);
        }
        let chosen = plan.candidates.iter().filter(|it| it.chosen).count();
        prop_assert_eq!(chosen, 1);
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    let shape = Shape {
        gpus: 5,
        night: 0.7,
        day: 3.2,
        hot: 1.0,
        second: true,
        maintained: true,
        changes: false,
        jobs: vec![(2, 12.0, 0, true), (1, 30.0, 4, true)],
    };
    let site = site_of(&shape);
    assert_eq!(planned(&site), planned(&site));
}

#[test]
fn a_place_without_gpus_or_without_a_day_says_what_is_missing() {
    let workloads = vec![chat(1.0, 2.0), trainer("tune", 1, 5.0, weekly("Fri", "08:00"))];
    let none = planned(&site(0, workloads.clone()));
    assert!(none.calendar.is_none() && none.missing[0].contains("the site has none"));
    let mut timeless = site(4, workloads);
    timeless.operations.calendar = None;
    let plan = planned(&timeless);
    assert!(plan.calendar.is_none() && plan.missing[0].contains("begins:"), "{:?}", plan.missing);
    assert_eq!(plan.word, PlanWord::NotProven);
    // With an instant it begins on the next Monday, and says so.
    timeless.as_of = Some("2026-12-01T09:00:00Z".parse().unwrap());
    let plan = planned(&timeless);
    let first = plan.calendar.unwrap().grid.windows[0].start;
    assert_eq!(first.to_string(), "2026-12-07T00:00:00Z");
    assert!(plan.assumptions.iter().any(|it| it.contains("Monday 2026-12-07")));
}

#[test]
fn gpus_whose_need_nobody_knows_are_not_given_away() {
    let mut silent = chat(1.0, 2.0);
    inference_of(&mut silent).capacity = None;
    let plan = planned(&site(4, vec![silent.clone(), trainer("tune", 1, 5.0, None)]));
    assert!(plan.calendar.is_none());
    assert!(plan.missing[0].contains("`capacity: {"), "{:?}", plan.missing);
    let gate = &plan.gates[0];
    assert_eq!((gate.name, gate.word), ("inference objectives", PlanWord::NotProven));
    assert!(gate.reason.contains("nothing says how many GPUs"), "{}", gate.reason);
    // With an allocation it always holds that, and the rest can be planned.
    silent.allocation = normal(3.0);
    let plan = planned(&site(4, vec![silent, trainer("tune", 1, 5.0, None)]));
    let calendar = plan.calendar.unwrap();
    let held = |row: &Vec<Holder>| row.iter().filter(|it| **it == Holder::Inference(0)).count();
    assert!(calendar.holders.iter().all(|row| held(row) == 3));
}

#[test]
fn a_job_that_cannot_be_planned_is_missing_and_not_forgotten() {
    let mut vague = trainer("vague", 1, 5.0, None);
    vague.allocation = None;
    for with_day in [true, false] {
        let mut place = site(4, vec![chat(1.0, 2.0), vague.clone()]);
        if !with_day {
            place.operations.calendar = None;
        }
        let plan = planned(&place);
        assert!(
            plan.missing.iter().any(|it| it.contains("workloads.vague: allocation")),
            "{:?}",
            plan.missing
        );
    }
}

#[test]
fn a_place_without_jobs_or_without_inference_is_planned() {
    let alone = planned(&site(4, vec![chat(1.0, 2.0)]));
    assert_eq!(alone.word, PlanWord::NotProven);
    assert!(alone.candidates[0].chosen && alone.candidates[0].deadlines_met == Some((0, 0)));
    let jobs = planned(&site(2, vec![trainer("tune", 2, 10.0, weekly("Fri", "08:00"))]));
    assert_eq!(jobs.word, PlanWord::NotProven, "{}", jobs.reason);
    assert!(jobs.backtest.is_none() && jobs.reserves.is_empty());
    let nothing = planned(&site(1, Vec::new()));
    assert_eq!(nothing.word, PlanWord::NotProven);
}

#[test]
fn an_hour_that_the_clock_skips_is_held_in_the_replay_as_well() {
    // Another rate each hour, so that the history has steps of an hour.
    let hours: Vec<String> =
        (0..24).map(|hour| format!("daily {hour:02}:00-{:02}:00", hour + 1)).collect();
    let rates: Vec<(&str, f64)> = hours
        .iter()
        .zip([0.8, 0.9].into_iter().cycle())
        .map(|(it, rate)| (it.as_str(), rate))
        .collect();
    let mut chat = serving("chat", inference(&rates));
    inference_of(&mut chat).burst_reserve = Some(BurstReserve::Gpus(1.0));
    let Demand::Table(rows) = inference_of(&mut chat).demand.clone() else { panic!("a table") };
    let before = grid("Europe/Berlin", "2027-03-15", 7, 60);
    let history = history_of_table(&rows, &before, None).unwrap();
    let mut site = site(2, vec![chat]);
    in_spring(&mut site);
    let histories = [("chat".to_owned(), history)];
    let plan = plan(&PlanQuestion { histories: &histories, ..question(&site) });
    assert_eq!(plan.calendar.unwrap().grid.windows.len(), 167);
    // One GPU is reserved and one is kept free, at every hour of a week that has all of them.
    close(plan.backtest.unwrap().rows[0].gpu_hours_harvested, 0.0);
}

#[test]
fn a_pool_is_planned_as_one_place_and_says_so() {
    let mut pool = site(4, vec![chat(1.0, 2.0), trainer("tune", 2, 10.0, None)]);
    let server = Server { gpu: Some("H100-SXM5-80GB".into()), gpu_count: 4, ..Server::default() };
    pool.kind = SiteKind::Pool(Pool {
        nodes: vec![NodeGroup { name: "a".into(), count: 2, server }],
        ..Pool::default()
    });
    let plan = planned(&pool);
    assert_eq!(plan.calendar.as_ref().unwrap().gpus, 8);
    assert!(plan.assumptions.iter().any(|it| it.contains("one place")), "{:?}", plan.assumptions);
}

#[test]
fn changes_of_hands_that_nobody_priced_are_said_to_be_free() {
    let mut tune = trainer("tune", 1, 5.0, None);
    let said = |workload: &Workload| {
        let plan = planned(&site(2, vec![workload.clone()]));
        plan.assumptions.iter().any(|it| it.contains("tune are counted as free"))
    };
    assert!(said(&tune));
    training_of(&mut tune).checkpoint = Some(cotenant_core::site::Checkpoint {
        duration: Some(duration("20 s")),
        resume_duration: Some(duration("80 s")),
        ..cotenant_core::site::Checkpoint::default()
    });
    assert!(!said(&tune));
}

#[test]
fn lending_is_chosen_where_a_split_is_not_enough() {
    // By day chat needs all four; a job of two GPUs fits at night alone.
    let mut tune = trainer("tune", 2, 20.0, weekly("Fri", "08:00"));
    training_of(&mut tune).throughput_alone = vec![at(2, 2000.0)];
    let site = site(4, vec![chat(0.5, 3.5), tune]);
    let plan = planned(&site);
    check_calendar(&site, &plan);
    assert_eq!(plan.candidates[0].word, Some(PlanWord::Fail));
    assert!(plan.candidates[1].chosen && plan.candidates[1].word == Some(PlanWord::NotProven));
    let calendar = plan.calendar.unwrap();
    let by_day = calendar.grid.windows.iter().zip(&calendar.holders).filter(|(window, _)| {
        let hour = window.minute_of_week / 60 % 24;
        (8..20).contains(&hour)
    });
    for (_, row) in by_day {
        assert!(row.iter().all(|it| *it == Holder::Inference(0)), "{row:?}");
    }
}
