//! An independent check of a schedule: whether it keeps every rule, and what it is worth. It shares
//! no arithmetic with the search.

use thiserror::Error;

use super::answer::JobOutcome;
use crate::plan::{Job, Problem, Run};

/// Share of a job's work that rounding may leave undone.
pub const WORK_TOLERANCE: f64 = 1e-9;

/// What a schedule is worth, in the order in which it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Levels {
    /// Weighted GPU-hours of work, at each job's best work per GPU-hour, that are not done by the
    /// deadline. Less is better.
    pub late: f64,
    /// GPU-hours lost to the transitions of runs that start before their job's deadline. Less is
    /// better. Work without a deadline pays its transitions out of what it harvests.
    pub lost: f64,
    /// GPU-hours of work, at each job's best work per GPU-hour, done for jobs without a deadline
    /// and for jobs whose deadline has passed. More is better.
    pub harvest: f64,
    /// Starts and stops of runs. Fewer are better.
    pub changes: f64,
}

/// A rule that a schedule breaks.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Fault {
    /// A run names a job or a mode that does not exist, or slots outside of the problem.
    #[error("run {run} names a job, a mode or slots that do not exist")]
    Unknown {
        /// Its place in the list.
        run: usize,
    },
    /// A job runs twice at once, or a run is cut in two for nothing.
    #[error("run {run} overlaps another run of its job, or continues it in the same mode")]
    Overlap {
        /// Its place in the list.
        run: usize,
    },
    /// A run starts before its job may.
    #[error("run {run} starts before its job may")]
    TooEarly {
        /// Its place in the list.
        run: usize,
    },
    /// A run is shorter than its job's fewest slots in a row.
    #[error("run {run} is shorter than its job allows")]
    TooShort {
        /// Its place in the list.
        run: usize,
    },
    /// A run goes on for a whole slot or more after the job's work is done.
    #[error("run {run} goes on after the work of its job is done")]
    AfterDone {
        /// Its place in the list.
        run: usize,
    },
    /// More GPUs are held than there are.
    #[error("in slot {slot} jobs hold {held} GPUs where {free} are free")]
    TooManyGpus {
        /// The slot.
        slot: usize,
        /// GPUs that are held.
        held: u32,
        /// GPUs that are free.
        free: u32,
    },
    /// Jobs that must not be preempted hold lent GPUs.
    #[error(
        "in slot {slot} jobs that must not be preempted hold {held} GPUs where {firm} are firm"
    )]
    LentToFirm {
        /// The slot.
        slot: usize,
        /// GPUs that such jobs hold.
        held: u32,
        /// GPUs that are not lent.
        firm: u32,
    },
}

/// Checks every rule and counts what the schedule is worth.
pub fn audit(problem: &Problem, runs: &[Run]) -> Result<Levels, Fault> {
    check_places(problem, runs)?;
    check_capacity(problem, runs)?;
    let clock = clock(problem);
    let mut levels = Levels { changes: 2.0 * runs.len() as f64, ..Levels::default() };
    for (place, job) in problem.jobs.iter().enumerate() {
        let own = runs_of(runs, place);
        check_job(job, &own, &clock)?;
        let account = Account::of(job, &own, &clock);
        let best = best_work_per_gpu_hour(job);
        if job.deadline.is_some() {
            levels.late += job.weight * account.missing_in_time(job) / best;
            levels.lost += account.lost_before_deadline;
        }
        levels.harvest += account.overdue(job) / best;
    }
    Ok(levels)
}

/// What each job gets from the runs, which must pass [`audit`].
pub fn outcomes(problem: &Problem, runs: &[Run]) -> Vec<JobOutcome> {
    let clock = clock(problem);
    let outcome = |(place, job): (usize, &Job)| {
        let own = runs_of(runs, place);
        let account = Account::of(job, &own, &clock);
        JobOutcome {
            done_slot: done_slot(job, &own, &clock),
            work_done_in_time: account.in_time.min(job.work),
            gpu_hours: account.held,
            gpu_hours_lost: account.lost,
        }
    };
    problem.jobs.iter().enumerate().map(outcome).collect()
}

/// GPU-hours of a job's work, at its best work per GPU-hour, that are not done in time; zero where
/// only rounding is left.
pub fn late_gpu_hours(job: &Job, outcome: &JobOutcome) -> f64 {
    let missing = job.work - outcome.work_done_in_time;
    if missing <= job.work * WORK_TOLERANCE { 0.0 } else { missing / best_work_per_gpu_hour(job) }
}

/// Hours from the first slot to the start of each, and to the end of the last.
fn clock(problem: &Problem) -> Vec<f64> {
    let mut clock = vec![0.0];
    let mut now = 0.0;
    for slot in &problem.slots {
        now += slot.hours;
        clock.push(now);
    }
    clock
}

fn runs_of(runs: &[Run], job: usize) -> Vec<(usize, &Run)> {
    let mut own: Vec<(usize, &Run)> =
        runs.iter().enumerate().filter(|(_, run)| run.job == job).collect();
    own.sort_by_key(|(_, run)| run.from);
    own
}

