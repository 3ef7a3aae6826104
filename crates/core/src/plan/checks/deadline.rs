//! Deadlines against the GPU-hours that could ever be free: the whole time, less only what is never
//! lent, and each job at its best efficiency. What fails here fails in every calendar.

use jiff::Timestamp;

use super::draft::{listed, number, open, push_once, quoted};
use super::job::{Job, job};
use crate::plan::model::{Check, Outcome};
use crate::site::{Deadline, SharingMode, Site};

const HOURS_PER_WEEK: f64 = 7.0 * 24.0;

pub(super) fn checks(site: &Site) -> Vec<Check> {
    let pool = Gpus::of(site);
    let mut jobs: Vec<Job<'_>> = Vec::new();
    let mut checks = Vec::new();
    for workload in &site.workloads {
        match job(workload, site.gpu_count() > 0) {
            None => {}
            Some(Ok(job)) => {
                checks.push(one(site, &pool, &job));
                jobs.push(job);
            }
            Some(Err(missing)) => {
                let name = quoted(&workload.name);
                let title = format!("Are there enough GPU-hours before the deadline of {name}?");
                let mut check = open(KEY, title, vec![workload.name.clone()]);
                check.answer =
                    format!("cannot be decided: how much work {name} is, is not declared");
                check.missing = missing;
                checks.push(check);
            }
        }
    }
    // Work through somebody else's engine takes no GPUs of its own.
    jobs.retain(|job| job.gpus_min() > 0.0);
    if jobs.len() > 1 {
        checks.extend(together(site, &pool, &jobs));
    }
    checks
}

const KEY: &str = "deadline";

/// GPUs that work with a deadline could ever have.
struct Gpus {
    free: f64,
    line: String,
}

impl Gpus {
    fn of(site: &Site) -> Self {
        let all = f64::from(site.gpu_count());
        let reserved: f64 =
            site.inference().filter_map(|(_, inference)| inference.minimum_reserved).sum();
        // Where workloads are on one GPU at once, what is reserved is not taken from the others.
        let apart = matches!(
            site.sharing.mode,
            SharingMode::WholeGpu(_) | SharingMode::Temporal(_) | SharingMode::CandidatesAll
        );
        let free = if apart { (all - reserved).max(0.0) } else { all };
        let line = if apart && reserved > 0.0 {
            format!(
                "GPUs that could ever be free: {} − {} never lent = {}",
                number(all, 2),
                number(reserved, 2),
                number(free, 2)
            )
        } else {
            format!("GPUs that could ever be free: {}", number(free, 2))
        };
        Self { free, line }
    }
}

/// The time that one occurrence has, hours; an error names what is missing.
fn horizon(site: &Site, deadline: &Deadline) -> Result<(f64, String), String> {
    match deadline {
        Deadline::At { at, start, .. } => {
            let from = from(site, *start).ok_or_else(|| "as_of: …".to_owned())?;
            let hours = at.duration_since(from).as_secs_f64() / 3600.0;
            Ok((hours.max(0.0), format!("until {deadline}: {} h", number(hours.max(0.0), 1))))
        }
        Deadline::Weekly { days, .. } => {
            let zeros: Vec<f64> =
                days.days().map(|day| f64::from(day.to_monday_zero_offset())).collect();
            let next = zeros.iter().skip(1).copied().chain(zeros.first().map(|day| day + 7.0));
            let gap = zeros.iter().zip(next).map(|(day, next)| next - day).fold(0.0, f64::max);
            Ok((gap * 24.0, format!("between two deadlines at most {} h", number(gap * 24.0, 0))))
        }
    }
}

/// The later of the declared start and the moment for which the site is judged.
fn from(site: &Site, start: Option<Timestamp>) -> Option<Timestamp> {
    match (start, site.as_of) {
        (Some(start), Some(as_of)) => Some(start.max(as_of)),
        (start, as_of) => start.or(as_of),
    }
}

