//! The best runs of one task in what the others leave free: dynamic programming over the slots, with
//! the work that is done in buckets.
//!
//! A node is a boundary between two slots, what the task does there (nothing, or one of its modes)
//! and the bucket of its work. Each node keeps one way to come there: the cheapest for the work that
//! it did. So the answer is a schedule that keeps every rule, and a good one, but no bound.

use super::task::{Clock, Piece, Task};

/// What is asked of one task.
pub(super) struct Ask<'a> {
    /// GPUs that it may hold in each slot.
    pub(super) free: &'a [u32],
    /// What a GPU held in each slot costs.
    pub(super) price: &'a [f64],
    /// What it costs, for each GPU, to start and to stop at each boundary.
    pub(super) edge: [&'a [f64]; 2],
    /// What a GPU-hour lost to a transition costs.
    pub(super) loss_price: f64,
    /// What a run costs.
    pub(super) run_price: f64,
    /// What a GPU-hour of work is worth when two ways to the same node are compared.
    pub(super) work_value: f64,
    /// What a GPU-hour of work that stays undone costs; `None` where doing it comes before any cost.
    pub(super) undone_price: Option<f64>,
}

/// Buckets of a task's work at the most.
const BUCKETS_MAX: usize = 256;

/// Nodes at most; longer questions get fewer buckets.
const NODES_MAX: usize = 1 << 20;

const NOWHERE: u32 = u32::MAX;

/// The memory of the program, kept from one question to the next.
#[derive(Default)]
pub(super) struct Single {
    cost: Vec<f64>,
    work: Vec<f64>,
    back: Vec<u32>,
    /// For each mode and slot: slots in a row, from it on, in which the mode fits.
    fits: Vec<Vec<u32>>,
    buckets: usize,
    states: usize,
    release: usize,
}

/// An end that the search found.
#[derive(Clone, Copy)]
struct End {
    undone: f64,
    cost: f64,
    node: u32,
    /// A last run that crosses the deadline, its end, and for one that starts before it, its start.
    crossing: Option<Piece>,
}

impl Single {
    /// The best runs; none where running is not worth it.
    pub(super) fn best(&mut self, task: &Task, ask: &Ask<'_>, clock: &Clock) -> Vec<Piece> {
        if task.release >= task.due || task.modes.is_empty() || task.need <= 0.0 {
            return Vec::new();
        }
        self.prepare(task, ask, clock);
        let Some(end) = self.sweep(task, ask, clock) else { return Vec::new() };
        let mut pieces = self.trace(end);
        trim(task, &mut pieces, clock);
        pieces
    }

    fn prepare(&mut self, task: &Task, ask: &Ask<'_>, clock: &Clock) {
        let boundaries = task.due - task.release + 1;
        self.states = task.modes.len() + 1;
        self.release = task.release;
        let affordable = NODES_MAX / (boundaries * self.states);
        self.buckets = if task.need.is_finite() {
            // A bucket is no wider than what the smallest mode does in the shortest slot.
            let rate = task.modes.iter().map(|mode| mode.rate).fold(f64::INFINITY, f64::min);
            let wanted = (1.5 * task.need / (rate * clock.slot_min())).ceil() as usize;
            wanted.min(BUCKETS_MAX).min(affordable).max(8)
        } else {
            1
        };
        let nodes = boundaries * self.states * (self.buckets + 1);
        for values in [&mut self.cost, &mut self.work] {
            values.clear();
            values.resize(nodes, f64::INFINITY);
        }
        self.back.clear();
        self.back.resize(nodes, NOWHERE);
        self.fits.resize(task.modes.len(), Vec::new());
        for (mode, fits) in task.modes.iter().zip(&mut self.fits) {
            fits.clear();
            fits.resize(clock.slots() + 1, 0);
            for slot in (task.release..clock.slots()).rev() {
                let fitting = ask.free[slot] >= mode.gpus;
                fits[slot] = if fitting { fits[slot + 1] + 1 } else { 0 };
            }
        }
    }

    fn node(&self, boundary: usize, state: usize, bucket: usize) -> usize {
        ((boundary - self.release) * self.states + state) * (self.buckets + 1) + bucket
    }

    fn bucket(&self, task: &Task, work: f64) -> usize {
        if task.need.is_infinite() {
            return 0;
        }
        if work >= task.enough() {
            return self.buckets;
        }
        ((work / task.need * self.buckets as f64) as usize).min(self.buckets - 1)
    }

