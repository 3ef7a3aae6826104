//! A plan, carried out in weeks drawn from the history of demand: what its deadlines, its services and
//! its GPU-hours come to when changes of hands take their time. Nothing of it is measured.

use super::outcome::{GpuTime, Outcome};
use super::site::{Conditions, planned_world};
use super::spec::Demand;
use super::state::carry_out;
use crate::plan::{Plan, PlanQuestion, drawn_replicas};
use crate::policy::reclaim;
use crate::sim::job::ONE_PPM;
use crate::sim::transition::Drilled;
use crate::units::Picoseconds;

/// What a plan came to over drawn weeks. Means are over the weeks.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedPlan {
    /// Weeks that were drawn and carried out.
    pub weeks: u32,
    /// The jobs of the calendar, in its order.
    pub jobs: Vec<SimulatedJob>,
    /// The services, in the order of the plan's reserves.
    pub services: Vec<SimulatedService>,
    /// Mean GPU-time of one drawn calendar.
    pub gpu_time: GpuTime,
    /// Times that lent GPUs were asked back, in the mean of the weeks.
    pub reclaims: f64,
    /// The longest time from asking to replicas that serve, of those that were seen to the end,
    /// seconds; `None` where there was none.
    pub reclaim_s_max: Option<f64>,
    /// What was assumed, as sentences.
    pub assumed: Vec<String>,
}

/// What a job came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedJob {
    /// Its name.
    pub name: String,
    /// Share of the weeks in which it was done by its deadline; `None` where it has none inside of
    /// the calendar.
    pub on_time_share: Option<f64>,
    /// Share of the weeks in which it was done at all.
    pub done_share: f64,
    /// Mean GPU-hours of work that was kept.
    pub gpu_hours_kept: f64,
    /// Mean GPU-hours that it held GPUs without that: starts, saves, exits, work that was lost.
    pub gpu_hours_lost: f64,
    /// Mean times that it was stopped for somebody else.
    pub stops: f64,
}

/// What a service came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedService {
    /// Its name.
    pub name: String,
    /// Share of the time in which fewer replicas served than demand asked for: mean of the weeks.
    pub short_share: f64,
    /// The same in the worst of them.
    pub short_share_max: f64,
    /// Mean replicas that were started.
    pub starts: f64,
}

/// Carries a plan's calendar out in each of the weeks that are drawn from the histories of its
/// question. The `n`-th week draws its transitions and losses from the question's seed and `n`.
///
/// # Errors
/// Why it cannot be carried out: no calendar, or no history that says what a workload asks for.
pub fn simulate_weeks(
    question: &PlanQuestion<'_>,
    plan: &Plan,
    drilled: &Drilled,
    reclaim: Option<reclaim::Rule>,
) -> Result<SimulatedPlan, String> {
    simulate_calendar(question, plan, 1.0, drilled, reclaim)
}

/// The same where jobs have a share of each GPU that they hold, and are as much slower.
///
/// # Errors
/// As [`simulate_weeks`].
pub fn simulate_calendar(
    question: &PlanQuestion<'_>,
    plan: &Plan,
    job_share: f64,
    drilled: &Drilled,
    reclaim: Option<reclaim::Rule>,
) -> Result<SimulatedPlan, String> {
    let slowed_ppm = (ONE_PPM as f64 / job_share.clamp(0.001, 1.0)).round() as u64;
    let calendar = plan.calendar.as_ref().ok_or("the plan has no calendar to carry out")?;
    let mut drawn = Vec::new();
    for reserve in &plan.reserves {
        let weeks = drawn_replicas(question, &calendar.grid, reserve).unwrap_or_default();
        drawn.push((reserve.workload.as_str(), weeks));
    }
    let weeks = drawn.iter().map(|(_, weeks)| weeks.len()).min().unwrap_or(1);
    if let Some((workload, _)) = drawn.iter().find(|(_, weeks)| weeks.is_empty()) {
        return Err(format!(
            "no week can be drawn for {workload}: it needs a history that has seen each time of the day, and \
             `capacity` in the unit that it counts"
        ));
    }
    let begins = calendar.grid.windows.first().ok_or("the calendar has no window")?.start;
    let mut totals = Totals::default();
    for number in 0..weeks {
        let demand = |(_, weeks): &(&str, Vec<Vec<f64>>)| {
            let level = |(window, replicas): (&crate::plan::Window, &f64)| {
                let at = super::time_in(begins, window.start);
                (at, (replicas * ONE_PPM as f64).round() as u64)
            };
            let week = weeks.get(number).map_or(&[][..], Vec::as_slice);
            Demand::Replicas(calendar.grid.windows.iter().zip(week).map(level).collect())
        };
        let demands = drawn.iter().map(demand).collect();
        let seed = question.seed ^ (number as u64).rotate_left(17);
        let conditions = Conditions { demands, drilled, reclaim, seed };
        let mut world = planned_world(question.site, plan, conditions)?;
        for pace in world.spec.jobs.iter_mut().flat_map(|job| &mut job.paces) {
            pace.unit = pace.unit.scaled(slowed_ppm, ONE_PPM);
        }
        totals.assumed = world.assumed;
        totals.add(carry_out(world.spec));
    }
    Ok(totals.means())
}

