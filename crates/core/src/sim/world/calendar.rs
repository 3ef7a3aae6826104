//! From the calendar of a plan to what the hand-over carries out.

use jiff::Timestamp;

use crate::plan::{self, Calendar, Holder};
use crate::policy::hand_over::{JobTerms, ServiceTerms, Terms, Use};
use crate::units::Picoseconds;

/// A plan's calendar on the simulator's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPlace {
    /// What is carried out.
    pub terms: Terms,
    /// The instant at which the simulated time begins.
    pub begins: Timestamp,
    /// The names of the services by number.
    pub services: Vec<String>,
    /// The names of the jobs by number.
    pub jobs: Vec<String>,
}

/// Time from one instant to another; none where it lies before.
pub fn time_in(begins: Timestamp, at: Timestamp) -> Picoseconds {
    let duration = at.duration_since(begins);
    std::time::Duration::try_from(duration).map_or(Picoseconds::ZERO, Picoseconds::from_duration)
}

/// The calendar of a plan. The services' terms stand in the order of its inference workloads, the
/// jobs' are made from the jobs of its problem. `None` where it has no window.
pub fn calendar_terms(
    calendar: &Calendar,
    services: Vec<ServiceTerms>,
    jobs: &[plan::Job],
) -> Option<PlannedPlace> {
    let begins = calendar.grid.windows.first()?.start;
    let ends = time_in(begins, calendar.grid.windows.last()?.end);
    let inference = calendar.tenants.iter().filter(|it| it.kind == "inference").count() as u32;
    let mut windows: Vec<(Picoseconds, Vec<Use>)> = Vec::new();
    for (window, holders) in calendar.grid.windows.iter().zip(&calendar.holders) {
        let uses: Vec<Use> = holders.iter().map(|holder| use_of(*holder, inference)).collect();
        // Windows in which nothing changes are one.
        if windows.last().is_none_or(|(_, before)| *before != uses) {
            windows.push((time_in(begins, window.start), uses));
        }
    }
    let names = |of_jobs: bool| {
        let tenants = calendar.tenants.iter();
        tenants.filter(|it| (it.kind != "inference") == of_jobs).map(|it| it.name.clone()).collect()
    };
    let jobs = jobs.iter().map(job_terms).collect();
    let terms = Terms { windows, ends, services, jobs, beside: None };
    Some(PlannedPlace { terms, begins, services: names(false), jobs: names(true) })
}

fn use_of(holder: Holder, inference: u32) -> Use {
    match holder {
        Holder::Inference(tenant) | Holder::HotReserve(tenant) => Use::Service(tenant),
        Holder::Job(tenant) => Use::Job(tenant.saturating_sub(inference)),
        Holder::Lent(tenant) => Use::Lent(tenant.saturating_sub(inference)),
        Holder::Idle => Use::Idle,
        Holder::Maintenance => Use::Maintenance,
    }
}

fn job_terms(job: &plan::Job) -> JobTerms {
    JobTerms {
        gpus: job.modes.iter().map(|mode| mode.gpus).collect(),
        stop_lead: Picoseconds::from_seconds(job.stop_hours * 3600.0),
    }
}
