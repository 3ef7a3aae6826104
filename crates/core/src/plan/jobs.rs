//! From what the site declares to the jobs of a calendar.

use std::time::Duration;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::grid::{Grid, Window};
use super::pace::{Pace, hours, pace};
use super::problem::Job;
use crate::site::{
    Deadline, Operations, Site, Training, Transition, TransitionStep, Workload, WorkloadKind,
};
use crate::units::Share;

/// The share of an occurrence's time that must lie inside of the calendar for it to be planned: the
/// calendar does not know what was done of it before.
const CLIPPED_MIN: f64 = 0.25;

/// One occurrence of a job with the times that it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// The job as the schedule sees it.
    pub job: Job,
    /// The workload's kind.
    pub kind: &'static str,
    /// When it must be done, where it has a deadline inside of the calendar.
    pub deadline: Option<Timestamp>,
    /// The share of its occurrences that the site asks to be on time.
    pub on_time_share: Option<f64>,
}

/// The jobs of a calendar, and what is to be said about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobList {
    /// The occurrences, in the order of the site file and then of time.
    pub occurrences: Vec<Occurrence>,
    /// What a reader must know: what was assumed, what was left out and why.
    pub remarks: Vec<String>,
    /// Lines of the site file without which a job cannot be planned.
    pub missing: Vec<String>,
}

/// The occurrences of every job that the site declares, inside of a calendar.
pub fn jobs(site: &Site, grid: &Grid) -> JobList {
    let mut list = JobList::default();
    for workload in &site.workloads {
        if matches!(workload.kind, WorkloadKind::Inference(_)) {
            continue;
        }
        match pace(site, workload) {
            // Without an amount nothing could be said of its deadline but that it is missed.
            Ok(pace) if pace.work.is_none() && deadline_of(workload).is_some() => {
                list.missing.push(amount_of(workload));
            }
            Ok(pace) => {
                list.remarks.extend(pace.remarks.iter().cloned());
                occurrences(site, workload, &pace, grid, &mut list);
            }
            Err(missing) => list.missing.push(missing),
        }
    }
    list
}

/// When a job must be done, whatever its kind.
fn deadline_of(workload: &Workload) -> Option<&Deadline> {
    match &workload.kind {
        WorkloadKind::Training(training) => training.objectives.deadline.as_ref(),
        WorkloadKind::Batch(batch) => batch.deadline.as_ref(),
        WorkloadKind::Render(render) => render.job.objectives.deadline.as_ref(),
        WorkloadKind::Inference(_) => None,
    }
}

/// The line of the site file that says how much work a job with a deadline has.
fn amount_of(workload: &Workload) -> String {
    let line = match &workload.kind {
        WorkloadKind::Training(_) => "training: { work: 2 B tok }, or steps, or duration",
        WorkloadKind::Batch(_) => "batch: { items: 100 k }",
        WorkloadKind::Render(_) => "render: { frames: 1200 }",
        WorkloadKind::Inference(_) => "no amount of work",
    };
    format!("workloads.{}: {line}: how much must be done by its deadline", workload.name)
}

fn training_of(workload: &Workload) -> Option<&Training> {
    match &workload.kind {
        WorkloadKind::Training(training) => Some(training),
        _ => None,
    }
}

/// The interval in which one occurrence may run and must be done.
struct Period {
    release: usize,
    /// The slot before which it must be done, and the instant.
    due: Option<(usize, Timestamp)>,
    label: String,
}

fn occurrences(site: &Site, workload: &Workload, pace: &Pace, grid: &Grid, list: &mut JobList) {
    let training = training_of(workload);
    let per_week = training.and_then(|training| training.jobs_per_week);
    let periods = match deadline_of(workload) {
        Some(Deadline::At { at, start, .. }) => vec![once(grid, *at, *start)],
        Some(deadline @ Deadline::Weekly { .. }) => recurring(grid, deadline, workload, list),
        None => weekly_without_deadline(grid, per_week),
    };
    let of_each = jobs_in_each(&periods, deadline_of(workload), per_week);
    let on_time_share =
        training.and_then(|training| training.objectives.on_time_share).map(Share::value);
    for (period, count) in periods.iter().zip(of_each) {
        for number in 1..=count {
            let part = if count > 1 { format!(", {number} of {count}") } else { String::new() };
            let name = match (period.label.as_str(), part.as_str()) {
                ("", "") => workload.name.clone(),
                (label, part) => {
                    let inside = format!("{label}{part}");
                    format!("{} ({})", workload.name, inside.trim_start_matches(", "))
                }
            };
            list.occurrences.push(Occurrence {
                job: job(site, workload, pace, grid, period, name),
                kind: workload.kind.name(),
                deadline: period.due.map(|(_, at)| at),
                on_time_share,
            });
        }
    }
}

