//! Several replicas behind one router.
//!
//! At one moment passes end, then KV tokens arrive from prefill replicas in order of their requests'
//! numbers, then new requests in the order given, and then passes begin.
//!
//! Not modelled: a prefill replica frees the KV blocks of a request as soon as they are on their way,
//! and does not wait for a decode replica to have room for them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use super::engine::{
    Load, PassRun, RefusalReason, Replica, ReplicaSpec, Role, SimRequest, SpecProblem, Tokens,
    Watcher,
};
use crate::units::Picoseconds;

/// Who gets the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// One after the other.
    #[default]
    RoundRobin,
    /// Whoever has the fewest requests, running and waiting.
    LeastRequests,
    /// Whoever has the largest share of its KV cache free, those that have nobody waiting first.
    LeastKv,
    /// Requests with the same beginning go to the same replica; others to the one with the fewest.
    ByPrefix,
}

/// What it costs to bring the KV tokens of a prompt from where it was computed to where it is decoded.
/// Each prefill replica has one link, over which one request's tokens go after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// For each request, link held.
    pub fixed: Picoseconds,
    /// For each token, link held.
    pub per_token: Picoseconds,
}

/// Several replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSpec {
    /// The replicas. Those with [`Role::Decode`] take no new requests.
    pub replicas: Vec<ReplicaSpec>,
    /// How requests are shared out, by prefill and by decode replicas alike.
    pub routing: Routing,
    /// The way from prefill to decode replicas.
    pub transfer: Transfer,
}

/// Why a fleet cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FleetProblem {
    /// No replica takes new requests.
    #[error("no replica takes new requests; one must compute prompts")]
    NoEntry,
    /// Some compute prompts only, and none takes them over, or the other way round.
    #[error(
        "replicas that only compute prompts and replicas that only decode need each other; one of the two is missing"
    )]
    HalfSplit,
    /// More replicas than can be numbered.
    #[error("{0} replicas are more than the 65,535 that can be simulated together")]
    TooMany(usize),
    /// A replica's numbers cannot be meant.
    #[error("replica {number}: {problem}")]
    Replica {
        /// Which one, from 0.
        number: u16,
        /// What is wrong.
        problem: SpecProblem,
    },
}

/// Several replicas behind one router.
#[derive(Debug)]
pub struct Fleet {
    replicas: Vec<Replica>,
    entries: Group,
    decoders: Group,
    routing: Routing,
    transfer: Transfer,
    /// When the link of each replica is free.
    link_free: Vec<Picoseconds>,
    on_the_way: BinaryHeap<Reverse<Parcel>>,
}

/// Replicas between which is chosen.
#[derive(Debug, Default)]
struct Group {
    members: Vec<u16>,
    next: usize,
}

/// KV tokens on the way.
#[derive(Debug, PartialEq, Eq)]
struct Parcel {
    at: Picoseconds,
    request: SimRequest,
    first_token_at: Picoseconds,
}

impl Ord for Parcel {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |parcel: &Self| (parcel.at, parcel.request.id, parcel.request.at);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Parcel {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Fleet {
    /// An empty fleet.
    pub fn new(spec: &FleetSpec) -> Result<Self, FleetProblem> {
        let mut fleet = Self {
            replicas: Vec::new(),
            entries: Group::default(),
            decoders: Group::default(),
            routing: spec.routing,
            transfer: spec.transfer,
            link_free: vec![Picoseconds::ZERO; spec.replicas.len()],
            on_the_way: BinaryHeap::new(),
        };
        let mut hands_over = false;
        for (number, replica) in spec.replicas.iter().enumerate() {
            let number =
                u16::try_from(number).map_err(|_| FleetProblem::TooMany(spec.replicas.len()))?;
            let made = Replica::new(number, *replica)
                .map_err(|problem| FleetProblem::Replica { number, problem })?;
            fleet.replicas.push(made);
            hands_over |= replica.role == Role::Prefill;
            let group =
                if replica.role == Role::Decode { &mut fleet.decoders } else { &mut fleet.entries };
            group.members.push(number);
        }
        if fleet.entries.members.is_empty() {
            return Err(FleetProblem::NoEntry);
        }
        if hands_over == fleet.decoders.members.is_empty() {
            return Err(FleetProblem::HalfSplit);
        }
        Ok(fleet)
    }

    /// The replicas.
    pub fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// One replica, to change its step, or to pause it.
    pub fn replica_mut(&mut self, number: u16) -> Option<&mut Replica> {
        self.replicas.get_mut(usize::from(number))
    }

    /// Serves requests in the order of their arrival until all of them are done. A request that
    /// says that it arrived before the one in front of it counts as arriving with it.
    pub fn serve(
        &mut self,
        requests: impl IntoIterator<Item = SimRequest>,
        seen: &mut impl Watcher,
    ) {
        let mut now = Picoseconds::ZERO;
        for request in requests {
            now = now.max(request.at);
            self.offer(now, SimRequest { at: now, ..request }, seen);
        }
        self.advance(Picoseconds::MAX, seen);
    }

