//! The queue before the engines of one workload: strict priority between bands, a fair order inside
//! of one, and a bound on how many wait and for how long.
//!
//! Inside a band flows share by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the
//! head of a flow has the tag max(v, what its flow has used), the smallest tag goes first, v is the
//! tag of the one that went last, and a flow that was served has used its tag + cost ÷ weight. Two
//! flows that both wait get, in any interval, cost ÷ weight that differs by no more than the sum of
//! their largest cost ÷ weight (theorem 1 there), so no flow starves in its band.
//!
//! A lower band starves by design while a higher one has enough to do, unless the higher one is held
//! to a number in flight. Even then everybody gets an answer: after [`Band::wait_max`] it is no.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::units::Picoseconds;

/// Parts into which the cost of one unit is divided, so that a division by a weight keeps precision.
const COST_SCALE: u128 = 1 << 20;

/// What bounds the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bands, the first one served before all others.
    pub bands: Vec<Band>,
    /// Requests that may wait, all bands together. Beyond it the newest of the lowest band that
    /// lies below the arriving one is displaced.
    pub queued_max: usize,
}

/// What bounds one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Requests that may wait in it.
    pub queued_max: usize,
    /// The longest wait: who has waited so long is refused.
    pub wait_max: Picoseconds,
    /// Requests of it that may be in flight at once, so that priority is a limited resource; `None`
    /// holds it to nothing but the capacity.
    pub in_flight_max: Option<u64>,
}

/// A request as the queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its number, unique among those that wait or are in flight.
    pub id: u64,
    /// Its band, by its place in [`Limits::bands`]; beyond them it is in the last one.
    pub band: usize,
    /// Whom it belongs to: flows share their band.
    pub flow: u32,
    /// The share of the flow; zero counts as one.
    pub weight: u32,
    /// What it will cost, in any unit that is the same for all: tokens.
    pub cost: u64,
    /// When it is of no use any more.
    pub deadline: Option<Picoseconds>,
}

/// What happens to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request arrives.
    Arrived(Ticket),
    /// A request that was sent on is done with, however it ended.
    Finished(u64),
    /// Whoever asked went away.
    Cancelled(u64),
    /// So many requests may be in flight from now on. What is in flight beyond it stays.
    Capacity(u64),
    /// The time has come that was asked for.
    Clock,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send it on.
    Dispatch(u64),
    /// Refuse it.
    Refuse(u64, Refusal),
    /// Send [`Event::Clock`] at this time. A later wish replaces an earlier one.
    WakeAt(Picoseconds),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// As many wait as may.
    QueueFull,
    /// One of a higher band took its place.
    Displaced,
    /// It waited as long as one may.
    WaitedTooLong,
    /// Its deadline passed before its turn came.
    DeadlinePassed,
    /// The number is taken by one that waits or is in flight.
    Duplicate,
}

/// One that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: Ticket,
    expires: Picoseconds,
    why: Refusal,
}

/// The flows of one band.
#[derive(Clone, Debug, Default)]
struct Flows {
    /// Tag of the one that went last.
    virtual_time: u128,
    by_name: BTreeMap<u32, Flow>,
    /// Flows with somebody waiting: tag of the head, flow.
    heads: BTreeSet<(u128, u32)>,
    queued: usize,
    in_flight: u64,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    used: u128,
    tag: u128,
    queue: VecDeque<u64>,
}

/// The queue.
#[derive(Clone, Debug)]
pub struct Admission {
    limits: Limits,
    capacity: u64,
    in_flight: BTreeMap<u64, usize>,
    waiting: BTreeMap<u64, Waiting>,
    expiries: BTreeSet<(Picoseconds, u64)>,
    bands: Vec<Flows>,
    woken_at: Option<Picoseconds>,
}

