//! The services of a world: their replicas come and go, requests find one, demand is met or not.

use std::collections::{BTreeMap, VecDeque};

use rand_pcg::Pcg64;

use super::outcome::ServiceOutcome;
use super::serving::{Arrival, Load, Serving};
use super::spec::{Demand, ServiceSpec};
use super::state::{SlotState, World};
use crate::policy::admission::{self, Admission};
use crate::policy::hand_over::Event;
use crate::policy::reclaim::Reclaim;
use crate::sim::job::ONE_PPM;
use crate::sim::transition::Transition;
use crate::units::Picoseconds;

/// A service in the world.
pub(super) struct Service<R> {
    pub(super) spec: ServiceSpec,
    pub(super) reclaim: Option<Reclaim>,
    pub(super) reclaim_at: Option<Picoseconds>,
    pub(super) admission: Option<Admission>,
    pub(super) queue_at: Option<Picoseconds>,
    pub(super) sample_at: Option<Picoseconds>,
    /// Requests that wait in the admission queue.
    pub(super) waiting: BTreeMap<u64, R>,
    /// Requests that were sent on while no replica served.
    pub(super) held: VecDeque<R>,
    pub(super) outcome: ServiceOutcome,
    /// Whether the number of its replicas has changed since it was last looked at.
    pub(super) is_pressed_anew: bool,
    /// Replicas that serve.
    up: u64,
    demand_ppm: u64,
    demand_next: usize,
    accrued: Picoseconds,
}

impl<R> Service<R> {
    pub(super) fn new(spec: ServiceSpec) -> Self {
        let queue = spec.admission.as_ref().map(|queue| Admission::new(queue.limits.clone(), 0));
        Self {
            reclaim: spec.reclaim.map(Reclaim::new),
            reclaim_at: None,
            admission: queue,
            queue_at: None,
            // Without a rule nobody asks how full the replicas are.
            sample_at: match spec.demand {
                Demand::Requests(each) if spec.reclaim.is_some() => Some(each),
                _ => None,
            },
            waiting: BTreeMap::new(),
            held: VecDeque::new(),
            outcome: ServiceOutcome { name: spec.name.clone(), ..ServiceOutcome::default() },
            is_pressed_anew: false,
            up: 0,
            demand_ppm: 0,
            demand_next: 0,
            accrued: Picoseconds::ZERO,
            spec,
        }
    }

    /// When its demand changes next.
    pub(super) fn next_demand(&self) -> Option<Picoseconds> {
        match &self.spec.demand {
            Demand::Requests(_) => None,
            Demand::Replicas(levels) => levels.get(self.demand_next).map(|(at, _)| *at),
        }
    }

    /// Its demand changes.
    pub(super) fn take_demand(&mut self) {
        if let Demand::Replicas(levels) = &self.spec.demand {
            if let Some((_, ppm)) = levels.get(self.demand_next) {
                self.demand_ppm = *ppm;
            }
            self.demand_next += 1;
        }
    }

    /// Counts the time since the last change in which it had too few replicas.
    pub(super) fn accrue(&mut self, now: Picoseconds) {
        let time = now - self.accrued;
        self.accrued = now;
        let missing_ppm = self.demand_ppm.saturating_sub(self.up.saturating_mul(ONE_PPM));
        if missing_ppm > 0 {
            self.outcome.short += time;
            self.outcome.missing += time.scaled(missing_ppm, ONE_PPM);
        }
    }

    /// A replica begins to come; when it will serve.
    pub(super) fn begin_up(&mut self, now: Picoseconds, random: &mut Pcg64) -> Picoseconds {
        self.outcome.starts += 1;
        let up = self.spec.up.clone();
        self.carry_out(&up, now, random)
    }

    fn carry_out(
        &mut self,
        steps: &Transition,
        now: Picoseconds,
        random: &mut Pcg64,
    ) -> Picoseconds {
        let mut until = now;
        for interval in steps.draw(now, random) {
            *self.outcome.steps.entry(interval.kind).or_default() += interval.until - interval.from;
            until = interval.until;
        }
        until
    }
}

