//! Carries out a calendar: who leaves which GPUs when, and who may start on them.
//!
//! It compares who should hold each GPU with who does. Whoever must be gone by the start of a window
//! is stopped as long before it as its stop takes; whoever should hold GPUs is started when all of
//! them are free. Between windows GPUs that are lent can be taken back, and lent again.

use std::collections::{BTreeMap, BTreeSet};

use super::preemption::{Victim, choose};
use crate::units::Picoseconds;

/// What a GPU is for. Services and jobs by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Use {
    /// A service: its demand, or a reserve for its bursts.
    Service(u32),
    /// A job, which keeps it to the end of the window.
    Job(u32),
    /// A job, which gives it back when a service asks.
    Lent(u32),
    /// Nobody in particular: a service that is there may stay.
    Idle,
    /// Nobody: the place is maintained.
    Maintenance,
}

/// What the calendar says, and what it must know to keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The start of each window, ascending, and what each GPU is for in it. Before the first one
    /// and from [`Self::ends`] on GPUs are idle.
    pub windows: Vec<(Picoseconds, Vec<Use>)>,
    /// The end of the last window.
    pub ends: Picoseconds,
    /// The services by number.
    pub services: Vec<ServiceTerms>,
    /// The jobs by number.
    pub jobs: Vec<JobTerms>,
    /// Whether jobs run beside a service on the same GPUs. Then the service of this number is on
    /// every GPU that is not maintained, and jobs come and go beside it.
    pub beside: Option<u32>,
}

/// What must be known of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceTerms {
    /// GPUs of one replica; zero counts as one.
    pub replica_gpus: u32,
    /// How long before a window a replica that has no place in it is told.
    pub stop_lead: Picoseconds,
    /// How long before its window a replica is started on GPUs that are free by then.
    pub start_lead: Picoseconds,
}

/// What must be known of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTerms {
    /// The numbers of GPUs on which it can run.
    pub gpus: Vec<u32>,
    /// How long before a window a job that has no place in it is told.
    pub stop_lead: Picoseconds,
}

/// Who holds GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// A replica of a service.
    Service(u32),
    /// A job.
    Job(u32),
}

/// Why somebody is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// Its window ends.
    Calendar,
    /// A service asked for its GPUs back.
    Reclaim,
    /// The place is maintained.
    Maintenance,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The time has come that was asked for.
    Clock,
    /// Whoever has this number has left and its memory is free.
    Gone(u32),
    /// A job has no more work. It leaves by itself, and is never started again.
    Done(u32),
    /// A service asks for so many GPUs back; the jobs that could be stopped, as they stand.
    TakeBack(u32, u32, Vec<Victim>),
    /// A service needs so many of those no more.
    LendAgain(u32, u32),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start somebody on these GPUs under a new number.
    Start {
        /// The number.
        instance: u32,
        /// Who.
        party: Party,
        /// Where; ascending.
        gpus: Vec<u32>,
    },
    /// Stop whoever has this number, and say [`Event::Gone`] when it has left.
    Stop {
        /// The number.
        instance: u32,
        /// Why.
        why: Why,
    },
    /// Send [`Event::Clock`] at this time, at the latest.
    WakeAt(Picoseconds),
}

/// Somebody on GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holding {
    party: Party,
    gpus: Vec<u32>,
    leaving: bool,
    /// Its window has not begun yet.
    is_early: bool,
}

/// The state.
#[derive(Clone, Debug)]
pub struct HandOver {
    terms: Terms,
    gpus: usize,
    /// GPUs of each job in each window.
    places: Vec<BTreeMap<u32, BTreeSet<u32>>>,
    holdings: BTreeMap<u32, Holding>,
    taken: BTreeMap<u32, u32>,
    window: Option<usize>,
    done: BTreeSet<u32>,
    next_instance: u32,
}

impl HandOver {
    /// Nobody holds anything yet. The windows must ascend and have the same number of GPUs each;
    /// GPUs that a window does not name are idle in it.
    pub fn new(terms: Terms) -> Self {
        let gpus = terms.windows.iter().map(|(_, uses)| uses.len()).max().unwrap_or(0);
        let places = terms.windows.iter().map(|(_, uses)| places(uses)).collect();
        Self {
            terms,
            gpus,
            places,
            holdings: BTreeMap::new(),
            taken: BTreeMap::new(),
            window: None,
            done: BTreeSet::new(),
            next_instance: 0,
        }
    }

