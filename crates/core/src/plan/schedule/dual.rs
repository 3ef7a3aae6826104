//! What no schedule can be better than, at one level and given what the levels above reach.
//!
//! Lagrangian relaxation: the only thing that ties the jobs together is that they share GPUs, and
//! that they share the values of the levels above. Both are priced instead of kept: for any prices
//! that are not negative, the sum of what each job costs at its cheapest, less what the GPUs and the
//! allowed values are worth at these prices, is at most the level's value in any schedule that keeps
//! them (weak duality; Held and Karp 1971, Geoffrion 1974). So every set of prices gives a bound,
//! and better prices only give a better one. The prices are found by subgradient steps.
//!
//! Work is priced as well: a job with a deadline owes its need, and is paid for what it does. Three
//! things make the bound smaller than it could be, and never larger: a job may do more than it needs
//! where that is paid; runs at prices are a mixture, so that half a run may count (at the last prices each
//! job that must be done in time is asked anew, as a whole); and what a run
//! does after its deadline costs nothing but the GPUs.

use super::price::{Answer, Item, Paths, Prices, Role};
use super::task::{Clock, Task, Worth};
use super::whole::least_cost;
use crate::plan::Problem;

/// What a level's bound is asked under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aim {
    Late,
    Lost,
    Harvest,
    Changes,
}

/// How far the bound may stay below the value before the search for prices ends, as a share.
const CLOSE: f64 = 1e-4;

/// Slack on the values of the levels above, so that rounding does not tighten them.
const SLACK: f64 = 1e-6;

/// Steps without a better bound before the step length is cut.
const PATIENCE: usize = 60;

/// A bound and the prices that prove it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound {
    /// The bound.
    pub(super) value: f64,
    /// What a GPU is worth in each slot: to a task that may hold lent ones, and to one that may not.
    pub(super) prices: [Vec<f64>; 2],
}

/// The relaxation of one problem.
pub(super) struct Dual<'a> {
    tasks: &'a [Task],
    clock: &'a Clock,
    /// GPUs that jobs can hold together in each slot, and those that must not be preempted.
    capacity: [Vec<f64>; 2],
    due: Vec<Item>,
    harvest: Vec<Item>,
    rest: Vec<Item>,
}

/// Prices, all of them at least zero.
#[derive(Clone)]
struct Multipliers {
    /// A GPU in each slot: of all, and of those that must not be preempted.
    slot: [Vec<f64>; 2],
    /// A GPU-hour of work of each item.
    work: Vec<f64>,
    /// A unit of each level above.
    above: [f64; 3],
}

/// The bound at some prices, and how it changes with them.
struct Value {
    bound: f64,
    slope: Multipliers,
}

impl<'a> Dual<'a> {
    pub(super) fn new(problem: &Problem, tasks: &'a [Task], clock: &'a Clock) -> Self {
        let all: Vec<u32> = problem.slots.iter().map(|slot| slot.firm + slot.lendable).collect();
        let firm: Vec<u32> = problem.slots.iter().map(|slot| slot.firm).collect();
        let item = |job: usize, role: Role, need: f64| {
            let task = &tasks[job];
            let capacity = if task.preemptible { &all } else { &firm };
            Item::new(job, role, task, need, capacity, clock)
        };
        let jobs =
            |due: bool| (0..tasks.len()).filter(move |&job| tasks[job].weight.is_some() == due);
        let due = jobs(true).map(|job| item(job, Role::Due, tasks[job].enough())).collect();
        let harvest = jobs(false).map(|job| item(job, Role::Harvest, tasks[job].need)).collect();
        let rest = jobs(true)
            .filter(|&job| tasks[job].due < clock.slots())
            .map(|job| item(job, Role::Rest, tasks[job].need))
            .collect();
        let fits = |slot: usize, firmly: bool, capacity: u32| {
            let held =
                tasks.iter().filter(|task| task.release <= slot && !(firmly && task.preemptible));
            largest_sum(held, capacity)
        };
        let capacity = [
            (0..all.len()).map(|slot| fits(slot, false, all[slot])).collect(),
            (0..all.len()).map(|slot| fits(slot, true, firm[slot])).collect(),
        ];
        Self { tasks, clock, capacity, due, harvest, rest }
    }

