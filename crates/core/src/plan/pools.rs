//! One shared pool beside dedicated ones: how many GPUs each needs for the same inference and the same
//! deadlines.

use super::assemble::with_declared;
use super::calendar::{maintained, slots};
use super::candidates::peak_need;
use super::carried::with_measured;
use super::grid::Grid;
use super::model::InferencePlan;
use super::problem::{Problem, Slot};
use super::question::{PlanQuestion, Posed, grid, pose};
use super::reserves::{Assumed, reserves};
use super::schedule::{Effort, late_gpu_hours, shortages, solve_unproven};
use crate::site::{Server, Site, SiteKind};

/// GPUs with which reserves are looked at: more than any place has, so that nothing is cut.
const GPUS_AMPLE: u32 = 65_536;

/// GPUs that pools need. A number is the least with which a schedule was found, so that a cleverer one
/// might do with fewer.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolNeeds {
    /// Hours of the calendar.
    pub hours: f64,
    /// Each inference workload by itself, at its highest reserve.
    pub inference: Vec<(String, u32)>,
    /// All of them in one pool: the highest of their sum.
    pub inference_together: u32,
    /// The jobs of each workload by themselves: what their deadlines need, and where they have none
    /// what one of them needs to run at all. `None` where a deadline holds on no number of GPUs.
    pub jobs: Vec<(String, Option<u32>)>,
    /// All jobs in one pool.
    pub jobs_together: Option<u32>,
    /// Inference and jobs in one pool, with GPUs lent at quiet hours.
    pub shared: Option<u32>,
}

impl PoolNeeds {
    /// GPUs of a pool for each workload.
    pub fn dedicated(&self) -> Option<u32> {
        let jobs: Option<u32> = self.jobs.iter().map(|(_, gpus)| *gpus).sum();
        Some(self.inference.iter().map(|(_, gpus)| gpus).sum::<u32>() + jobs?)
    }

    /// GPUs of one pool where every inference workload stands at its highest all the time, so that
    /// nothing is ever lent: only jobs still take turns.
    pub fn saturated(&self) -> Option<u32> {
        Some(self.inference.iter().map(|(_, gpus)| gpus).sum::<u32>() + self.jobs_together?)
    }

    /// Whether one pool needs fewer GPUs than dedicated ones; `None` where that is not known.
    pub fn sharing_pays(&self) -> Option<bool> {
        Some(self.shared? < self.dedicated()?)
    }
}

/// What pools need for a site's inference and jobs.
///
/// # Errors
/// Why nothing can be said: no calendar, or a workload whose reserve is not known.
pub fn pool_needs(question: &PlanQuestion<'_>) -> Result<PoolNeeds, String> {
    let Some((grid, _)) = grid(question) else {
        return Err("no day is named on which the calendar could begin".to_owned());
    };
    let measured = with_measured(question.site, question.capacities);
    let ample = with_gpus(measured.as_ref().map_or(question.site, |(site, _)| site), GPUS_AMPLE);
    let histories = with_declared(question, &grid);
    let asked = PlanQuestion { site: &ample, histories: &histories, ..*question };
    let reserved = reserves(&asked, &grid, &Assumed::default());
    if let Some(refusal) = reserved.refused.first() {
        return Err(refusal.clone());
    }
    let plans = reserved.plans;
    let posed = pose(question.site, &grid, &plans, 0);
    let effort =
        Effort { steps_max: (question.effort.steps_max / 8).max(1), seed: question.effort.seed };
    let down = maintained(question.site, &grid);
    let search = Search { site: question.site, grid: &grid, posed: &posed, down, effort };
    Ok(search.needs(&plans))
}

/// A site with another number of GPUs.
fn with_gpus(site: &Site, gpus: u32) -> Site {
    let server = site.server().cloned().unwrap_or_else(Server::default);
    let kind = SiteKind::Server(Box::new(Server { gpu_count: gpus, ..server }));
    Site { kind, ..site.clone() }
}

struct Search<'a> {
    site: &'a Site,
    grid: &'a Grid,
    posed: &'a Posed,
    down: Vec<bool>,
    effort: Effort,
}

