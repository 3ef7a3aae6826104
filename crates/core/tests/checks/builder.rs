//! Sites made by hand, with nothing declared that a test does not say.

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::plan::{Check, Outcome, checks};
use cotenant_core::site::{
    Demand, FigureOrigin, HostCpu, Inference, InferenceObjectives, MemoryNeed, NeighbourPriority,
    Operations, Render, Server, Sharing, SharingMode, Site, SiteKind, TimeSlicing, Training,
    Workload, WorkloadKind,
};
use cotenant_core::units::{Bytes, RatePerSecond, Share, parse_duration};

pub(crate) fn bytes(text: &str) -> Bytes {
    Bytes::parse(text).unwrap()
}

pub(crate) fn duration(text: &str) -> Duration {
    parse_duration(text).unwrap()
}

pub(crate) fn share(text: &str) -> Share {
    Share::parse(text).unwrap()
}

/// Memory of which nothing is known yet.
pub(crate) const MEMORY: MemoryNeed = MemoryNeed {
    origin: FigureOrigin::Declared,
    weights: None,
    kv: None,
    workspace: None,
    graphs: None,
    peak: None,
    fraction_of_total: None,
    host: None,
    processes: None,
    sleep_level: None,
    checkpoint_transient: None,
};

pub(crate) fn workload(name: &str, kind: WorkloadKind, memory: Option<MemoryNeed>) -> Workload {
    Workload {
        name: name.to_owned(),
        kind,
        owner: None,
        model: None,
        weight: None,
        faults: None,
        memory,
        allocation: None,
        priority: None,
        limits: None,
        on_out_of_memory: None,
        classes: Vec::new(),
    }
}

pub(crate) fn inference() -> Inference {
    Inference {
        runtime: Some("vllm".to_owned()),
        version: Some("0.11.0".to_owned()),
        arguments: Vec::new(),
        endpoint: "http://127.0.0.1:8000".to_owned(),
        metrics_endpoint: None,
        launch: None,
        sleep: None,
        demand: Demand::Poisson { rate: RatePerSecond::new(2.0, "req") },
        concurrency: None,
        prompt_tokens: None,
        output_tokens: None,
        peak_rate: None,
        objectives: InferenceObjectives::default(),
        capacity: None,
        service_time: None,
        minimum_reserved: None,
        burst_reserve: None,
        guard: None,
    }
}

/// A workload that serves.
pub(crate) fn serving(name: &str, memory: MemoryNeed) -> Workload {
    workload(name, WorkloadKind::Inference(Box::new(inference())), Some(memory))
}

/// A workload that trains.
pub(crate) fn trainer(name: &str, memory: MemoryNeed, training: Training) -> Workload {
    workload(name, WorkloadKind::Training(Box::new(training)), Some(memory))
}

/// A workload that renders.
pub(crate) fn renderer(name: &str, render: Render, memory: MemoryNeed) -> Workload {
    workload(name, WorkloadKind::Render(Box::new(render)), Some(memory))
}

pub(crate) fn render() -> Render {
    Render::default()
}

/// A server with GPUs of a model that the catalogue does not know.
pub(crate) fn server(gpu_count: u32, gpu_memory: &str) -> Server {
    Server {
        gpu: Some("a model of the future".to_owned()),
        gpu_count,
        gpu_memory: Some(bytes(gpu_memory)),
        ..Server::default()
    }
}

pub(crate) fn site(server: Server, workloads: Vec<Workload>, mode: SharingMode) -> Site {
    Site {
        name: "made".to_owned(),
        time_zone: jiff::tz::TimeZone::UTC,
        as_of: None,
        kind: SiteKind::Server(Box::new(server)),
        workloads,
        sharing: Sharing {
            mode,
            versions: BTreeMap::new(),
            mps_server_per_gpu: None,
            caps: std::collections::BTreeMap::new(),
            saturating_load: None,
        },
        operations: Operations::default(),
    }
}

/// Everybody on every GPU at once.
pub(crate) fn sliced() -> SharingMode {
    SharingMode::TimeSlicing(TimeSlicing::default())
}

pub(crate) fn host_cpu() -> SharingMode {
    SharingMode::HostCpu(HostCpu {
        neighbour_priority: NeighbourPriority::Normal,
        affinity: BTreeMap::new(),
    })
}

/// The checks of a site with this key, printed so that a failing test shows them.
pub(crate) fn with_key(site: &Site, key: &str) -> Vec<Check> {
    let found: Vec<Check> = checks(site).into_iter().filter(|check| check.key == key).collect();
    for check in &found {
        println!("{} {}: {}", check.outcome.name(), check.title, check.answer);
        check.arithmetic.iter().for_each(|line| println!("    {line}"));
        check.would_be_conditional_on.iter().for_each(|line| println!("    if: {line}"));
        check.missing.iter().for_each(|line| println!("    missing: {line}"));
    }
    found
}

/// The only check with this key.
pub(crate) fn only(site: &Site, key: &str) -> Check {
    let mut found = with_key(site, key);
    assert_eq!(found.len(), 1, "{key}: {found:#?}");
    found.remove(0)
}

pub(crate) fn outcome(site: &Site, key: &str) -> Outcome {
    only(site, key).outcome
}

/// Some line of the arithmetic has all of these words.
#[track_caller]
pub(crate) fn assert_line(lines: &[String], words: &[&str]) {
    let found = lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(found, "no line has {words:?} in {lines:#?}");
}
