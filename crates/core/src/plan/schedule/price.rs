//! The cheapest way in which one task answers to prices: what a GPU costs in each slot, and what a
//! GPU-hour of its work earns.
//!
//! With a price on work instead of an amount of it, the best runs are a shortest path over the
//! boundaries between slots. Capacity is not looked at beyond whether a mode fits at all: that is
//! what the prices are for. So the cost is one that no way of running can be below.
//!
//! One thing is kept beside the prices: no run goes on once it has done all of the task's work, and
//! it earns no more than that. Without it a part of a long run would do for a short task.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

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
    shortest_max: usize,
}

struct ItemMode {
    gpus: f64,
    rate: f64,
    /// Whether the shortest useful run fits from a slot on.
    enters: Vec<bool>,
    /// Whether the mode fits into a slot.
    fits: Vec<bool>,
    /// For each slot: where a run from it on has done all of the work, which none outlasts; past the
    /// last slot where it never has.
    longest: Vec<usize>,
    /// For each slot: the slot before which the mode fits from it on without a break.
    reach: Vec<usize>,
}

impl ItemMode {
    /// Starts whose runs have done all of the work at a boundary. Ends never step back.
    fn done_at(&self, boundary: usize, from: usize) -> std::ops::Range<usize> {
        let first = self.longest.partition_point(|&end| end < boundary);
        let last = self.longest.partition_point(|&end| end <= boundary);
        first.max(from)..last.min(boundary)
    }
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
    /// The least cost of being at rest at each boundary.
    idle: Vec<f64>,
    /// The mode that stops there and the boundary at which it started; no mode for rest.
    stopped: Vec<(usize, usize)>,
    /// Sums of slot costs up to each boundary, for each mode.
    sums: Vec<Vec<f64>>,
    /// Starts of runs that may go on, for each mode: the cheapest first, each later one dearer.
    starts: Vec<VecDeque<(f64, usize)>>,
}