fn job(
    site: &Site,
    workload: &Workload,
    pace: &Pace,
    grid: &Grid,
    period: &Period,
    name: String,
) -> Job {
    let window_hours = f64::from(grid.window_minutes) / 60.0;
    let minimum_run = workload.allocation.and_then(|allocation| allocation.minimum_run);
    let cost = transition_hours(&site.operations, training_of(workload));
    Job {
        name,
        workload: workload.name.clone(),
        modes: pace.modes.clone(),
        work: pace.work.unwrap_or(f64::INFINITY),
        release: period.release,
        deadline: period.due.map(|(slot, _)| slot),
        weight: workload.weight.unwrap_or(1.0),
        preemptible: is_preemptible(workload),
        min_run: minimum_run
            .map_or(1, |time| (hours(time) / window_hours - 1e-9).ceil().max(1.0) as usize),
        start_hours: cost.start_hours,
        stop_hours: cost.stop_hours,
    }
}

/// Whether a job may hold GPUs that inference can ask back.
fn is_preemptible(workload: &Workload) -> bool {
    match &workload.kind {
        WorkloadKind::Training(training) => {
            training.preemption.as_ref().is_some_and(|preemption| preemption.allowed)
        }
        // Items that are not done are done again: nothing of a batch is worth keeping a GPU for.
        WorkloadKind::Batch(_) => true,
        WorkloadKind::Render(render) => render.restart_unit.is_some(),
        WorkloadKind::Inference(_) => false,
    }
}

/// What a change of hands costs a job's GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransitionHours {
    /// From inference (or idle) to the job's first useful moment, hours.
    pub start_hours: f64,
    /// From the job's last useful moment to inference ready to serve, hours.
    pub stop_hours: f64,
    /// Whether both are declared.
    pub known: bool,
}

/// The cost of a change of hands: the transition's steps where the site states their times, else
/// the job's own resume and checkpoint, which leave out what the engine needs.
pub fn transition_hours(operations: &Operations, training: Option<&Training>) -> TransitionHours {
    let steps = |pick: fn(&Transition) -> &Vec<TransitionStep>| {
        let transition = operations.transition.as_ref()?;
        let times: Option<Vec<Duration>> =
            pick(transition).iter().map(|step| step.duration).collect();
        times.filter(|times| !times.is_empty()).map(|times| times.iter().map(|t| hours(*t)).sum())
    };
    let checkpoint = training.and_then(|training| training.checkpoint.as_ref());
    let start: Option<f64> = steps(|transition| &transition.to_training)
        .or_else(|| checkpoint.and_then(|c| c.resume_duration).map(hours));
    let stop: Option<f64> = steps(|transition| &transition.to_inference)
        .or_else(|| checkpoint.and_then(|c| c.duration).map(hours));
    TransitionHours {
        start_hours: start.unwrap_or(0.0),
        stop_hours: stop.unwrap_or(0.0),
        known: start.is_some() && stop.is_some(),
    }
}

/// A job that is due once.
fn once(grid: &Grid, at: Timestamp, start: Option<Timestamp>) -> Period {
    let release = start.map_or(0, |start| first_slot_from(grid, start));
    let end = grid.windows.last().map(|window| window.end);
    // Beyond the calendar nothing is promised: there the job has no deadline yet.
    let inside = end.is_some_and(|end| at <= end);
    let due = inside.then(|| (slots_done_by(grid, at), at));
    let label = if inside { String::new() } else { "due after the calendar".to_owned() };
    Period { release, due, label }
}

/// The periods of a job that is due again and again: from each deadline to the next.
fn recurring(
    grid: &Grid,
    deadline: &Deadline,
    workload: &Workload,
    list: &mut JobList,
) -> Vec<Period> {
    let (Some(first), Some(last)) = (grid.windows.first(), grid.windows.last()) else {
        return Vec::new();
    };
    let dues = instants(grid, deadline, first, last);
    let mut periods = Vec::new();
    for pair in dues.windows(2) {
        let (before, due) = (pair[0], pair[1]);
        if due <= first.start || before >= last.end {
            continue;
        }
        let label = format!("due {}", local(grid, due));
        if due > last.end {
            // Its deadline lies beyond: what is done now is only a beginning, without a promise.
            let release = first_slot_from(grid, before);
            periods.push(Period { release, due: None, label });
            continue;
        }
        let length = due.duration_since(before).as_secs_f64();
        let inside = due.duration_since(before.max(first.start)).as_secs_f64();
        if inside < CLIPPED_MIN * length {
            list.remarks.push(format!(
                "{}: the occurrence due {} is not planned: more than three quarters of its time lie \
                 before the calendar",
                workload.name,
                local(grid, due)
            ));
            continue;
        }
        if before < first.start {
            list.remarks.push(format!(
                "{}: the occurrence due {} may have begun before the calendar; all of its work is \
                 planned inside of it",
                workload.name,
                local(grid, due)
            ));
        }
        let slot = slots_done_by(grid, due);
        periods.push(Period {
            release: first_slot_from(grid, before),
            due: Some((slot, due)),
            label,
        });
    }
    periods
}

