//! The reserve of every inference workload of a site, and the demand behind it in GPUs.

use std::time::Duration;

use super::grid::Grid;
use super::model::{InferencePlan, WindowNeed};
use super::question::PlanQuestion;
use super::reserve::{ReserveQuestion, figure_of, gpus_for, missing_for_reserve, plan_reserve};
use crate::demand::{Series, bootstrap_weeks};
use crate::evidence::Origin;
use crate::site::{Inference, Workload};
use crate::units::{RatePerSecond, Share};

/// What is assumed in place of what the site says, to see what would change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Assumed {
    /// Another time to reclaim.
    pub(super) reclaim_time: Option<Duration>,
    /// Replicas that carry this many times what the site says.
    pub(super) capacity_factor: Option<f64>,
}

/// The reserves, and what is missing for some of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Reserves {
    pub(super) plans: Vec<InferencePlan>,
    /// Why a workload has no reserve at all.
    pub(super) refused: Vec<String>,
    /// What would make a reserve better than it is.
    pub(super) missing: Vec<String>,
}

/// The reserve of every inference workload, in the order of the file.
pub(super) fn reserves(question: &PlanQuestion<'_>, grid: &Grid, assumed: &Assumed) -> Reserves {
    let mut result = Reserves::default();
    for (workload, inference) in question.site.inference() {
        let series = series_of(question, workload);
        let reclaim_time = assumed
            .reclaim_time
            .map(|time| (time, Origin::Assumed))
            .or_else(|| question.reclaim_time());
        let scaled = assumed.capacity_factor.map(|factor| roomier(inference, factor));
        let asked = ReserveQuestion {
            workload,
            inference: scaled.as_ref().unwrap_or(inference),
            series: &series,
            grid,
            reclaim_time,
            risk_tolerance: question.site.operations.risk_tolerance.map(Share::value),
            gpus: question.site.gpu_count(),
            transition_back: least_back(question, assumed),
        };
        match plan_reserve(&asked) {
            Ok(plan) => {
                result.missing.extend(missing_for_reserve(&asked));
                result.plans.push(plan);
            }
            Err(refusal) => result.refused.push(refusal.to_string()),
        }
    }
    result
}

/// What a reclaim takes at the least, by its declared steps. Steps of which one is without a time are
/// no time to reclaim where nothing else says one, and a time that is assumed is assumed of them too.
fn least_back(question: &PlanQuestion<'_>, assumed: &Assumed) -> Duration {
    let is_known = assumed.reclaim_time.is_none() && question.reclaim_time().is_some();
    if is_known { question.transition_back() } else { Duration::ZERO }
}

fn series_of(question: &PlanQuestion<'_>, workload: &Workload) -> Vec<Series> {
    question.history(&workload.name).map(crate::demand::History::all_series).unwrap_or_default()
}

/// Inference whose replicas carry more.
fn roomier(inference: &Inference, factor: f64) -> Inference {
    let mut changed = inference.clone();
    if let Some(capacity) = &mut changed.capacity {
        let figures = [&mut capacity.requests_in_flight, &mut capacity.kv_tokens];
        for figure in figures.into_iter().flatten() {
            *figure *= factor;
        }
        let rates = [&mut capacity.requests, &mut capacity.prefill, &mut capacity.output];
        for rate in rates.into_iter().flatten() {
            *rate = RatePerSecond { per_second: rate.per_second * factor, ..rate.clone() };
        }
    }
    changed
}

/// GPUs that all inference workloads together need, step by step of the history. `None` where some
/// workload's demand cannot be turned into GPUs.
pub(super) struct GpuNeeds {
    /// The start of the first step and the length of one, seconds.
    pub(super) start: jiff::Timestamp,
    pub(super) step_s: u64,
    /// The need in each step; `None` is a gap of any of the workloads.
    pub(super) needs: Vec<Option<u32>>,
}

/// The history in GPUs, in each workload's binding unit. Only one workload may have a history, or
/// all of them must share their steps.
pub(super) fn gpu_needs(question: &PlanQuestion<'_>, plans: &[InferencePlan]) -> Option<GpuNeeds> {
    let mut sum: Option<GpuNeeds> = None;
    for plan in plans {
        let (capacity, series) = binding(question, plan)?;
        let needs = series
            .values
            .iter()
            .map(|value| value.and_then(|value| gpus_for(&capacity, plan.binding, value)));
        match &mut sum {
            None => {
                sum = Some(GpuNeeds {
                    start: series.start,
                    step_s: series.step.as_secs().max(1),
                    needs: needs.collect(),
                });
            }
            Some(sum) => {
                let is_aligned = sum.start == series.start
                    && sum.step_s == series.step.as_secs().max(1)
                    && sum.needs.len() == series.values.len();
                if !is_aligned {
                    return None;
                }
                for (total, need) in sum.needs.iter_mut().zip(needs) {
                    *total = total.zip(need).map(|(total, need)| total.saturating_add(need));
                }
            }
        }
    }
    sum
}