/// What is added up over the weeks.
#[derive(Default)]
struct Totals {
    outcomes: Vec<Outcome>,
    assumed: Vec<String>,
}

impl Totals {
    fn add(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    fn mean(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        let sum: f64 = self.outcomes.iter().map(of).sum();
        sum / self.outcomes.len().max(1) as f64
    }

    fn means(self) -> SimulatedPlan {
        let first = self.outcomes.first();
        let jobs = first.map_or(0, |outcome| outcome.jobs.len());
        let services = first.map_or(0, |outcome| outcome.services.len());
        let waits = self.outcomes.iter().flat_map(|outcome| &outcome.reclaims);
        let waits = waits.filter_map(|it| Some((it.ready_at? - it.asked_at).seconds()));
        SimulatedPlan {
            weeks: self.outcomes.len() as u32,
            jobs: (0..jobs).map(|number| self.job(number)).collect(),
            services: (0..services).map(|number| self.service(number)).collect(),
            gpu_time: self.gpu_time(),
            reclaims: self.mean(|outcome| outcome.reclaims.len() as f64),
            reclaim_s_max: waits.max_by(f64::total_cmp),
            assumed: self.assumed,
        }
    }

    fn job(&self, number: usize) -> SimulatedJob {
        let of = |outcome: &Outcome| outcome.jobs.get(number).cloned();
        let judged = self.outcomes.iter().filter_map(|outcome| of(outcome)?.on_time);
        let (met, all) =
            judged.fold((0_u32, 0_u32), |(met, all), it| (met + u32::from(it), all + 1));
        let kept = |outcome: &Outcome| {
            of(outcome).map_or(0.0, |job| {
                let ledger = job.ledger;
                let share = if ledger.working == Picoseconds::ZERO {
                    0.0
                } else {
                    (ledger.working - ledger.lost).seconds() / ledger.working.seconds()
                };
                hours(ledger.gpu_time_working) * share
            })
        };
        let held = |outcome: &Outcome| of(outcome).map_or(0.0, |job| hours(job.ledger.gpu_time));
        SimulatedJob {
            name: self.outcomes.first().and_then(of).map_or_else(String::new, |job| job.name),
            on_time_share: (all > 0).then(|| f64::from(met) / f64::from(all)),
            done_share: self.mean(|outcome| {
                let is_done = of(outcome).is_some_and(|job| job.finished_at.is_some());
                f64::from(u8::from(is_done))
            }),
            gpu_hours_kept: self.mean(kept),
            gpu_hours_lost: self.mean(|outcome| held(outcome) - kept(outcome)),
            stops: self.mean(|outcome| of(outcome).map_or(0.0, |job| job.ledger.stops as f64)),
        }
    }

    fn service(&self, number: usize) -> SimulatedService {
        let of = |outcome: &Outcome| outcome.services.get(number).cloned();
        let short = |outcome: &Outcome| {
            let until = outcome.until.seconds();
            of(outcome).map_or(0.0, |service| service.short.seconds() / until.max(1e-12))
        };
        SimulatedService {
            name: self.outcomes.first().and_then(of).map_or_else(String::new, |it| it.name),
            short_share: self.mean(short),
            short_share_max: self.outcomes.iter().map(short).fold(0.0, f64::max),
            starts: self.mean(|outcome| of(outcome).map_or(0.0, |it| it.starts as f64)),
        }
    }

    fn gpu_time(&self) -> GpuTime {
        let count = self.outcomes.len().max(1) as u64;
        let mean = |of: fn(&GpuTime) -> Picoseconds| {
            // Divided before it is added, so that many weeks stay in range.
            self.outcomes.iter().map(|it| Picoseconds(of(&it.gpu_time).0 / count)).sum()
        };
        GpuTime {
            total: mean(|it| it.total),
            serving: mean(|it| it.serving),
            changing: mean(|it| it.changing),
            working: mean(|it| it.working),
            job_overhead: mean(|it| it.job_overhead),
            free: mean(|it| it.free),
        }
    }
}

fn hours(time: Picoseconds) -> f64 {
    time.seconds() / 3600.0
}
