//! From runs to the calendar: who holds which GPU in each window.

use super::grid::Grid;
use super::model::{Calendar, Holder, InferencePlan, Level, Tenant, TransitionRow};
use super::problem::{Problem, Run, Slot};
use super::schedule::assign;
use crate::site::Site;

/// The windows as the schedule sees them: what inference leaves, and nothing while the place is
/// maintained.
pub(super) fn slots(site: &Site, grid: &Grid, reserves: &[InferencePlan], gpus: u32) -> Vec<Slot> {
    let maintained = maintained(site, grid);
    grid.windows
        .iter()
        .enumerate()
        .map(|(index, window)| {
            let need = total(reserves, index);
            let (firm, lendable) = if maintained[index] {
                (0, 0)
            } else {
                let free = gpus.saturating_sub(need.held);
                (free.saturating_sub(need.lent), free.min(need.lent))
            };
            Slot { hours: window.hours(), firm, lendable }
        })
        .collect()
}

/// The windows in which the place is maintained, wholly or in part.
pub(super) fn maintained(site: &Site, grid: &Grid) -> Vec<bool> {
    let mut marked = vec![false; grid.windows.len()];
    let maintenance = site.operations.maintenance.iter().flat_map(|it| &it.windows);
    for weekly in maintenance {
        for (mark, touched) in marked.iter_mut().zip(grid.touched(*weekly)) {
            *mark |= touched;
        }
    }
    marked
}

/// What all inference workloads together need in one window, GPUs.
struct Need {
    /// Reserved, and kept free for bursts.
    held: u32,
    /// Lent, and reclaimed in time.
    lent: u32,
}

fn total(reserves: &[InferencePlan], window: usize) -> Need {
    reserves.iter().filter_map(|plan| plan.windows.get(window)).fold(
        Need { held: 0, lent: 0 },
        |sum, need| Need { held: sum.held + need.reserved + need.hot, lent: sum.lent + need.lent },
    )
}

/// Lays runs out on GPUs. Jobs keep the GPUs that they were assigned; inference takes the lowest
/// numbers that are left, so that each side keeps its GPUs as long as it can.
pub(super) fn lay_out(
    site: &Site,
    grid: &Grid,
    reserves: &[InferencePlan],
    problem: &Problem,
    runs: &[Run],
    levels: Vec<Level>,
) -> Calendar {
    let tenants = tenants(site, reserves, problem);
    let job_at = reserves.len();
    let mut holders: Vec<Vec<Holder>> =
        maintained(site, grid).iter().map(|is_down| idle_row(*is_down, problem.gpus)).collect();
    let numbers = assign(problem, runs);
    for (window, row) in holders.iter_mut().enumerate() {
        let firm = problem.slots.get(window).map_or(0, |slot| slot.firm);
        let mut running: Vec<(&Run, &Vec<u32>)> = runs
            .iter()
            .zip(&numbers)
            .filter(|(run, _)| run.from <= window && window < run.until)
            .collect();
        // What exceeds the firm GPUs is lent; it falls on jobs that give way, the last ones first.
        running.sort_by_key(|(run, _)| (problem.jobs[run.job].preemptible, run.job));
        let mut firm_left = firm;
        for (run, numbers) in running {
            let tenant = (job_at + run.job) as u32;
            for gpu in numbers {
                let holder = if firm_left > 0 { Holder::Job(tenant) } else { Holder::Lent(tenant) };
                firm_left = firm_left.saturating_sub(1);
                if let Some(place) = row.get_mut(*gpu as usize) {
                    *place = holder;
                }
            }
        }
        hold_for_inference(row, reserves, window);
    }
    let transitions = transitions(grid, problem, runs, job_at);
    Calendar { grid: grid.clone(), gpus: problem.gpus, holders, tenants, transitions, levels }
}

fn idle_row(is_maintained: bool, gpus: u32) -> Vec<Holder> {
    let holder = if is_maintained { Holder::Maintenance } else { Holder::Idle };
    vec![holder; gpus as usize]
}

/// Gives inference the lowest GPUs that no job holds: first what each workload has reserved, then
/// what is kept free for bursts, so that a place that is too small is short of the latter.
fn hold_for_inference(row: &mut [Holder], reserves: &[InferencePlan], window: usize) {
    let mut free = row.iter_mut().filter(|holder| **holder == Holder::Idle);
    let needs = || {
        let plans = (0_u32..).zip(reserves);
        plans.filter_map(|(tenant, plan)| Some((tenant, plan.windows.get(window)?)))
    };
    let reserved = needs().map(|(tenant, need)| (need.reserved, Holder::Inference(tenant)));
    let hot = needs().map(|(tenant, need)| (need.hot, Holder::HotReserve(tenant)));
    for (count, holder) in reserved.chain(hot) {
        for place in free.by_ref().take(count as usize) {
            *place = holder;
        }
    }
}

fn tenants(site: &Site, reserves: &[InferencePlan], problem: &Problem) -> Vec<Tenant> {
    let kind = |name: &str| site.workload(name).map_or("training", |it| it.kind.name());
    let inference = reserves.iter().map(|plan| Tenant {
        name: plan.workload.clone(),
        workload: plan.workload.clone(),
        kind: "inference",
    });
    let jobs = problem.jobs.iter().map(|job| Tenant {
        name: job.name.clone(),
        workload: job.workload.clone(),
        kind: kind(&job.workload),
    });
    inference.chain(jobs).collect()
}

fn transitions(grid: &Grid, problem: &Problem, runs: &[Run], job_at: usize) -> Vec<TransitionRow> {
    let mut rows = Vec::new();
    for run in runs {
        let Some(job) = problem.jobs.get(run.job) else { continue };
        let (Some(first), Some(last)) =
            (grid.windows.get(run.from), grid.windows.get(run.until.saturating_sub(1)))
        else {
            continue;
        };
        let gpus = job.modes.get(run.mode).map_or(0, |mode| mode.gpus);
        let tenant = (job_at + run.job) as u32;
        let start =
            TransitionRow { at: first.start, gpus, tenant, starts: true, hours: job.start_hours };
        let stop_length = jiff::SignedDuration::try_from_secs_f64(job.stop_hours * 3600.0)
            .unwrap_or(jiff::SignedDuration::ZERO);
        let stop_at = last.end.checked_sub(stop_length).unwrap_or(last.end);
        let stop =
            TransitionRow { at: stop_at, gpus, tenant, starts: false, hours: job.stop_hours };
        rows.extend([start, stop]);
    }
    rows.sort_by_key(|row| (row.at, row.tenant, row.starts));
    rows
}
