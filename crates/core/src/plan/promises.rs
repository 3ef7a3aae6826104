//! What each job may promise: the calendar, carried out in weeks drawn from the history.

use super::grid::Grid;
use super::jobs::Occurrence;
use super::model::Promise;
use super::problem::{Job, Problem, Run};
use super::schedule::JobOutcome;

/// What is asked.
pub(super) struct PromiseQuestion<'a> {
    /// The windows.
    pub(super) grid: &'a Grid,
    /// The scheduling question.
    pub(super) problem: &'a Problem,
    /// The jobs, in the problem's order, with where they came from.
    pub(super) occurrences: &'a [Occurrence],
    /// The calendar's runs.
    pub(super) runs: &'a [Run],
    /// What the calendar gives each job.
    pub(super) outcomes: &'a [JobOutcome],
    /// Drawn weeks: GPUs that inference asks for in each window. Empty where there is no history.
    pub(super) weeks: &'a [Vec<u32>],
}

/// Whether a job is on time, for each drawn week, and what is free for it.
struct Drawn {
    on_time: u32,
    /// Fewest GPU-hours that any drawn week leaves free between release and deadline.
    free_gpu_hours_min: f64,
    /// Weeks in which no window was free for it at all.
    without_window: u32,
}

/// What each job may promise.
pub(super) fn promises(question: &PromiseQuestion<'_>) -> Vec<Promise> {
    let carried: Vec<Carried> =
        question.weeks.iter().map(|needs| carry_out(question, needs)).collect();
    question
        .occurrences
        .iter()
        .enumerate()
        .map(|(index, occurrence)| promise(question, index, occurrence, &carried))
        .collect()
}

fn promise(
    question: &PromiseQuestion<'_>,
    index: usize,
    occurrence: &Occurrence,
    carried: &[Carried],
) -> Promise {
    let job = &occurrence.job;
    let outcome = question.outcomes.get(index);
    let done = outcome
        .and_then(|outcome| outcome.done_slot)
        .and_then(|slot| question.grid.windows.get(slot))
        .map(|window| window.end);
    let drawn = drawn(question, index, job, carried);
    let weeks = carried.len() as u32;
    let has_deadline = occurrence.deadline.is_some();
    let mut remarks = Vec::new();
    if let (true, Some(drawn)) = (has_deadline, &drawn) {
        remarks.push(sturdiness(job, drawn, weeks));
    }
    Promise {
        job: job.name.clone(),
        workload: job.workload.clone(),
        deadline: occurrence.deadline,
        done,
        gpu_hours: outcome.map_or(0.0, |outcome| outcome.gpu_hours),
        gpu_hours_in_time: outcome.map_or(0.0, |outcome| in_time(job, outcome)),
        gpu_hours_lost: outcome.map_or(0.0, |outcome| outcome.gpu_hours_lost),
        on_time_share: drawn
            .filter(|_| has_deadline && weeks > 0)
            .map(|drawn| f64::from(drawn.on_time) / f64::from(weeks)),
        weeks,
        on_time_share_asked: occurrence.on_time_share,
        remarks,
    }
}

/// GPU-hours that a job's work in time takes at its best efficiency.
fn in_time(job: &Job, outcome: &JobOutcome) -> f64 {
    outcome.work_done_in_time / job.work_per_gpu_hour_max()
}

/// Whether a promise survives weeks that leave nothing free.
fn sturdiness(job: &Job, drawn: &Drawn, weeks: u32) -> String {
    let needed = job.gpu_hours_min();
    if drawn.without_window > 0 {
        format!(
            "does not survive a week with no free window: {} of {weeks} drawn weeks had none",
            drawn.without_window
        )
    } else if drawn.free_gpu_hours_min < needed {
        format!(
            "does not survive the worst drawn week: it leaves {:.1} free GPU-hours and {needed:.1} \
             are needed",
            drawn.free_gpu_hours_min
        )
    } else {
        format!(
            "the worst of {weeks} drawn weeks still leaves {:.1} free GPU-hours for the {needed:.1} \
             that it needs at the least; a week with no free window was not among them and would \
             break it",
            drawn.free_gpu_hours_min
        )
    }
}

fn drawn(
    question: &PromiseQuestion<'_>,
    index: usize,
    job: &Job,
    carried: &[Carried],
) -> Option<Drawn> {
    if carried.is_empty() {
        return None;
    }
    let until = job.deadline.unwrap_or(question.problem.slots.len());
    let smallest = job.modes.iter().map(|mode| mode.gpus).min().unwrap_or(1);
    let mut result =
        Drawn { on_time: 0, free_gpu_hours_min: f64::INFINITY, without_window: 0 };
    for (week, needs) in carried.iter().zip(question.weeks) {
        result.on_time += u32::from(week.is_on_time.get(index).copied().unwrap_or(false));
        let mut free_hours = 0.0;
        let mut has_window = false;
        for window in job.release..until {
            let free = free_gpus(question.problem, needs, window, job.preemptible);
            free_hours += f64::from(free) * question.problem.slots[window].hours;
            has_window |= free >= smallest;
        }
        result.free_gpu_hours_min = result.free_gpu_hours_min.min(free_hours);
        result.without_window += u32::from(!has_window);
    }
    Some(result)
}

