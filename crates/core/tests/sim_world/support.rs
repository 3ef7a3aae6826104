//! Small places.

use cotenant_core::evidence::Origin;
use cotenant_core::policy::hand_over::{JobTerms, ServiceTerms, Terms, Use};
use cotenant_core::sim::job::{Every, JobSpec, ONE_PPM, Pace, Saving, Stop};
use cotenant_core::sim::transition::{StepKind, Transition};
use cotenant_core::sim::world::{Demand, Reach, ServiceSpec, WorldSpec};
use cotenant_core::units::Picoseconds;

pub(crate) fn seconds(seconds: u64) -> Picoseconds {
    Picoseconds::SECOND * seconds
}

/// A job of steps of 10 s on one GPU and 5 s on two, saved each 100 s for 4 s; start 20 s, exit 2 s.
pub(crate) fn job(name: &str, units: u64) -> JobSpec {
    JobSpec {
        name: name.into(),
        units: Some(units),
        paces: vec![Pace { gpus: 1, unit: seconds(10) }, Pace { gpus: 2, unit: seconds(5) }],
        shape_ppm: Vec::new(),
        saving: Saving::Blocking { every: Every::Time(seconds(100)), cost: seconds(4) },
        start: seconds(20),
        stop: Stop { finishes_unit: true, saves: true, notice: None, exit: seconds(2) },
        mean_time_to_loss: None,
        deadline: None,
        priority: 0,
        beside_ppm: ONE_PPM,
    }
}

/// A service of replicas on one GPU: 30 s to come, 3 s to go.
pub(crate) fn service(demand: Demand) -> ServiceSpec {
    ServiceSpec {
        name: "chat".into(),
        up: Transition::of(StepKind::EngineWake, seconds(30), Origin::Assumed),
        down: Transition::of(StepKind::EngineSleep, seconds(3), Origin::Assumed),
        drain_max: seconds(60),
        demand,
        reclaim: None,
        admission: None,
    }
}

/// A place with one service and some jobs, each of which stops in time before its window ends.
pub(crate) fn place(
    windows: &[(u64, Vec<Use>)],
    until_s: u64,
    service: ServiceSpec,
    jobs: Vec<JobSpec>,
) -> WorldSpec {
    let gpus = |job: &JobSpec| job.paces.iter().map(|pace| pace.gpus).collect();
    WorldSpec {
        terms: Terms {
            windows: windows.iter().map(|(at, uses)| (seconds(*at), uses.clone())).collect(),
            ends: seconds(until_s + 1000),
            services: vec![ServiceTerms {
                replica_gpus: 1,
                stop_lead: Picoseconds::ZERO,
                start_lead: seconds(30),
            }],
            jobs: jobs
                .iter()
                .map(|job| JobTerms { gpus: gpus(job), stop_lead: seconds(50) })
                .collect(),
            beside: None,
        },
        services: vec![service],
        jobs,
        reach: Reach::Nowhere,
        until: seconds(until_s),
        seed: 7,
    }
}
