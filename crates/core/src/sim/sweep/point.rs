//! One point of a sweep: a plan made anew and carried out.

use super::axes::{Setting, Sweep};
use super::change::Changed;
use crate::plan::{Choice, Plan, PlanQuestion, plan_to_carry_out};
use crate::policy::reclaim;
use crate::sim::candidates::{AtPeak, Basis, at_peak};
use crate::sim::transition::Drilled;
use crate::sim::world::{SimulatedPlan, simulate_weeks};

/// What every point of a sweep is computed from.
#[derive(Clone, Copy, Debug)]
pub struct SweepQuestion<'a> {
    /// The site as it is, with what was measured.
    pub plan: PlanQuestion<'a>,
    /// What drills have shown.
    pub drilled: &'a Drilled,
    /// When lent GPUs are asked back where no axis says it.
    pub reclaim: Option<reclaim::Rule>,
    /// The axes.
    pub sweep: &'a Sweep,
    /// What is known of each inference workload's engine, in the order of the site file; empty where
    /// latencies are not asked for.
    pub bases: &'a [Basis],
}

/// What a point came to, or why it cannot be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOutcome {
    /// Its place in the product of the axes.
    pub index: u64,
    /// The figures, or the reason why there are none, as a sentence.
    pub figures: Result<PointFigures, String>,
}

/// What a point came to over its drawn calendars. Means are over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointFigures {
    /// GPUs of the place.
    pub gpus: u32,
    /// The way of sharing, as plans name it: `temporal`.
    pub mode: String,
    /// Calendars that were drawn and carried out.
    pub weeks: u32,
    /// Hours of one calendar.
    pub hours: f64,
    /// The jobs, in the calendar's order.
    pub jobs: Vec<PointJob>,
    /// The inference workloads, in the order of the site file.
    pub services: Vec<PointService>,
    /// Mean GPU-hours that replicas held.
    pub gpu_hours_serving: f64,
    /// Mean GPU-hours of work that was kept, all jobs together.
    pub gpu_hours_kept: f64,
    /// Mean GPU-hours that jobs held without that.
    pub gpu_hours_lost: f64,
    /// Mean GPU-hours that nobody held.
    pub gpu_hours_free: f64,
    /// Times that lent GPUs were asked back, in the mean.
    pub reclaims: f64,
    /// The longest time from asking to replicas that serve, seconds.
    pub reclaim_s_max: Option<f64>,
}

/// A job of a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointJob {
    /// Its name.
    pub name: String,
    /// Share of the calendars in which it was done by its deadline; `None` where it has none inside of them.
    pub on_time_share: Option<f64>,
    /// Share of the calendars in which it was done at all.
    pub done_share: f64,
    /// Mean times that it was stopped for somebody else.
    pub stops: f64,
}

/// An inference workload of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointService {
    /// Its name.
    pub name: String,
    /// Share of the time in which fewer replicas served than demand asked for: mean of the calendars.
    pub short_share: f64,
    /// The same in the worst of them.
    pub short_share_max: f64,
    /// Its latencies at its peak, or why there are none.
    pub latencies: Result<Vec<PointLatency>, String>,
}

impl Default for PointService {
    fn default() -> Self {
        Self {
            name: String::new(),
            short_share: 0.0,
            short_share_max: 0.0,
            latencies: Err("not asked for".to_owned()),
        }
    }
}

/// A latency of an inference workload at its peak.
#[derive(Clone, Debug, PartialEq)]
pub struct PointLatency {
    /// The objective: `ttft_p95`.
    pub name: String,
    /// The mean over replications, seconds.
    pub time_s: f64,
    /// The target, where one is declared, seconds.
    pub target_s: Option<f64>,
}

impl PointFigures {
    /// The least share of calendars in which a deadline held; `None` where there is none.
    pub fn on_time_share_least(&self) -> Option<f64> {
        self.jobs.iter().filter_map(|job| job.on_time_share).reduce(f64::min)
    }

    /// The largest mean share of the time in which a service was short.
    pub fn short_share(&self) -> f64 {
        self.services.iter().map(|service| service.short_share).fold(0.0, f64::max)
    }

    /// The worst latency at the peak as a share of its target, over all workloads and objectives: 1 is
    /// just kept. `None` where a workload's latencies are not known, or no target is declared.
    pub fn latency_share(&self) -> Option<f64> {
        let all: Result<Vec<&Vec<PointLatency>>, &String> =
            self.services.iter().map(|service| service.latencies.as_ref()).collect();
        let shares = all.ok()?.into_iter().flatten();
        shares.filter_map(|it| Some(it.time_s / it.target_s?)).reduce(f64::max)
    }

    /// GPU-hours of all GPUs in one calendar: what is paid for.
    pub fn gpu_hours_total(&self) -> f64 {
        f64::from(self.gpus) * self.hours
    }
}

/// Computes a point. The same question and index give the same outcome, whatever else was computed.
pub fn simulate_point(question: &SweepQuestion<'_>, index: u64) -> PointOutcome {
    PointOutcome { index, figures: figures(question, &question.sweep.settings(index)) }
}

