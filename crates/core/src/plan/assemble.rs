//! The whole plan, from the question to the word.

use super::backtest::{BacktestQuestion, Held, backtest};
use super::calendar::lay_out;
use super::candidates::{Considered, consider, starved};
use super::certificates::certificates;
use super::checks::checks;
use super::gates::{Unmet, gates, word};
use super::grid::{Grid, MINUTES_PER_WEEK};
use super::jobs::transition_hours;
use super::model::{Backtest, Check, InferencePlan, Plan, Promise};
use super::problem::Problem;
use super::promises::{PromiseQuestion, promises};
use super::question::{PlanQuestion, Posed, grid, pose};
use super::reserves::{Assumed, Reserves, drawn_weeks, gpu_needs, reserves};
use super::schedule::Solution;
use crate::demand::{History, history_of_table};
use crate::site::{Demand, TableRow, WeeklyWindow};

/// Makes a plan. It never refuses: what cannot be planned is missing from it and named.
pub fn plan(question: &PlanQuestion<'_>) -> Plan {
    let checks = checks(question.site);
    let Some((grid, assumed)) = grid(question) else {
        let missing = "`calendar: { begins: 2026-12-07 }` under `operations`: no day is named on \
                       which the calendar could begin";
        return without_calendar(question, checks, missing.to_owned());
    };
    let gpus = question.site.gpu_count();
    if gpus == 0 {
        let missing = "GPUs: the site has none, and a calendar says who holds which";
        return without_calendar(question, checks, missing.to_owned());
    }
    let histories = with_declared(question, &grid);
    let question = &PlanQuestion { histories: &histories, ..*question };
    let reserved = reserves(question, &grid, &Assumed::default());
    let posed = pose(question.site, &grid, &reserved.plans, gpus);
    let considered = consider(question, &grid, &reserved.plans, &posed);
    let certified = certificates(question, &grid, &posed);
    let Some((problem, solution)) = chosen(&considered) else {
        return without_calendar(question, checks, "a way of sharing that can be planned".into());
    };
    let weeks = drawn_weeks(question, &grid, &reserved.plans);
    let promised = promises(&PromiseQuestion {
        grid: &grid,
        problem,
        occurrences: &posed.occurrences,
        runs: &solution.runs,
        outcomes: &solution.late,
        weeks: &weeks,
    });
    let unmet = Unmet { late: late_jobs(&promised), starved: starved(problem, solution) };
    let calendar = lay_out(
        question.site,
        &grid,
        &reserved.plans,
        problem,
        &solution.runs,
        solution.levels.clone(),
    );
    let tested = replayed(question, &grid, &reserved.plans, gpus);
    let gates = gates(question, &checks, &reserved.plans, gpus, &certified, &unmet);
    let (word, reason) = word(&gates);
    let first = grid.windows.first().map(|window| window.start);
    let mut conditions: Vec<String> =
        gates.iter().flat_map(|gate| gate.would_be_conditional_on.iter().cloned()).collect();
    conditions.dedup();
    Plan {
        as_of: question.as_of.or(question.site.as_of).or(first),
        missing: missing(&checks, &reserved, &posed),
        assumptions: assumptions(question, assumed, &posed),
        checks,
        reserves: reserved.plans,
        calendar: Some(calendar),
        promises: promised,
        certificates: certified,
        candidates: considered.into_iter().map(|considered| considered.candidate).collect(),
        backtest: tested,
        gates,
        word,
        reason,
        conditions,
    }
}

/// The histories that were read, and for each workload whose demand is only declared the week that
/// its declaration describes.
fn with_declared(question: &PlanQuestion<'_>, grid: &Grid) -> Vec<(String, History)> {
    let mut histories = question.histories.to_vec();
    for (workload, inference) in question.site.inference() {
        if question.history(&workload.name).is_some() {
            continue;
        }
        let Some(rows) = declared_rows(&inference.demand) else { continue };
        if let Ok(history) = history_of_table(&rows, grid, inference.service_time) {
            histories.push((workload.name.clone(), history));
        }
    }
    histories
}

/// Mean rates by time of week, where the demand is declared as such.
fn declared_rows(demand: &Demand) -> Option<Vec<TableRow>> {
    let rate = match demand {
        Demand::Table(rows) => return Some(rows.clone()),
        Demand::Poisson { rate } | Demand::Gamma { rate, .. } | Demand::Constant { rate } => rate,
        _ => return None,
    };
    let when = WeeklyWindow::parse("daily 00:00-24:00")?;
    Some(vec![TableRow { when, rate: rate.clone() }])
}