impl<S, A, F> World<S, A, F>
where
    S: Serving,
    A: Iterator<Item = Arrival<S::Request>>,
    F: FnMut(u32) -> S,
{
    /// Something happens in a replica.
    pub(super) fn replica(&mut self, place: usize) {
        let now = self.now;
        self.slots[place].serving.advance(now);
        self.count_finished(place);
        if self.slots[place].is_drained() {
            self.leave(place);
        }
    }

    /// Counts what a replica is done with, and tells the queue before it.
    pub(super) fn count_finished(&mut self, place: usize) {
        let mut finished = Vec::new();
        let slot = &mut self.slots[place];
        slot.serving.take_finished(&mut finished);
        let number = slot.service;
        self.services[number].outcome.finished += finished.len() as u64;
        if self.services[number].admission.is_some() {
            for id in finished {
                self.tell_queue(number, admission::Event::Finished(id));
            }
        }
    }

    /// Sends a request to the emptiest replica that serves; the lowest number among equals. Where
    /// none does, it is held until one does.
    pub(super) fn route(&mut self, number: usize, request: S::Request) {
        let now = self.now;
        let up = self
            .slots
            .iter_mut()
            .filter(|slot| slot.state == SlotState::Up && slot.service == number);
        let emptiest = up.min_by_key(|slot| {
            let load = slot.serving.load();
            load.running + load.waiting
        });
        match emptiest {
            Some(slot) => slot.serving.offer(now, request),
            None => self.services[number].held.push_back(request),
        }
    }

    fn route_again(&mut self, number: usize, requests: Vec<S::Request>) {
        self.services[number].outcome.moved += requests.len() as u64;
        for request in requests {
            self.route(number, request);
        }
    }

    /// How hard a service is pressed: demand as a share of what serves, or of its replicas' places
    /// and memory the one that is fuller, what waits before them included. Replicas that are coming
    /// count as there: nobody else is to be stopped for what they will do.
    pub(super) fn pressure(&self, number: usize) -> f64 {
        let service = &self.services[number];
        let is_there = |state| matches!(state, SlotState::Up | SlotState::Coming);
        let there = self.slots.iter().filter(|slot| slot.service == number && is_there(slot.state));
        let (asked, has, memory) = match service.spec.demand {
            Demand::Replicas(_) => (service.demand_ppm, there.count() as u64 * ONE_PPM, 0.0),
            Demand::Requests(_) => {
                let queued = service.waiting.len() + service.held.len();
                there.map(|slot| slot.serving.load()).fold(
                    (queued as u64, 0, 0.0_f64),
                    |(asked, has, memory), load: Load| {
                        let asks = load.running + load.waiting;
                        (asked + asks, has + load.running_max, memory.max(load.memory))
                    },
                )
            }
        };
        match (asked, has) {
            (0, _) => memory,
            (_, 0) => f64::INFINITY,
            _ => (asked as f64 / has as f64).max(memory),
        }
    }

    /// Accounts for the time since a replica's last change of state.
    pub(super) fn account(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        let time = (self.now - slot.since) * slot.gpus.len() as u64;
        slot.since = self.now;
        let outcome = &mut self.services[slot.service].outcome;
        match slot.state {
            SlotState::Off => {}
            SlotState::Up => outcome.serving += time,
            SlotState::Coming | SlotState::Draining | SlotState::Leaving => {
                outcome.changing += time;
            }
        }
    }

    fn set_state(&mut self, place: usize, state: SlotState, until: Option<Picoseconds>) {
        self.account(place);
        let now = self.now;
        let slot = &mut self.slots[place];
        let number = slot.service;
        let was_up = slot.state == SlotState::Up;
        (slot.state, slot.until) = (state, until);
        self.is_moved = true;
        let is_up = state == SlotState::Up;
        if was_up == is_up {
            return;
        }
        let service = &mut self.services[number];
        service.accrue(now);
        service.is_pressed_anew = true;
        service.up = if is_up { service.up + 1 } else { service.up.saturating_sub(1) };
        let each = service.spec.admission.as_ref().map(|queue| queue.in_flight_per_replica);
        if let Some(each) = each {
            let capacity = each.saturating_mul(service.up);
            self.tell_queue(number, admission::Event::Capacity(capacity));
        }
    }

    /// A replica is told to go: it takes nothing more, and finishes what runs.
    pub(super) fn send_away(&mut self, place: usize) {
        match self.slots[place].state {
            SlotState::Coming => self.leave(place),
            SlotState::Up => {
                let now = self.now;
                self.slots[place].serving.advance(now);
                self.count_finished(place);
                let number = self.slots[place].service;
                let drained_by = now + self.services[number].spec.drain_max;
                self.set_state(place, SlotState::Draining, Some(drained_by));
                let waiting = self.slots[place].serving.withdraw(now, false);
                self.route_again(number, waiting);
                if self.slots[place].is_drained() {
                    self.leave(place);
                }
            }
            SlotState::Off | SlotState::Draining | SlotState::Leaving => {}
        }
    }

    /// A replica stops; what it has not finished begins again elsewhere.
    fn leave(&mut self, place: usize) {
        let now = self.now;
        let number = self.slots[place].service;
        let left = self.slots[place].serving.withdraw(now, true);
        self.slots[place].serving.pause(now);
        let down = self.services[number].spec.down.clone();
        let until = self.services[number].carry_out(&down, now, &mut self.random);
        self.set_state(place, SlotState::Leaving, Some(until));
        self.route_again(number, left);
    }

    /// The end of what a replica was in the middle of.
    pub(super) fn change(&mut self, place: usize) {
        let now = self.now;
        let number = self.slots[place].service;
        match self.slots[place].state {
            SlotState::Coming => {
                self.slots[place].serving.resume(now);
                self.set_state(place, SlotState::Up, None);
                let held = std::mem::take(&mut self.services[number].held);
                for request in held {
                    self.route(number, request);
                }
                self.look_at_reclaims();
            }
            SlotState::Draining => {
                self.slots[place].serving.advance(now);
                self.count_finished(place);
                self.leave(place);
            }
            SlotState::Leaving => {
                self.set_state(place, SlotState::Off, None);
                let gpus = std::mem::take(&mut self.slots[place].gpus);
                let instance = self.slots[place].instance;
                self.give(&gpus);
                self.tell_hand_over(Event::Gone(instance));
            }
            SlotState::Off | SlotState::Up => self.slots[place].until = None,
        }
    }
}
