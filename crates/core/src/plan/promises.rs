//! What each job may promise: the calendar, carried out in weeks drawn from the history.

use super::grid::Grid;
use super::jobs::Occurrence;
use super::model::Promise;
use super::problem::{Job, Problem, Run};
use super::schedule::{JobOutcome, WORK_TOLERANCE};

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
    let mut result = Drawn { on_time: 0, free_gpu_hours_min: f64::INFINITY, without_window: 0 };
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
    /// Work of the runs that have ended.
    work: f64,
    /// The mode of the run that goes on.
    mode: Option<usize>,
    /// How long it has gone on, hours.
    hours: f64,
    is_done_in_time: bool,
}

impl Progress {
    /// Closes the window before `window`, now that it is known in which mode the job goes on. Where
    /// it does not go on in the same one, the stop lies in the last moments of the run that ended.
    fn settle(&mut self, job: &Job, next: Option<usize>, window: usize) {
        if self.mode != next {
            *self = Self { work: self.work_when_stopped(job), mode: next, hours: 0.0, ..*self };
        }
        let is_in_time = job.deadline.is_none_or(|deadline| window <= deadline);
        self.is_done_in_time |= is_in_time && self.work_by_now(job, 0.0) >= enough(job);
    }

    /// One window in the mode that was settled.
    fn run(&mut self, hours: f64) {
        if self.mode.is_some() {
            self.hours += hours;
        }
    }

    /// Its work, were its run to end here.
    fn work_when_stopped(&self, job: &Job) -> f64 {
        self.work_by_now(job, job.stop_hours)
    }

    /// Its work, less so many hours of the run that goes on.
    fn work_by_now(&self, job: &Job, stop_hours: f64) -> f64 {
        let useful = (self.hours - job.start_hours - stop_hours).max(0.0);
        self.work + self.mode.map_or(0.0, |mode| job.modes[mode].work_per_hour * useful)
    }

    fn is_done_when_stopped(&self, job: &Job) -> bool {
        self.work_when_stopped(job) >= enough(job)
    }
}