    /// GPUs that jobs hold as lent and have not been asked back.
    pub fn lent(&self, now: Picoseconds) -> u32 {
        let lent = |gpu: &u32| matches!(self.declared(*gpu, now), Use::Lent(_));
        let held = self.holdings.values().filter(|it| it.is_job() && !it.leaving);
        held.flat_map(|it| &it.gpus)
            .filter(|gpu| lent(gpu) && !self.taken.contains_key(gpu))
            .count() as u32
    }

    /// GPUs that are taken back for a service.
    pub fn taken(&self, service: u32) -> u32 {
        self.taken.values().filter(|by| **by == service).count() as u32
    }

    /// Jobs that could be stopped now for a service that asks: those that hold lent GPUs, with how
    /// many of them are lent.
    pub fn reclaimable(&self, now: Picoseconds) -> Vec<(u32, u32)> {
        let held = self.holdings.values().filter(|holding| !holding.leaving);
        held.filter_map(|holding| {
            let Party::Job(job) = holding.party else { return None };
            let lent = |gpu: &&u32| self.declared(**gpu, now) == Use::Lent(job);
            let gpus = holding.gpus.iter().filter(lent).count() as u32;
            (gpus > 0).then_some((job, gpus))
        })
        .collect()
    }

    /// Takes an event and appends what is to be done.
    pub fn step(&mut self, now: Picoseconds, event: Event, actions: &mut Vec<Action>) {
        self.enter_window(now);
        let mut why = Why::Calendar;
        match event {
            Event::Clock => {}
            Event::Gone(instance) => {
                self.holdings.remove(&instance);
            }
            Event::Done(job) => {
                self.done.insert(job);
                for holding in self.holdings.values_mut().filter(|it| it.party == Party::Job(job)) {
                    holding.leaving = true;
                }
            }
            Event::TakeBack(service, gpus, victims) => {
                self.take_back(now, service, gpus, &victims);
                why = Why::Reclaim;
            }
            Event::LendAgain(service, gpus) => self.lend_again(service, gpus),
        }
        self.arrive(now);
        self.stop(now, why, actions);
        self.start(now, actions);
        if let Some(at) = self.next_look(now) {
            actions.push(Action::WakeAt(at));
        }
    }

    /// What was taken back lasts as long as the same GPU is lent: a new window starts anew.
    fn enter_window(&mut self, now: Picoseconds) {
        let window = self.window_at(now);
        if window != self.window {
            self.window = window;
            let stays: BTreeMap<u32, u32> = std::mem::take(&mut self.taken)
                .into_iter()
                .filter(|(gpu, _)| matches!(self.declared(*gpu, now), Use::Lent(_)))
                .collect();
            self.taken = stays;
        }
    }

    fn take_back(&mut self, now: Picoseconds, service: u32, gpus: u32, victims: &[Victim]) {
        for job in choose(victims, gpus) {
            let holding = self.holdings.values().find(|it| it.party == Party::Job(job));
            let held = holding.map_or_else(Vec::new, |holding| holding.gpus.clone());
            for gpu in held {
                if self.declared(gpu, now) == Use::Lent(job) {
                    self.taken.insert(gpu, service);
                }
            }
        }
    }

    fn lend_again(&mut self, service: u32, gpus: u32) {
        // The last ones first, so that the service keeps its lowest GPUs.
        let mine = self.taken.iter().rev().filter(|(_, by)| **by == service).map(|(gpu, _)| *gpu);
        let given: Vec<u32> = mine.take(gpus as usize).collect();
        for gpu in given {
            self.taken.remove(&gpu);
        }
    }

    fn window_at(&self, at: Picoseconds) -> Option<usize> {
        let behind = self.terms.windows.partition_point(|(start, _)| *start <= at);
        behind.checked_sub(1).filter(|_| at < self.terms.ends)
    }

    /// What the calendar says of a GPU.
    fn declared(&self, gpu: u32, at: Picoseconds) -> Use {
        let window = self.window_at(at).and_then(|window| self.terms.windows.get(window));
        window.and_then(|(_, uses)| uses.get(gpu as usize)).copied().unwrap_or(Use::Idle)
    }