impl Admission {
    /// An empty queue before engines that take so many requests at once. Without a band everything
    /// is refused.
    pub fn new(limits: Limits, capacity: u64) -> Self {
        let bands = vec![Flows::default(); limits.bands.len()];
        Self {
            limits,
            capacity,
            in_flight: BTreeMap::new(),
            waiting: BTreeMap::new(),
            expiries: BTreeSet::new(),
            bands,
            woken_at: None,
        }
    }

    /// Requests that wait.
    pub fn queued(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a request waits.
    pub fn is_waiting(&self, id: u64) -> bool {
        self.waiting.contains_key(&id)
    }

    /// Requests that were sent on and are not done.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Takes an event and appends what is to be done. Time never steps back: an earlier one counts
    /// as the queue's last.
    pub fn step(&mut self, now: Picoseconds, event: Event, actions: &mut Vec<Action>) {
        // Who has waited too long goes first, so that a place is free for whoever has not.
        self.expire(now, actions);
        match event {
            Event::Arrived(ticket) => self.arrive(now, ticket, actions),
            Event::Finished(id) => {
                if let Some(band) = self.in_flight.remove(&id) {
                    self.bands[band].in_flight -= 1;
                }
            }
            Event::Cancelled(id) => {
                self.remove(id);
            }
            Event::Capacity(capacity) => self.capacity = capacity,
            Event::Clock => {}
        }
        self.dispatch(actions);
        self.wake(now, actions);
    }

    fn arrive(&mut self, now: Picoseconds, mut ticket: Ticket, actions: &mut Vec<Action>) {
        let refuse = |why| Action::Refuse(ticket.id, why);
        if self.waiting.contains_key(&ticket.id) || self.in_flight.contains_key(&ticket.id) {
            return actions.push(refuse(Refusal::Duplicate));
        }
        let Some(last) = self.bands.len().checked_sub(1) else {
            return actions.push(refuse(Refusal::QueueFull));
        };
        ticket.band = ticket.band.min(last);
        let band = self.limits.bands[ticket.band];
        let due = now + band.wait_max;
        let (expires, why) = match ticket.deadline {
            Some(deadline) if deadline < due => (deadline, Refusal::DeadlinePassed),
            _ => (due, Refusal::WaitedTooLong),
        };
        if expires <= now && why == Refusal::DeadlinePassed {
            return actions.push(refuse(why));
        }
        self.expiries.insert((expires, ticket.id));
        self.waiting.insert(ticket.id, Waiting { ticket, expires, why });
        self.bands[ticket.band].push(ticket);
        // One that need not wait takes no place of those that do.
        self.dispatch(actions);
        let is_over = self.waiting.len() > self.limits.queued_max;
        if self.bands[ticket.band].queued > band.queued_max
            || (is_over && !self.displace(ticket.band, actions))
        {
            // Nobody left the queue, so the one that came is still in it.
            self.remove(ticket.id);
            actions.push(Action::Refuse(ticket.id, Refusal::QueueFull));
        }
    }

    /// Makes room for one of a band: the newest of the lowest band below it goes.
    fn displace(&mut self, band: usize, actions: &mut Vec<Action>) -> bool {
        let lowest = (band + 1..self.bands.len()).rev().find(|lower| self.bands[*lower].queued > 0);
        let newest = lowest.and_then(|lowest| self.bands[lowest].newest(&self.waiting));
        let Some(newest) = newest else { return false };
        self.remove(newest);
        actions.push(Action::Refuse(newest, Refusal::Displaced));
        true
    }

    /// Takes one out that waits.
    fn remove(&mut self, id: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        self.expiries.remove(&(waiting.expires, id));
        self.bands[waiting.ticket.band].remove(&waiting.ticket);
        Some(waiting)
    }

    fn expire(&mut self, now: Picoseconds, actions: &mut Vec<Action>) {
        while let Some((expires, id)) = self.expiries.first().copied() {
            if expires > now {
                return;
            }
            if let Some(waiting) = self.remove(id) {
                actions.push(Action::Refuse(id, waiting.why));
            }
        }
    }

    fn has_room(&self, band: usize) -> bool {
        let own = self.limits.bands[band].in_flight_max;
        (self.in_flight.len() as u64) < self.capacity
            && own.is_none_or(|own| self.bands[band].in_flight < own)
    }

    /// The first band in which somebody waits and may go.
    fn next_band(&self) -> Option<usize> {
        (0..self.bands.len()).find(|band| self.bands[*band].queued > 0 && self.has_room(*band))
    }

    fn dispatch(&mut self, actions: &mut Vec<Action>) {
        while let Some(band) = self.next_band() {
            let Some(id) = self.bands[band].pop(&self.waiting) else { return };
            if let Some(waiting) = self.waiting.remove(&id) {
                self.expiries.remove(&(waiting.expires, id));
            }
            self.bands[band].in_flight += 1;
            self.in_flight.insert(id, band);
            actions.push(Action::Dispatch(id));
        }
    }

    /// Asks to be woken when the next one will have waited too long, where that has changed.
    fn wake(&mut self, now: Picoseconds, actions: &mut Vec<Action>) {
        if self.woken_at.is_some_and(|at| at <= now) {
            self.woken_at = None;
        }
        let next = self.expiries.first().map(|(expires, _)| *expires);
        if let Some(at) = next.filter(|at| self.woken_at.is_none_or(|asked| *at < asked)) {
            self.woken_at = Some(at);
            actions.push(Action::WakeAt(at));
        }
    }
}

impl Flows {
    fn push(&mut self, ticket: Ticket) {
        let flow = self.by_name.entry(ticket.flow).or_default();
        flow.queue.push_back(ticket.id);
        self.queued += 1;
        if flow.queue.len() == 1 {
            flow.tag = flow.used.max(self.virtual_time);
            self.heads.insert((flow.tag, ticket.flow));
        }
    }