const REST: usize = usize::MAX;

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
        let first = from;
        let mode = |gpus: u32, rate: f64| {
            let fits: Vec<bool> = capacity.iter().map(|&capacity| capacity >= gpus).collect();
            let mut row = vec![0; slots + 1];
            for slot in (0..slots).rev() {
                row[slot] = if fits[slot] { row[slot + 1] + 1 } else { 0 };
            }
            let enters =
                (0..slots).map(|slot| shortest[slot] > 0 && row[slot] >= shortest[slot]).collect();
            let done = |from: usize| {
                let done = clock.reaches(from, task.transitions() + need / rate);
                // It may be all done before the shortest run is over.
                if shortest[from] > 0 { done.max(from + shortest[from]) } else { slots + 1 }
            };
            // Ascending, so that starts can be found by their ends.
            let longest =
                (0..slots).map(|slot| if slot < first { 0 } else { done(slot) }).collect();
            let reach = (0..slots).map(|slot| slot + row[slot]).collect();
            ItemMode { gpus: f64::from(gpus), rate, enters, fits, longest, reach }
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
            shortest_max: shortest.iter().copied().max().unwrap_or(0),
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
        let boundaries = self.until - self.from + 1;
        self.prepare(prices, clock, paths);
        let mut crossing: Option<Crossing> = None;
        for row in 0..boundaries {
            let boundary = self.from + row;
            if row > 0 {
                paths.idle[row] = paths.idle[row - 1];
            }
            for place in 0..self.modes.len() {
                self.stop(boundary, place, prices, clock, paths);
            }
            if boundary < self.until && self.crosses && self.shortest[boundary] > 0 {
                self.cross_at_once(boundary, prices, clock, paths, &mut crossing);
            }
        }
        if self.crosses {
            self.cross(prices, paths, &mut crossing);
        }
        crossing.filter(|crossing| crossing.cost < paths.idle[boundaries - 1])
    }

    fn prepare(&self, prices: &Prices<'_>, clock: &Clock, paths: &mut Paths) {
        let boundaries = self.until - self.from + 1;
        paths.idle.clear();
        paths.idle.resize(boundaries, 0.0);
        paths.stopped.clear();
        paths.stopped.resize(boundaries, (REST, 0));
        paths.sums.resize(self.modes.len(), Vec::new());
        paths.starts.resize(self.modes.len(), VecDeque::new());
        for (mode, (sums, starts)) in
            self.modes.iter().zip(paths.sums.iter_mut().zip(&mut paths.starts))
        {
            starts.clear();
            sums.clear();
            sums.push(0.0);
            let mut sum = 0.0;
            for slot in self.from..self.until {
                sum += slot_cost(mode, prices, clock, slot);
                sums.push(sum);
            }
            if self.role == Role::Rest {
                // Going on from a run before the deadline costs nothing.
                starts.push_back((0.0, self.from));
            }
        }
    }

    /// Lets runs of a mode come to a boundary, and stops the best of them there.
    fn stop(
        &self,
        boundary: usize,
        place: usize,
        prices: &Prices<'_>,
        clock: &Clock,
        paths: &mut Paths,
    ) {
        let mode = &self.modes[place];
        let row = boundary - self.from;
        let stopping = prices.work * mode.rate * self.stop;
        if row > 0 && !mode.fits[boundary - 1] {
            paths.starts[place].clear();
        }
        // A start whose shortest run ends here.
        let first = boundary.saturating_sub(self.shortest_max);
        for start in first.max(self.from)..boundary {
            if start + self.shortest[start] == boundary && mode.enters[start] {
                let cost = paths.idle[start - self.from] + self.run_cost(mode, prices)
                    - paths.sums[place][start - self.from];
                let starts = &mut paths.starts[place];
                while starts.back().is_some_and(|&(dearer, _)| dearer >= cost) {
                    starts.pop_back();
                }
                starts.push_back((cost, start));
            }
        }
        self.stop_done(boundary, place, prices, clock, paths);
        while let Some(&(cost, start)) = paths.starts[place].front() {
            if self.ends(mode, start) <= boundary {
                paths.starts[place].pop_front();
                continue;
            }
            let cost = cost + paths.sums[place][row] + stopping;
            if cost < paths.idle[row] {
                paths.idle[row] = cost;
                paths.stopped[row] = (place, start);
            }
            break;
        }
    }

    /// Where a run from a start on has done all work. What is left of a task may go on from before,
    /// and so has no such end.
    fn ends(&self, mode: &ItemMode, start: usize) -> usize {
        if self.role == Role::Rest { usize::MAX } else { mode.longest[start] }
    }

    /// Stops the runs that have done all of the work here: they earn that and no more.
    fn stop_done(
        &self,
        boundary: usize,
        place: usize,
        prices: &Prices<'_>,
        clock: &Clock,
        paths: &mut Paths,
    ) {
        let mode = &self.modes[place];
        let row = boundary - self.from;
        let starts = mode.done_at(boundary, self.from);
        for start in starts {
            let fits = mode.enters[start] && mode.reach[start] >= boundary;
            if !fits || self.ends(mode, start) != boundary {
                continue;
            }
            let before = start - self.from;
            let held = paths.sums[place][row] - paths.sums[place][before];
            let worked = mode.rate * (clock.between(start, boundary) - self.start - self.stop);
            let cost = paths.idle[before]
                + self.run_cost(mode, prices)
                + held
                + prices.work * (mode.rate * self.stop + (worked - self.need).max(0.0));
            if cost < paths.idle[row] {
                paths.idle[row] = cost;
                paths.stopped[row] = (place, start);
            }
        }
    }

    fn run_cost(&self, mode: &ItemMode, prices: &Prices<'_>) -> f64 {
        prices.run
            + prices.loss * mode.gpus * (self.start + self.stop)
            + prices.work * mode.rate * self.start
    }

    /// A run whose shortest length leads over the end.
    fn cross_at_once(
        &self,
        boundary: usize,
        prices: &Prices<'_>,
        clock: &Clock,
        paths: &Paths,
        crossing: &mut Option<Crossing>,
    ) {
        if boundary + self.shortest[boundary] <= self.until {
            return;
        }
        let row = boundary - self.from;
        for (place, mode) in self.modes.iter().enumerate().filter(|(_, mode)| mode.enters[boundary])
        {
            let held: f64 =
                (boundary..self.until).map(|slot| slot_cost(mode, prices, clock, slot)).sum();
            let cost = paths.idle[row]
                + self.run_cost(mode, prices)
                + held
                + self.crossing_price(mode, prices);
            if crossing.as_ref().is_none_or(|best| cost < best.cost) {
                *crossing = Some(Crossing { cost, mode: place, started: boundary });
            }
        }
    }

    /// A run that crosses the end holds at least the slot after it.
    fn crossing_price(&self, mode: &ItemMode, prices: &Prices<'_>) -> f64 {
        if prices.pays_crossing { prices.slot[self.until] * mode.gpus } else { 0.0 }
    }

    fn cross(&self, prices: &Prices<'_>, paths: &Paths, crossing: &mut Option<Crossing>) {
        let row = self.until - self.from;
        for (place, mode) in self.modes.iter().enumerate().filter(|(_, mode)| mode.fits[self.until])
        {
            let Some(&(cost, started)) = paths.starts[place].front() else { continue };
            let cost = cost + paths.sums[place][row] + self.crossing_price(mode, prices);
            if crossing.as_ref().is_none_or(|best| cost < best.cost) {
                *crossing = Some(Crossing { cost, mode: place, started });
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
            let (place, started) = paths.stopped[row];
            if place == REST {
                row -= 1;
                continue;
            }
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
        let worked = mode.rate * (clock.between(piece.from, piece.until) - start - stop);
        let done = self.ends(mode, piece.from) == piece.until;
        answer.work += if done { worked.min(self.need) } else { worked };
        if !goes_on {
            answer.lost += mode.gpus * (self.start + self.stop);
            answer.runs += 1.0;
        }
        answer.pieces.push(piece);
    }

    /// How many modes there are.
    pub(super) fn modes(&self) -> usize {
        self.modes.len()
    }

    /// GPUs of a mode.
    pub(super) fn gpus_of(&self, mode: usize) -> f64 {
        self.modes[mode].gpus
    }

    /// Where runs that start at a slot may end; an end after the item's own stands for all of them.
    pub(super) fn ends_of(&self, from: usize, mode: usize) -> Option<RangeInclusive<usize>> {
        let mode = &self.modes[mode];
        let shortest = from + self.shortest[from];
        let crossing = self.until + usize::from(self.crosses);
        let last = mode.longest[from].min(mode.reach[from]).min(crossing);
        mode.enters[from]
            .then(|| shortest.min(crossing)..=last)
            .filter(|_| shortest <= crossing || self.crosses)
    }

    /// What a run costs whatever its length.
    pub(super) fn fixed_cost(&self, mode: usize, prices: &Prices<'_>) -> f64 {
        prices.run + prices.loss * self.modes[mode].gpus * (self.start + self.stop)
    }

    /// What it costs to go on after the end.
    pub(super) fn crossing_cost(&self, mode: usize, prices: &Prices<'_>) -> f64 {
        self.crossing_price(&self.modes[mode], prices)
    }

    /// Work of a run, before the item's end where it goes on after that.
    pub(super) fn gain(&self, from: usize, until: usize, mode: usize, clock: &Clock) -> f64 {
        let (until, stop) = if until > self.until { (self.until, 0.0) } else { (until, self.stop) };
        self.modes[mode].rate * (clock.between(from, until) - self.start - stop).max(0.0)
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