fn chosen(considered: &[Considered]) -> Option<(&Problem, &Solution)> {
    let considered = considered.iter().find(|considered| considered.candidate.chosen)?;
    considered.scheduled.as_ref().map(|(problem, solution)| (problem, solution))
}

/// A plan of the cheap checks alone.
fn without_calendar(question: &PlanQuestion<'_>, checks: Vec<Check>, missing: String) -> Plan {
    let gates = gates(question, &checks, &[], question.site.gpu_count(), &[], &Unmet::default());
    let (word, reason) = word(&gates);
    let mut all = vec![missing];
    all.extend(checks.iter().flat_map(|check| check.missing.iter().cloned()));
    Plan {
        as_of: question.as_of.or(question.site.as_of),
        conditions: gates
            .iter()
            .flat_map(|gate| gate.would_be_conditional_on.iter().cloned())
            .collect(),
        checks,
        reserves: Vec::new(),
        calendar: None,
        promises: Vec::new(),
        certificates: Vec::new(),
        candidates: Vec::new(),
        backtest: None,
        gates,
        word,
        reason,
        missing: all,
        assumptions: Vec::new(),
    }
}

/// The jobs whose deadline the calendar does not meet.
fn late_jobs(promised: &[Promise]) -> Vec<String> {
    let is_late = |promise: &&Promise| match (promise.deadline, promise.done) {
        (Some(deadline), Some(done)) => done > deadline,
        (Some(_), None) => true,
        (None, _) => false,
    };
    promised.iter().filter(is_late).map(|promise| promise.job.clone()).collect()
}

fn missing(checks: &[Check], reserved: &Reserves, posed: &Posed) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let lists = [&reserved.refused, &reserved.missing, &posed.missing];
    let from_checks = checks.iter().flat_map(|check| &check.missing);
    for line in lists.into_iter().flatten().chain(from_checks) {
        if !all.contains(line) {
            all.push(line.clone());
        }
    }
    all
}

fn assumptions(
    question: &PlanQuestion<'_>,
    mut assumed: Vec<String>,
    posed: &Posed,
) -> Vec<String> {
    let training = question.site.training().map(|(_, training)| training).next();
    if !transition_hours(&question.site.operations, training).known {
        assumed.push(
            "changes of hands are counted as free where neither `operations.transition` nor the \
             job's own resume and checkpoint times are declared"
                .to_owned(),
        );
    }
    assumed.extend(posed.remarks.iter().cloned());
    assumed
}

/// The history under the plan and under other rules.
fn replayed(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    plans: &[InferencePlan],
    gpus: u32,
) -> Option<Backtest> {
    let needs = gpu_needs(question, plans)?;
    let training = question.site.training().map(|(_, training)| training).next();
    let cost = transition_hours(&question.site.operations, training);
    let reserved = question.site.inference().filter_map(|(_, inference)| inference.minimum_reserved);
    let declared = reserved.sum::<f64>().ceil() as u32;
    let replicas = plans.iter().map(|plan| plan.replica_gpus.ceil() as u32).sum::<u32>();
    backtest(&BacktestQuestion {
        start: needs.start,
        step_s: needs.step_s,
        needs: &needs.needs,
        gpus,
        time_zone: &question.site.time_zone,
        holds: &holds(grid, plans),
        reclaim_s: question.reclaim_time().map_or(0.0, |(time, _)| time.as_secs_f64()),
        minimum_reserved: declared.max(replicas).min(gpus),
        transition_hours: cost.start_hours + cost.stop_hours,
    })
}

/// What the plan holds by time of week.
fn holds(grid: &Grid, plans: &[InferencePlan]) -> Vec<Held> {
    let count = (MINUTES_PER_WEEK / grid.window_minutes.max(1)) as usize;
    let mut holds: Vec<Option<Held>> = vec![None; count];
    for (index, window) in grid.windows.iter().enumerate() {
        let slot = (window.minute_of_week / grid.window_minutes.max(1)) as usize;
        let Some(place) = holds.get_mut(slot) else { continue };
        let needs = plans.iter().filter_map(|plan| plan.windows.get(index));
        let held = needs.fold(Held::default(), |sum, need| Held {
            reserved: sum.reserved + need.reserved,
            hot: sum.hot + need.hot,
            lent: sum.lent + need.lent,
        });
        place.get_or_insert(held);
    }
    holds.into_iter().map(Option::unwrap_or_default).collect()
}
