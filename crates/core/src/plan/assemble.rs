//! The whole plan, from the question to the word.

use super::backtest::{BacktestQuestion, Held, backtest};
use super::calendar::lay_out;
use super::candidates::{Choice, Considered, consider, peak_need, starved, unprotected};
use super::carried::{tell, with_measured};
use super::certificates::certificates;
use super::checks::checks;
use super::gates::{Unmet, each_once, gates, word};
use super::grid::{Grid, MINUTES_PER_WEEK};
use super::jobs::transition_hours;
use super::model::{Backtest, CandidateCalendar, Check, InferencePlan, Plan, PlanGate, Promise};
use super::pace::pace;
use super::problem::Problem;
use super::promises::{PromiseQuestion, promises};
use super::question::{PlanQuestion, Posed, grid, pose};
use super::reserves::{Assumed, Reserves, drawn_weeks, gpu_needs, reserves};
use super::schedule::Solution;
use crate::demand::{History, history_of_table};
use crate::gpu::sharing::Mechanism;
use crate::site::{Demand, SiteKind, TableRow, WeeklyWindow, Workload, WorkloadKind};

/// Makes a plan. It never refuses: what cannot be planned is missing from it and named.
pub fn plan(question: &PlanQuestion<'_>) -> Plan {
    plan_with_calendars(question).0
}

/// A plan, and the calendar of each of its candidates: `None` for those that have none. The calendar
/// of the chosen one is the plan's own.
pub fn plan_with_calendars(question: &PlanQuestion<'_>) -> (Plan, Vec<Option<CandidateCalendar>>) {
    made(question, Making { choice: Choice::Best, is_whole: true })
}

/// The plan of one way of sharing, as far as a simulation needs it: without certificates, promises and
/// the backtest, which take most of the time. Under a [`Choice::Split`] inference holds its GPUs at
/// every hour, needed or not.
pub fn plan_to_carry_out(question: &PlanQuestion<'_>, choice: Choice) -> Plan {
    made(question, Making { choice, is_whole: false }).0
}

/// How a plan is made.
#[derive(Clone, Copy)]
struct Making {
    choice: Choice,
    /// With certificates, promises and the backtest.
    is_whole: bool,
}

fn made(question: &PlanQuestion<'_>, making: Making) -> (Plan, Vec<Option<CandidateCalendar>>) {
    let Some((site, remarks)) = with_measured(question.site, question.capacities) else {
        return planned(question, making);
    };
    let (mut plan, calendars) = planned(&PlanQuestion { site: &site, ..*question }, making);
    let left = tell(&mut plan.reserves, remarks);
    plan.assumptions.extend(left);
    (plan, calendars)
}

fn planned(question: &PlanQuestion<'_>, making: Making) -> (Plan, Vec<Option<CandidateCalendar>>) {
    let checks = checks(question.site);
    let Some((grid, assumed)) = grid(question) else {
        let missing = "`calendar: { begins: 2026-12-07 }` under `operations`: no day is named on \
                       which the calendar could begin";
        let plan =
            without_calendar(question, checks, vec![missing.to_owned()], Reserves::default());
        return (plan, Vec::new());
    };
    let gpus = question.site.gpu_count();
    if gpus == 0 {
        let missing = "GPUs: the site has none, and a calendar says who holds which";
        let plan =
            without_calendar(question, checks, vec![missing.to_owned()], Reserves::default());
        return (plan, Vec::new());
    }
    let histories = with_declared(question, &grid);
    let question = &PlanQuestion { histories: &histories, ..*question };
    let reserved = reserves(question, &grid, &Assumed::default());
    if !reserved.refused.is_empty() {
        // GPUs whose need nobody knows cannot be given away.
        let mut missing = reserved.refused.clone();
        missing.extend(reserved.missing.iter().cloned());
        return (without_calendar(question, checks, missing, reserved), Vec::new());
    }
    let posed = pose(question.site, &grid, &reserved.plans, gpus);
    let considered = consider(question, &grid, &reserved.plans, &posed, making.choice);
    let certified =
        if making.is_whole { certificates(question, &grid, &posed) } else { Vec::new() };
    let Some((problem, solution)) = chosen(&considered) else {
        let missing = vec!["a way of sharing that can be planned".to_owned()];
        return (without_calendar(question, checks, missing, reserved), Vec::new());
    };
    let weeks =
        if making.is_whole { drawn_weeks(question, &grid, &reserved.plans) } else { Vec::new() };
    let promised = promises(&PromiseQuestion {
        grid: &grid,
        problem,
        occurrences: &posed.occurrences,
        runs: &solution.runs,
        outcomes: &solution.late,
        weeks: &weeks,
    });
    let unmet = Unmet {
        late: late_jobs(&promised),
        starved: starved(problem, solution),
        unprotected: unprotected(question.site, Mechanism::WholeGpu),
        ..Unmet::default()
    };
    let held = match making.choice {
        Choice::Split(fixed) => held_for_good(&reserved.plans, fixed),
        Choice::Best | Choice::Lending => reserved.plans.clone(),
    };
    let laid_out = |reserves: &[InferencePlan], (problem, solution): (&Problem, &Solution)| {
        let (runs, levels) = (&solution.runs, solution.levels.clone());
        lay_out(question.site, &grid, reserves, problem, runs, levels)
    };
    let calendar = laid_out(&held, (problem, solution));
    let of_candidate = |considered: &Considered| {
        let (problem, solution) = considered.scheduled.as_ref()?;
        // Beside jobs on the same GPUs, or on another server, inference needs no GPU of its own.
        let reserves = if considered.job_share.is_some() { &[] } else { &reserved.plans[..] };
        Some(CandidateCalendar {
            calendar: laid_out(reserves, (problem, solution)),
            job_share: considered.job_share,
        })
    };
    let calendars: Vec<Option<CandidateCalendar>> = considered.iter().map(of_candidate).collect();
    let tested =
        making.is_whole.then(|| replayed(question, &grid, &reserved.plans, gpus)).flatten();
    let gates = gates(question, &checks, &reserved.plans, gpus, &certified, &unmet);
    let (word, reason) = word(&gates);
    let first = grid.windows.first().map(|window| window.start);
    let plan = Plan {
        as_of: question.as_of.or(question.site.as_of).or(first),
        missing: missing(&checks, &reserved, &posed),
        assumptions: assumptions(question, assumed, &posed, &reserved),
        conditions: conditions(&gates),
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
    };
    (plan, calendars)
}