    /// What it is for once what was taken back is counted.
    fn meant(&self, gpu: u32, at: Picoseconds) -> Use {
        let declared = self.declared(gpu, at);
        match (declared, self.taken.get(&gpu)) {
            (Use::Lent(_), Some(service)) => Use::Service(*service),
            _ => declared,
        }
    }

    /// The GPUs of a job at a time; none where it has too few of them to run.
    fn place_of(&self, job: u32, at: Picoseconds) -> BTreeSet<u32> {
        let places = self.window_at(at).and_then(|window| self.places.get(window));
        let Some(declared) = places.and_then(|places| places.get(&job)) else {
            return BTreeSet::new();
        };
        let kept = declared.iter().filter(|gpu| {
            !self.taken.contains_key(gpu) || matches!(self.declared(**gpu, at), Use::Job(_))
        });
        let place: BTreeSet<u32> = kept.copied().collect();
        let count = place.len() as u32;
        let runs = self.terms.jobs.get(job as usize).is_some_and(|it| it.gpus.contains(&count));
        if runs { place } else { BTreeSet::new() }
    }

    /// Whether a replica may stay where it is.
    fn may_stay(&self, service: u32, gpus: &[u32], at: Picoseconds) -> bool {
        gpus.iter().all(|gpu| match self.meant(*gpu, at) {
            Use::Service(holder) => holder == service,
            Use::Idle => true,
            Use::Job(_) | Use::Lent(_) => self.terms.beside == Some(service),
            Use::Maintenance => false,
        })
    }

    fn lead(&self, party: Party) -> Picoseconds {
        let lead = match party {
            Party::Service(service) => {
                self.terms.services.get(service as usize).map(|it| it.stop_lead)
            }
            Party::Job(job) => self.terms.jobs.get(job as usize).map(|it| it.stop_lead),
        };
        lead.unwrap_or_default()
    }

    /// A replica that was started ahead is in its window now, or its window was taken from it.
    fn arrive(&mut self, now: Picoseconds) {
        let is_due = |service: u32, gpus: &[u32]| {
            let ahead = self.terms.services.get(service as usize).map(|it| it.start_lead);
            !self.may_stay(service, gpus, now)
                && self.may_stay(service, gpus, now + ahead.unwrap_or_default())
        };
        let early: BTreeMap<u32, bool> = self
            .holdings
            .iter()
            .filter(|(_, holding)| holding.is_early)
            .map(|(instance, holding)| match holding.party {
                Party::Service(service) => (*instance, is_due(service, &holding.gpus)),
                Party::Job(_) => (*instance, false),
            })
            .collect();
        for (instance, is_early) in early {
            if let Some(holding) = self.holdings.get_mut(&instance) {
                holding.is_early = is_early;
            }
        }
    }

    /// Stops whoever has no place where it is, now or after the time that its stop takes.
    fn stop(&mut self, now: Picoseconds, why: Why, actions: &mut Vec<Action>) {
        let mut stopped = Vec::new();
        for (instance, holding) in self.holdings.iter().filter(|(_, holding)| !holding.leaving) {
            let at = now + self.lead(holding.party);
            let stays = |at| match holding.party {
                Party::Service(_) if holding.is_early => true,
                Party::Service(service) => self.may_stay(service, &holding.gpus, at),
                Party::Job(job) => self.place_of(job, at).iter().eq(&holding.gpus),
            };
            if !stays(now) || !stays(at) {
                let is_maintained =
                    holding.gpus.iter().any(|gpu| self.declared(*gpu, at) == Use::Maintenance);
                let by_calendar = if is_maintained { Why::Maintenance } else { Why::Calendar };
                // A window that ends at the same moment is no reclaim.
                let why = if why == Why::Reclaim && !stays(now) { why } else { by_calendar };
                stopped.push((*instance, why));
            }
        }
        for (instance, why) in stopped {
            if let Some(holding) = self.holdings.get_mut(&instance) {
                holding.leaving = true;
            }
            actions.push(Action::Stop { instance, why });
        }
    }

    /// Starts whoever has a place of which all GPUs are free.
    fn start(&mut self, now: Picoseconds, actions: &mut Vec<Action>) {
        let Some(window) = self.window_at(now) else { return };
        let jobs: Vec<u32> =
            self.places.get(window).map_or_else(Vec::new, |it| it.keys().copied().collect());
        for job in jobs {
            let place = self.place_of(job, now);
            let lasts = place == self.place_of(job, now + self.lead(Party::Job(job)));
            let is_here = self.holdings.values().any(|it| it.party == Party::Job(job));
            let is_free = place.iter().all(|gpu| self.is_free(*gpu, true));
            if !place.is_empty() && lasts && !is_here && is_free && !self.done.contains(&job) {
                self.begin(now, Party::Job(job), place.into_iter().collect(), actions);
            }
        }
        for service in 0..self.terms.services.len() as u32 {
            self.start_replicas(service, now, actions);
        }
    }