fn one(site: &Site, gpus: &Gpus, job: &Job<'_>) -> Check {
    let name = quoted(job.name);
    let title = format!("Are there enough GPU-hours before the deadline of {name}?");
    let mut check = open(KEY, title, vec![job.name.to_owned()]);
    check.sources = vec![
        "processor demand: work that must be done between two instants against what is there \
         (Baruah et al. 1990; parallel by maximum flow, Horn 1974)",
    ];
    let needs_gpus = job.gpus_min() > 0.0;
    if needs_gpus {
        let hours = number(job.gpu_hours(), 1);
        check.arithmetic.push(format!("work: {}; at best {hours} GPU-hours", job.how));
        check.arithmetic.push(gpus.line.clone());
    } else {
        check.arithmetic.push(format!("work: {}, on no GPU of its own", job.how));
    }
    let within = if needs_gpus { gpus.free } else { f64::INFINITY };
    let Some(fastest) = job.hours_on(within) else {
        check.outcome = Outcome::Fails;
        check.answer = format!(
            "no: the fewest GPUs on which the throughput of {name} is declared are {}, and at most \
             {} are ever free",
            number(job.gpus_min(), 2),
            number(gpus.free, 2)
        );
        check.would_be_conditional_on.push(format!(
            "throughput of {name} declared on at most {} GPUs, or fewer GPUs that are never lent",
            number(gpus.free, 2)
        ));
        return check;
    };
    let (hours, line) = match horizon(site, job.deadline) {
        Ok(found) => found,
        Err(missing) => {
            check.answer =
                format!("cannot be decided: from when on {name} may run is not declared");
            check.missing.push(missing);
            return check;
        }
    };
    check.arithmetic.push(line);
    // Of several jobs between two deadlines each needs its part.
    let each = jobs_for_each_deadline(job);
    let needed = job.gpu_hours() * each;
    let there = gpus.free * hours;
    if needs_gpus {
        check.arithmetic.push(format!(
            "needed {} GPU-h{}, there {} × {} h = {} GPU-h",
            number(needed, 1),
            if each == 1.0 { String::new() } else { format!(" ({} jobs)", number(each, 2)) },
            number(gpus.free, 2),
            number(hours, 1),
            number(there, 1)
        ));
    }
    check.arithmetic.push(format!(
        "the fastest way that fits takes {} h, {} h are there",
        number(fastest, 1),
        number(hours, 1)
    ));
    decide(&mut check, job, (needed, there), (fastest, hours), needs_gpus);
    check
}

fn decide(
    check: &mut Check,
    job: &Job<'_>,
    (needed, there): (f64, f64),
    (fastest, hours): (f64, f64),
    needs_gpus: bool,
) {
    let name = quoted(job.name);
    if needs_gpus && needed > there {
        check.outcome = Outcome::Fails;
        check.answer = format!(
            "no: {} GPU-hours are missing before the deadline of {name}",
            number(needed - there, 1)
        );
        check.would_be_conditional_on.push(format!(
            "{} more GPU-hours before the deadline: more GPUs, a later deadline, or less work",
            number(needed - there, 1)
        ));
    } else if fastest > hours {
        check.outcome = Outcome::Fails;
        check.answer = format!(
            "no: even the fastest way of {name} takes {} h longer than it has",
            number(fastest - hours, 1)
        );
        check.would_be_conditional_on.push(format!(
            "a deadline {} h later, or a way to run {name} that is as much faster",
            number(fastest - hours, 1)
        ));
    } else {
        check.outcome = Outcome::Holds;
        check.answer = format!(
            "nothing speaks against the deadline of {name} before demand and transitions are counted"
        );
    }
}

/// Jobs for each weekly deadline.
fn jobs_for_each_deadline(job: &Job<'_>) -> f64 {
    match (job.deadline, job.per_week) {
        (Deadline::Weekly { days, .. }, Some(per_week)) => {
            (per_week / (days.days().count().max(1) as f64)).max(1.0)
        }
        _ => 1.0,
    }
}

/// GPU-hours that must be done within some time, and those that are there.
struct Demand {
    when: String,
    needed: f64,
    there: f64,
}

impl Demand {
    fn missing(&self) -> f64 {
        self.needed - self.there
    }

