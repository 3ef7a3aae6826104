//! Deadlines that cannot be met: the proof, and the least change that would meet them.

use std::time::Duration;

use jiff::Timestamp;

use super::grid::Grid;
use super::model::{Certificate, Change};
use super::problem::Problem;
use super::question::{PlanQuestion, Posed, pose};
use super::reserves::{Assumed, reserves};
use super::schedule::{Effort, Shortage, late_gpu_hours, shortages, solve_unproven};
use crate::site::Cost;
use crate::units::format_duration;

/// The most hours by which a deadline is moved in search of one that holds.
const HOURS_LATER_MAX: f64 = 14.0 * 24.0;

/// The certificates of a calendar, each with the least change of every kind that would help. Their
/// prices have different units, so they stand in a fixed order: GPUs, time, work, then what the
/// engine would have to do better.
pub(super) fn certificates(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    posed: &Posed,
) -> Vec<Certificate> {
    shortages(&posed.problem)
        .iter()
        .filter_map(|shortage| {
            let from = boundary(grid, shortage.from_slot)?;
            let until = boundary(grid, shortage.until_slot)?;
            let name = |job: &usize| posed.problem.jobs.get(*job).map(|job| job.name.clone());
            Some(Certificate {
                jobs: shortage.jobs.iter().filter_map(name).collect(),
                from,
                until,
                needed: shortage.needed,
                free: shortage.free,
                changes: Search { question, grid, posed, shortage }.changes(),
            })
        })
        .collect()
}

/// The instant between two windows: the start of one, and for the one after the last its end.
fn boundary(grid: &Grid, slot: usize) -> Option<Timestamp> {
    let start = grid.windows.get(slot).map(|window| window.start);
    start.or_else(|| grid.windows.last().map(|window| window.end))
}

/// Looks for changes by planning again with each.
struct Search<'a> {
    question: &'a PlanQuestion<'a>,
    grid: &'a Grid,
    posed: &'a Posed,
    shortage: &'a Shortage,
}