/// GPUs that inference takes back in a window of a drawn week, beyond those it holds anyway.
fn taken_back(problem: &Problem, needs: &[u32], window: usize) -> u32 {
    let slot = problem.slots[window];
    let held = problem.gpus - (slot.firm + slot.lendable).min(problem.gpus);
    needs.get(window).copied().unwrap_or(0).saturating_sub(held)
}

fn free_gpus(problem: &Problem, needs: &[u32], window: usize, preemptible: bool) -> u32 {
    let slot = problem.slots[window];
    // Firm GPUs are firm by plan; where a drawn week asks for more even they are taken.
    let left = (slot.firm + slot.lendable).saturating_sub(taken_back(problem, needs, window));
    if preemptible { left } else { left.min(slot.firm) }
}

/// A calendar carried out in one week.
struct Carried {
    is_on_time: Vec<bool>,
}

/// How far a job is, while a week is carried out.
#[derive(Clone, Copy, Default)]
struct Progress {
    work: f64,
    /// The mode in which it ran in the window before.
    mode: Option<usize>,
    is_done_in_time: bool,
}

/// Carries the calendar out while inference takes back what it needs. A job whose GPUs are taken
/// stops for that window and pays both transitions again; a job that has fallen behind may use GPUs
/// that are left idle before its deadline.
fn carry_out(question: &PromiseQuestion<'_>, needs: &[u32]) -> Carried {
    let problem = question.problem;
    let mut progress = vec![Progress::default(); problem.jobs.len()];
    for window in 0..problem.slots.len() {
        let slot = problem.slots[window];
        let left = (slot.firm + slot.lendable).saturating_sub(taken_back(problem, needs, window));
        let mut modes = vec![None; problem.jobs.len()];
        let used = keep_running(question, window, left, &mut modes);
        catch_up(problem, window, left.saturating_sub(used), &progress, &mut modes);
        for (job, (progress, mode)) in problem.jobs.iter().zip(progress.iter_mut().zip(&modes)) {
            advance(job, progress, *mode, slot.hours);
            let is_in_time = job.deadline.is_none_or(|deadline| window < deadline);
            progress.is_done_in_time |= is_in_time && progress.work >= job.work * (1.0 - 1e-9);
        }
    }
    Carried { is_on_time: progress.iter().map(|progress| progress.is_done_in_time).collect() }
}

/// The planned runs that keep their GPUs in a window where so many are left to jobs; gives how many
/// they hold. Who gives way first: work without a deadline, then the latest deadline, and last of
/// all a job that should not be preempted.
fn keep_running(
    question: &PromiseQuestion<'_>,
    window: usize,
    left: u32,
    modes: &mut [Option<usize>],
) -> u32 {
    let jobs = &question.problem.jobs;
    let mut running: Vec<&Run> =
        question.runs.iter().filter(|run| run.from <= window && window < run.until).collect();
    running.sort_by_key(|run| {
        let job = &jobs[run.job];
        (job.preemptible, job.deadline.unwrap_or(usize::MAX), run.job)
    });
    let mut used = 0;
    for run in running {
        let gpus = jobs[run.job].modes[run.mode].gpus;
        if used + gpus <= left {
            modes[run.job] = Some(run.mode);
            used += gpus;
        }
    }
    used
}

/// Gives GPUs that are left idle to jobs that are not running, earliest deadline first.
fn catch_up(
    problem: &Problem,
    window: usize,
    mut idle: u32,
    progress: &[Progress],
    modes: &mut [Option<usize>],
) {
    let mut waiting: Vec<(usize, usize)> = problem
        .jobs
        .iter()
        .enumerate()
        .filter(|(index, job)| {
            modes[*index].is_none()
                && job.release <= window
                && job.preemptible
                && progress[*index].work < job.work
        })
        .filter_map(|(index, job)| {
            job.deadline.filter(|deadline| window < *deadline).map(|deadline| (deadline, index))
        })
        .collect();
    waiting.sort_unstable();
    for (_, index) in waiting {
        let fitting = problem.jobs[index].modes.iter().rposition(|mode| mode.gpus <= idle);
        if let Some(mode) = fitting {
            idle -= problem.jobs[index].modes[mode].gpus;
            modes[index] = Some(mode);
        }
    }
}

/// One window of one job: work at its mode's rate, less what a change of hands takes.
fn advance(job: &Job, progress: &mut Progress, mode: Option<usize>, hours: f64) {
    if let Some(before) = progress.mode
        && progress.mode != mode
    {
        // The stop lies in the last moments of the run that just ended.
        progress.work -= job.modes[before].work_per_hour * job.stop_hours;
        progress.work = progress.work.max(0.0);
    }
    if let Some(now) = mode {
        let lost = if progress.mode == mode { 0.0 } else { job.start_hours };
        progress.work += job.modes[now].work_per_hour * (hours - lost).max(0.0);
    }
    progress.mode = mode;
}