    fn start_replicas(&mut self, service: u32, now: Picoseconds, actions: &mut Vec<Action>) {
        let Some(terms) = self.terms.services.get(service as usize) else { return };
        let size = terms.replica_gpus.max(1) as usize;
        let (ahead, then) = (now + terms.start_lead, now + terms.stop_lead);
        let is_beside = self.terms.beside == Some(service);
        let wanted = |gpu: u32, at: Picoseconds| match self.meant(gpu, at) {
            Use::Service(holder) => holder == service,
            Use::Job(_) | Use::Lent(_) => is_beside,
            Use::Idle | Use::Maintenance => false,
        };
        // Ahead of its window it takes no GPU on which somebody else may still be started.
        let early = |gpu: u32| {
            let is_left = match self.meant(gpu, now) {
                Use::Job(job) | Use::Lent(job) => {
                    self.place_of(job, now) != self.place_of(job, now + self.lead(Party::Job(job)))
                }
                Use::Idle => true,
                Use::Service(_) | Use::Maintenance => false,
            };
            is_left && wanted(gpu, ahead)
        };
        let free: Vec<u32> = (0..self.gpus as u32)
            .filter(|gpu| self.is_free(*gpu, false))
            .filter(|gpu| {
                (wanted(*gpu, now) && self.may_stay(service, &[*gpu], then)) || early(*gpu)
            })
            .collect();
        for gpus in free.chunks_exact(size) {
            self.begin(now, Party::Service(service), gpus.to_vec(), actions);
        }
    }

    /// Whether nobody is on a GPU who would be in the way of a job, or of a replica.
    fn is_free(&self, gpu: u32, for_job: bool) -> bool {
        let in_the_way = |holding: &&Holding| {
            let beside = self.terms.beside.is_some() && holding.is_job() != for_job;
            !beside && holding.gpus.contains(&gpu)
        };
        self.holdings.values().find(in_the_way).is_none()
    }

    fn begin(&mut self, now: Picoseconds, party: Party, gpus: Vec<u32>, actions: &mut Vec<Action>) {
        let instance = self.next_instance;
        self.next_instance += 1;
        let is_early = match party {
            Party::Service(service) => !self.may_stay(service, &gpus, now),
            Party::Job(_) => false,
        };
        let holding = Holding { party, gpus: gpus.clone(), leaving: false, is_early };
        self.holdings.insert(instance, holding);
        actions.push(Action::Start { instance, party, gpus });
    }

    /// The next moment at which a window begins, or at which somebody who has no place in it must be
    /// told.
    fn next_look(&self, now: Picoseconds) -> Option<Picoseconds> {
        let services = self.terms.services.iter().flat_map(|it| [it.stop_lead, it.start_lead]);
        let leads: BTreeSet<Picoseconds> = self
            .terms
            .jobs
            .iter()
            .map(|it| it.stop_lead)
            .chain(services)
            .chain([Picoseconds::ZERO])
            .collect();
        let longest = leads.last().copied().unwrap_or_default();
        let first = self.terms.windows.partition_point(|(start, _)| *start <= now);
        let starts = self.terms.windows.iter().skip(first).map(|(start, _)| *start);
        let mut next: Option<Picoseconds> = None;
        for start in starts.chain([self.terms.ends]).filter(|start| *start > now) {
            if next.is_some_and(|next| start - longest > next) {
                break;
            }
            let looks = leads.iter().map(|lead| start - *lead).filter(|look| *look > now);
            next = looks.chain(next).min();
        }
        next
    }
}

impl Holding {
    fn is_job(&self) -> bool {
        matches!(self.party, Party::Job(_))
    }
}

/// The GPUs of each job in a window.
fn places(uses: &[Use]) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut places: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (gpu, holder) in (0_u32..).zip(uses) {
        if let Use::Job(job) | Use::Lent(job) = holder {
            places.entry(*job).or_default().insert(gpu);
        }
    }
    places
}
