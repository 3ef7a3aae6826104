//! One place in one clock: replicas that serve, jobs that work, changes of hands, a calendar, and
//! the machines of [`crate::policy`] that decide.
//!
//! Everything that happens has a place in one total order: first its time, then its kind in the
//! order of [`Kind`], then its number. The same spec and the same requests give the same outcome.

mod calendar;
mod engine;
mod events;
mod hold;
mod outcome;
mod service;
mod serving;
mod site;
mod spec;
mod state;
mod weeks;

pub use calendar::{PlannedPlace, calendar_terms, time_in};
pub use engine::{EngineReplica, Shared, Steps};
pub use events::Kind;
pub use outcome::{GpuTime, JobOutcome, Outcome, ReclaimOutcome, ServiceOutcome};
pub use serving::{Arrival, Load, Neighbour, Nobody, Serving};
pub use site::{Conditions, PlannedWorld, demand_of_gpus, planned_world};
pub use spec::{Demand, Queue, Reach, ServiceSpec, WorldSpec};
pub use state::{World, carry_out};
pub use weeks::{SimulatedJob, SimulatedPlan, SimulatedService, simulate_calendar, simulate_weeks};