/// Reserves of which each is held at its highest in every window. Of a fixed number of GPUs each
/// workload gets its own peak in the order of the site file, and the first one what is left.
fn held_for_good(reserves: &[InferencePlan], fixed: Option<u32>) -> Vec<InferencePlan> {
    let mut left = fixed.unwrap_or(u32::MAX);
    let mut held: Vec<InferencePlan> = reserves.to_vec();
    let mut shares = Vec::with_capacity(held.len());
    for plan in &held {
        let share = peak_need(std::slice::from_ref(plan)).max(plan.gpus_needed_max).min(left);
        left -= share;
        shares.push(share);
    }
    if let Some(first) = shares.first_mut().filter(|_| fixed.is_some()) {
        *first += left;
    }
    for (plan, share) in held.iter_mut().zip(shares) {
        for need in &mut plan.windows {
            (need.reserved, need.hot, need.lent) = (share, 0, 0);
        }
    }
    held
}

fn conditions(gates: &[PlanGate]) -> Vec<String> {
    each_once(gates.iter().flat_map(|gate| gate.would_be_conditional_on.iter().cloned()))
}

/// The histories that were read, and for each workload whose demand is only declared the week that
/// its declaration describes.
pub(super) fn with_declared(question: &PlanQuestion<'_>, grid: &Grid) -> Vec<(String, History)> {
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

/// A plan of the cheap checks and of the reserves that are known.
fn without_calendar(
    question: &PlanQuestion<'_>,
    checks: Vec<Check>,
    missing: Vec<String>,
    reserved: Reserves,
) -> Plan {
    let declared = Mechanism::of(&question.site.sharing.mode);
    let unmet = Unmet {
        unprotected: declared.map_or_else(Vec::new, |it| unprotected(question.site, it)),
        unreserved: reserved.refused,
        ..Unmet::default()
    };
    let gpus = question.site.gpu_count();
    let gates = gates(question, &checks, &reserved.plans, gpus, &[], &unmet);
    let (word, reason) = word(&gates);
    let site = question.site;
    let jobs = site.workloads.iter().filter(|it| !matches!(it.kind, WorkloadKind::Inference(_)));
    let of_jobs = jobs.filter_map(|workload| pace(site, workload).err());
    let of_checks = checks.iter().flat_map(|check| check.missing.iter().cloned());
    Plan {
        as_of: question.as_of.or(question.site.as_of),
        conditions: conditions(&gates),
        missing: each_once(missing.into_iter().chain(of_jobs).chain(of_checks)),
        checks,
        reserves: reserved.plans,
        calendar: None,
        promises: Vec::new(),
        certificates: Vec::new(),
        candidates: Vec::new(),
        backtest: None,
        gates,
        word,
        reason,
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
    let of_checks = checks.iter().flat_map(|check| &check.missing);
    each_once(reserved.missing.iter().chain(&posed.missing).chain(of_checks).cloned())
}

fn assumptions(
    question: &PlanQuestion<'_>,
    mut assumed: Vec<String>,
    posed: &Posed,
    reserved: &Reserves,
) -> Vec<String> {
    let site = question.site;
    let is_free = |workload: &&Workload| match &workload.kind {
        WorkloadKind::Inference(_) => false,
        WorkloadKind::Training(training) => {
            !transition_hours(&site.operations, Some(training)).known
        }
        WorkloadKind::Batch(_) | WorkloadKind::Render(_) => {
            !transition_hours(&site.operations, None).known
        }
    };
    let free: Vec<&str> =
        site.workloads.iter().filter(is_free).map(|workload| workload.name.as_str()).collect();
    if !free.is_empty() {
        assumed.push(format!(
            "changes of hands of {} are counted as free where neither `operations.transition` nor \
             the job's own resume and checkpoint times are declared",
            free.join(", ")
        ));
    }
    if let SiteKind::Pool(pool) = &site.kind {
        assumed.push(format!(
            "all GPUs of the pool's {} node groups are planned as one place of equal GPUs: whether a \
             job fits on single nodes is not looked at",
            pool.nodes.len()
        ));
    }
    if reserved.plans.len() > 1 && gpu_needs(question, &reserved.plans).is_none() {
        assumed.push(
            "the history is not replayed: the inference workloads have no common steps in GPUs"
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
    let reserved =
        question.site.inference().filter_map(|(_, inference)| inference.minimum_reserved);
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
    // An hour that the clock skips in this week is not in its calendar: what is held before it is
    // held on.
    let mut before = holds.iter().rev().flatten().next().copied().unwrap_or_default();
    let held_on = |held: Option<Held>| {
        before = held.unwrap_or(before);
        before
    };
    holds.into_iter().map(held_on).collect()
}
