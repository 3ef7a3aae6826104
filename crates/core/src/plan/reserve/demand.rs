//! Demand in the units that a replica states a figure for, and the burst from each of its moments.

use std::collections::VecDeque;
use std::time::Duration;

use super::gpus::figure_of;
use super::occurrences::Occurrences;
use super::question::ReserveQuestion;
use crate::demand::{Series, WorkUnit};
use crate::site::ReplicaCapacity;

/// Demand in one unit, as the reserve looks at it.
#[derive(Clone, Debug)]
pub(super) struct UnitDemand {
    /// Of what; GPUs are the worst of all other units at each moment.
    pub unit: WorkUnit,
    /// What one replica carries.
    pub figure: f64,
    /// Demand in each step; `None` is a gap.
    pub values: Vec<Option<f64>>,
    /// The highest demand within a reclaim from each step on, as far as it was seen.
    pub within: Vec<Option<f64>>,
    /// The growth of demand within a reclaim from each step on. Where steps are longer than a
    /// reclaim, the part of the way to the next value that a reclaim covers.
    pub bursts: Vec<Option<f64>>,
    /// Whether the steps are no longer than a reclaim, so that bursts inside of it were seen.
    pub bursts_seen: bool,
    /// Whether it is declared and was never observed.
    pub declared: bool,
    /// The shortest burst that its source can show, seconds.
    pub resolution_s: f64,
    /// Over how many seconds rates were evened out; 0 where they stand as they came.
    pub evened_s: f64,
    /// When the history passed through each slot of the week.
    pub occurrences: Occurrences,
}

/// Demand in every unit that the history shows and the capacity states a figure for, and, where
/// there are several whose bursts are seen, the worst of them at each moment.
pub(super) fn unit_demands(
    question: &ReserveQuestion<'_>,
    capacity: &ReplicaCapacity,
    reclaim: Option<Duration>,
) -> Vec<UnitDemand> {
    let mut demands: Vec<UnitDemand> = WorkUnit::WORK
        .into_iter()
        .filter_map(|unit| {
            let series = question.series_of(unit).filter(|series| series.seen() > 0)?;
            let figure = figure_of(capacity, unit)?;
            Some(unit_demand(question, series, figure, reclaim))
        })
        .collect();
    if let Some(worst) = worst_of(question, &demands, capacity.gpus) {
        demands.push(unit_demand(question, &worst, capacity.gpus, reclaim));
    }
    demands
}

/// Demand in one unit, with the burst from each of its moments.
pub(super) fn unit_demand(
    question: &ReserveQuestion<'_>,
    series: &Series,
    figure: f64,
    reclaim: Option<Duration>,
) -> UnitDemand {
    let step_s = series.step.as_secs().max(1);
    let resolution_s = series.resolution.as_secs_f64().max(step_s as f64);
    let bursts_seen = reclaim.is_some_and(|reclaim| resolution_s <= reclaim.as_secs_f64());
    let evened_s = evened_over(question, series, resolution_s, bursts_seen);
    let values = if evened_s > 0.0 {
        trailing_means(&series.values, (evened_s / step_s as f64).round() as usize)
    } else {
        series.values.clone()
    };
    let reclaim_s = reclaim.map_or(0.0, |reclaim| reclaim.as_secs_f64());
    let (within, bursts) = if bursts_seen {
        let steps = (reclaim_s / step_s as f64 - 1e-9).ceil() as usize;
        let within = highest_within(&values, steps);
        let bursts = differences(&values, &within);
        (within, bursts)
    } else {
        let apart = (resolution_s / step_s as f64).round().max(1.0) as usize;
        // What is declared steps up where it says, and a window there is planned for it.
        let share = if question.is_declared() { 0.0 } else { reclaim_s / resolution_s };
        (values.clone(), part_of_the_way(&values, apart, share))
    };
    let mut occurrences = Occurrences::new(
        series.start,
        step_s,
        values.len(),
        &question.grid.time_zone,
        question.grid.window_minutes,
    );
    occurrences.passings.retain(|_, ranges| {
        ranges.iter().any(|range| values[range.clone()].iter().any(Option::is_some))
    });
    UnitDemand {
        unit: series.unit,
        figure,
        values,
        within,
        bursts,
        bursts_seen,
        declared: question.is_declared(),
        resolution_s,
        evened_s,
        occurrences,
    }
}

/// Requests and answers over the time in which they are served: what arrives within it is in the
/// engine together, so a rate above what a replica carries for less than that is a longer batch and
/// no queue. Prompts are not evened out: the first token waits for them.
fn evened_over(
    question: &ReserveQuestion<'_>,
    series: &Series,
    resolution_s: f64,
    bursts_seen: bool,
) -> f64 {
    let served = match (series.unit, question.inference.service_time) {
        (WorkUnit::Requests | WorkUnit::Output, Some(time)) if bursts_seen => time.as_secs_f64(),
        _ => 0.0,
    };
    if served >= 1.5 * resolution_s { served } else { 0.0 }
}