    /// A bound on one level's value (the harvest's with its sign turned) of every schedule that is
    /// as good as `worth` at each level above, and what a GPU is worth in each slot.
    pub(super) fn bound(&self, aim: Aim, worth: &Worth, steps_max: usize) -> Bound {
        let question = Question::new(self, aim, worth);
        let target = worth.0[aim as usize];
        let mut paths = Paths::default();
        let mut prices = question.first_prices();
        let mut best = f64::NEG_INFINITY;
        let mut best_prices = prices.clone();
        let (mut length, mut stalled) = (1.0, 0);
        for _ in 0..steps_max {
            let value = question.value(&prices, &mut paths);
            if value.bound > best + 1e-9 {
                stalled = 0;
                best = value.bound;
                best_prices.clone_from(&prices);
            } else {
                stalled += 1;
            }
            if target - best <= CLOSE * target.abs().max(1.0) {
                break;
            }
            if stalled >= PATIENCE {
                stalled = 0;
                length *= 0.8;
                prices.clone_from(&best_prices);
                if length < 1e-6 {
                    break;
                }
            }
            let scale = question.scale();
            let norm = value.slope.norm(&prices, &scale);
            if norm <= 0.0 {
                break;
            }
            let step = length * (target - value.bound).max(1e-6) / norm;
            prices.climb(&value.slope, &scale, step);
        }
        best = best.max(question.whole(&best_prices, &mut paths));
        let [all, firm] = best_prices.slot;
        let firm = all.iter().zip(firm).map(|(all, firm)| all + firm).collect();
        Bound { value: best, prices: [all, firm] }
    }
}

/// What a GPU costs a task that must not be preempted.
fn firm_prices(prices: &Multipliers) -> Vec<f64> {
    prices.slot[0].iter().zip(&prices.slot[1]).map(|(all, firm)| all + firm).collect()
}

/// The largest sum of modes, at most one of each task, that does not exceed a capacity: what is free
/// beyond it helps nobody.
fn largest_sum<'t>(tasks: impl Iterator<Item = &'t Task>, capacity: u32) -> f64 {
    let mut reached = vec![false; capacity as usize + 1];
    reached[0] = true;
    for task in tasks {
        if reached[capacity as usize] {
            break;
        }
        let before = reached.clone();
        for mode in &task.modes {
            for (sum, _) in before.iter().enumerate().filter(|(_, was)| **was) {
                if let Some(reached) = reached.get_mut(sum + mode.gpus as usize) {
                    *reached = true;
                }
            }
        }
    }
    reached.iter().rposition(|&reached| reached).unwrap_or(0) as f64
}

/// A bound that is asked for.
struct Question<'a> {
    dual: &'a Dual<'a>,
    aim: Aim,
    /// The values of the levels above: lateness, loss, harvest.
    allowed: [f64; 3],
    items: Vec<&'a Item>,
    /// For each job, the place of what is left of it after its deadline.
    rest_of: Vec<Option<usize>>,
}

impl<'a> Question<'a> {
    fn new(dual: &'a Dual<'a>, aim: Aim, worth: &Worth) -> Self {
        let Worth([late, lost, minus_harvest, _]) = *worth;
        let allowed = [late, lost + SLACK, -minus_harvest - SLACK];
        let mut question =
            Self { dual, aim, allowed, items: Vec::new(), rest_of: vec![None; dual.tasks.len()] };
        question.items.extend(&dual.due);
        if aim >= Aim::Harvest {
            question.items.extend(&dual.harvest);
            for item in &dual.rest {
                if question.must(item) {
                    continue;
                }
                question.rest_of[item.job] = Some(question.items.len());
                question.items.push(item);
            }
        }
        question
    }

    fn weight(&self, item: &Item) -> f64 {
        self.dual.tasks[item.job].weight.unwrap_or(0.0)
    }

    /// Whether a job must be done in time: no weighted lateness is allowed, and it has a weight.
    fn must(&self, item: &Item) -> bool {
        self.aim > Aim::Late && self.allowed[0] <= 0.0 && self.weight(item) > 0.0
    }

    /// What late work of a job may still earn after the deadline, and the place of that item: work
    /// that is left is late, so the price of the one is asked of the other.
    fn late_earns(&self, job: usize, prices: &Multipliers) -> f64 {
        let unit = self.unit(prices, Aim::Harvest);
        self.rest_of[job].map_or(0.0, |place| unit - prices.work[place].min(unit))
    }