    /// Keeps the better of two ways to a node.
    fn reach(&mut self, node: usize, cost: f64, work: f64, from: usize, value: f64) {
        let better = cost - value * work;
        let before = self.cost[node] - value * self.work[node];
        if self.back[node] == NOWHERE || better < before - 1e-12 {
            self.cost[node] = cost;
            self.work[node] = work;
            self.back[node] = from as u32;
        }
    }

    fn sweep(&mut self, task: &Task, ask: &Ask<'_>, clock: &Clock) -> Option<End> {
        let origin = self.node(task.release, 0, 0);
        self.cost[origin] = 0.0;
        self.work[origin] = 0.0;
        self.back[origin] = origin as u32;
        let mut best: Option<End> = None;
        for boundary in task.release..=task.due {
            for state in 1..self.states {
                self.leave_mode(task, ask, clock, boundary, state);
            }
            if boundary < task.due {
                self.leave_idle(task, ask, clock, boundary, &mut best);
            }
            self.offer_idle_ends(task, ask, boundary, &mut best);
        }
        if !task.ends_inside {
            self.offer_crossing_ends(task, ask, clock, &mut best);
        }
        best
    }

    /// From a mode: stop, or go on.
    fn leave_mode(
        &mut self,
        task: &Task,
        ask: &Ask<'_>,
        clock: &Clock,
        boundary: usize,
        state: usize,
    ) {
        let mode = task.modes[state - 1];
        let goes_on = boundary < task.due && self.fits[state - 1][boundary] > 0;
        for bucket in 0..=self.buckets {
            let node = self.node(boundary, state, bucket);
            if self.back[node] == NOWHERE {
                continue;
            }
            let (cost, work) = (self.cost[node], self.work[node]);
            let stopped = work - mode.rate * task.stop;
            let done = stopped >= task.enough();
            let idle = self.node(boundary, 0, self.bucket(task, stopped));
            let edge = ask.edge[1][boundary] * f64::from(mode.gpus);
            self.reach(idle, cost + edge, stopped, node, ask.work_value);
            if goes_on && !done {
                let more = work + mode.rate * clock.slot(boundary);
                let next = self.node(boundary + 1, state, self.bucket(task, more));
                let price = ask.price[boundary] * f64::from(mode.gpus);
                self.reach(next, cost + price, more, node, ask.work_value);
            }
        }
    }

    /// From rest: rest on, or start a run that is as long as the shortest useful one.
    fn leave_idle(
        &mut self,
        task: &Task,
        ask: &Ask<'_>,
        clock: &Clock,
        boundary: usize,
        best: &mut Option<End>,
    ) {
        let length = shortest(task, boundary, clock);
        // The last bucket is done work.
        let open = if task.need.is_finite() { self.buckets } else { 1 };
        for state in 0..self.states {
            if state == 0 {
                for bucket in 0..open {
                    let node = self.node(boundary, 0, bucket);
                    if self.back[node] != NOWHERE {
                        let next = self.node(boundary + 1, 0, bucket);
                        self.reach(next, self.cost[node], self.work[node], node, ask.work_value);
                    }
                }
                continue;
            }
            let Some(length) = length else { continue };
            let (mode, until) = (task.modes[state - 1], boundary + length);
            if (self.fits[state - 1][boundary] as usize) < length {
                continue;
            }
            let gpus = f64::from(mode.gpus);
            let price: f64 = ask.price[boundary..until].iter().sum();
            let price = price + ask.edge[0][boundary] + ask.loss_price * task.transitions();
            let price = gpus * price + ask.run_price;
            for bucket in 0..open {
                let node = self.node(boundary, 0, bucket);
                if self.back[node] == NOWHERE {
                    continue;
                }
                let (cost, work) = (self.cost[node] + price, self.work[node]);
                if until <= task.due {
                    let work = work + mode.rate * (clock.between(boundary, until) - task.start);
                    let next = self.node(until, state, self.bucket(task, work));
                    self.reach(next, cost, work, node, ask.work_value);
                } else if !task.ends_inside {
                    let useful = (clock.between(boundary, until) - task.stop)
                        .min(clock.between(boundary, task.due));
                    let work = work + mode.rate * (useful - task.start).max(0.0);
                    let piece = Piece { from: boundary, until, mode: state - 1 };
                    offer(task, ask, best, (cost, work, node, Some(piece)));
                }
            }
        }
    }

