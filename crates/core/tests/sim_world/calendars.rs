//! Calendars whose demand is stated in replicas.

use cotenant_core::plan::{Calendar, Grid, Holder, Job, Mode, Tenant};
use cotenant_core::policy::hand_over::{ServiceTerms, Use};
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::job::{Every, JobSpec, Pace, Saving, Stop};
use cotenant_core::sim::transition::StepKind;
use cotenant_core::sim::world::{
    Demand, Reach, ReclaimOutcome, ServiceSpec, WorldSpec, calendar_terms, carry_out,
};
use cotenant_core::stats::checkpoint_overhead;
use cotenant_core::units::Picoseconds;
use jiff::tz::TimeZone;

use super::support::{job, place, seconds, service};

use Use::{Job as Held, Lent, Service};

fn replicas(levels: &[(u64, u64)]) -> Demand {
    Demand::Replicas(levels.iter().map(|(at, ppm)| (seconds(*at), *ppm)).collect())
}

#[test]
fn a_night_on_lent_gpus_is_what_it_is_by_hand() {
    let windows = [(0, vec![Service(0), Held(0)]), (1000, vec![Service(0), Service(0)])];
    let demand = replicas(&[(0, 1_000_000), (1000, 2_000_000)]);
    let spec = place(&windows, 2000, service(demand), vec![job("train", 500)]);
    let outcome = carry_out(spec);
    let train = &outcome.jobs[0];
    // Start to 20; ten steps of 10 s and a save of 4 s each 104 s; told at 950.
    // Steps from 20: saves at 120, 224, 328, 432, 536, 640, 744, 848; the ninth round has worked
    // from 852, and its tenth step ends at 952, where it saves for the last time until 956.
    assert_eq!((train.done, train.kept, train.finished_at), (90, 90, None));
    assert_eq!(train.ledger.held(), seconds(958));
    assert_eq!(train.ledger.saving, seconds(9 * 4));
    assert_eq!((train.ledger.stops, train.ledger.units_lost), (1, 0));
    // The second replica begins at 970, and serves from its window on.
    let chat = &outcome.services[0];
    assert_eq!(chat.starts, 2);
    assert_eq!(chat.serving, seconds(1970 + 1000));
    assert_eq!(chat.changing, seconds(60));
    assert_eq!(chat.steps[&StepKind::EngineWake], seconds(60));
    assert_eq!(chat.short, seconds(30), "the first one comes only when time begins");
    assert_eq!(outcome.gpu_time.free, seconds(970 - 958));
    assert_eq!(outcome.gpu_time.total, seconds(4000));
    assert_eq!(outcome.stuck_at, None);
}

fn rule() -> Rule {
    Rule {
        high: 1.0,
        low: 0.5,
        high_for: seconds(5),
        low_for: seconds(100),
        turn_min: seconds(200),
        settle: seconds(60),
        gpus_per_change: 1,
    }
}

#[test]
fn a_burst_takes_a_lent_gpu_back_and_gives_it_again() {
    let windows = [(0, vec![Service(0), Lent(0)])];
    // From 500 on two replicas are needed, which is pressure 2 with one; from 700 on one is enough.
    let demand = replicas(&[(0, 900_000), (500, 2_000_000), (700, 900_000)]);
    let chat = ServiceSpec { reclaim: Some(rule()), ..service(demand) };
    let outcome = carry_out(place(&windows, 2000, chat, vec![job("train", 500)]));
    // Asked at 505. Steps have ended at 120, with a save to 124, …, 432 to 436; so one ends at 506.
    // Saved by 510, gone by 512, a replica by 542.
    let expected = ReclaimOutcome {
        service: 0,
        asked_at: seconds(505),
        gpus: vec![1],
        free_at: Some(seconds(512)),
        ready_at: Some(seconds(542)),
    };
    assert_eq!(outcome.reclaims, [expected]);
    let chat = &outcome.services[0];
    assert_eq!(chat.short, seconds(30 + 42), "the start of the first one, and the burst");
    assert_eq!(chat.missing, seconds(27 + 42));
    // Pressure is 0.45 from 700 on: lent again at 800, and the replica is gone at 803.
    let train = &outcome.jobs[0];
    assert_eq!(train.ledger.stops, 1);
    assert_eq!(train.ledger.starting, seconds(40));
    assert_eq!(train.ledger.held(), seconds(512 + 2000 - 803));
    assert_eq!(outcome.gpu_time.free, Picoseconds::ZERO);
}

