//! A question whose parts are changed one by one.

use std::time::Duration;

use cotenant_core::demand::{Series, WorkUnit};
use cotenant_core::evidence::Origin;
use cotenant_core::plan::{Grid, InferencePlan, ReserveQuestion, WindowNeed, plan_reserve};
use cotenant_core::site::{
    Demand, FigureOrigin, Inference, InferenceObjectives, ReplicaCapacity, Workload, WorkloadKind,
};
use jiff::civil::date;
use jiff::tz::TimeZone;

/// 2026-06-01 is a Monday.
pub(crate) const MONDAY: &str = "2026-06-01T00:00:00Z";

pub(crate) fn inference(capacity: Option<ReplicaCapacity>) -> Inference {
    Inference {
        runtime: None,
        version: None,
        arguments: Vec::new(),
        endpoint: "http://127.0.0.1:8000".to_owned(),
        metrics_endpoint: None,
        launch: None,
        sleep: None,
        demand: Demand::SavedQuery("demand.json".to_owned()),
        concurrency: None,
        prompt_tokens: None,
        output_tokens: None,
        peak_rate: None,
        objectives: InferenceObjectives::default(),
        capacity,
        service_time: None,
        minimum_reserved: None,
        burst_reserve: None,
        guard: None,
    }
}

pub(crate) fn workload(inference: &Inference) -> Workload {
    Workload {
        name: "chat".to_owned(),
        kind: WorkloadKind::Inference(Box::new(inference.clone())),
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

/// One GPU carries `in_flight` requests.
pub(crate) fn capacity(in_flight: f64) -> ReplicaCapacity {
    ReplicaCapacity {
        gpus: 1.0,
        origin: FigureOrigin::Measured,
        requests: None,
        requests_in_flight: Some(in_flight),
        kv_tokens: None,
        prefill: None,
        output: None,
    }
}

pub(crate) fn series(unit: WorkUnit, start: &str, step_s: u64, values: Vec<Option<f64>>) -> Series {
    let step = Duration::from_secs(step_s);
    Series { unit, start: start.parse().unwrap(), step, values, resolution: step }
}

pub(crate) fn in_flight(step_s: u64, values: impl IntoIterator<Item = f64>) -> Series {
    let values = values.into_iter().map(Some).collect();
    series(WorkUnit::RequestsInFlight, MONDAY, step_s, values)
}

/// A site of one zone: what is asked is changed field by field.
pub(crate) struct Case {
    pub(crate) workload: Workload,
    pub(crate) inference: Inference,
    pub(crate) series: Vec<Series>,
    pub(crate) grid: Grid,
    pub(crate) reclaim_s: Option<u64>,
    pub(crate) risk: Option<f64>,
    pub(crate) gpus: u32,
    pub(crate) back: Duration,
}

impl Case {
    pub(crate) fn new(series: Vec<Series>, capacity: Option<ReplicaCapacity>) -> Self {
        let inference = inference(capacity);
        Self {
            workload: workload(&inference),
            inference,
            series,
            grid: Grid::new(TimeZone::UTC, date(2026, 7, 6), 7, 60).unwrap(),
            reclaim_s: Some(120),
            risk: Some(0.05),
            gpus: 1_000_000,
            back: Duration::ZERO,
        }
    }

    pub(crate) fn question(&self) -> ReserveQuestion<'_> {
        ReserveQuestion {
            workload: &self.workload,
            inference: &self.inference,
            series: &self.series,
            grid: &self.grid,
            reclaim_time: self.reclaim_s.map(|s| (Duration::from_secs(s), Origin::Measured)),
            risk_tolerance: self.risk,
            gpus: self.gpus,
            transition_back: self.back,
        }
    }

    pub(crate) fn plan(&self) -> InferencePlan {
        plan_reserve(&self.question()).unwrap()
    }
}

pub(crate) fn gpus(need: &WindowNeed) -> (u32, u32, u32) {
    (need.reserved, need.hot, need.lent)
}

pub(crate) fn says(plan: &InferencePlan, part: &str) -> bool {
    plan.remarks.iter().any(|remark| remark.contains(part))
}

/// Sixty steps of a minute an hour: 10, but for a burst to 14 and on to 17 in minutes 30 to 33.
pub(crate) fn burst_hour() -> Vec<f64> {
    let mut hour = vec![10.0; 60];
    hour[30..34].copy_from_slice(&[14.0, 15.0, 17.0, 12.0]);
    hour
}