    fn offer_idle_ends(&self, task: &Task, ask: &Ask<'_>, boundary: usize, best: &mut Option<End>) {
        let first = if boundary == task.due { 0 } else { self.buckets };
        for bucket in first..=self.buckets {
            let node = self.node(boundary, 0, bucket);
            if self.back[node] != NOWHERE {
                offer(task, ask, best, (self.cost[node], self.work[node], node, None));
            }
        }
    }

    /// A run that goes on after the deadline does not stop before it.
    fn offer_crossing_ends(
        &self,
        task: &Task,
        ask: &Ask<'_>,
        clock: &Clock,
        best: &mut Option<End>,
    ) {
        let Some(until) = (task.due..=clock.slots())
            .find(|&until| clock.between(task.due, until) >= task.stop)
            .filter(|&until| until > task.due)
        else {
            return;
        };
        for state in 1..self.states {
            if (self.fits[state - 1][task.due] as usize) < until - task.due {
                continue;
            }
            let price: f64 = ask.price[task.due..until].iter().sum();
            let price = price * f64::from(task.modes[state - 1].gpus);
            for bucket in 0..=self.buckets {
                let node = self.node(task.due, state, bucket);
                if self.back[node] != NOWHERE {
                    let piece = Piece { from: task.due, until, mode: state - 1 };
                    let cost = self.cost[node] + price;
                    offer(task, ask, best, (cost, self.work[node], node, Some(piece)));
                }
            }
        }
    }

    /// The runs that lead to an end.
    fn trace(&self, end: End) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = end.crossing.into_iter().collect();
        let mut node = end.node as usize;
        loop {
            let before = self.back[node] as usize;
            if before == node {
                break;
            }
            let (boundary, state) = self.place(node);
            let (earlier, _) = self.place(before);
            if state > 0 {
                match pieces.last_mut() {
                    Some(piece) if piece.from == boundary && piece.mode == state - 1 => {
                        piece.from = earlier;
                    }
                    _ => pieces.push(Piece { from: earlier, until: boundary, mode: state - 1 }),
                }
            }
            node = before;
        }
        pieces.reverse();
        pieces
    }

    fn place(&self, node: usize) -> (usize, usize) {
        let row = node / (self.buckets + 1);
        (self.release + row / self.states, row % self.states)
    }
}

/// The fewest slots from a boundary on in which a run does any work.
pub(super) fn shortest(task: &Task, from: usize, clock: &Clock) -> Option<usize> {
    let fewest = (from + 1..=clock.slots())
        .find(|&until| clock.between(from, until) > task.transitions())?;
    let length = (fewest - from).max(task.min_run);
    (from + length <= clock.slots()).then_some(length)
}

fn offer(
    task: &Task,
    ask: &Ask<'_>,
    best: &mut Option<End>,
    (cost, work, node, crossing): (f64, f64, usize, Option<Piece>),
) {
    let (undone, cost) = if task.need.is_infinite() {
        (0.0, cost - ask.undone_price.unwrap_or(1.0) * work)
    } else {
        let undone = if work >= task.enough() { 0.0 } else { task.need - work };
        match ask.undone_price {
            Some(price) => (0.0, cost + price * undone),
            None => (undone, cost),
        }
    };
    let better = match best {
        None => true,
        Some(best) if (undone - best.undone).abs() > 1e-9 * (1.0 + undone) => undone < best.undone,
        Some(best) => cost < best.cost - 1e-12,
    };
    if better {
        *best = Some(End { undone, cost, node: node as u32, crossing });
    }
}

/// Cuts the last run where the work is done.
pub(super) fn trim(task: &Task, pieces: &mut Vec<Piece>, clock: &Clock) {
    while let Some(&last) = pieces.last() {
        let others = task.work_of(&pieces[..pieces.len() - 1], clock);
        if others >= task.enough() {
            pieces.pop();
            continue;
        }
        let shorter = Piece { until: last.until - 1, ..last };
        if shorter.until < shorter.from + task.min_run
            || others + task.work_of(&[shorter], clock) < task.enough()
        {
            return;
        }
        let place = pieces.len() - 1;
        pieces[place] = shorter;
    }
}