/// The instants of a recurring deadline around a calendar, ascending: one before it and one after
/// it among them.
fn instants(grid: &Grid, deadline: &Deadline, first: &Window, last: &Window) -> Vec<Timestamp> {
    let Deadline::Weekly { days, minute } = deadline else { return Vec::new() };
    let zone = &grid.time_zone;
    let mut day = zone.to_datetime(first.start).date();
    let mut end = zone.to_datetime(last.end).date();
    day = day.checked_sub(8.days()).unwrap_or(day);
    end = end.checked_add(8.days()).unwrap_or(end);
    let mut found = Vec::new();
    while day <= end {
        if days.contains(day.weekday()) {
            let (hour, minute) = ((*minute / 60) as i8, (*minute % 60) as i8);
            // 24:00 is midnight at the end of the day.
            let (date, hour) =
                if hour == 24 { (day.tomorrow().unwrap_or(day), 0) } else { (day, hour) };
            if let Ok(at) = zone.to_timestamp(date.at(hour, minute, 0, 0)) {
                found.push(at);
            }
        }
        let Ok(next) = day.tomorrow() else { break };
        day = next;
    }
    found
}

/// A job without a deadline: one a week where the site says how many, else one without an end.
fn weekly_without_deadline(grid: &Grid, per_week: Option<f64>) -> Vec<Period> {
    let endless = vec![Period { release: 0, due: None, label: String::new() }];
    if per_week.is_none() {
        return endless;
    }
    // Weeks of the local calendar: one in which the clocks change has an hour more or less.
    let Some(first) = grid.windows.first() else { return Vec::new() };
    let mut day = grid.time_zone.to_datetime(first.start).date();
    let mut releases = Vec::new();
    while let Some(release) = first_slot_on(grid, day) {
        releases.push(release);
        let Ok(next) = day.checked_add(7.days()) else { break };
        day = next;
    }
    let label = |week: usize| {
        if releases.len() > 1 { format!("week {}", week + 1) } else { String::new() }
    };
    let period = |(week, release): (usize, &usize)| Period {
        release: *release,
        due: None,
        label: label(week),
    };
    releases.iter().enumerate().map(period).collect()
}

/// The first window on or after a local day; `None` where the calendar is over by then.
fn first_slot_on(grid: &Grid, day: Date) -> Option<usize> {
    let is_before = |window: &Window| grid.time_zone.to_datetime(window.start).date() < day;
    let slot = grid.windows.partition_point(is_before);
    (slot < grid.windows.len()).then_some(slot)
}

/// How many jobs each period holds: the week's number spread over the periods of a week.
fn jobs_in_each(
    periods: &[Period],
    deadline: Option<&Deadline>,
    per_week: Option<f64>,
) -> Vec<u32> {
    let dues_per_week = match deadline {
        Some(Deadline::Weekly { days, .. }) => days.days().count().max(1) as f64,
        Some(Deadline::At { .. }) => return vec![1; periods.len()],
        None => 1.0,
    };
    let Some(per_week) = per_week else { return vec![1; periods.len()] };
    let each = per_week / dues_per_week;
    // Rounding the running sum keeps the total right where the share is no whole number. It is
    // rounded up: a job each second week may fall into the week that is planned.
    (0..periods.len())
        .map(|index| {
            let upto = |count: usize| (each * count as f64 - 1e-9).ceil().max(0.0);
            let (sum, before) = (upto(index + 1), upto(index));
            (sum - before) as u32
        })
        .collect()
}

/// The first window that begins at or after an instant.
fn first_slot_from(grid: &Grid, at: Timestamp) -> usize {
    grid.windows.partition_point(|window| window.start < at)
}

/// The windows that are over by an instant.
fn slots_done_by(grid: &Grid, at: Timestamp) -> usize {
    grid.windows.partition_point(|window| window.end <= at)
}

fn local(grid: &Grid, at: Timestamp) -> String {
    grid.time_zone.to_datetime(at).strftime("%a %d %b %H:%M").to_string()
}
