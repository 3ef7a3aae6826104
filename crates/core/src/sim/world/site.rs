//! From a site and its plan to a world.

use jiff::Timestamp;

use super::calendar::{calendar_terms, time_in};
use super::spec::{Demand, Reach, ServiceSpec, WorldSpec};
use crate::plan::{Plan, jobs};
use crate::policy::hand_over::ServiceTerms;
use crate::policy::reclaim;
use crate::sim::job::{JobSpec, ONE_PPM};
use crate::sim::transition::{Drilled, StepKind, Transition};
use crate::site::{SharingMode, Site, TransitionStep, TransitionStepKind};
use crate::units::Picoseconds;

/// How long running requests may take to finish where a site says nothing.
const DRAIN_MAX: Picoseconds = Picoseconds(60 * Picoseconds::SECOND.0);

/// The world of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedWorld {
    /// The world.
    pub spec: WorldSpec,
    /// The instant at which its time begins.
    pub begins: Timestamp,
    /// What was assumed for want of a declaration or a drill, as sentences.
    pub assumed: Vec<String>,
}

/// What a world is made from beside the site and the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions<'a> {
    /// What is asked of each inference workload, in the order of the plan's reserves.
    pub demands: Vec<Demand>,
    /// What drills have shown.
    pub drilled: &'a Drilled,
    /// When lent GPUs are asked back; `None` where they never are.
    pub reclaim: Option<reclaim::Rule>,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// The world in which a plan's calendar is carried out.
///
/// # Errors
/// Why there is none: the plan has no calendar, or is not this site's.
pub fn planned_world(
    site: &Site,
    plan: &Plan,
    conditions: Conditions<'_>,
) -> Result<PlannedWorld, String> {
    let calendar = plan.calendar.as_ref().ok_or("the plan has no calendar to carry out")?;
    let occurrences = jobs(site, &calendar.grid).occurrences;
    if occurrences.len() + plan.reserves.len() != calendar.tenants.len()
        || conditions.demands.len() != plan.reserves.len()
    {
        return Err("the plan is of another site, or a demand is missing".to_owned());
    }
    let mut assumed = Vec::new();
    let services: Vec<ServiceSpec> = plan
        .reserves
        .iter()
        .zip(conditions.demands)
        .map(|(reserve, demand)| {
            let (up, down) = changes(site, conditions.drilled, &mut assumed);
            ServiceSpec {
                name: reserve.workload.clone(),
                up,
                down,
                drain_max: drain_max(site),
                demand,
                reclaim: conditions.reclaim,
                admission: None,
            }
        })
        .collect();
    let terms = plan.reserves.iter().zip(&services).map(|(reserve, service)| ServiceTerms {
        replica_gpus: reserve.replica_gpus.ceil().max(1.0) as u32,
        stop_lead: Picoseconds::ZERO,
        start_lead: service.up.time_max(),
    });
    let planned: Vec<_> = occurrences.iter().map(|it| it.job.clone()).collect();
    let place = calendar_terms(calendar, terms.collect(), &planned);
    let mut place = place.ok_or("the calendar has no window")?;
    let (reach, is_beside) = sharing(&site.sharing.mode);
    place.terms.beside = (is_beside && !services.is_empty()).then_some(0);
    let engine = engine_part(site);
    let mut specs = Vec::new();
    for occurrence in &occurrences {
        let workload = site.workload(&occurrence.job.workload);
        let workload =
            workload.ok_or_else(|| format!("no workload {}", occurrence.job.workload))?;
        let deadline = occurrence.deadline.map(|at| time_in(place.begins, at));
        let (job, said) = JobSpec::of_site(workload, occurrence, deadline, engine);
        assumed.extend(said);
        specs.push(job);
    }
    assumed.sort();
    assumed.dedup();
    let until = place.terms.ends;
    let (terms, seed) = (place.terms, conditions.seed);
    let spec = WorldSpec { terms, services, jobs: specs, reach, until, seed };
    Ok(PlannedWorld { spec, begins: place.begins, assumed })
}

/// How far a neighbour reaches in a mode of sharing, and whether it is on the same GPUs.
fn sharing(mode: &SharingMode) -> (Reach, bool) {
    match mode {
        SharingMode::Mps(_) | SharingMode::TimeSlicing(_) => (Reach::SameGpu, true),
        SharingMode::HostCpu(_) => (Reach::SameHost, true),
        SharingMode::WholeGpu(_)
        | SharingMode::Mig(_)
        | SharingMode::Temporal(_)
        | SharingMode::CandidatesAll => (Reach::SameHost, false),
    }
}

/// How a replica comes and goes: as drills have shown, else as declared.
fn changes(site: &Site, drilled: &Drilled, assumed: &mut Vec<String>) -> (Transition, Transition) {
    let declared = site.operations.transition.as_ref();
    let mut read = |steps: Option<&Vec<TransitionStep>>, field: &str| {
        let steps = steps.map_or(&[][..], Vec::as_slice);
        match Transition::of_site(steps) {
            Ok(transition) if !transition.steps.is_empty() => transition,
            read => {
                let open = read.err().unwrap_or_default();
                let names: Vec<&str> = open.iter().map(|kind| kind.name()).collect();
                let of = if names.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", names.join(", "))
                };
                assumed.push(format!(
                    "an engine changes hands in no time: `operations.transition.{field}` declares no \
                     time of its steps{of}"
                ));
                Transition::default()
            }
        }
    };
    let up = drilled.to_inference();
    let up = up.unwrap_or_else(|| read(declared.map(|it| &it.to_inference), "to_inference"));
    let down = read(declared.map(|it| &it.to_training), "to_training");
    (up, down)
}

/// The engine's part of the declared steps to a job and back, the drain included.
fn engine_part(site: &Site) -> (Picoseconds, Picoseconds) {
    let part = |steps: &[TransitionStep]| {
        let of_engine = steps.iter().filter(|step| !StepKind::from(step.kind).is_of_job());
        of_engine.filter_map(|step| step.duration).map(Picoseconds::from_duration).sum()
    };
    let declared = site.operations.transition.as_ref();
    declared.map_or_else(Default::default, |it| (part(&it.to_training), part(&it.to_inference)))
}

/// How long running requests may take to finish.
fn drain_max(site: &Site) -> Picoseconds {
    let steps = site.operations.transition.as_ref().map(|transition| &transition.to_training);
    let drain = steps.and_then(|steps| {
        steps.iter().find(|step| StepKind::from(step.kind) == TransitionStepKind::Drain.into())
    });
    drain.and_then(|step| step.duration).map_or(DRAIN_MAX, Picoseconds::from_duration)
}

/// Demand in replicas from GPUs that are needed: from each instant on, ascending. What lies before
/// the simulated time stands at its beginning.
pub fn demand_of_gpus(begins: Timestamp, needs: &[(Timestamp, f64)], replica_gpus: f64) -> Demand {
    let level = |(at, gpus): &(Timestamp, f64)| {
        let replicas = (gpus / replica_gpus.max(f64::MIN_POSITIVE)).max(0.0);
        (time_in(begins, *at), (replicas * ONE_PPM as f64).round() as u64)
    };
    Demand::Replicas(needs.iter().map(level).collect())
}