/// Drawn weeks of all inference workloads together: GPUs needed in each window of the calendar.
/// Empty where a workload's demand cannot be turned into GPUs.
pub(super) fn drawn_weeks(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    plans: &[InferencePlan],
) -> Vec<Vec<u32>> {
    let mut sum: Option<Vec<Vec<u32>>> = None;
    for plan in plans {
        let Some((capacity, series)) = binding(question, plan) else { return Vec::new() };
        // The same seed for each, so that days which were busy for both stay busy for both.
        let weeks = bootstrap_weeks(&series, grid, question.weeks_drawn, question.seed);
        let floor = plan.windows.iter().map(|need| need.reserved).min().unwrap_or(0);
        let gpus: Vec<Vec<u32>> = weeks
            .iter()
            .map(|week| {
                week.iter()
                    .map(|value| gpus_for(&capacity, plan.binding, *value).unwrap_or(floor))
                    .collect()
            })
            .collect();
        match &mut sum {
            None => sum = Some(gpus),
            // Weeks can be drawn for one of them and not for the other: nothing is known of both.
            Some(sum) if sum.len() != gpus.len() => return Vec::new(),
            Some(sum) => {
                for (total, week) in sum.iter_mut().zip(gpus) {
                    for (total, need) in total.iter_mut().zip(week) {
                        *total = total.saturating_add(need);
                    }
                }
            }
        }
    }
    sum.unwrap_or_default()
}

/// Replicas that one workload asks for in each window of each drawn week: its demand as a multiple of
/// what one replica carries. `None` where its demand or its capacity is not known in the unit that
/// binds.
pub fn drawn_replicas(
    question: &PlanQuestion<'_>,
    grid: &Grid,
    plan: &InferencePlan,
) -> Option<Vec<Vec<f64>>> {
    let (capacity, series) = binding(question, plan)?;
    let carried = figure_of(&capacity, plan.binding)?;
    let weeks = bootstrap_weeks(&series, grid, question.weeks_drawn, question.seed);
    let replicas = |week: &Vec<f64>| week.iter().map(|value| value.max(0.0) / carried).collect();
    Some(weeks.iter().map(replicas).collect())
}

/// What a replica of a plan's workload carries, and the workload's demand in the binding unit.
fn binding(
    question: &PlanQuestion<'_>,
    plan: &InferencePlan,
) -> Option<(crate::site::ReplicaCapacity, Series)> {
    let (_, inference) =
        question.site.inference().find(|(workload, _)| workload.name == plan.workload)?;
    let capacity = inference.capacity.clone()?;
    let series = question.history(&plan.workload)?.series(plan.binding)?;
    Some((capacity, series))
}

/// Whether inference is short even without a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    /// GPUs that it needs at its highest, reserve included.
    pub(super) needed: u32,
    /// Whether that is certain: what rests on an assumed burst is no proof that it fails.
    pub(super) is_certain: bool,
}

/// Whether the inference of a place needs more GPUs than there are, all workloads together.
pub(super) fn short(reserves: &[InferencePlan], gpus: u32) -> Option<Short> {
    let windows = reserves.iter().map(|plan| plan.windows.len()).max().unwrap_or(0);
    let most = |gpus_of: fn(&WindowNeed) -> u32| -> u32 {
        let sum = |window: usize| -> u32 {
            reserves.iter().filter_map(|plan| plan.windows.get(window)).map(gpus_of).sum()
        };
        (0..windows).map(sum).max().unwrap_or(0)
    };
    // A workload's own windows are cut at what the place has; several together may still exceed it.
    let together = most(|need| need.reserved + need.hot + need.lent);
    let alone = reserves.iter().map(|plan| plan.gpus_needed_max).max().unwrap_or(0);
    let needed = together.max(alone);
    let is_seen = reserves.iter().all(|plan| plan.bursts_seen);
    (needed > gpus)
        .then_some(Short { needed, is_certain: is_seen || most(|need| need.reserved) > gpus })
}