    fn pop(&mut self, waiting: &BTreeMap<u64, Waiting>) -> Option<u64> {
        let (tag, name) = self.heads.pop_first()?;
        let flow = self.by_name.get_mut(&name)?;
        let id = flow.queue.pop_front()?;
        self.virtual_time = tag;
        self.queued -= 1;
        if let Some(Waiting { ticket, .. }) = waiting.get(&id) {
            let weight = u128::from(ticket.weight.max(1));
            flow.used = tag + u128::from(ticket.cost.max(1)) * COST_SCALE / weight;
        }
        if flow.queue.is_empty() {
            // What lies idle is kept only while it still owes: after that it is as new.
            self.forget();
        } else {
            flow.tag = flow.used;
            self.heads.insert((flow.tag, name));
        }
        Some(id)
    }

    /// Drops flows that nobody waits in and that owe nothing, when there are many of them.
    fn forget(&mut self) {
        if self.by_name.len() > 2 * (self.heads.len() + 32) {
            let now = self.virtual_time;
            self.by_name.retain(|_, flow| !flow.queue.is_empty() || flow.used > now);
        }
    }

    fn remove(&mut self, ticket: &Ticket) {
        let Some(flow) = self.by_name.get_mut(&ticket.flow) else { return };
        let Some(place) = flow.queue.iter().position(|id| *id == ticket.id) else { return };
        flow.queue.remove(place);
        self.queued -= 1;
        if flow.queue.is_empty() {
            self.heads.remove(&(flow.tag, ticket.flow));
        }
    }

    /// The one that came last, by the order of flows' ends; numbers rise with arrivals.
    fn newest(&self, waiting: &BTreeMap<u64, Waiting>) -> Option<u64> {
        let ends = self.heads.iter().filter_map(|(_, name)| self.by_name.get(name)?.queue.back());
        // The latest expiry is the latest arrival where no deadline says otherwise.
        ends.copied().max_by_key(|id| (waiting.get(id).map(|it| it.expires), *id))
    }
}
