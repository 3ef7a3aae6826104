//! Each way of sharing that a plan considers, carried out: deadlines, GPU-hours, and the latencies
//! of inference at its declared peak. Simulated: no gate passes on it.

use super::latency::{Foretold, LatencyBasis, latencies_at};
use super::transition::Drilled;
use super::world::{SimulatedPlan, simulate_calendar};
use crate::perf::Multipliers;
use crate::plan::{CandidateCalendar, Plan, PlanQuestion};
use crate::policy::reclaim;
use crate::site::Inference;

/// What a way of sharing came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedCandidate {
    /// Its place among the plan's candidates.
    pub place: usize,
    /// The calendars that were carried out; or why there are none.
    pub carried_out: Result<CarriedOut, String>,
    /// Latencies of each inference workload, in the order of the site.
    pub latencies: Vec<CandidateLatencies>,
    /// What was assumed of this way of sharing, as sentences.
    pub assumed: Vec<String>,
}

/// What a candidate's calendar came to in drawn demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarriedOut {
    /// Calendars that were drawn.
    pub weeks: u32,
    /// Deadlines that held in every one of them, of all.
    pub deadlines_held: (u32, u32),
    /// Mean GPU-hours of work that was kept.
    pub gpu_hours_kept: f64,
    /// Mean GPU-hours that jobs held without keeping work.
    pub gpu_hours_lost: f64,
    /// Share of the time in which inference was short of replicas, in the worst calendar; `None`
    /// where inference holds no GPU of the calendar.
    pub short_share_max: Option<f64>,
}

/// Latencies of one workload under a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateLatencies {
    /// The workload.
    pub workload: String,
    /// Requests a second that each replica gets at the peak, and its latencies; or why there are
    /// none.
    pub foretold: Result<(f64, Vec<Foretold>), String>,
}

/// What is known of an inference workload's engine.
pub type Basis = (String, Result<LatencyBasis, String>);

/// Calendars that are drawn for each candidate at the most: a comparison needs fewer than a promise.
const WEEKS_MAX: u32 = 20;

/// Carries out each candidate of a plan. `calendars` are those that came with it.
pub fn simulate_candidates(
    question: &PlanQuestion<'_>,
    plan: &Plan,
    calendars: &[Option<CandidateCalendar>],
    bases: &[Basis],
    drilled: &Drilled,
    rule: Option<reclaim::Rule>,
) -> Vec<SimulatedCandidate> {
    let weeks_drawn = question.weeks_drawn.min(WEEKS_MAX);
    let question = &PlanQuestion { weeks_drawn, ..*question };
    let one = |(place, candidate): (usize, &crate::plan::Candidate)| {
        let calendar = calendars.get(place).and_then(Option::as_ref);
        let mut assumed = Vec::new();
        let carried_out =
            calendar.ok_or_else(|| "its jobs could not be scheduled".to_owned()).and_then(
                |calendar| carry_out(question, plan, calendar, (drilled, rule), &mut assumed),
            );
        let latencies =
            question.site.inference().zip(bases).map(|((workload, inference), basis)| {
                // Without a calendar the place cannot be shared this way.
                let basis =
                    calendar.map_or_else(|| Err(candidate.why.clone()), |_| basis.1.clone());
                let foretold = basis.and_then(|basis| {
                    // What the numbers rest on is told with them.
                    assumed.extend(basis.assumed.iter().cloned());
                    let at = AtPeak {
                        workload: &workload.name,
                        inference,
                        factor: 1.0,
                        mode: candidate.mode,
                    };
                    at_peak(question, plan, &at, &basis, &mut assumed)
                });
                CandidateLatencies { workload: workload.name.clone(), foretold }
            });
        let latencies = latencies.collect();
        assumed.dedup();
        SimulatedCandidate { place, carried_out, latencies, assumed }
    };
    plan.candidates.iter().enumerate().map(one).collect()
}

