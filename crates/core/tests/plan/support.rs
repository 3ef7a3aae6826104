//! Sites made by hand, with nothing declared that a test does not say.

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::plan::schedule::Effort;
use cotenant_core::plan::{Grid, Occurrence, Plan, PlanQuestion, plan};
use cotenant_core::site::{
    Allocation, Batch, BatchRoute, BurstReserve, CalendarShape, Deadline, Demand, FigureOrigin,
    Inference, InferenceObjectives, Launch, Operations, Preemption, Ready, ReplicaCapacity, Server,
    Sharing, SharingMode, Site, SiteKind, TableRow, ThroughputAt, Training, TrainingObjectives,
    WeekdaySet, WeeklyWindow, Work, Workload, WorkloadKind, parse_minute_of_day,
};
use cotenant_core::units::{RatePerSecond, parse_duration};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) fn duration(text: &str) -> Duration {
    parse_duration(text).unwrap()
}

pub(crate) fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

pub(crate) fn grid(zone_name: &str, begins: &str, days: u32, minutes: u32) -> Grid {
    Grid::new(zone(zone_name), begins.parse().unwrap(), days, minutes).unwrap()
}

pub(crate) fn workload(name: &str, kind: WorkloadKind) -> Workload {
    Workload {
        name: name.to_owned(),
        kind,
        owner: None,
        model: None,
        weight: None,
        faults: None,
        memory: None,
        allocation: None,
        priority: None,
        limits: None,
        on_out_of_memory: None,
        classes: Vec::new(),
    }
}

pub(crate) const ALLOCATION: Allocation =
    Allocation { normal: None, minimum_useful: None, gang: None, minimum_run: None };

#[expect(clippy::unnecessary_wraps, reason = "the field takes it as it is")]
pub(crate) fn normal(gpus: f64) -> Option<Allocation> {
    Some(Allocation { normal: Some(gpus), ..ALLOCATION })
}

/// Inference whose replicas have one GPU and carry one request a second.
pub(crate) fn inference(rates: &[(&str, f64)]) -> Inference {
    let row = |(when, rate): &(&str, f64)| TableRow {
        when: WeeklyWindow::parse(when).unwrap(),
        rate: RatePerSecond::new(*rate, "req"),
    };
    Inference {
        runtime: None,
        version: None,
        arguments: Vec::new(),
        endpoint: "http://127.0.0.1:8000".to_owned(),
        metrics_endpoint: None,
        launch: None,
        sleep: None,
        demand: Demand::Table(rates.iter().map(row).collect()),
        concurrency: None,
        prompt_tokens: None,
        output_tokens: None,
        peak_rate: None,
        objectives: InferenceObjectives::default(),
        capacity: Some(ReplicaCapacity {
            gpus: 1.0,
            origin: FigureOrigin::Measured,
            requests: Some(RatePerSecond::new(1.0, "req")),
            requests_in_flight: None,
            kv_tokens: None,
            prefill: None,
            output: None,
        }),
        service_time: None,
        minimum_reserved: None,
        burst_reserve: Some(BurstReserve::Gpus(0.0)),
        guard: None,
    }
}

pub(crate) fn serving(name: &str, inference: Inference) -> Workload {
    workload(name, WorkloadKind::Inference(Box::new(inference)))
}

/// Gives way, and nothing more is known.
pub(crate) const PREEMPTION: Preemption = Preemption {
    allowed: true,
    signal: None,
    notice: None,
    lost_work: None,
    mean_time_to_loss: None,
    failure_share_max: None,
    slurm: None,
};

/// Training that may be preempted.
pub(crate) fn training() -> Training {
    Training { preemption: Some(PREEMPTION), ..Training::default() }
}

