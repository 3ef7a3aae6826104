//! A replica of [`crate::sim::engine`] in the world.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::serving::{Load, Neighbour, Serving};
use crate::perf::IntegerStep;
use crate::sim::engine::{
    PassRun, RefusalReason, Replica, ReplicaSpec, SimRequest, SpecProblem, Tokens, Watcher,
};
use crate::units::Picoseconds;

/// Times of a pass, by what runs beside the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Nothing does.
    pub alone: IntegerStep,
    /// A job starts or works.
    pub beside_work: IntegerStep,
    /// A job stands still and saves.
    pub beside_save: IntegerStep,
}

impl Steps {
    /// Nobody slows it.
    pub fn same(step: IntegerStep) -> Self {
        Self { alone: step, beside_work: step, beside_save: step }
    }

    fn beside(&self, neighbour: Neighbour) -> IntegerStep {
        match neighbour {
            Neighbour::None => self.alone,
            Neighbour::Working => self.beside_work,
            Neighbour::Saving => self.beside_save,
        }
    }
}

/// A replica of an engine, with whoever watches it.
///
/// What it has taken it gives back only when it stops, as engines do: its queue is drained with the
/// rest. A request that begins again elsewhere is seen to arrive again there.
///
/// A copy of a new one is another replica of the same kind: `move |_| replica.clone()` makes them for
/// a world.
#[derive(Clone, Debug)]
pub struct EngineReplica<W> {
    steps: Steps,
    /// As it is when it has nothing.
    empty: Replica,
    replica: Replica,
    neighbour: Neighbour,
    now: Picoseconds,
    seen: Seen<W>,
}

/// Sees which requests it has, and passes everything on.
#[derive(Clone, Debug)]
struct Seen<W> {
    held: BTreeMap<u64, SimRequest>,
    finished: Vec<u64>,
    watcher: W,
}

impl<W: Watcher> EngineReplica<W> {
    /// A paused replica. `spec.step` is not read: `steps` has it.
    ///
    /// # Errors
    /// What is wrong with the numbers, those of each step included.
    pub fn new(
        number: u16,
        spec: ReplicaSpec,
        steps: Steps,
        watcher: W,
    ) -> Result<Self, SpecProblem> {
        for step in [steps.beside_work, steps.beside_save] {
            ReplicaSpec { step, ..spec }.check()?;
        }
        let replica = Replica::new(number, ReplicaSpec { step: steps.alone, ..spec })?;
        let seen = Seen { held: BTreeMap::new(), finished: Vec::new(), watcher };
        let empty = replica.clone();
        let (neighbour, now) = (Neighbour::None, Picoseconds::ZERO);
        Ok(Self { steps, empty, replica, neighbour, now, seen })
    }

    /// Whoever watched it.
    pub fn into_watcher(self) -> W {
        self.seen.watcher
    }

    /// Drops all that it has. Its neighbour stays.
    fn forget(&mut self) {
        self.replica = self.empty.clone();
        self.set_neighbour(self.now, self.neighbour);
    }

    /// Whether a pass is due: nothing but an arrival at this moment can come before it.
    fn is_due(&self) -> bool {
        self.replica.next().is_some_and(|next| next <= self.now)
    }
}

impl<W: Watcher> Serving for EngineReplica<W> {
    type Request = SimRequest;

    fn offer(&mut self, now: Picoseconds, request: SimRequest) {
        self.now = now;
        self.seen.held.insert(request.id, request);
        self.replica.offer(now, request, &mut self.seen);
    }

    fn next(&self) -> Option<Picoseconds> {
        self.replica.next().filter(|_| !self.is_due())
    }

    fn advance(&mut self, until: Picoseconds) {
        self.now = self.now.max(until);
        self.replica.advance(until, &mut self.seen);
    }

    fn begins(&self) -> Option<Picoseconds> {
        self.is_due().then_some(self.now)
    }

    fn begin(&mut self, now: Picoseconds) {
        self.now = self.now.max(now);
        self.replica.start(now, &mut self.seen);
    }

    fn take_finished(&mut self, finished: &mut Vec<u64>) {
        finished.append(&mut self.seen.finished);
    }

    fn set_neighbour(&mut self, now: Picoseconds, neighbour: Neighbour) {
        self.now = self.now.max(now);
        // All three were checked when it was made, so that none is refused here.
        self.neighbour = neighbour;
        let step = self.steps.beside(neighbour);
        let _checked_before = self.replica.set_step(now, step, &mut self.seen);
    }

