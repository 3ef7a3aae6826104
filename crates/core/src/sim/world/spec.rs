//! What a world is made of.

use crate::policy::{admission, hand_over, reclaim};
use crate::sim::job::JobSpec;
use crate::sim::transition::Transition;
use crate::units::Picoseconds;

/// A place, who works there, and for how long it is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSpec {
    /// The calendar, and what must be known to keep it. Its services and jobs are those below, in
    /// the same order.
    pub terms: hand_over::Terms,
    /// The services.
    pub services: Vec<ServiceSpec>,
    /// The jobs.
    pub jobs: Vec<JobSpec>,
    /// Whom a job slows down, and who slows it.
    pub reach: Reach,
    /// The end of the simulated time. What happens at this moment still counts.
    pub until: Picoseconds,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// How far a neighbour reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nobody slows anybody.
    Nowhere,
    /// Those on the same GPU.
    SameGpu,
    /// Everybody on the machine: over the host's cores, memory and links.
    SameHost,
}

/// An inference service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceSpec {
    /// Its name.
    pub name: String,
    /// What a replica needs from its GPUs to the first request.
    pub up: Transition,
    /// What it needs from its last request to memory really free.
    pub down: Transition,
    /// How long running requests may take to finish before they begin again elsewhere.
    pub drain_max: Picoseconds,
    /// What is asked of it.
    pub demand: Demand,
    /// When it asks lent GPUs back; `None` where it never does.
    pub reclaim: Option<reclaim::Rule>,
    /// The queue before its replicas; `None` sends each request on as it comes.
    pub admission: Option<Queue>,
}

/// The queue before the replicas of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its bounds.
    pub limits: admission::Limits,
    /// Requests in flight for each replica that serves.
    pub in_flight_per_replica: u64,
}

/// What is asked of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Requests. How full its replicas are is looked at each so often.
    Requests(Picoseconds),
    /// Replicas that it needs, in millionths: from each moment on, ascending.
    Replicas(Vec<(Picoseconds, u64)>),
}

impl WorldSpec {
    /// One job beside the replicas of one service on the same GPUs from beginning to end, as in a test
    /// of both together: the service has a replica on each `replica_gpus` of the job's GPUs. Whether
    /// they slow each other is said by the replica's steps and the job's `beside_ppm`.
    pub fn together(
        service: ServiceSpec,
        replica_gpus: u32,
        job: JobSpec,
        gpus: u32,
        until: Picoseconds,
        seed: u64,
    ) -> Self {
        let none = Picoseconds::ZERO;
        let terms = hand_over::Terms {
            windows: vec![(none, vec![hand_over::Use::Lent(0); gpus as usize])],
            ends: Picoseconds::MAX,
            services: vec![hand_over::ServiceTerms {
                replica_gpus,
                stop_lead: none,
                start_lead: none,
            }],
            jobs: vec![hand_over::JobTerms { gpus: vec![gpus], stop_lead: none }],
            beside: Some(0),
        };
        let (services, jobs) = (vec![service], vec![job]);
        Self { terms, services, jobs, reach: Reach::SameHost, until, seed }
    }
}