/// A trainer that does one unit of work an hour on a GPU, where nothing else is said.
pub(crate) fn trainer(name: &str, gpus: u32, hours: f64, deadline: Option<Deadline>) -> Workload {
    let training = Training {
        throughput_alone: vec![at(gpus, f64::from(gpus) * 1000.0)],
        work: Some(Work {
            amount: (hours * f64::from(gpus) * 3_600_000.0) as u64,
            unit: "tok".to_owned(),
        }),
        objectives: TrainingObjectives { deadline, ..TrainingObjectives::default() },
        ..training()
    };
    let mut workload = workload(name, WorkloadKind::Training(Box::new(training)));
    workload.allocation = normal(f64::from(gpus));
    workload
}

pub(crate) fn at(gpus: u32, tokens_per_second: f64) -> ThroughputAt {
    ThroughputAt { gpus, throughput: RatePerSecond::new(tokens_per_second, "tok") }
}

pub(crate) fn training_of(workload: &mut Workload) -> &mut Training {
    match &mut workload.kind {
        WorkloadKind::Training(training) => training,
        _ => panic!("{} does not train", workload.name),
    }
}

pub(crate) fn inference_of(workload: &mut Workload) -> &mut Inference {
    match &mut workload.kind {
        WorkloadKind::Inference(inference) => inference,
        _ => panic!("{} does not serve", workload.name),
    }
}

/// A batch through a job of its own.
pub(crate) fn batch(items: Option<u64>, per_second: f64) -> Batch {
    let launch = Launch {
        argv: vec!["true".to_owned()],
        cwd: None,
        env: BTreeMap::new(),
        ready: Ready::default(),
    };
    Batch {
        route: BatchRoute::Job(launch),
        items,
        throughput_alone: Some(RatePerSecond::new(per_second, "items")),
        deadline: None,
        class: None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the field takes it as it is")]
pub(crate) fn weekly(days: &str, time: &str) -> Option<Deadline> {
    let days = WeekdaySet::parse(days).unwrap();
    Some(Deadline::Weekly { days, minute: parse_minute_of_day(time).unwrap() })
}

#[expect(clippy::unnecessary_wraps, reason = "the field takes it as it is")]
pub(crate) fn once(at: &str, start: Option<&str>) -> Option<Deadline> {
    let start = start.map(instant);
    Some(Deadline::At { at: instant(at), time_zone: TimeZone::UTC, start })
}

/// A server whose calendar is the week of Monday, 7 December 2026, in windows of an hour.
pub(crate) fn site(gpus: u32, workloads: Vec<Workload>) -> Site {
    Site {
        name: "made".to_owned(),
        time_zone: TimeZone::UTC,
        as_of: None,
        kind: SiteKind::Server(Box::new(Server {
            gpu: (gpus > 0).then(|| "a model of the future".to_owned()),
            gpu_count: gpus,
            ..Server::default()
        })),
        workloads,
        sharing: Sharing {
            mode: SharingMode::CandidatesAll,
            versions: BTreeMap::new(),
            mps_server_per_gpu: None,
            caps: std::collections::BTreeMap::new(),
            saturating_load: None,
        },
        operations: Operations {
            calendar: Some(CalendarShape {
                window: Some(Duration::from_hours(1)),
                begins: Some("2026-12-07".parse().unwrap()),
                weeks: Some(1),
            }),
            ..Operations::default()
        },
    }
}

pub(crate) fn planned(site: &Site) -> Plan {
    plan(&question(site))
}

pub(crate) fn question(site: &Site) -> PlanQuestion<'_> {
    PlanQuestion {
        site,
        site_file: "site.yaml",
        as_of: None,
        histories: &[],
        capacities: &[],
        drill_measured: None,
        effort: Effort { steps_max: 8, seed: 1 },
        weeks_drawn: 8,
        seed: 1,
    }
}

/// Releases and deadlines of jobs.
pub(crate) fn slots_of(list: &[Occurrence]) -> Vec<(usize, Option<usize>)> {
    list.iter().map(|occurrence| (occurrence.job.release, occurrence.job.deadline)).collect()
}

#[track_caller]
pub(crate) fn close(one: f64, other: f64) {
    assert!(
        (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0),
        "{one} is not {other}"
    );
}