    /// What a unit of the levels above costs: they are the aim itself at their own level.
    fn unit(&self, prices: &Multipliers, level: Aim) -> f64 {
        match self.aim.cmp(&level) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => prices.above[level as usize],
        }
    }

    /// Prices from which the climb starts.
    fn first_prices(&self) -> Multipliers {
        let slots = self.dual.clock.slots();
        let hours: Vec<f64> = (0..slots).map(|slot| self.dual.clock.slot(slot)).collect();
        let harvests = self.items.iter().any(|item| item.role != Role::Due);
        let (slot, work, above) = match self.aim {
            Aim::Late => (0.5, 0.5, [0.0; 3]),
            Aim::Lost => (0.0, 0.02, [1.0, 0.0, 0.0]),
            Aim::Harvest if harvests => (1.0, 1.0, [1.0, 1.0, 0.0]),
            Aim::Harvest => (0.0, 0.0, [0.0; 3]),
            Aim::Changes if harvests => (0.2, 0.2, [1.0, 1.0, 0.2]),
            Aim::Changes => (0.0, 0.02, [1.0, 1.0, 0.0]),
        };
        let weights: Vec<f64> = self.dual.due.iter().map(|item| self.weight(item)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        let factor = if self.aim == Aim::Late { mean } else { 1.0 };
        Multipliers {
            slot: [hours.iter().map(|hours| slot * factor * hours).collect(), vec![0.0; slots]],
            work: self.items.iter().map(|_| work * factor).collect(),
            above,
        }
    }

    /// How far one step moves each price, by its unit.
    fn scale(&self) -> Multipliers {
        let clock = self.dual.clock;
        let slot = |capacity: &Vec<f64>| -> Vec<f64> {
            let each = |(slot, &capacity): (usize, &f64)| clock.slot(slot) / capacity.max(1.0);
            capacity.iter().enumerate().map(each).collect()
        };
        let work = |item: &&Item| {
            if item.need.is_finite() { 1.0 / item.need.max(1.0) } else { 0.0 }
        };
        Multipliers {
            slot: [slot(&self.dual.capacity[0]), slot(&self.dual.capacity[1])],
            work: self.items.iter().map(work).collect(),
            above: self.allowed.map(|value| 1.0 / value.abs().max(1.0)),
        }
    }

    /// The bound at some prices.
    fn value(&self, prices: &Multipliers, paths: &mut Paths) -> Value {
        let dual = self.dual;
        let slots = dual.clock.slots();
        let firm = firm_prices(prices);
        let mut slope = Multipliers {
            slot: [
                dual.capacity[0].iter().map(|capacity| -capacity).collect(),
                dual.capacity[1].iter().map(|capacity| -capacity).collect(),
            ],
            work: vec![0.0; self.items.len()],
            above: [0.0; 3],
        };
        let mut bound = 0.0;
        for (row, capacity) in dual.capacity.iter().enumerate() {
            for (price, capacity) in prices.slot[row].iter().zip(capacity) {
                bound -= price * capacity;
            }
        }
        for (place, item) in self.items.iter().enumerate() {
            let preemptible = dual.tasks[item.job].preemptible;
            let asked = self.asked(item, prices, place, &firm);
            let answer = item.answer(&asked, dual.clock, paths);
            bound +=
                answer.cost + self.owed(item, prices, asked.work, &answer, (place, &mut slope));
            for piece in &answer.pieces {
                for slot in piece.from..piece.until {
                    slope.slot[0][slot] += item.gpus(piece);
                    if !preemptible {
                        slope.slot[1][slot] += item.gpus(piece);
                    }
                }
            }
            if answer.crossing_gpus > 0.0 && item.until < slots {
                slope.slot[0][item.until] += answer.crossing_gpus;
                if !preemptible {
                    slope.slot[1][item.until] += answer.crossing_gpus;
                }
            }
        }
        self.close(prices, &mut bound, &mut slope);
        Value { bound, slope }
    }

    /// The bound at some prices where each job that must be done in time is done as a whole.
    fn whole(&self, prices: &Multipliers, paths: &mut Paths) -> f64 {
        let dual = self.dual;
        let firm = firm_prices(prices);
        let mut bound = self.value(prices, paths).bound;
        for (place, item) in self.items.iter().enumerate() {
            if item.role != Role::Due || !self.must(item) {
                continue;
            }
            let asked = self.asked(item, prices, place, &firm);
            let priced = item.answer(&asked, dual.clock, paths).cost + asked.work * item.need;
            if let Some(whole) = least_cost(item, &asked, dual.clock) {
                bound += (whole - priced).max(0.0);
            }
        }
        bound
    }

    /// The prices that an item sees.
    fn asked<'p>(
        &self,
        item: &Item,
        prices: &'p Multipliers,
        place: usize,
        firm: &'p [f64],
    ) -> Prices<'p> {
        let preemptible = self.dual.tasks[item.job].preemptible;
        Prices {
            slot: if preemptible { &prices.slot[0] } else { firm },
            work: self.earned(item, prices, place),
            run: if self.aim == Aim::Changes { 2.0 } else { 0.0 },
            loss: if item.role == Role::Due { self.unit(prices, Aim::Lost) } else { 0.0 },
            pays_crossing: self.aim < Aim::Harvest,
        }
    }

    /// What a GPU-hour of an item's work earns.
    fn earned(&self, item: &Item, prices: &Multipliers, place: usize) -> f64 {
        if item.role == Role::Due {
            return prices.work[place];
        }
        let unit = self.unit(prices, Aim::Harvest);
        if item.need.is_finite() { prices.work[place].min(unit) } else { unit }
    }

    /// What an item owes beside what it does, and the slopes that come of it.
    fn owed(
        &self,
        item: &Item,
        prices: &Multipliers,
        earned: f64,
        answer: &Answer,
        (place, slope): (usize, &mut Multipliers),
    ) -> f64 {
        let need = item.need;
        if item.role == Role::Due {
            // It owes its need; what is late is bought at the price of lateness, where it may be.
            slope.work[place] = need - answer.work;
            slope.above[1] += answer.lost;
            let late = self.unit(prices, Aim::Late) * self.weight(item)
                - self.late_earns(item.job, prices);
            if self.must(item) || earned <= late {
                return earned * need;
            }
            slope.work[place] -= need;
            slope.above[0] += self.weight(item) * need;
            if let Some(rest) = self.rest_of[item.job] {
                slope.work[rest] += need;
                slope.above[2] -= need;
            }
            return late * need;
        }
        let unit = self.unit(prices, Aim::Harvest);
        if item.role == Role::Rest {
            slope.work[place] -= answer.work;
            if prices.work[place] >= unit {
                slope.work[place] = slope.work[place].min(0.0);
            }
            return 0.0;
        }
        if need.is_infinite() {
            slope.above[2] -= answer.work;
            return 0.0;
        }
        // The smaller of work and need is at most any mixture of the two.
        slope.work[place] = need - answer.work;
        if prices.work[place] >= unit {
            // The price of work is cut to the unit, and moves with it.
            slope.work[place] = slope.work[place].min(0.0);
            slope.above[2] -= answer.work;
        } else {
            slope.above[2] -= need;
        }
        -(unit - earned) * need
    }

    /// The values that the levels above allow.
    fn close(&self, prices: &Multipliers, bound: &mut f64, slope: &mut Multipliers) {
        let [late, lost, harvest] = self.allowed;
        if self.aim > Aim::Late {
            *bound -= prices.above[0] * late;
            slope.above[0] -= late;
        }
        if self.aim > Aim::Lost {
            *bound -= prices.above[1] * lost;
            slope.above[1] -= lost;
        }
        if self.aim > Aim::Harvest {
            *bound += prices.above[2] * harvest;
            slope.above[2] += harvest;
        }
        for level in self.aim as usize..3 {
            slope.above[level] = 0.0;
        }
    }
}