impl Search<'_> {
    fn needs(&self, plans: &[InferencePlan]) -> PoolNeeds {
        let alone = |plan: &InferencePlan| {
            let gpus = peak_need(std::slice::from_ref(plan)).max(plan.gpus_needed_max);
            (plan.workload.clone(), gpus)
        };
        let inference: Vec<(String, u32)> = plans.iter().map(alone).collect();
        let inference_together = peak_need(plans);
        let mut jobs: Vec<(String, Option<u32>)> = Vec::new();
        for job in &self.posed.problem.jobs {
            if !jobs.iter().any(|(name, _)| *name == job.workload) {
                let only = |name: &str| name == job.workload;
                jobs.push((job.workload.clone(), self.for_jobs(only, 1, u32::MAX)));
            }
        }
        let each: Option<u32> = jobs.iter().map(|(_, gpus)| *gpus).sum();
        // Together they never need more than side by side, whatever a search finds.
        let jobs_together = each.map(|most| {
            let least = jobs.iter().filter_map(|(_, gpus)| *gpus).max().unwrap_or(0);
            self.for_jobs(|_| true, least, most).unwrap_or(most)
        });
        let shared = jobs_together.map(|jobs| self.shared(plans, inference_together, jobs));
        let hours = self.grid.windows.iter().map(super::Window::hours).sum();
        PoolNeeds { hours, inference, inference_together, jobs, jobs_together, shared }
    }

    /// The least number of GPUs on which the jobs of some workloads hold by themselves, of those from
    /// `least` to `most`. `None` where none does.
    fn for_jobs(&self, counts: impl Fn(&str) -> bool, least: u32, most: u32) -> Option<u32> {
        let jobs: Vec<_> =
            self.posed.problem.jobs.iter().filter(|job| counts(&job.workload)).cloned().collect();
        // Beyond what all of them could hold at once nothing changes.
        let widest = |job: &super::Job| job.modes.iter().map(|mode| mode.gpus).max().unwrap_or(0);
        let all: u32 = jobs.iter().map(widest).fold(0, u32::saturating_add);
        let narrowest =
            |job: &super::Job| job.modes.iter().map(|mode| mode.gpus).min().unwrap_or(0);
        let first = jobs.iter().map(narrowest).max().unwrap_or(0).max(least);
        (first..=most.min(all)).find(|gpus| {
            let slot = |(window, is_down): (&super::Window, &bool)| Slot {
                hours: window.hours(),
                firm: if *is_down { 0 } else { *gpus },
                lendable: 0,
            };
            let slots = self.grid.windows.iter().zip(&self.down).map(slot).collect();
            self.holds(&Problem { gpus: *gpus, slots, jobs: jobs.clone() })
        })
    }

    /// The least number of GPUs with which one pool has room for inference at its highest and for the
    /// jobs in what it leaves. A pool for each side is room enough.
    fn shared(&self, plans: &[InferencePlan], inference: u32, jobs: u32) -> u32 {
        let most = inference + jobs;
        let fits = |gpus: &u32| {
            let slots = slots(self.site, self.grid, plans, *gpus);
            let jobs = self.posed.problem.jobs.clone();
            self.holds(&Problem { gpus: *gpus, slots, jobs })
        };
        (inference.max(jobs)..most).find(fits).unwrap_or(most)
    }

    /// Whether a schedule is found in which every deadline holds and every workload runs at all.
    fn holds(&self, problem: &Problem) -> bool {
        // The cheap bound first: where even that is short, no schedule is looked for.
        if !shortages(problem).is_empty() {
            return false;
        }
        let outcomes = solve_unproven(problem, &self.effort).late;
        let jobs = || problem.jobs.iter().zip(&outcomes);
        let is_met = jobs()
            .all(|(job, outcome)| job.deadline.is_none() || late_gpu_hours(job, outcome) <= 0.0);
        let runs = |workload: &str| {
            jobs().any(|(job, outcome)| job.workload == workload && outcome.gpu_hours > 0.0)
        };
        is_met && problem.jobs.iter().all(|job| runs(&job.workload))
    }
}
