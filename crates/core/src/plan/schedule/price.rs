//! The cheapest way in which one task answers to prices: what a GPU costs in each slot, and what a
//! GPU-hour of its work earns.
//!
//! With a price on work instead of an amount of it, the best runs are a shortest path over the
//! boundaries between slots. Capacity is not looked at beyond whether a mode fits at all: that is
//! what the prices are for. So the cost is one that no way of running can be below.

use super::single::shortest;
use super::task::{Clock, Piece, Task};

/// What role a task plays in a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Work before a deadline.
    Due,
    /// Work without a deadline.
    Harvest,
    /// What is left of a task after its deadline. It may go on from a run before it.
    Rest,
}

/// A task under prices.
pub(super) struct Item {
    /// Its place in the problem.
    pub(super) job: usize,
    /// What it is here.
    pub(super) role: Role,
    /// The most work that counts, GPU-hours.
    pub(super) need: f64,
    /// The first slot that counts.
    pub(super) from: usize,
    /// The slot after the last one that counts.
    pub(super) until: usize,
    modes: Vec<ItemMode>,
    /// Whether a run may go on after `until`, and so stop there without losing work before it.
    crosses: bool,
    start: f64,
    stop: f64,
    /// For each slot: the shortest useful run from it on; zero where there is none.
    shortest: Vec<usize>,
}

struct ItemMode {
    gpus: f64,
    rate: f64,
    /// Whether the shortest useful run fits from a slot on.
    enters: Vec<bool>,
    /// Whether the mode fits into a slot.
    fits: Vec<bool>,
}

/// What is paid and earned.
pub(super) struct Prices<'a> {
    /// For a GPU held in each slot.
    pub(super) slot: &'a [f64],
    /// For a GPU-hour of work.
    pub(super) work: f64,
    /// For a run.
    pub(super) run: f64,
    /// For a GPU-hour lost to a transition.
    pub(super) loss: f64,
    /// Whether what is held after the deadline, for a run to cross it, is paid.
    pub(super) pays_crossing: bool,
}

/// An answer to prices.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// What it costs, less what it earns; never above zero, for a task may do nothing.
    pub(super) cost: f64,
    /// The runs. One that ends at the item's end may go on after it.
    pub(super) pieces: Vec<Piece>,
    /// Work, GPU-hours.
    pub(super) work: f64,
    /// GPU-hours lost to transitions.
    pub(super) lost: f64,
    /// Runs.
    pub(super) runs: f64,
    /// GPUs held in the slot after the item's end.
    pub(super) crossing_gpus: f64,
}

/// The memory of the shortest path, kept from one question to the next.
#[derive(Default)]
pub(super) struct Paths {
    idle: Vec<f64>,
    stopped: Vec<usize>,
    running: Vec<f64>,
    started: Vec<usize>,
}

impl Item {
    pub(super) fn new(
        job: usize,
        role: Role,
        task: &Task,
        need: f64,
        capacity: &[u32],
        clock: &Clock,
    ) -> Self {
        let slots = clock.slots();
        let (from, until) = match role {
            Role::Rest => (task.due.max(task.release), slots),
            Role::Due | Role::Harvest => (task.release, task.due),
        };
        let shortest: Vec<usize> = (0..slots)
            .map(|slot| if slot < from { 0 } else { shortest(task, slot, clock).unwrap_or(0) })
            .collect();
        let mode = |gpus: u32, rate: f64| {
            let fits: Vec<bool> = capacity.iter().map(|&capacity| capacity >= gpus).collect();
            let mut row = vec![0; slots + 1];
            for slot in (0..slots).rev() {
                row[slot] = if fits[slot] { row[slot + 1] + 1 } else { 0 };
            }
            let enters =
                (0..slots).map(|slot| shortest[slot] > 0 && row[slot] >= shortest[slot]).collect();
            ItemMode { gpus: f64::from(gpus), rate, enters, fits }
        };
        let modes = task.modes.iter().map(|each| mode(each.gpus, each.rate)).collect();
        Self {
            job,
            role,
            need,
            from,
            until,
            modes,
            crosses: role == Role::Due && until < slots,
            start: task.start,
            stop: task.stop,
            shortest,
        }
    }

    /// The cheapest answer to the prices.
    pub(super) fn answer(&self, prices: &Prices<'_>, clock: &Clock, paths: &mut Paths) -> Answer {
        if self.from >= self.until {
            return Answer::default();
        }
        let last = self.fill(prices, clock, paths);
        self.trace(last, prices, clock, paths)
    }