/// A job that cannot work has no best mode; its work then counts as it stands.
fn best_work_per_gpu_hour(job: &Job) -> f64 {
    let best = job.work_per_gpu_hour_max();
    if best > 0.0 { best } else { 1.0 }
}

/// A deadline after the end of the schedule is one at its end.
fn deadline(job: &Job, clock: &[f64]) -> usize {
    job.deadline.map_or(clock.len() - 1, |slot| slot.min(clock.len() - 1))
}

fn check_places(problem: &Problem, runs: &[Run]) -> Result<(), Fault> {
    for (place, run) in runs.iter().enumerate() {
        let modes = problem.jobs.get(run.job).map_or(0, |job| job.modes.len());
        let slots_exist = run.from < run.until && run.until <= problem.slots.len();
        if run.mode >= modes || !slots_exist {
            return Err(Fault::Unknown { run: place });
        }
    }
    Ok(())
}

fn check_capacity(problem: &Problem, runs: &[Run]) -> Result<(), Fault> {
    for (place, slot) in problem.slots.iter().enumerate() {
        let mut held = 0;
        let mut held_firmly = 0;
        for run in runs.iter().filter(|run| run.from <= place && place < run.until) {
            let job = &problem.jobs[run.job];
            held += job.modes[run.mode].gpus;
            if !job.preemptible {
                held_firmly += job.modes[run.mode].gpus;
            }
        }
        let free = slot.firm + slot.lendable;
        if held > free {
            return Err(Fault::TooManyGpus { slot: place, held, free });
        }
        if held_firmly > slot.firm {
            return Err(Fault::LentToFirm { slot: place, held: held_firmly, firm: slot.firm });
        }
    }
    Ok(())
}

fn check_job(job: &Job, own: &[(usize, &Run)], clock: &[f64]) -> Result<(), Fault> {
    let mut done = 0.0;
    let enough = job.work * (1.0 - WORK_TOLERANCE);
    for (order, &(place, run)) in own.iter().enumerate() {
        if run.from < job.release {
            return Err(Fault::TooEarly { run: place });
        }
        let shortest = job.min_run.max(1);
        if run.until - run.from < shortest {
            return Err(Fault::TooShort { run: place });
        }
        let before = order.checked_sub(1).map(|before| own[before].1);
        if before.is_some_and(|before| {
            before.until > run.from || (before.until == run.from && before.mode == run.mode)
        }) {
            return Err(Fault::Overlap { run: place });
        }
        let shorter = run.until - 1;
        let idle_end = shorter - run.from >= shortest
            && done + useful_work(job, run, run.from, shorter, shorter, clock) >= enough;
        if done >= enough || idle_end {
            return Err(Fault::AfterDone { run: place });
        }
        done += useful_work(job, run, run.from, run.until, run.until, clock);
    }
    Ok(())
}

/// Work that a run over `[from, until)` does before the slot `before`.
fn useful_work(
    job: &Job,
    run: &Run,
    from: usize,
    until: usize,
    before: usize,
    clock: &[f64],
) -> f64 {
    let start = clock[from] + job.start_hours;
    let stop = (clock[until] - job.stop_hours).min(clock[before]);
    job.modes[run.mode].work_per_hour * (stop - start).max(0.0)
}

/// Sums over the runs of one job.
struct Account {
    /// Work before the deadline, or before the end of the schedule.
    in_time: f64,
    /// All work.
    work: f64,
    /// GPU-hours held.
    held: f64,
    /// GPU-hours lost to transitions.
    lost: f64,
    /// Of these, by runs that start before the deadline.
    lost_before_deadline: f64,
}

impl Account {
    fn of(job: &Job, own: &[(usize, &Run)], clock: &[f64]) -> Self {
        let due = deadline(job, clock);
        let mut account =
            Self { in_time: 0.0, work: 0.0, held: 0.0, lost: 0.0, lost_before_deadline: 0.0 };
        for (_, run) in own {
            let gpus = f64::from(job.modes[run.mode].gpus);
            let lost = gpus * (job.start_hours + job.stop_hours);
            account.work += useful_work(job, run, run.from, run.until, run.until, clock);
            account.in_time += useful_work(job, run, run.from, run.until, due, clock);
            account.held += gpus * (clock[run.until] - clock[run.from]);
            account.lost += lost;
            if run.from < due {
                account.lost_before_deadline += lost;
            }
        }
        account
    }

    fn missing_in_time(&self, job: &Job) -> f64 {
        let missing = job.work - self.in_time;
        if missing <= job.work * WORK_TOLERANCE { 0.0 } else { missing }
    }

    /// Work without a deadline, or after it.
    fn overdue(&self, job: &Job) -> f64 {
        match job.deadline {
            None => self.work.min(job.work),
            Some(_) => (self.work.min(job.work) - self.in_time).max(0.0),
        }
    }
}

fn done_slot(job: &Job, own: &[(usize, &Run)], clock: &[f64]) -> Option<usize> {
    let mut done = 0.0;
    for (_, run) in own {
        for slot in run.from..run.until {
            let work = useful_work(job, run, run.from, run.until, slot + 1, clock);
            if done + work >= job.work * (1.0 - WORK_TOLERANCE) {
                return Some(slot);
            }
        }
        done += useful_work(job, run, run.from, run.until, run.until, clock);
    }
    None
}