fn carry_out(
    question: &PlanQuestion<'_>,
    plan: &Plan,
    calendar: &CandidateCalendar,
    (drilled, rule): (&Drilled, Option<reclaim::Rule>),
    assumed: &mut Vec<String>,
) -> Result<CarriedOut, String> {
    let reserves = if calendar.job_share.is_some() { Vec::new() } else { plan.reserves.clone() };
    if let Some(share) = calendar.job_share.filter(|share| *share < 1.0) {
        assumed
            .push(format!("jobs have {:.0} % of each GPU and are as much slower", share * 100.0));
    }
    let has_services = !reserves.is_empty();
    let plan = Plan { calendar: Some(calendar.calendar.clone()), reserves, ..plan.clone() };
    let share = calendar.job_share.unwrap_or(1.0);
    let simulated = simulate_calendar(question, &plan, share, drilled, rule)?;
    Ok(summed(&simulated, has_services))
}

fn summed(simulated: &SimulatedPlan, has_services: bool) -> CarriedOut {
    let judged = || simulated.jobs.iter().filter_map(|job| job.on_time_share);
    let short = simulated.services.iter().map(|it| it.short_share_max).fold(0.0, f64::max);
    CarriedOut {
        weeks: simulated.weeks,
        deadlines_held: (
            judged().filter(|share| *share >= 1.0).count() as u32,
            judged().count() as u32,
        ),
        gpu_hours_kept: simulated.jobs.iter().map(|job| job.gpu_hours_kept).sum(),
        gpu_hours_lost: simulated.jobs.iter().map(|job| job.gpu_hours_lost).sum(),
        short_share_max: has_services.then_some(short),
    }
}

/// A workload at its peak.
pub(super) struct AtPeak<'a> {
    /// The workload.
    pub(super) workload: &'a str,
    /// What it declares.
    pub(super) inference: &'a Inference,
    /// Times its declared peak.
    pub(super) factor: f64,
    /// The way of sharing, as plans name it.
    pub(super) mode: &'a str,
}

/// The latencies of a workload's replicas at its declared peak, else at the rate that it was tested
/// with, spread over the replicas that the candidate gives it then.
///
/// # Errors
/// Why there are none.
pub(super) fn at_peak(
    question: &PlanQuestion<'_>,
    plan: &Plan,
    at: &AtPeak<'_>,
    basis: &LatencyBasis,
    assumed: &mut Vec<String>,
) -> Result<(f64, Vec<Foretold>), String> {
    let workload = at.workload;
    let declared = at.inference.peak_rate.as_ref().map(|rate| rate.per_second);
    let peak = declared.or(basis.tested_rate_per_s).ok_or_else(|| {
        format!("`peak_rate` of {workload} is not declared, and no test told a rate")
    })?;
    let reserve = plan.reserves.iter().find(|reserve| reserve.workload == workload);
    let reserve = reserve.ok_or_else(|| format!("the reserve of {workload} is not known"))?;
    let gpus_max = reserve.windows.iter().map(|need| need.reserved + need.hot + need.lent).max();
    let (beside, gpus) = match at.mode {
        "mig" | "mps" | "time_slicing" => {
            assumed.push(
                "inference has half of each GPU: its passes take twice as long, the host's part \
                 aside"
                    .to_owned(),
            );
            let half = Multipliers { compute: 2.0, bandwidth: 2.0, host: 1.0 };
            (half, f64::from(question.site.gpu_count()))
        }
        _ => (Multipliers::default(), f64::from(gpus_max.unwrap_or(0))),
    };
    let gpus = gpus.min(f64::from(question.site.gpu_count()));
    let replicas = (gpus / reserve.replica_gpus.max(1e-9)).floor().max(1.0);
    let rate_per_s = peak * at.factor / replicas;
    let foretold = latencies_at(basis, at.inference, rate_per_s, beside, question.seed)?;
    Ok((rate_per_s, foretold))
}