#[test]
fn among_two_jobs_the_one_that_loses_less_is_stopped() {
    let windows = [(0, vec![Service(0), Lent(0), Lent(1)])];
    let demand = replicas(&[(0, 900_000), (500, 1_900_000)]);
    let chat = ServiceSpec { reclaim: Some(rule()), ..service(demand) };
    let abrupt = Stop { finishes_unit: false, saves: false, ..job("a", 1).stop };
    let jobs = vec![JobSpec { stop: abrupt, ..job("abrupt", 500) }, job("saving", 500)];
    let outcome = carry_out(place(&windows, 700, chat, jobs));
    let stops: Vec<u64> = outcome.jobs.iter().map(|job| job.ledger.stops).collect();
    assert_eq!(stops, [0, 1]);
}

#[test]
fn deadlines_are_met_missed_or_still_to_come() {
    let windows = [(0, vec![Held(0), Held(1), Held(2), Held(3)])];
    let due = |name: &str, due_s: u64| JobSpec { deadline: Some(seconds(due_s)), ..job(name, 10) };
    // Done and saved at 20 + 100 + 4.
    let jobs = [due("met", 124), due("missed", 123), job("none", 10), due("later", 5000)];
    let late = JobSpec { units: Some(5000), ..jobs[3].clone() };
    let spec =
        place(&windows, 1000, service(replicas(&[])), [jobs[..3].to_vec(), vec![late]].concat());
    let on_time: Vec<_> = carry_out(spec).jobs.iter().map(|job| job.on_time).collect();
    assert_eq!(on_time, [Some(true), Some(false), None, None]);
}

#[test]
fn beside_a_service_a_job_is_slower_while_the_replica_serves() {
    let windows = [(0, vec![Lent(0)])];
    let slowed = JobSpec { beside_ppm: 2_000_000, ..job("train", 9) };
    let mut spec = place(&windows, 1000, service(replicas(&[])), vec![slowed]);
    spec.terms.beside = Some(0);
    spec.reach = Reach::SameGpu;
    // It works from 20 on; from 30 on, when the replica serves, each step takes 20 s.
    let outcome = carry_out(spec.clone());
    assert_eq!(outcome.jobs[0].finished_at, Some(seconds(20 + 10 + 8 * 20 + 8)), "with two saves");
    spec.reach = Reach::Nowhere;
    assert_eq!(carry_out(spec).jobs[0].finished_at, Some(seconds(20 + 90 + 4)));
}

/// The calendar of a week in which the clocks go back: 338 half hours.
fn planned_week() -> (Calendar, Vec<Job>) {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let grid = Grid::new(zone, "2027-10-25".parse().unwrap(), 7, 30).unwrap();
    let (gpus, jobs) = (8_u32, 10_u32);
    // Inference holds five by day and two by night, one more is hot; the jobs take turns.
    let holders = (0_u32..).zip(&grid.windows).map(|(number, window)| {
        let hour = window.minute_of_week / 60 % 24;
        let reserved = if (8..20).contains(&hour) { 5 } else { 2 };
        let of = |gpu: u32| match gpu {
            gpu if gpu < reserved => Holder::Inference(0),
            gpu if gpu == reserved => Holder::HotReserve(0),
            gpu if gpu % 2 == 0 => Holder::Lent(1 + (gpu + number / 16) % jobs),
            gpu => Holder::Job(1 + (gpu + number / 16) % jobs),
        };
        (0..gpus).map(of).collect()
    });
    let holders = holders.collect();
    let tenant = |name: String, kind| Tenant { workload: name.clone(), name, kind };
    let named = (0..jobs).map(|job| tenant(format!("job {job}"), "training"));
    let tenants = std::iter::once(tenant("chat".into(), "inference")).chain(named).collect();
    let calendar =
        Calendar { grid, gpus, holders, tenants, transitions: Vec::new(), levels: Vec::new() };
    let problem_job = |number: u32| Job {
        name: format!("job {number}"),
        workload: "train".into(),
        modes: vec![Mode { gpus: 1, work_per_hour: 1.0 }],
        work: 12.0,
        release: 0,
        deadline: None,
        weight: 1.0,
        preemptible: true,
        min_run: 1,
        start_hours: 0.05,
        stop_hours: 0.02,
    };
    (calendar, (0..jobs).map(problem_job).collect())
}

