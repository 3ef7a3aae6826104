//! A schedule, and how good it is.

use super::answer::{Effort, Solution};
use super::audit::outcomes;
use super::draft::Draft;
use super::dual::{Aim, Dual};
use super::exact::exact;
use super::search::Search;
use super::shortage::{Demand, shortages};
use super::task::{Clock, Task, Worth, runs};
use crate::plan::{Level, Problem};

/// Finds a schedule that keeps every rule, and says how far each level of what is optimised is from
/// what no schedule can be better than.
///
/// The levels, each given what the ones before it reach: weighted late GPU-hours; GPU-hours lost to
/// transitions of work with a deadline; GPU-hours of work without a deadline, and of work whose
/// deadline has passed; changes. GPU-hours of work are counted at a job's best work per GPU-hour.
pub fn solve(problem: &Problem, effort: &Effort) -> Solution {
    let tasks = Task::all(problem);
    let clock = Clock::of(problem);
    let demand = Demand::of(problem, &tasks, &clock);
    let dual = Dual::new(problem, &tasks, &clock);
    let (draft, proven) = found(problem, &tasks, &clock, &dual, effort);
    let worth = draft.worth();
    let bounds = if proven {
        worth.0.map(Some)
    } else {
        bounds(&dual, &tasks, &clock, &worth, demand.late_min(&tasks))
    };
    let runs = runs(&tasks, &draft.pieces);
    Solution {
        late: outcomes(problem, &runs),
        levels: levels(&worth, bounds),
        shortage: shortages(problem).into_iter().next(),
        runs,
    }
}

/// The schedule that [`solve`] finds, without bounds and without a proof that a deadline cannot be
/// met: these take most of the time, and who only asks what a schedule comes to needs none of them.
pub fn solve_unproven(problem: &Problem, effort: &Effort) -> Solution {
    let tasks = Task::all(problem);
    let clock = Clock::of(problem);
    let dual = Dual::new(problem, &tasks, &clock);
    let (draft, _) = found(problem, &tasks, &clock, &dual, effort);
    let runs = runs(&tasks, &draft.pieces);
    Solution {
        late: outcomes(problem, &runs),
        levels: levels(&draft.worth(), [None; 4]),
        shortage: None,
        runs,
    }
}

/// A schedule, and whether it is proven the best by itself.
fn found(
    problem: &Problem,
    tasks: &[Task],
    clock: &Clock,
    dual: &Dual<'_>,
    effort: &Effort,
) -> (Draft, bool) {
    let optimum = exact(problem, tasks, clock);
    let proven = optimum.is_some();
    let draft = optimum
        .unwrap_or_else(|| Search::new(problem, tasks, clock, dual, effort).run(effort.steps_max));
    (draft, proven)
}

/// Steps that the search for a bound may take at most, and path cells that it may look at.
const BOUND_STEPS_MAX: usize = 1_500;
const BOUND_CELLS_MAX: usize = 400_000_000;

/// A bound at each level, the harvest's with its sign turned.
fn bounds(
    dual: &Dual<'_>,
    tasks: &[Task],
    clock: &Clock,
    worth: &Worth,
    flow_late_min: f64,
) -> [Option<f64>; 4] {
    if worth.0.iter().any(|value| !value.is_finite()) {
        return [None; 4];
    }
    let cells: usize = tasks.iter().map(|task| clock.slots() * (1 + task.modes.len())).sum();
    let steps_max = (BOUND_CELLS_MAX / cells.max(1)).clamp(50, BOUND_STEPS_MAX);
    [Aim::Late, Aim::Lost, Aim::Harvest, Aim::Changes].map(|aim| {
        let value = worth.0[aim as usize];
        let simple = match aim {
            Aim::Late => flow_late_min,
            Aim::Lost | Aim::Changes => 0.0,
            Aim::Harvest => f64::NEG_INFINITY,
        };
        if value <= simple {
            return Some(simple);
        }
        let bound = dual.bound(aim, worth, steps_max).value.max(simple);
        debug_assert!(bound <= value + 1e-4 * value.abs().max(1.0), "{aim:?}: {bound} > {value}");
        let bound = match aim {
            Aim::Changes => whole_runs(bound),
            _ => bound,
        };
        bound.is_finite().then_some(bound.min(value))
    })
}

/// The least number of changes that is at or above a bound: every run starts and stops, so changes
/// come in twos. The slack is that of the bound's own arithmetic.
fn whole_runs(bound: f64) -> f64 {
    2.0 * (bound / 2.0 - 1e-4).ceil()
}

fn levels(worth: &Worth, bounds: [Option<f64>; 4]) -> Vec<Level> {
    let names = [
        ("weighted late GPU-hours", "GPU-h", 1.0),
        ("GPU-hours lost to transitions", "GPU-h", 1.0),
        ("GPU-hours of work without a deadline", "GPU-h", -1.0),
        ("changes", "changes", 1.0),
    ];
    let level = |(place, (name, unit, sign)): (usize, (&'static str, &'static str, f64))| Level {
        name,
        unit,
        value: sign * worth.0[place] + 0.0,
        bound: bounds[place].map(|bound| sign * bound + 0.0),
        maximise: sign < 0.0,
    };
    names.into_iter().enumerate().map(level).collect()
}
