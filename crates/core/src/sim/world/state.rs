//! The world as it stands, and what each thing that happens does to it.

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

use super::events::{Happening, Kind};
use super::hold::Hold;
use super::outcome::{GpuTime, JobOutcome, Outcome, ReclaimOutcome};
use super::service::Service;
use super::serving::{Arrival, Neighbour, Nobody, Serving};
use super::spec::{Demand, Reach, WorldSpec};
use crate::policy::hand_over::{Action, Event, HandOver, Party, Why};
use crate::policy::preemption::Victim;
use crate::policy::{admission, reclaim};
use crate::sim::job::{JobRun, Phase};
use crate::units::Picoseconds;

/// So many things at one moment are taken for a circle that never ends.
const AT_ONCE_MAX: u64 = 1_000_000;

/// Where a replica stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    Off,
    Coming,
    Up,
    Draining,
    Leaving,
}

/// A replica, which may be away and come again.
pub(super) struct Slot<S> {
    pub(super) service: usize,
    pub(super) serving: S,
    pub(super) state: SlotState,
    pub(super) instance: u32,
    pub(super) gpus: Vec<u32>,
    pub(super) since: Picoseconds,
    pub(super) until: Option<Picoseconds>,
    pub(super) neighbour: Neighbour,
}

impl<S: Serving> Slot<S> {
    /// Whether it is to go and has nothing to do any more.
    pub(super) fn is_drained(&self) -> bool {
        let load = self.serving.load();
        self.state == SlotState::Draining && load.running + load.waiting == 0
    }
}

/// A job in the world.
pub(super) struct JobSlot {
    pub(super) run: JobRun,
    pub(super) instance: Option<u32>,
    pub(super) gpus: Vec<u32>,
    pub(super) loss_at: Option<Picoseconds>,
    pub(super) random: Pcg64,
    is_done: bool,
}

/// A place in one clock. `S` simulates a replica, `A` brings the requests in the order of their
/// times, `F` makes a replica of a service.
pub struct World<S: Serving, A, F> {
    pub(super) spec: WorldSpec,
    pub(super) now: Picoseconds,
    pub(super) hand_over: HandOver,
    pub(super) calendar_at: Option<Picoseconds>,
    pub(super) services: Vec<Service<S::Request>>,
    pub(super) slots: Vec<Slot<S>>,
    pub(super) jobs: Vec<JobSlot>,
    pub(super) arrival: Option<Arrival<S::Request>>,
    arrivals: A,
    make: F,
    hold: Hold,
    reclaims: Vec<ReclaimOutcome>,
    /// Places in `reclaims` of those of which not all was seen.
    open: Vec<usize>,
    pub(super) random: Pcg64,
    /// Whether a replica has changed its state since it was last looked at who slows whom.
    pub(super) is_moved: bool,
    events: u64,
}

/// Carries a calendar out whose services state their demand in replicas.
pub fn carry_out(spec: WorldSpec) -> Outcome {
    World::new(spec, std::iter::empty(), |_| Nobody).run().0
}