/// Means over the last `count` steps; a gap where one of them is a gap.
fn trailing_means(values: &[Option<f64>], count: usize) -> Vec<Option<f64>> {
    let (mut sum, mut gaps) = (0.0, 0_usize);
    let mut means = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        sum += value.unwrap_or(0.0);
        gaps += usize::from(value.is_none());
        if let Some(left) = index.checked_sub(count).map(|left| values[left]) {
            sum -= left.unwrap_or(0.0);
            gaps -= usize::from(left.is_none());
        }
        let whole = gaps == 0 && index + 1 >= count;
        means.push(whole.then_some((sum / count as f64).max(0.0)));
    }
    means
}

/// The highest value of each step and the `steps` behind it, as far as they were seen; a gap where
/// the step itself is one. A queue of falling candidates, from the end (each enters and leaves once).
fn highest_within(values: &[Option<f64>], steps: usize) -> Vec<Option<f64>> {
    let mut highest = vec![None; values.len()];
    let mut candidates: VecDeque<(usize, f64)> = VecDeque::new();
    for (index, value) in values.iter().enumerate().rev() {
        while candidates.back().is_some_and(|(at, _)| *at > index + steps) {
            candidates.pop_back();
        }
        let Some(value) = value else { continue };
        while candidates.front().is_some_and(|(_, candidate)| candidate <= value) {
            candidates.pop_front();
        }
        candidates.push_front((index, *value));
        highest[index] = candidates.back().map(|(_, candidate)| *candidate);
    }
    highest
}

fn differences(values: &[Option<f64>], within: &[Option<f64>]) -> Vec<Option<f64>> {
    values.iter().zip(within).map(|(value, highest)| Some((*highest)? - (*value)?)).collect()
}

/// The part `share` of the growth to the value `apart` steps later, where both were seen; no growth
/// where the later one was not.
fn part_of_the_way(values: &[Option<f64>], apart: usize, share: f64) -> Vec<Option<f64>> {
    values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let next = values.get(index + apart).copied().flatten();
            value.map(|value| share * (next.unwrap_or(value) - value).max(0.0))
        })
        .collect()
}

/// Demand in GPUs: at each moment that of the unit that needs most. `None` where fewer than two
/// units are seen in the same steps.
fn worst_of(
    question: &ReserveQuestion<'_>,
    demands: &[UnitDemand],
    replica_gpus: f64,
) -> Option<Series> {
    let first = demands.first()?;
    let model = question.series_of(first.unit)?;
    let alike = demands.len() >= 2
        && demands.iter().all(|demand| {
            let series = question.series_of(demand.unit);
            demand.bursts_seen
                && series.is_some_and(|series| {
                    series.start == model.start
                        && series.step == model.step
                        && series.values.len() == model.values.len()
                })
        });
    if !alike {
        return None;
    }
    let values = (0..model.values.len())
        .map(|index| {
            demands.iter().try_fold(0.0_f64, |worst, demand| {
                demand.values[index].map(|value| worst.max(value / demand.figure * replica_gpus))
            })
        })
        .collect();
    let coarsest = demands.iter().map(|demand| demand.resolution_s).fold(0.0, f64::max);
    let resolution = Duration::try_from_secs_f64(coarsest).ok()?;
    Some(Series { unit: WorkUnit::Gpus, start: model.start, step: model.step, values, resolution })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_within_some_steps_is_that_of_a_plain_search() {
        let mut state = 7_u64;
        let values: Vec<Option<f64>> = (0..200)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let draw = state >> 40;
                (!draw.is_multiple_of(5)).then_some((draw % 13) as f64)
            })
            .collect();
        for steps in [0, 1, 3, 50, 500] {
            let plain: Vec<Option<f64>> = (0..values.len())
                .map(|index| {
                    values[index]?;
                    let until = (index + steps + 1).min(values.len());
                    values[index..until].iter().flatten().copied().reduce(f64::max)
                })
                .collect();
            assert_eq!(highest_within(&values, steps), plain, "{steps}");
        }
    }

    #[test]
    fn means_look_back_and_a_gap_spoils_those_that_hold_it() {
        let values = [Some(3.0), Some(6.0), Some(0.0), None, Some(2.0), Some(4.0)];
        let means = [None, Some(4.5), Some(3.0), None, None, Some(3.0)];
        assert_eq!(trailing_means(&values, 2), means);
    }

    #[test]
    fn part_of_the_way_never_goes_down_and_never_over_a_gap() {
        let values = [Some(1.0), Some(5.0), Some(2.0), None, Some(9.0)];
        let parts = [Some(1.0), Some(0.0), Some(0.0), None, Some(0.0)];
        assert_eq!(part_of_the_way(&values, 1, 0.25), parts);
    }
}