fn week() -> WorldSpec {
    let (calendar, jobs) = planned_week();
    let terms =
        ServiceTerms { replica_gpus: 1, stop_lead: Picoseconds::ZERO, start_lead: seconds(30) };
    let planned = calendar_terms(&calendar, vec![terms], &jobs).unwrap();
    assert_eq!(planned.terms.ends, seconds(169 * 3600), "an hour more than other weeks");
    assert_eq!((planned.services.len(), planned.jobs.len()), (1, 10));
    // Demand changes each five minutes, and is above what is held now and then.
    let level = |step: u64| (seconds(step * 300), 1_500_000 + (step * step * 7919) % 5_000_000);
    let demand = Demand::Replicas((0..169 * 12).map(level).collect());
    WorldSpec {
        until: planned.terms.ends,
        terms: planned.terms,
        services: vec![ServiceSpec { reclaim: Some(rule()), ..service(demand) }],
        jobs: jobs.iter().map(|job| JobSpec::of_plan(job, 1000, None)).collect(),
        reach: Reach::SameHost,
        seed: 3,
    }
}

#[test]
fn a_week_of_a_plan_is_carried_out_and_is_the_same_each_time() {
    let outcome = carry_out(week());
    assert_eq!(format!("{outcome:?}"), format!("{:?}", carry_out(week())));
    let done: u64 = outcome.jobs.iter().map(|job| job.done).sum();
    let taken = outcome.jobs.iter().map(|job| job.ledger.stops).sum::<u64>();
    assert!(done > 3000 && taken > 50, "{done} {taken}");
    assert!(outcome.reclaims.len() > 10);
    let in_time = outcome.reclaims.iter().filter_map(|it| Some(it.ready_at? - it.asked_at));
    // A job of a plan leaves within its 72 s, a replica comes within 30 s.
    assert!(in_time.clone().count() > 5);
    assert!(in_time.max() <= Some(seconds(72 + 30)));
    let time = outcome.gpu_time;
    let held = time.serving + time.changing + time.working + time.job_overhead;
    assert_eq!(held + time.free, time.total);
}

/// Losses of the world's own drawing, against the expectation of Daly (2006): a job of two million
/// seconds that is lost each hour on average, some 680 times.
#[test]
fn a_job_that_is_lost_now_and_then_takes_what_daly_expects() {
    let long = JobSpec {
        units: Some(2_000_000),
        paces: vec![Pace { gpus: 1, unit: seconds(1) }],
        saving: Saving::Blocking { every: Every::Units(600), cost: seconds(30) },
        mean_time_to_loss: Some(seconds(3600)),
        ..job("train", 1)
    };
    let spec = place(&[(0, vec![Held(0)])], 5_000_000, service(replicas(&[])), vec![long]);
    let outcome = carry_out(spec);
    let train = &outcome.jobs[0];
    let wall = train.finished_at.map_or(f64::NAN, Picoseconds::seconds) - 20.0;
    let expected = checkpoint_overhead(600.0, 30.0, 3600.0, 20.0).unwrap();
    let simulated = wall / 2e6 - 1.0;
    assert!((simulated / expected - 1.0).abs() < 0.1, "{simulated} {expected}");
    let ledger = train.ledger;
    assert!((560..800).contains(&ledger.losses), "{}", ledger.losses);
    assert_eq!(ledger.working - ledger.lost, seconds(2_000_000));
}
