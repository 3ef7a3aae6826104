//! Point estimates of one objective from drawn rounds, B blocks and pairs.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};

use crate::evidence::{Stress, Stressor};

use super::curve::Curve;
use super::model::PartState;

/// How far a pressure may lie above the largest tested one and still count as tested: two readings
/// of a full resource differ by as much.
const TESTED_SLACK: f64 = 1.05;

/// What was measured of one objective. A value that was not seen is `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    /// By stressor and dose: one entry a round.
    pub(super) doses: BTreeMap<Stress, Vec<DoseRound>>,
    /// Rounds in all.
    pub(super) rounds: usize,
    /// By resource: the neighbour's pressure, one entry a block of B.
    pub(super) neighbour: BTreeMap<Stressor, Vec<Option<f64>>>,
    /// Cores of the neighbour, one entry a block of B.
    pub(super) neighbour_cores: Vec<Option<f64>>,
    /// ln(C ÷ A), one entry a pair.
    pub(super) pairs: Vec<f64>,
}

/// One dose in one round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DoseRound {
    /// Logarithm of the factor against the references of the round.
    pub(super) response: Option<f64>,
    /// Measured pressure.
    pub(super) pressure: Option<f64>,
    /// Cores that the stressor used.
    pub(super) cores: Option<f64>,
}

/// Indices that are drawn: with replacement for a bootstrap, each once for the estimate itself.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    rounds: Vec<usize>,
    blocks: Vec<usize>,
    pairs: Vec<usize>,
}

impl Draw {
    /// Everything once.
    pub(super) fn all(data: &Data) -> Self {
        Self {
            rounds: (0..data.rounds).collect(),
            blocks: (0..data.neighbour_cores.len()).collect(),
            pairs: (0..data.pairs.len()).collect(),
        }
    }

    /// With replacement.
    pub(super) fn again<R: Rng>(data: &Data, random: &mut R) -> Self {
        let mut draw = |count: usize| -> Vec<usize> {
            (0..count).map(|_| random.random_range(0..count)).collect()
        };
        Self {
            rounds: draw(data.rounds),
            blocks: draw(data.neighbour_cores.len()),
            pairs: draw(data.pairs.len()),
        }
    }
}

/// What a draw gives, in logarithms.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimate {
    pub(super) responses: BTreeMap<Stress, f64>,
    pub(super) parts: Vec<(Stressor, PartState, f64)>,
    /// Sum of the known parts; `None` without responses or without the neighbour.
    pub(super) predicted: Option<f64>,
    /// Sum of the parts that are only bounded.
    pub(super) more: f64,
    pub(super) measured: Option<f64>,
}

impl Estimate {
    pub(super) fn unexplained(&self) -> Option<f64> {
        Some(self.measured? - self.predicted?)
    }
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) =
        values.flatten().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The means of one dose over the drawn rounds.
fn dose(data: &Data, draw: &Draw, stress: Stress) -> DoseRound {
    let Some(rounds) = data.doses.get(&stress) else { return DoseRound::default() };
    let over = |read: fn(&DoseRound) -> Option<f64>| {
        mean(draw.rounds.iter().filter_map(|round| rounds.get(*round)).map(read))
    };
    DoseRound {
        response: over(|round| round.response),
        pressure: over(|round| round.pressure),
        cores: over(|round| round.cores),
    }
}

/// Estimates from a draw.
pub(super) fn estimate(data: &Data, draw: &Draw) -> Estimate {
    let means: BTreeMap<Stress, DoseRound> =
        data.doses.keys().map(|stress| (*stress, dose(data, draw, *stress))).collect();
    let of = |stressor: Stressor| {
        means.iter().filter(move |(stress, _)| stress.stressor == stressor).map(|(_, mean)| *mean)
    };
    let point = |mean: DoseRound, off: f64| Some((mean.pressure?, mean.response? - off));
    let cpu = Curve::new(of(Stressor::Cpu).filter_map(|mean| point(mean, 0.0)).collect());
    let mut estimate = Estimate {
        responses: means
            .iter()
            .filter_map(|(stress, mean)| Some((*stress, mean.response?)))
            .collect(),
        measured: mean(draw.pairs.iter().map(|pair| data.pairs.get(*pair).copied())),
        ..Estimate::default()
    };
    let drawn = |values: &[Option<f64>]| {
        mean(draw.blocks.iter().map(|block| values.get(*block).copied().flatten()))
    };
    let mut known = Vec::new();
    for (stressor, values) in &data.neighbour {
        let curve = match stressor {
            Stressor::Cpu => cpu.clone(),
            _ => Curve::new(
                of(*stressor)
                    .filter_map(|mean| point(mean, cpu.at(mean.cores.unwrap_or(0.0))))
                    .collect(),
            ),
        };
        let Some(most) = curve.pressure_max() else {
            estimate.parts.push((*stressor, PartState::Unknown, 0.0));
            continue;
        };
        let (state, response) = match drawn(values) {
            Some(pressure) if pressure > TESTED_SLACK * most => {
                (PartState::Beyond, curve.at(pressure))
            }
            Some(pressure) => (PartState::Tested, curve.at(pressure)),
            None => match at_most(*stressor, of(*stressor), drawn(&data.neighbour_cores)) {
                Some(pressure) => (PartState::AtMost, curve.at(pressure)),
                None => (PartState::Unknown, 0.0),
            },
        };
        match state {
            PartState::Tested | PartState::Beyond => known.push(response),
            PartState::AtMost => estimate.more += response,
            PartState::Unknown => {}
        }
        estimate.parts.push((*stressor, state, response));
    }
    estimate.predicted = (!known.is_empty()).then(|| known.iter().sum());
    estimate
}

/// What a neighbour without a readable counter can press at most: its cores, each moving as much as
/// one core of the stressor did. Only memory bandwidth is moved by cores alone.
pub(super) fn at_most(
    stressor: Stressor,
    doses: impl Iterator<Item = DoseRound>,
    neighbour_cores: Option<f64>,
) -> Option<f64> {
    if stressor != Stressor::MemoryBandwidth {
        return None;
    }
    let per_core = doses
        .filter_map(|mean| Some(mean.pressure? / mean.cores.filter(|cores| *cores > 0.0)?))
        .fold(None, |most: Option<f64>, each| Some(most.map_or(each, |most| most.max(each))))?;
    Some(per_core * neighbour_cores?)
}

/// The means of every dose of a stressor over all rounds.
pub(super) fn doses_of(data: &Data, stressor: Stressor) -> Vec<(Stress, DoseRound)> {
    let draw = Draw::all(data);
    let of = data.doses.keys().filter(|stress| stress.stressor == stressor);
    of.map(|stress| (*stress, dose(data, &draw, *stress))).collect()
}