fn figures(question: &SweepQuestion<'_>, settings: &[&Setting]) -> Result<PointFigures, String> {
    let changed = changed(question, settings)?;
    let nothing = Drilled::of(&[]);
    let drilled = if changed.is_reclaim_time_set { &nothing } else { question.drilled };
    let asked = changed.question(&question.plan);
    let gpus = asked.site.gpu_count();
    if let Choice::Split(Some(fixed)) = changed.choice
        && fixed > gpus
    {
        return Err(format!("{fixed} GPUs cannot be split off where there are {gpus}"));
    }
    let plan = plan_to_carry_out(&asked, changed.choice);
    let simulated = simulate_weeks(&asked, &plan, drilled, changed.reclaim)
        .map_err(|why| missing(&plan, why))?;
    let mut figures = of_simulated(&plan, &simulated, gpus);
    let factor = settings.iter().find_map(|setting| match setting {
        Setting::Rate(factor) => Some(*factor),
        _ => None,
    });
    for service in &mut figures.services {
        let (factor, mode) = (factor.unwrap_or(1.0), figures.mode.as_str());
        service.latencies = latencies(question, (&asked, &plan), &service.name, factor, mode);
    }
    Ok(figures)
}

/// The latencies of a workload at its peak, which goes with the rate of the point.
fn latencies(
    question: &SweepQuestion<'_>,
    (asked, plan): (&PlanQuestion<'_>, &Plan),
    workload: &str,
    factor: f64,
    mode: &str,
) -> Result<Vec<PointLatency>, String> {
    let named = asked.site.inference().find(|(named, _)| named.name == workload);
    let (_, inference) = named.ok_or_else(|| format!("no workload {workload}"))?;
    let basis = question.bases.iter().find(|(name, _)| name == workload);
    let basis = basis.map_or_else(|| Err("not asked for".to_owned()), |(_, it)| it.clone())?;
    let at = AtPeak { workload, inference, factor, mode };
    let (_, foretold) = at_peak(asked, plan, &at, &basis, &mut Vec::new())?;
    let latency = |it: crate::sim::latency::Foretold| PointLatency {
        name: it.name.to_owned(),
        time_s: it.time_s.mean,
        target_s: it.target_s,
    };
    Ok(foretold.into_iter().map(latency).collect())
}

/// A question changed by some settings.
pub(super) fn changed(
    question: &SweepQuestion<'_>,
    settings: &[&Setting],
) -> Result<Changed, String> {
    let asked = &question.plan;
    let mut changed = Changed::new(asked.site, asked.histories, question.reclaim);
    for setting in settings {
        changed.set(setting)?;
    }
    Ok(changed)
}

impl Changed {
    /// The question that a plan of this point answers.
    pub(super) fn question<'a>(&'a self, asked: &PlanQuestion<'a>) -> PlanQuestion<'a> {
        PlanQuestion {
            site: &self.site,
            histories: &self.histories,
            drill_measured: asked.drill_measured.filter(|_| !self.is_reclaim_time_set),
            ..*asked
        }
    }
}

/// Why nothing is carried out: what a plan without a calendar lacks says more than that it has none.
fn missing(plan: &Plan, why: String) -> String {
    match (&plan.calendar, plan.missing.first()) {
        (None, Some(missing)) => format!("{why}: {missing}"),
        _ => why,
    }
}

fn of_simulated(plan: &Plan, simulated: &SimulatedPlan, gpus: u32) -> PointFigures {
    let chosen = plan.candidates.iter().find(|candidate| candidate.chosen);
    let windows = plan.calendar.iter().flat_map(|calendar| &calendar.grid.windows);
    let time = &simulated.gpu_time;
    let hours = |time: crate::units::Picoseconds| time.seconds() / 3600.0;
    PointFigures {
        gpus,
        mode: chosen.map_or_else(String::new, |candidate| candidate.mode.to_owned()),
        weeks: simulated.weeks,
        hours: windows.map(crate::plan::Window::hours).sum(),
        jobs: simulated
            .jobs
            .iter()
            .map(|job| PointJob {
                name: job.name.clone(),
                on_time_share: job.on_time_share,
                done_share: job.done_share,
                stops: job.stops,
            })
            .collect(),
        services: simulated
            .services
            .iter()
            .map(|service| PointService {
                name: service.name.clone(),
                short_share: service.short_share,
                short_share_max: service.short_share_max,
                ..PointService::default()
            })
            .collect(),
        gpu_hours_serving: hours(time.serving + time.changing),
        gpu_hours_kept: simulated.jobs.iter().map(|job| job.gpu_hours_kept).sum(),
        gpu_hours_lost: simulated.jobs.iter().map(|job| job.gpu_hours_lost).sum(),
        gpu_hours_free: hours(time.free),
        reclaims: simulated.reclaims,
        reclaim_s_max: simulated.reclaim_s_max,
    }
}