impl Search<'_> {
    fn changes(&self) -> Vec<Change> {
        [
            self.more_gpus(),
            self.later_deadline(),
            self.less_work(),
            self.faster_reclaim(),
            self.roomier_replicas(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Late GPU-hours of the jobs that the certificate names, under a changed question. The cheap
    /// bound is asked first: where even that is short, no schedule is looked for.
    fn late(&self, problem: &Problem) -> f64 {
        let concerned =
            |shortage: &Shortage| shortage.jobs.iter().any(|job| self.shortage.jobs.contains(job));
        if let Some(short) = shortages(problem).iter().find(|shortage| concerned(shortage)) {
            return short.missing();
        }
        let effort = Effort {
            steps_max: self.question.effort.steps_max / 4,
            seed: self.question.effort.seed,
        };
        let outcomes = solve_unproven(problem, &effort).late;
        self.shortage
            .jobs
            .iter()
            .filter_map(|index| Some((problem.jobs.get(*index)?, outcomes.get(*index)?)))
            .map(|(job, outcome)| late_gpu_hours(job, outcome))
            .sum()
    }

    fn meets(&self, problem: &Problem) -> bool {
        self.late(problem) <= 0.0
    }

    /// More GPUs in the interval of the certificate, and nowhere else.
    fn more_gpus(&self) -> Option<Change> {
        let most =
            self.posed.problem.jobs.iter().flat_map(|job| &job.modes).map(|m| m.gpus).max()?;
        let limit = self.posed.problem.gpus.max(1).saturating_add(most);
        let with = |extra: u32| {
            let mut problem = self.posed.problem.clone();
            problem.gpus += extra;
            for index in self.interval() {
                problem.slots[index].firm += extra;
            }
            problem
        };
        let extra = least(1, limit, |extra| self.meets(&with(extra)))?;
        let hours: f64 = self.interval().map(|index| self.posed.problem.slots[index].hours).sum();
        let gpu_hours = hours * f64::from(extra);
        Some(Change {
            what: format!(
                "{extra} more GPU{} from {} to {}",
                if extra == 1 { "" } else { "s" },
                self.local(self.shortage.from_slot),
                self.local(self.shortage.until_slot)
            ),
            price: format!("{gpu_hours:.1} GPU-h"),
            money: money(self.question.site.operations.cost.as_ref(), gpu_hours),
            confirmed: true,
        })
    }

    /// The same deadline, later.
    fn later_deadline(&self) -> Option<Change> {
        let slots = self.posed.problem.slots.len();
        let last = self.shortage.jobs.iter().filter_map(|job| self.deadline(*job)).max()?;
        let room = slots.saturating_sub(last) as u32;
        let shifted = |shift: u32| {
            let mut problem = self.posed.problem.clone();
            for index in &self.shortage.jobs {
                if let Some(deadline) = &mut problem.jobs[*index].deadline {
                    *deadline = (*deadline + shift as usize).min(slots);
                }
            }
            problem
        };
        let shift = least(1, room, |shift| self.meets(&shifted(shift)))?;
        // From the deadline itself: it may lie inside of a window, or before the calendar.
        let occurrences = self.shortage.jobs.iter().map(|job| self.posed.occurrences.get(*job));
        let due = occurrences.filter_map(|occurrence| occurrence?.deadline).max()?;
        let until = boundary(self.grid, last + shift as usize)?;
        let hours = until.duration_since(due).as_secs_f64() / 3600.0;
        (hours <= HOURS_LATER_MAX).then(|| Change {
            what: format!("the deadline {} later", format_hours(hours)),
            price: format!("{} of waiting", format_hours(hours)),
            money: None,
            confirmed: true,
        })
    }

    fn deadline(&self, job: usize) -> Option<usize> {
        self.posed.problem.jobs.get(job)?.deadline
    }

    /// Less work of the jobs that the certificate names.
    fn less_work(&self) -> Option<Change> {
        let with = |percent: u32| {
            let mut problem = self.posed.problem.clone();
            for index in &self.shortage.jobs {
                problem.jobs[*index].work *= 1.0 - f64::from(percent) / 100.0;
            }
            problem
        };
        let percent = least(1, 90, |percent| self.meets(&with(percent)))?;
        let gpu_hours = self.shortage.needed * f64::from(percent) / 100.0;
        Some(Change {
            what: format!("{percent} % less work by then"),
            price: format!("{gpu_hours:.1} GPU-h of work left out or moved elsewhere"),
            money: None,
            confirmed: true,
        })
    }

    /// A reclaim that takes less time, so that less must be kept free for bursts.
    fn faster_reclaim(&self) -> Option<Change> {
        let (now, _) = self.question.reclaim_time()?;
        [0.75, 0.5, 0.25, 0.1].into_iter().find_map(|factor| {
            let faster = now.mul_f64(factor);
            let assumed = Assumed { reclaim_time: Some(faster), ..Assumed::default() };
            self.meets(&self.posed_with(&assumed).problem).then(|| Change {
                what: format!(
                    "a reclaim {} faster ({} instead of {})",
                    format_duration(now.saturating_sub(faster)),
                    format_duration(faster),
                    format_duration(now)
                ),
                price: "a faster way back: a smaller checkpoint, a warm engine".to_owned(),
                money: None,
                confirmed: true,
            })
        })
    }

    /// Replicas that carry more: what a looser latency objective or a faster engine would give.
    fn roomier_replicas(&self) -> Option<Change> {
        [1.1, 1.25, 1.5, 2.0].into_iter().find_map(|factor| {
            let assumed = Assumed { capacity_factor: Some(factor), ..Assumed::default() };
            self.meets(&self.posed_with(&assumed).problem).then(|| Change {
                what: format!(
                    "replicas that carry {:.0} % more within the objectives",
                    (factor - 1.0) * 100.0
                ),
                price:
                    "a looser latency objective, or a faster engine; a capacity run shows which \
                        latency that is"
                        .to_owned(),
                money: None,
                confirmed: true,
            })
        })
    }

    fn posed_with(&self, assumed: &Assumed) -> Posed {
        let changed = reserves(self.question, self.grid, assumed).plans;
        let gpus = self.posed.problem.gpus;
        pose(self.question.site, self.grid, &changed, gpus)
    }

    fn interval(&self) -> std::ops::Range<usize> {
        self.shortage.from_slot..self.shortage.until_slot.min(self.posed.problem.slots.len())
    }

    /// The local time of a slot's start; of the end, for the slot after the last one.
    fn local(&self, slot: usize) -> String {
        boundary(self.grid, slot).map_or_else(String::new, |at| {
            self.grid.time_zone.to_datetime(at).strftime("%a %H:%M").to_string()
        })
    }
}

/// The least number of a range for which something holds, taking it that what holds for one number
/// holds for a larger one; the last one is looked at first, so that nothing is searched in vain.
fn least(from: u32, to: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if from > to || !holds(to) {
        return None;
    }
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

/// What GPU-hours cost, where the site states a price.
pub(super) fn money(cost: Option<&Cost>, gpu_hours: f64) -> Option<String> {
    let price = cost?.gpu_hour.as_ref()?;
    Some(format!("{:.2} {}", price.amount * gpu_hours, price.currency))
}

fn format_hours(hours: f64) -> String {
    Duration::try_from_secs_f64((hours * 60.0).round() * 60.0)
        .map_or_else(|_| format!("{hours:.1} h"), format_duration)
}