/// Work that counts as all of it.
fn enough(job: &Job) -> f64 {
    job.work * (1.0 - WORK_TOLERANCE)
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
        let used = keep_running(question, window, left, &progress, &mut modes);
        catch_up(problem, window, left.saturating_sub(used), &progress, &mut modes);
        for (job, (progress, mode)) in problem.jobs.iter().zip(progress.iter_mut().zip(&modes)) {
            // Only now it is known whether the run of the window before went on.
            progress.settle(job, *mode, window);
            progress.run(slot.hours);
        }
    }
    for (job, progress) in problem.jobs.iter().zip(&mut progress) {
        progress.settle(job, None, problem.slots.len());
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
    progress: &[Progress],
    modes: &mut [Option<usize>],
) -> u32 {
    let jobs = &question.problem.jobs;
    let is_on = |run: &&Run| {
        let is_done = progress[run.job].is_done_when_stopped(&jobs[run.job]);
        run.from <= window && window < run.until && !is_done
    };
    let mut running: Vec<&Run> = question.runs.iter().filter(is_on).collect();
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
                && !progress[*index].is_done_when_stopped(job)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Mode, Slot};

    const START_HOURS: f64 = 0.25;
    const STOP_HOURS: f64 = 0.25;

    /// A job of one unit an hour on one GPU, due after so many hours.
    fn job(name: &str, work: f64, deadline: usize) -> Job {
        Job {
            name: name.into(),
            workload: name.into(),
            modes: vec![Mode { gpus: 1, work_per_hour: 1.0 }],
            work,
            release: 0,
            deadline: Some(deadline),
            weight: 1.0,
            preemptible: true,
            min_run: 1,
            start_hours: START_HOURS,
            stop_hours: STOP_HOURS,
        }
    }

    fn run(job: usize, from: usize, until: usize) -> Run {
        Run { job, from, until, mode: 0 }
    }

    /// One GPU that is lent, in the first windows of an hour of a day.
    fn promised(jobs: Vec<Job>, runs: &[Run], windows: usize, weeks: &[Vec<u32>]) -> Vec<Promise> {
        let day = jiff::civil::date(2026, 12, 7);
        let mut grid = Grid::new(jiff::tz::TimeZone::UTC, day, 1, 60).unwrap();
        grid.windows.truncate(windows);
        let slots = vec![Slot { hours: 1.0, firm: 0, lendable: 1 }; windows];
        let problem = Problem { gpus: 1, slots, jobs };
        let occurrence = |job: &Job| Occurrence {
            job: job.clone(),
            kind: "training",
            deadline: Some(grid.windows[job.deadline.unwrap() - 1].end),
            on_time_share: None,
        };
        let occurrences: Vec<Occurrence> = problem.jobs.iter().map(occurrence).collect();
        promises(&PromiseQuestion {
            grid: &grid,
            problem: &problem,
            occurrences: &occurrences,
            runs,
            outcomes: &super::super::schedule::outcomes(&problem, runs),
            weeks,
        })
    }

    /// Whether a job of so much work, planned for four hours of six, is on time in one week.
    fn is_on_time(work: f64, deadline: usize, needs: [u32; 6]) -> bool {
        let made =
            promised(vec![job("tune", work, deadline)], &[run(0, 0, 4)], 6, &[needs.to_vec()]);
        made[0].on_time_share.unwrap() > 0.5
    }

    #[test]
    fn a_quiet_week_gives_what_was_planned_and_what_is_left_idle() {
        // Six hours, less one start and one stop: it goes on where it was planned to end.
        assert!(is_on_time(5.5, 6, [0; 6]));
        assert!(!is_on_time(5.51, 6, [0; 6]));
    }

    #[test]
    fn a_gpu_that_is_taken_back_costs_the_window_and_both_transitions() {
        // One hour, then nothing, then four hours: each stretch pays its start and its stop.
        let taken = [0, 1, 0, 0, 0, 0];
        assert!(is_on_time(0.5 + 3.5, 6, taken));
        assert!(!is_on_time(4.01, 6, taken));
        assert!(!is_on_time(4.0, 5, taken), "an hour less");
    }

    #[test]
    fn a_stop_counts_before_the_deadline_only_where_the_run_ends_there() {
        // Planned for four hours and due after three: it goes on over the deadline.
        assert!(is_on_time(2.75, 3, [0; 6]));
        assert!(!is_on_time(2.76, 3, [0; 6]));
        // Taken back right after the deadline, it had to stop before.
        assert!(!is_on_time(2.75, 3, [0, 0, 0, 1, 0, 0]));
        assert!(is_on_time(2.5, 3, [0, 0, 0, 1, 0, 0]));
    }

    #[test]
    fn a_start_that_is_longer_than_a_window_goes_on_in_the_next() {
        let slow = Job { start_hours: 1.5, ..job("tune", 2.25, 4) };
        let share = |work: f64| {
            let jobs = vec![Job { work, ..slow.clone() }];
            promised(jobs, &[run(0, 0, 4)], 4, &[vec![0; 4]])[0].on_time_share.unwrap()
        };
        assert!(share(2.25) > 0.5 && share(2.26) < 0.5);
    }

    #[test]
    fn weeks_without_a_free_window_are_counted() {
        let weeks = [vec![0; 6], vec![1; 6], vec![0, 0, 1, 0, 0, 0], vec![0, 0, 0, 0, 0, 9]];
        let made = promised(vec![job("tune", 3.5, 6)], &[run(0, 0, 4)], 6, &weeks);
        assert!((made[0].on_time_share.unwrap() - 0.75).abs() < 1e-12, "{made:?}");
        assert_eq!(made[0].weeks, 4);
        let said = "does not survive a week with no free window: 1 of 4 drawn weeks had none";
        assert_eq!(made[0].remarks, [said]);
        let some = promised(vec![job("tune", 3.5, 6)], &[run(0, 0, 4)], 6, &weeks[2..]);
        assert!(some[0].remarks[0].contains("still leaves 5.0 free"), "{:?}", some[0].remarks);
        let worst =
            promised(vec![job("tune", 3.5, 6)], &[run(0, 0, 4)], 6, &[vec![0, 1, 1, 1, 0, 0]]);
        assert!(worst[0].remarks[0].contains("it leaves 3.0 free"), "{:?}", worst[0].remarks);
    }

    #[test]
    fn who_is_done_gives_its_gpu_to_who_waits() {
        let free = |job: Job| Job { start_hours: 0.0, stop_hours: 0.0, ..job };
        let jobs = vec![free(job("first", 1.0, 3)), free(job("second", 2.0, 3))];
        let made = promised(jobs.clone(), &[run(0, 0, 3)], 3, &[vec![0; 3]]);
        assert!(made.iter().all(|it| it.on_time_share == Some(1.0)), "{made:?}");
        let firm = vec![jobs[0].clone(), Job { preemptible: false, ..jobs[1].clone() }];
        let made = promised(firm, &[run(0, 0, 3)], 3, &[vec![0; 3]]);
        assert_eq!(made[1].on_time_share, Some(0.0), "it must not run on a GPU that is lent");
    }
}