    /// A request arrives, and goes to a replica.
    pub fn offer(&mut self, now: Picoseconds, request: SimRequest, seen: &mut impl Watcher) {
        self.advance(now, seen);
        let number = choose(&self.replicas, &mut self.entries, self.routing, &request, now);
        self.replicas[usize::from(number)].offer(now, request, seen);
    }

    /// Lets time pass on all replicas and links.
    pub fn advance(&mut self, until: Picoseconds, seen: &mut impl Watcher) {
        if self.decoders.members.is_empty() {
            for replica in &mut self.replicas {
                replica.advance(until, seen);
            }
            return;
        }
        // Replicas that compute prompts depend on nothing behind them, so they go first; whatever
        // they hand over is then taken in order of its arrival.
        for number in &self.entries.members {
            let number = usize::from(*number);
            let mut handing = Handing {
                seen: &mut *seen,
                transfer: self.transfer,
                link_free: &mut self.link_free[number],
                on_the_way: &mut self.on_the_way,
            };
            self.replicas[number].advance(until, &mut handing);
        }
        while self.on_the_way.peek().is_some_and(|Reverse(parcel)| parcel.at <= until)
            && let Some(Reverse(parcel)) = self.on_the_way.pop()
        {
            self.advance_decoders(parcel.at, seen);
            let (at, request) = (parcel.at, parcel.request);
            let number = choose(&self.replicas, &mut self.decoders, self.routing, &request, at);
            self.replicas[usize::from(number)].receive(at, request, parcel.first_token_at, seen);
        }
        self.advance_decoders(until, seen);
    }

    fn advance_decoders(&mut self, until: Picoseconds, seen: &mut impl Watcher) {
        for number in &self.decoders.members {
            self.replicas[usize::from(*number)].advance(until, seen);
        }
    }
}

/// Whose turn it is. Among equals the one with the smallest number.
fn choose(
    replicas: &[Replica],
    group: &mut Group,
    routing: Routing,
    request: &SimRequest,
    now: Picoseconds,
) -> u16 {
    let load = |number: &u16| replicas[usize::from(*number)].load(now);
    let fewest = || group.members.iter().copied().min_by_key(|number| requests(&load(number)));
    let chosen = match (routing, request.prefix) {
        (Routing::RoundRobin, _) => {
            let turn = group.next;
            group.next = (turn + 1) % group.members.len();
            return group.members[turn];
        }
        (Routing::ByPrefix, Some(prefix)) => {
            group.members.get(prefix.group as usize % group.members.len()).copied()
        }
        (Routing::LeastKv, _) => group.members.iter().copied().min_by_key(|number| {
            let load = load(number);
            // Millionths keep the key an integer.
            (load.waiting, load.kv_blocks_used.saturating_mul(1_000_000) / load.kv_blocks)
        }),
        (Routing::LeastRequests | Routing::ByPrefix, _) => fewest(),
    };
    chosen.unwrap_or(group.members[0])
}

fn requests(load: &Load) -> u64 {
    load.running + load.waiting
}

/// Passes on what a prefill replica tells, and sends off what it hands over.
struct Handing<'a, W: Watcher> {
    seen: &'a mut W,
    transfer: Transfer,
    link_free: &'a mut Picoseconds,
    on_the_way: &'a mut BinaryHeap<Reverse<Parcel>>,
}

impl<W: Watcher> Watcher for Handing<'_, W> {
    fn handed_over(&mut self, request: &SimRequest, at: Picoseconds) {
        self.seen.handed_over(request, at);
        let takes = self.transfer.fixed + self.transfer.per_token * request.prompt_tokens.into();
        let arrives = at.max(*self.link_free) + takes;
        *self.link_free = arrives;
        let parcel = Parcel { at: arrives, request: *request, first_token_at: at };
        self.on_the_way.push(Reverse(parcel));
    }
    fn arrived(&mut self, request: &SimRequest) {
        self.seen.arrived(request);
    }
    fn admitted(&mut self, request: &SimRequest, at: Picoseconds) {
        self.seen.admitted(request, at);
    }
    fn first_token(&mut self, request: &SimRequest, at: Picoseconds) {
        self.seen.first_token(request, at);
    }
    fn passes(&mut self, run: &PassRun) {
        self.seen.passes(run);
    }
    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        self.seen.late_token(request, tokens, at);
    }
    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        self.seen.finished(request, tokens);
    }
    fn preempted(&mut self, request: &SimRequest, at: Picoseconds, lost_tokens: u64) {
        self.seen.preempted(request, at, lost_tokens);
    }
    fn livelock(&mut self, request: &SimRequest, at: Picoseconds, evictions: u32) {
        self.seen.livelock(request, at, evictions);
    }
    fn refused(&mut self, request: &SimRequest, at: Picoseconds, reason: RefusalReason) {
        self.seen.refused(request, at, reason);
    }
}