    /// How full the time is; above 1 it cannot hold what must be done.
    fn fullness(&self) -> f64 {
        if self.there > 0.0 { self.needed / self.there } else { f64::INFINITY }
    }
}

/// All jobs at once: the weekly ones in a week, the dated ones in every interval between a start and
/// a deadline. The tightest is shown.
fn together(site: &Site, gpus: &Gpus, jobs: &[Job<'_>]) -> Option<Check> {
    let names: Vec<String> = jobs.iter().map(|job| job.name.to_owned()).collect();
    let who = listed(&names.iter().map(|name| quoted(name)).collect::<Vec<_>>());
    let title = format!("Are there enough GPU-hours for {who} together?");
    let mut check = open(KEY, title, names);
    let per_week: f64 = jobs.iter().map(weekly_gpu_hours).sum();
    let week =
        Demand { when: "a week".to_owned(), needed: per_week, there: gpus.free * HOURS_PER_WEEK };
    let mut demands: Vec<Demand> = Vec::new();
    demands.extend((per_week > 0.0).then_some(week));
    for (from, until) in intervals(site, jobs, &mut check.missing) {
        let inside = |job: &&Job<'_>| is_inside(site, job, from, until);
        let dated: f64 = jobs.iter().filter(inside).map(Job::gpu_hours).sum();
        let hours = until.duration_since(from).as_secs_f64() / 3600.0;
        // Weekly work takes its part of every whole week that lies inside.
        let weekly = per_week * (hours / HOURS_PER_WEEK).floor();
        demands.push(Demand {
            when: format!("{} to {}", local(site, from), local(site, until)),
            needed: dated + weekly,
            there: gpus.free * hours,
        });
    }
    let tightest = demands.into_iter().max_by(|a, b| a.fullness().total_cmp(&b.fullness()))?;
    check.arithmetic.push(gpus.line.clone());
    check.arithmetic.push(format!(
        "{}: needed {} GPU-h at best, there {} GPU-h",
        tightest.when,
        number(tightest.needed, 1),
        number(tightest.there, 1)
    ));
    let missing = number(tightest.missing(), 1);
    if tightest.missing() > 0.0 {
        check.outcome = Outcome::Fails;
        check.answer = format!("no: {missing} GPU-hours are missing for {who} together");
        check.would_be_conditional_on.push(format!(
            "{missing} more GPU-hours there: more GPUs, later deadlines, or less work"
        ));
    } else if check.missing.is_empty() {
        check.outcome = Outcome::Holds;
        check.answer = format!(
            "nothing speaks against {who} together before demand and transitions are counted"
        );
    } else {
        check.answer =
            format!("cannot be decided: not for all of {who} is it declared when they may begin");
    }
    Some(check)
}

fn local(site: &Site, at: Timestamp) -> String {
    site.time_zone.to_datetime(at).strftime("%Y-%m-%d %H:%M").to_string()
}

fn weekly_gpu_hours(job: &Job<'_>) -> f64 {
    match job.deadline {
        Deadline::Weekly { days, .. } => {
            job.gpu_hours() * job.per_week.unwrap_or(days.days().count() as f64)
        }
        Deadline::At { .. } => 0.0,
    }
}

/// Every pair of a start and a deadline of dated jobs.
fn intervals(
    site: &Site,
    jobs: &[Job<'_>],
    missing: &mut Vec<String>,
) -> Vec<(Timestamp, Timestamp)> {
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for job in jobs {
        if let Deadline::At { at, start, .. } = job.deadline {
            match from(site, *start) {
                Some(start) => starts.push(start),
                None => push_once(missing, "as_of: …"),
            }
            ends.push(*at);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    ends.sort_unstable();
    ends.dedup();
    let pairs = starts.iter().flat_map(|start| ends.iter().map(|end| (*start, *end)));
    pairs.filter(|(start, end)| start < end).collect()
}

fn is_inside(site: &Site, job: &Job<'_>, from_: Timestamp, until: Timestamp) -> bool {
    match job.deadline {
        Deadline::At { at, start, .. } => {
            *at <= until && from(site, *start).is_some_and(|start| start >= from_)
        }
        Deadline::Weekly { .. } => false,
    }
}