    fn resume(&mut self, now: Picoseconds) {
        self.now = self.now.max(now);
        self.replica.resume(now, &mut self.seen);
    }

    fn pause(&mut self, now: Picoseconds) {
        self.now = self.now.max(now);
        self.forget();
        self.replica.pause(now, &mut self.seen);
    }

    fn withdraw(&mut self, now: Picoseconds, running: bool) -> Vec<SimRequest> {
        self.now = self.now.max(now);
        if !running {
            return Vec::new();
        }
        self.forget();
        std::mem::take(&mut self.seen.held).into_values().collect()
    }

    fn load(&self) -> Load {
        let load = self.replica.load(self.now);
        Load {
            running: load.running,
            waiting: load.waiting,
            running_max: u64::from(self.replica.spec().sequences_max),
            memory: load.kv_blocks_used as f64 / load.kv_blocks.max(1) as f64,
        }
    }
}

impl<W: Watcher> Watcher for Seen<W> {
    fn arrived(&mut self, request: &SimRequest) {
        self.watcher.arrived(request);
    }
    fn admitted(&mut self, request: &SimRequest, at: Picoseconds) {
        self.watcher.admitted(request, at);
    }
    fn first_token(&mut self, request: &SimRequest, at: Picoseconds) {
        self.watcher.first_token(request, at);
    }
    fn passes(&mut self, run: &PassRun) {
        self.watcher.passes(run);
    }
    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        self.watcher.late_token(request, tokens, at);
    }
    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        self.held.remove(&request.id);
        self.finished.push(request.id);
        self.watcher.finished(request, tokens);
    }
    fn handed_over(&mut self, request: &SimRequest, at: Picoseconds) {
        self.watcher.handed_over(request, at);
    }
    fn preempted(&mut self, request: &SimRequest, at: Picoseconds, lost_tokens: u64) {
        self.watcher.preempted(request, at, lost_tokens);
    }
    fn livelock(&mut self, request: &SimRequest, at: Picoseconds, evictions: u32) {
        self.watcher.livelock(request, at, evictions);
    }
    fn refused(&mut self, request: &SimRequest, at: Picoseconds, reason: RefusalReason) {
        self.held.remove(&request.id);
        self.finished.push(request.id);
        self.watcher.refused(request, at, reason);
    }
}

/// One watcher of several replicas.
#[derive(Debug, Default)]
pub struct Shared<W>(Rc<RefCell<W>>);

impl<W> Shared<W> {
    /// Shares a watcher.
    pub fn new(watcher: W) -> Self {
        Self(Rc::new(RefCell::new(watcher)))
    }

    /// The watcher again, once all replicas that shared it are gone.
    pub fn into_watcher(self) -> Option<W> {
        Rc::into_inner(self.0).map(RefCell::into_inner)
    }
}

impl<W> Clone for Shared<W> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<W: Watcher> Watcher for Shared<W> {
    fn arrived(&mut self, request: &SimRequest) {
        self.0.borrow_mut().arrived(request);
    }
    fn admitted(&mut self, request: &SimRequest, at: Picoseconds) {
        self.0.borrow_mut().admitted(request, at);
    }
    fn first_token(&mut self, request: &SimRequest, at: Picoseconds) {
        self.0.borrow_mut().first_token(request, at);
    }
    fn passes(&mut self, run: &PassRun) {
        self.0.borrow_mut().passes(run);
    }
    fn late_token(&mut self, request: &SimRequest, tokens: Tokens, at: Picoseconds) {
        self.0.borrow_mut().late_token(request, tokens, at);
    }
    fn finished(&mut self, request: &SimRequest, tokens: Tokens) {
        self.0.borrow_mut().finished(request, tokens);
    }
    fn handed_over(&mut self, request: &SimRequest, at: Picoseconds) {
        self.0.borrow_mut().handed_over(request, at);
    }
    fn preempted(&mut self, request: &SimRequest, at: Picoseconds, lost_tokens: u64) {
        self.0.borrow_mut().preempted(request, at, lost_tokens);
    }
    fn livelock(&mut self, request: &SimRequest, at: Picoseconds, evictions: u32) {
        self.0.borrow_mut().livelock(request, at, evictions);
    }
    fn refused(&mut self, request: &SimRequest, at: Picoseconds, reason: RefusalReason) {
        self.0.borrow_mut().refused(request, at, reason);
    }
}