impl<S, A, F> World<S, A, F>
where
    S: Serving,
    A: Iterator<Item = Arrival<S::Request>>,
    F: FnMut(u32) -> S,
{
    /// A place at its start, with nobody on its GPUs. Requests must come in the order of their
    /// times; one that is late counts as arriving now.
    pub fn new(spec: WorldSpec, mut arrivals: A, make: F) -> Self {
        let gpus = spec.terms.windows.iter().map(|(_, uses)| uses.len()).max().unwrap_or(0);
        let job = |(number, job): (usize, &crate::sim::job::JobSpec)| JobSlot {
            run: JobRun::new(job.clone()),
            instance: None,
            gpus: Vec::new(),
            loss_at: None,
            // Each job draws its own losses, so that a change of another one moves none of them.
            random: Pcg64::seed_from_u64(spec.seed ^ (number as u64 + 1).rotate_left(32)),
            is_done: false,
        };
        let services: Vec<_> = spec.services.iter().cloned().map(Service::new).collect();
        Self {
            now: Picoseconds::ZERO,
            hand_over: HandOver::new(spec.terms.clone()),
            calendar_at: Some(Picoseconds::ZERO),
            services,
            slots: Vec::new(),
            jobs: spec.jobs.iter().enumerate().map(job).collect(),
            arrival: arrivals.next(),
            arrivals,
            make,
            hold: Hold::new(gpus),
            reclaims: Vec::new(),
            open: Vec::new(),
            random: Pcg64::seed_from_u64(spec.seed),
            is_moved: false,
            events: 0,
            spec,
        }
    }

    /// Goes on to the end. The replicas come back with whatever they have seen, each with the number
    /// of its service.
    pub fn run(mut self) -> (Outcome, Vec<(u32, S)>) {
        let (mut at_once, mut stuck_at) = (0, None);
        while let Some(next) = self.next_happening().filter(|next| next.0 <= self.spec.until) {
            at_once = if next.0 > self.now { 0 } else { at_once + 1 };
            if at_once > AT_ONCE_MAX {
                stuck_at = Some(self.now);
                break;
            }
            self.now = self.now.max(next.0);
            self.events += 1;
            self.happen(next);
        }
        self.now = stuck_at.unwrap_or(self.spec.until);
        self.end(stuck_at)
    }

    fn happen(&mut self, (_, kind, number): Happening) {
        match kind {
            Kind::Replica => self.replica(number),
            Kind::Job => {
                self.jobs[number].run.advance(self.now);
                self.look_at_job(number);
            }
            Kind::Change => self.change(number),
            Kind::Loss => self.lose(number),
            Kind::Calendar => self.calendar(),
            Kind::Demand => {
                self.services[number].accrue(self.now);
                self.services[number].take_demand();
                self.press(number);
            }
            Kind::Reclaim => {
                self.services[number].reclaim_at = None;
                self.tell_reclaim(number, reclaim::Event::Clock);
            }
            Kind::Queue => {
                self.services[number].queue_at = None;
                self.tell_queue(number, admission::Event::Clock);
            }
            Kind::Begin => {
                self.slots[number].serving.begin(self.now);
                self.count_finished(number);
            }
            Kind::Arrival => self.arrive(),
            Kind::Sample => {
                if let Demand::Requests(each) = self.services[number].spec.demand {
                    self.services[number].sample_at = Some(self.now + each.max(Picoseconds(1)));
                }
                self.press(number);
            }
        }
        // A replica that came or went has changed how hard its service is pressed.
        for number in 0..self.services.len() {
            if std::mem::take(&mut self.services[number].is_pressed_anew) {
                self.press(number);
            }
        }
        // What one does to the other changes when somebody comes, goes, or does something else.
        let is_moved = std::mem::take(&mut self.is_moved);
        if is_moved || matches!(kind, Kind::Job | Kind::Loss | Kind::Calendar | Kind::Reclaim) {
            self.refresh_neighbours();
        }
    }

    fn calendar(&mut self) {
        self.calendar_at = None;
        self.tell_hand_over(Event::Clock);
        // What was asked back and is no longer held as such will not be seen to become ready.
        let (reclaims, hand_over) = (&self.reclaims, &self.hand_over);
        self.open.retain(|place| hand_over.taken(reclaims[*place].service) > 0);
        for service in 0..self.services.len() {
            self.press(service);
        }
    }

    fn arrive(&mut self) {
        let next = self.arrivals.next();
        let Some(arrival) = std::mem::replace(&mut self.arrival, next) else { return };
        let number = arrival.service as usize;
        let Some(service) = self.services.get_mut(number) else { return };
        service.outcome.arrived += 1;
        if service.admission.is_none() {
            return self.route(number, arrival.request);
        }
        let id = arrival.ticket.id;
        // A number that is taken is refused, and the request that had it first keeps its place.
        service.waiting.entry(id).or_insert(arrival.request);
        self.tell_queue(number, admission::Event::Arrived(arrival.ticket));
        let service = &mut self.services[number];
        if !service.admission.as_ref().is_some_and(|queue| queue.is_waiting(id)) {
            service.waiting.remove(&id);
        }
    }

    /// Tells the admission queue of a service, and does what it says.
    pub(super) fn tell_queue(&mut self, number: usize, event: admission::Event) {
        let service = &mut self.services[number];
        let Some(queue) = &mut service.admission else { return };
        let mut actions = Vec::new();
        queue.step(self.now, event, &mut actions);
        for action in actions {
            let service = &mut self.services[number];
            match action {
                admission::Action::Dispatch(id) => {
                    if let Some(request) = service.waiting.remove(&id) {
                        self.route(number, request);
                    }
                }
                admission::Action::Refuse(id, why) => {
                    if why != admission::Refusal::Duplicate {
                        service.waiting.remove(&id);
                    }
                    *service.outcome.refused.entry(why).or_default() += 1;
                }
                admission::Action::WakeAt(at) => service.queue_at = Some(at),
            }
        }
    }

    /// How hard a service is pressed, and what its rule makes of it.
    pub(super) fn press(&mut self, number: usize) {
        if self.services[number].reclaim.is_none() {
            return;
        }
        let pressure = self.pressure(number);
        let lent = self.hand_over.lent(self.now);
        let taken = self.hand_over.taken(number as u32);
        self.tell_reclaim(number, reclaim::Event::Taken(taken));
        self.tell_reclaim(number, reclaim::Event::Lent(lent));
        self.tell_reclaim(number, reclaim::Event::Pressure(pressure));
    }

    fn tell_reclaim(&mut self, number: usize, event: reclaim::Event) {
        let mut actions = Vec::new();
        if let Some(machine) = &mut self.services[number].reclaim {
            machine.step(self.now, event, &mut actions);
        }
        for action in actions {
            match action {
                reclaim::Action::TakeBack(gpus) => self.ask_back(number as u32, gpus),
                reclaim::Action::LendAgain(gpus) => {
                    self.tell_hand_over(Event::LendAgain(number as u32, gpus));
                }
                reclaim::Action::WakeAt(at) => self.services[number].reclaim_at = Some(at),
            }
        }
    }

    fn ask_back(&mut self, service: u32, gpus: u32) {
        let now = self.now;
        let mut victims = Vec::new();
        for (id, gpus) in self.hand_over.reclaimable(now) {
            let Some(job) = self.jobs.get_mut(id as usize) else { continue };
            job.run.advance(now);
            let priority = job.run.spec().priority;
            victims.push(Victim { id, gpus, priority, lost: job.run.lost_if_stopped() });
        }
        let stopped = self.tell_hand_over(Event::TakeBack(service, gpus, victims));
        if !stopped.is_empty() {
            self.open.push(self.reclaims.len());
            let (free_at, ready_at) = (None, None);
            let asked_at = now;
            self.reclaims.push(ReclaimOutcome {
                service,
                asked_at,
                gpus: stopped,
                free_at,
                ready_at,
            });
        }
    }

    /// Tells the hand-over, and does what it says. The answer is the GPUs of those that were stopped
    /// for a service.
    pub(super) fn tell_hand_over(&mut self, event: Event) -> Vec<u32> {
        let mut actions = Vec::new();
        self.hand_over.step(self.now, event, &mut actions);
        let mut stopped = Vec::new();
        for action in actions {
            match action {
                Action::Start { instance, party: Party::Service(service), gpus } => {
                    self.bring_up(instance, service, gpus);
                }
                Action::Start { instance, party: Party::Job(job), gpus } => {
                    self.start_job(instance, job as usize, gpus);
                }
                Action::Stop { instance, why } => {
                    let gpus = self.stop(instance);
                    if why == Why::Reclaim {
                        stopped.extend(gpus);
                    }
                }
                Action::WakeAt(at) => self.calendar_at = Some(at),
            }
        }
        stopped.sort_unstable();
        stopped
    }

    fn bring_up(&mut self, instance: u32, service: u32, gpus: Vec<u32>) {
        let number = service as usize;
        if number >= self.services.len() {
            return;
        }
        let away = |slot: &Slot<S>| slot.state == SlotState::Off && slot.service == number;
        let place = self.slots.iter().position(away).unwrap_or_else(|| {
            self.slots.push(Slot {
                service: number,
                serving: (self.make)(service),
                state: SlotState::Off,
                instance,
                gpus: Vec::new(),
                since: self.now,
                until: None,
                neighbour: Neighbour::None,
            });
            self.slots.len() - 1
        });
        self.hold.take(self.now, &gpus);
        let until = self.services[number].begin_up(self.now, &mut self.random);
        let slot = &mut self.slots[place];
        (slot.instance, slot.gpus, slot.since) = (instance, gpus, self.now);
        (slot.state, slot.until) = (SlotState::Coming, Some(until));
    }

    fn start_job(&mut self, instance: u32, number: usize, gpus: Vec<u32>) {
        let now = self.now;
        let Some(job) = self.jobs.get_mut(number) else { return };
        job.run.start(now, gpus.len() as u32);
        self.hold.take(now, &gpus);
        // Who starts on GPUs that were asked back ends that they are waited for.
        let reclaims = &self.reclaims;
        self.open.retain(|place| reclaims[*place].gpus.iter().all(|gpu| !gpus.contains(gpu)));
        (job.instance, job.gpus) = (Some(instance), gpus);
        job.draw_loss(now);
    }

    /// Stops whoever has a number, and says which GPUs it holds.
    fn stop(&mut self, instance: u32) -> Vec<u32> {
        let now = self.now;
        if let Some(job) = self.jobs.iter_mut().find(|job| job.instance == Some(instance)) {
            job.run.stop(now);
            return job.gpus.clone();
        }
        let is_it = |slot: &Slot<S>| slot.state != SlotState::Off && slot.instance == instance;
        let Some(place) = self.slots.iter().position(is_it) else { return Vec::new() };
        let gpus = self.slots[place].gpus.clone();
        self.send_away(place);
        gpus
    }

    /// What a job has come to.
    pub(super) fn look_at_job(&mut self, number: usize) {
        let job = &mut self.jobs[number];
        let is_done = job.run.finished_at().is_some() && !job.is_done;
        job.is_done |= is_done;
        if is_done {
            self.tell_hand_over(Event::Done(number as u32));
        }
        let job = &mut self.jobs[number];
        if job.run.phase() == Phase::Away {
            job.loss_at = None;
            if let Some(instance) = job.instance.take() {
                let gpus = std::mem::take(&mut job.gpus);
                self.give(&gpus);
                self.tell_hand_over(Event::Gone(instance));
            }
        }
    }

    fn lose(&mut self, number: usize) {
        let now = self.now;
        let job = &mut self.jobs[number];
        job.run.lose(now);
        job.draw_loss(now);
        self.look_at_job(number);
    }

    /// GPUs are free.
    pub(super) fn give(&mut self, gpus: &[u32]) {
        self.hold.give(self.now, gpus);
        let (now, jobs) = (self.now, &self.jobs);
        let is_held = |gpu: &u32| jobs.iter().any(|job| job.gpus.contains(gpu));
        for place in &self.open {
            let reclaim = &mut self.reclaims[*place];
            if reclaim.free_at.is_none() && !reclaim.gpus.iter().any(is_held) {
                reclaim.free_at = Some(now);
            }
        }
        self.look_at_reclaims();
    }

    /// Whether what was asked back serves.
    pub(super) fn look_at_reclaims(&mut self) {
        let (now, slots, reclaims) = (self.now, &self.slots, &mut self.reclaims);
        self.open.retain(|place| {
            let reclaim = &mut reclaims[*place];
            let serves = |gpu: &u32| {
                slots.iter().any(|slot| {
                    slot.state == SlotState::Up
                        && slot.service == reclaim.service as usize
                        && slot.gpus.contains(gpu)
                })
            };
            let is_ready = reclaim.free_at.is_some() && reclaim.gpus.iter().all(serves);
            if is_ready {
                reclaim.ready_at = Some(now);
            }
            !is_ready
        });
    }

    /// Who slows whom from now on.
    fn refresh_neighbours(&mut self) {
        let now = self.now;
        let reach = self.spec.reach;
        if reach == Reach::Nowhere {
            return;
        }
        let meets =
            |a: &[u32], b: &[u32]| reach == Reach::SameHost || a.iter().any(|gpu| b.contains(gpu));
        for slot in &mut self.slots {
            let beside = self.jobs.iter().filter(|job| meets(&job.gpus, &slot.gpus));
            let serves = matches!(slot.state, SlotState::Up | SlotState::Draining);
            let neighbour = beside.map(JobSlot::as_neighbour).max().unwrap_or_default();
            let neighbour = if serves { neighbour } else { Neighbour::None };
            if neighbour != slot.neighbour {
                slot.neighbour = neighbour;
                slot.serving.advance(now);
                slot.serving.set_neighbour(now, neighbour);
            }
        }
        for place in 0..self.slots.len() {
            self.count_finished(place);
        }
        let slots = &self.slots;
        for job in &mut self.jobs {
            let is_beside = slots.iter().any(|slot| {
                matches!(slot.state, SlotState::Up | SlotState::Draining)
                    && meets(&slot.gpus, &job.gpus)
            });
            job.run.set_beside(now, is_beside);
        }
    }

    fn end(mut self, stuck_at: Option<Picoseconds>) -> (Outcome, Vec<(u32, S)>) {
        let now = self.now;
        for place in 0..self.slots.len() {
            self.slots[place].serving.advance(now);
            self.account(place);
            self.count_finished(place);
        }
        for service in &mut self.services {
            service.accrue(now);
            service.outcome.held = service.held.len() as u64;
        }
        for job in &mut self.jobs {
            job.run.advance(now);
        }
        let mut gpu_time = GpuTime {
            total: now * self.hold.gpus(),
            free: self.hold.free(now),
            ..GpuTime::default()
        };
        for service in &self.services {
            gpu_time.serving += service.outcome.serving;
            gpu_time.changing += service.outcome.changing;
        }
        for job in &self.jobs {
            let ledger = job.run.ledger();
            gpu_time.working += ledger.gpu_time_working;
            gpu_time.job_overhead += ledger.gpu_time - ledger.gpu_time_working;
        }
        let outcome = Outcome {
            services: self.services.into_iter().map(|service| service.outcome).collect(),
            jobs: self.jobs.iter().map(|job| job.outcome(now)).collect(),
            reclaims: self.reclaims,
            gpu_time,
            until: now,
            events: self.events,
            stuck_at,
        };
        let replicas = self.slots.into_iter().map(|slot| (slot.service as u32, slot.serving));
        (outcome, replicas.collect())
    }
}