    fn fill(&self, prices: &Prices<'_>, clock: &Clock, paths: &mut Paths) -> Option<Crossing> {
        let width = self.modes.len();
        let boundaries = self.until - self.from + 1;
        paths.idle.clear();
        paths.idle.resize(boundaries, f64::INFINITY);
        paths.stopped.clear();
        paths.stopped.resize(boundaries, usize::MAX);
        paths.running.clear();
        paths.running.resize(boundaries * width, f64::INFINITY);
        paths.started.clear();
        paths.started.resize(boundaries * width, 0);
        paths.idle[0] = 0.0;
        let mut crossing: Option<Crossing> = None;
        if self.role == Role::Rest {
            // Going on from a run before the deadline costs nothing.
            for place in 0..width {
                paths.running[place] = 0.0;
                paths.started[place] = self.from;
            }
        }
        for row in 0..boundaries {
            let boundary = self.from + row;
            if row > 0 && paths.idle[row - 1] < paths.idle[row] {
                paths.idle[row] = paths.idle[row - 1];
                paths.stopped[row] = usize::MAX;
            }
            for (place, mode) in self.modes.iter().enumerate() {
                let cell = row * width + place;
                if row > 0 && mode.fits[boundary - 1] {
                    let slot = slot_cost(mode, prices, clock, boundary - 1);
                    let longer = paths.running[cell - width] + slot;
                    if longer < paths.running[cell] {
                        paths.running[cell] = longer;
                        paths.started[cell] = paths.started[cell - width];
                    }
                }
                let stopping = paths.running[cell] + prices.work * mode.rate * self.stop;
                if stopping < paths.idle[row] {
                    paths.idle[row] = stopping;
                    paths.stopped[row] = place;
                }
            }
            if boundary < self.until {
                self.enter(boundary, prices, clock, paths, &mut crossing);
            }
        }
        if self.crosses {
            self.cross(prices, paths, &mut crossing);
        }
        crossing.filter(|crossing| crossing.cost < paths.idle[boundaries - 1])
    }

    fn run_cost(&self, mode: &ItemMode, prices: &Prices<'_>) -> f64 {
        prices.run
            + prices.loss * mode.gpus * (self.start + self.stop)
            + prices.work * mode.rate * self.start
    }

    fn enter(
        &self,
        boundary: usize,
        prices: &Prices<'_>,
        clock: &Clock,
        paths: &mut Paths,
        crossing: &mut Option<Crossing>,
    ) {
        let row = boundary - self.from;
        let until = boundary + self.shortest[boundary];
        for (place, mode) in self.modes.iter().enumerate() {
            if !mode.enters[boundary] || (until > self.until && !self.crosses) {
                continue;
            }
            let slots = boundary..until.min(self.until);
            let held: f64 = slots.map(|slot| slot_cost(mode, prices, clock, slot)).sum();
            let cost = paths.idle[row] + self.run_cost(mode, prices) + held;
            if until <= self.until {
                let cell = (until - self.from) * self.modes.len() + place;
                if cost < paths.running[cell] {
                    paths.running[cell] = cost;
                    paths.started[cell] = boundary;
                }
            } else {
                let cost = cost + self.crossing_price(mode, prices);
                if crossing.as_ref().is_none_or(|best| cost < best.cost) {
                    *crossing = Some(Crossing { cost, mode: place, started: boundary });
                }
            }
        }
    }

    /// A run that crosses the end holds at least the slot after it.
    fn crossing_price(&self, mode: &ItemMode, prices: &Prices<'_>) -> f64 {
        if prices.pays_crossing { prices.slot[self.until] * mode.gpus } else { 0.0 }
    }

    fn cross(&self, prices: &Prices<'_>, paths: &Paths, crossing: &mut Option<Crossing>) {
        let row = self.until - self.from;
        for (place, mode) in self.modes.iter().enumerate() {
            if !mode.fits[self.until] {
                continue;
            }
            let cell = row * self.modes.len() + place;
            let cost = paths.running[cell] + self.crossing_price(mode, prices);
            if cost < f64::INFINITY && crossing.as_ref().is_none_or(|best| cost < best.cost) {
                *crossing = Some(Crossing { cost, mode: place, started: paths.started[cell] });
            }
        }
    }

    fn trace(
        &self,
        last: Option<Crossing>,
        prices: &Prices<'_>,
        clock: &Clock,
        paths: &Paths,
    ) -> Answer {
        let mut answer = Answer::default();
        let mut row = self.until - self.from;
        answer.cost = paths.idle[row];
        if let Some(crossing) = last {
            let mode = &self.modes[crossing.mode];
            answer.cost = crossing.cost;
            let piece = Piece { from: crossing.started, until: self.until, mode: crossing.mode };
            self.add(&mut answer, piece, 0.0, clock);
            answer.crossing_gpus = if prices.pays_crossing { mode.gpus } else { 0.0 };
            row = crossing.started - self.from;
        }
        while row > 0 {
            let place = paths.stopped[row];
            if place == usize::MAX {
                row -= 1;
                continue;
            }
            let started = paths.started[row * self.modes.len() + place];
            let piece = Piece { from: started, until: self.from + row, mode: place };
            self.add(&mut answer, piece, self.stop, clock);
            row = started - self.from;
        }
        answer
    }

    fn add(&self, answer: &mut Answer, piece: Piece, stop: f64, clock: &Clock) {
        let mode = &self.modes[piece.mode];
        let goes_on = self.role == Role::Rest && piece.from == self.from;
        let start = if goes_on { 0.0 } else { self.start };
        answer.work += mode.rate * (clock.between(piece.from, piece.until) - start - stop);
        if !goes_on {
            answer.lost += mode.gpus * (self.start + self.stop);
            answer.runs += 1.0;
        }
        answer.pieces.push(piece);
    }

    /// GPUs of a piece.
    pub(super) fn gpus(&self, piece: &Piece) -> f64 {
        self.modes[piece.mode].gpus
    }
}

/// What a mode pays for a slot, less what its work there earns.
fn slot_cost(mode: &ItemMode, prices: &Prices<'_>, clock: &Clock, slot: usize) -> f64 {
    prices.slot[slot] * mode.gpus - prices.work * mode.rate * clock.slot(slot)
}

/// The last run, where it crosses the item's end.
struct Crossing {
    cost: f64,
    mode: usize,
    started: usize,
}
