//! What a plan is made from.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;

use super::grid::Grid;
use super::jobs::{Occurrence, jobs};
use super::schedule::Effort;
use super::{InferencePlan, Problem, calendar};
use crate::capacity::MeasuredCapacity;
use crate::demand::History;
use crate::evidence::Origin;
use crate::site::{Site, TransitionStepKind};

/// What a plan is made from. Nothing here is looked up: the same question has the same answer.
#[derive(Clone, Copy, Debug)]
pub struct PlanQuestion<'a> {
    /// What the site declares.
    pub site: &'a Site,
    /// The site file's name, for the commands that the plan prints.
    pub site_file: &'a str,
    /// The instant for which the plan is made; `None` where nothing names one, and then the
    /// calendar's first day does.
    pub as_of: Option<Timestamp>,
    /// The history of each inference workload, by name. A workload may have none.
    pub histories: &'a [(String, History)],
    /// The longest time from a signal to memory really free that drills have shown, where there
    /// were any.
    pub drill_measured: Option<Duration>,
    /// What searches for capacity have shown, which goes before what is declared.
    pub capacities: &'a [MeasuredCapacity],
    /// How long to look for a better calendar.
    pub effort: Effort,
    /// Weeks to draw for the promises.
    pub weeks_drawn: u32,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

impl PlanQuestion<'_> {
    /// Time to get a lent GPU back. A drill shows the job's part of it, until memory is free; what
    /// the engine needs from there is declared, and where both are needed the sum is called
    /// declared. Without a drill it is the declared time, else the declared steps together. A step
    /// without a time makes their sum unknown. Where nothing says what the engine needs after a
    /// drill, a declared time stands as long as no drill was longer.
    pub fn reclaim_time(&self) -> Option<(Duration, Origin)> {
        let declared = self.site.operations.reclaim_time;
        let is_job = |kind: TransitionStepKind| {
            matches!(kind, TransitionStepKind::Drain | TransitionStepKind::Checkpoint)
        };
        let Some(drill) = self.drill_measured else {
            let time = declared.or_else(|| self.time_back(|_| true));
            return time.map(|time| (time, Origin::Declared));
        };
        match (self.time_back(|kind| !is_job(kind)), declared) {
            (Some(engine), _) => Some((drill + engine, Origin::Declared)),
            (None, Some(declared)) => Some((declared.max(drill), Origin::Declared)),
            (None, None) => Some((drill, Origin::Measured)),
        }
    }

    /// What some steps of the way back take together; `None` where there are none, or where one of
    /// them is without a time.
    fn time_back(&self, counts: impl Fn(TransitionStepKind) -> bool) -> Option<Duration> {
        let steps = &self.site.operations.transition.as_ref()?.to_inference;
        let counted = steps.iter().filter(|step| counts(step.kind));
        let times: Option<Vec<Duration>> = counted.map(|step| step.duration).collect();
        times.filter(|times| !times.is_empty()).map(|times| times.iter().sum())
    }

    /// What the declared steps of the way back to inference take together, at the least: a step
    /// without a time counts as none.
    pub fn transition_back(&self) -> Duration {
        let transition = self.site.operations.transition.as_ref();
        transition.map_or(Duration::ZERO, |transition| {
            transition.to_inference.iter().filter_map(|step| step.duration).sum()
        })
    }

    /// The history of a workload.
    pub fn history(&self, workload: &str) -> Option<&History> {
        self.histories.iter().find(|(name, _)| name == workload).map(|(_, history)| history)
    }
}

/// Length of a window where the site names none, minutes.
const WINDOW_MINUTES_DEFAULT: u32 = 30;

/// The windows of the calendar, with what was assumed for want of a declaration. `None` where no
/// day is named on which it could begin.
pub(super) fn grid(question: &PlanQuestion<'_>) -> Option<(Grid, Vec<String>)> {
    let site = question.site;
    let shape = site.operations.calendar.unwrap_or_default();
    let mut assumed = Vec::new();
    let minutes = if let Some(window) = shape.window {
        (window.as_secs() / 60) as u32
    } else {
        assumed.push(format!(
            "windows of {WINDOW_MINUTES_DEFAULT} minutes: `operations.calendar.window` is not \
             declared"
        ));
        WINDOW_MINUTES_DEFAULT
    };
    let begins = if let Some(begins) = shape.begins {
        begins
    } else {
        let day = next_monday(site, question.as_of.or(site.as_of)?)?;
        assumed.push(format!(
            "the calendar begins on Monday {day}, the next one: `operations.calendar.begins` is \
             not declared"
        ));
        day
    };
    let weeks = shape.weeks.unwrap_or_else(|| {
        assumed.push("one week: `operations.calendar.weeks` is not declared".to_owned());
        1
    });
    let grid = Grid::new(site.time_zone.clone(), begins, weeks.saturating_mul(7), minutes)?;
    Some((grid, assumed))
}

/// The first Monday at or after an instant, in local time of the site.
fn next_monday(site: &Site, at: Timestamp) -> Option<Date> {
    let mut day = site.time_zone.to_datetime(at).date();
    while day.weekday() != jiff::civil::Weekday::Monday {
        day = day.tomorrow().ok()?;
    }
    Some(day)
}

/// The scheduling question of a site: what inference leaves, and the jobs.
#[derive(Clone, Debug)]
pub(super) struct Posed {
    /// The question.
    pub(super) problem: Problem,
    /// Its jobs with where they came from, in the same order.
    pub(super) occurrences: Vec<Occurrence>,
    /// What is to be said about the jobs.
    pub(super) remarks: Vec<String>,
    /// What is missing to plan some of them.
    pub(super) missing: Vec<String>,
}

/// Poses the scheduling question.
pub(super) fn pose(site: &Site, grid: &Grid, reserves: &[InferencePlan], gpus: u32) -> Posed {
    let list = jobs(site, grid);
    let problem = Problem {
        gpus,
        slots: calendar::slots(site, grid, reserves, gpus),
        jobs: list.occurrences.iter().map(|occurrence| occurrence.job.clone()).collect(),
    };
    Posed { problem, occurrences: list.occurrences, remarks: list.remarks, missing: list.missing }
}