impl JobSlot {
    /// Whether it is done or away, and nobody has been told.
    pub(super) fn is_unseen(&self) -> bool {
        let is_gone = self.run.phase() == Phase::Away && self.instance.is_some();
        is_gone || (self.run.finished_at().is_some() && !self.is_done)
    }

    /// The next loss that nothing announces. Exponential times have no memory, so each start draws
    /// anew.
    fn draw_loss(&mut self, now: Picoseconds) {
        self.loss_at = self.run.spec().mean_time_to_loss.map(|mean| {
            let factor: f64 = Exp1.sample(&mut self.random);
            now + Picoseconds::from_seconds(mean.seconds() * factor).max(Picoseconds(1))
        });
    }

    fn as_neighbour(&self) -> Neighbour {
        match self.run.phase() {
            Phase::Away | Phase::Leaving => Neighbour::None,
            Phase::Starting | Phase::Working => Neighbour::Working,
            Phase::Saving => Neighbour::Saving,
        }
    }

    fn outcome(&self, now: Picoseconds) -> JobOutcome {
        let (run, spec) = (&self.run, self.run.spec());
        let finished_at = run.finished_at();
        let on_time = spec.deadline.and_then(|deadline| match finished_at {
            Some(at) => Some(at <= deadline),
            None => (now >= deadline).then_some(false),
        });
        JobOutcome {
            name: spec.name.clone(),
            finished_at,
            on_time,
            done: run.done(),
            units: spec.units,
            kept: run.kept(),
            ledger: *run.ledger(),
        }
    }
}