impl Multipliers {
    /// The squared length of a slope, without what would make a price negative.
    fn norm(&self, prices: &Self, scale: &Self) -> f64 {
        let term = |(slope, (price, scale)): (&f64, (&f64, &f64))| {
            if *price <= 0.0 && *slope < 0.0 { 0.0 } else { scale * slope * slope }
        };
        let sum = |slope: &[f64], prices: &[f64], scale: &[f64]| -> f64 {
            slope.iter().zip(prices.iter().zip(scale)).map(term).sum()
        };
        sum(&self.slot[0], &prices.slot[0], &scale.slot[0])
            + sum(&self.slot[1], &prices.slot[1], &scale.slot[1])
            + sum(&self.work, &prices.work, &scale.work)
            + sum(&self.above, &prices.above, &scale.above)
    }

    /// A step up a slope; no price becomes negative.
    fn climb(&mut self, slope: &Self, scale: &Self, step: f64) {
        let climb = |prices: &mut [f64], slope: &[f64], scale: &[f64]| {
            for (price, (slope, scale)) in prices.iter_mut().zip(slope.iter().zip(scale)) {
                *price = (*price + step * scale * slope).max(0.0);
            }
        };
        climb(&mut self.slot[0], &slope.slot[0], &scale.slot[0]);
        climb(&mut self.slot[1], &slope.slot[1], &scale.slot[1]);
        climb(&mut self.work, &slope.work, &scale.work);
        climb(&mut self.above, &slope.above, &scale.above);
    }
}
