//! From blocks to an explanation.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_pcg::Pcg64;

use crate::evidence::{Block, Run, Stress, Stressor};
use crate::site::{LatencyMetric, LatencyObjective};
use crate::stats;
use crate::verdict::series::{self, Latency};

use super::cause;
use super::estimate::{Data, DoseRound, Draw, Estimate, at_most, doses_of, estimate};
use super::gather::{Gathered, Round, gather};
use super::model::{
    Dose, Effect, Explained, Explanation, MissingTest, NeighbourPressure, Part, PartState,
    Prediction, Resource, Response,
};
use super::pressure::{self, Reference};

/// Resamples of the bootstrap.
const RESAMPLES: usize = 1_000;
/// Fewest rounds, or pairs, from which an interval is drawn.
const DRAWN_MIN: usize = 2;
/// Rounds below which intervals are said to be too narrow.
const ROUNDS_FEW: usize = 6;

/// What is to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The runs that count.
    pub runs: &'a [Run],
    /// The site file's name, for commands that are told.
    pub site_file: &'a str,
    /// The inference workload.
    pub inference: &'a str,
    /// The neighbour, where the site has one.
    pub neighbour: Option<&'a str>,
    /// The latency objectives of inference.
    pub objectives: &'a [LatencyObjective],
}

/// Explains; `None` where no run was made under stress. The same question gives the same answer.
pub fn explain(question: &Question<'_>) -> Option<Explanation> {
    let gathered = gather(question)?;
    let reference = Reference::of(&gathered.references());
    let common = common(question, &gathered, reference);
    let stressors: Vec<Stressor> = common.neighbour.keys().copied().collect();
    let mut remarks = gathered.remarks.clone();
    remarks.extend(limits(&gathered, &stressors));
    Some(Explanation {
        runs: gathered.runs.iter().map(|run| run.id.clone()).collect(),
        rounds: gathered.rounds.len() as u32,
        blocks: gathered.block_count(),
        blocks_left_out: gathered.left_out,
        resources: stressors
            .iter()
            .map(|stressor| resource(*stressor, &gathered, &common, question.neighbour))
            .collect(),
        objectives: question
            .objectives
            .iter()
            .map(|objective| explained(objective, &gathered, &common))
            .collect(),
        missing: missing(question, &gathered),
        remarks,
    })
}

/// Everything that does not depend on the objective: pressures, and who was drawn from what.
fn common(question: &Question<'_>, gathered: &Gathered<'_>, reference: Reference) -> Data {
    let mut doses: BTreeMap<Stress, Vec<DoseRound>> = BTreeMap::new();
    for (at, round) in gathered.rounds.iter().enumerate() {
        for (stress, block) in &round.doses {
            let rounds = doses
                .entry(*stress)
                .or_insert_with(|| vec![DoseRound::default(); gathered.rounds.len()]);
            rounds[at].pressure = pressure::of_stressor(block, stress.stressor, reference);
            rounds[at].cores = pressure::cores(block, Stressor::PROCESS).ok();
        }
    }
    let stressors: Vec<Stressor> = {
        let mut found: Vec<Stressor> = doses.keys().map(|stress| stress.stressor).collect();
        found.dedup();
        found
    };
    let neighbour = question.neighbour.unwrap_or_default();
    let blocks = &gathered.neighbour;
    let pressures = |stressor: Stressor| {
        let read =
            |block: &&Block| pressure::of_neighbour(block, stressor, neighbour, reference).ok();
        blocks.iter().map(read).collect()
    };
    Data {
        doses,
        rounds: gathered.rounds.len(),
        neighbour: stressors.iter().map(|stressor| (*stressor, pressures(*stressor))).collect(),
        neighbour_cores: blocks.iter().map(|b| pressure::cores(b, neighbour).ok()).collect(),
        pairs: Vec::new(),
    }
}

fn resource(
    stressor: Stressor,
    gathered: &Gathered<'_>,
    common: &Data,
    neighbour: Option<&str>,
) -> Resource {
    let blocks = |stress: Stress| -> Vec<&Block> {
        gathered.rounds.iter().filter_map(|round| round.doses.get(&stress).copied()).collect()
    };
    let stalls = |blocks: &[&Block]| {
        let seen: Vec<f64> =
            blocks.iter().filter_map(|b| pressure::stall_share(b, stressor)).collect();
        series::mean(&seen)
    };
    let means = doses_of(common, stressor);
    let first = means.iter().flat_map(|(stress, _)| blocks(*stress)).next();
    let record = first.and_then(|block| block.observed.stress.as_ref());
    let draw_all = |values: &[Option<f64>]| {
        let seen: Vec<f64> = values.iter().flatten().copied().collect();
        series::mean(&seen)
    };
    let value = common.neighbour.get(&stressor).and_then(|values| draw_all(values));
    let cores = draw_all(&common.neighbour_cores);
    let how = match (neighbour, gathered.neighbour.is_empty()) {
        (None, _) => "the site declares no neighbour".to_owned(),
        (Some(_), true) => "not seen: no valid block of test B".to_owned(),
        (Some(_), false) => pressure::how(stressor).to_owned(),
    };
    Resource {
        stressor,
        unit: record.map_or_else(String::new, |record| record.unit.clone()),
        calibrated: record.map(|record| record.calibrated).filter(|all| all.is_finite()),
        doses: means
            .iter()
            .map(|(stress, mean)| Dose {
                dose: stress.dose,
                pressure: mean.pressure,
                cpu_cores: mean.cores,
                stall_share: stalls(&blocks(*stress)),
                blocks: blocks(*stress).len() as u32,
            })
            .collect(),
        neighbour: NeighbourPressure {
            value,
            at_most: match value {
                Some(_) => None,
                None => at_most(stressor, means.iter().map(|(_, mean)| *mean), cores),
            },
            stall_share: stalls(&gathered.neighbour),
            how,
        },
    }
}

/// The logarithm of an objective's quantile in a block; `None` where there is no series, and +∞
/// where too few requests completed.
fn log_quantile(block: &Block, objective: &LatencyObjective) -> Option<f64> {
    let latency = match objective.metric {
        LatencyMetric::Ttft => Latency::TimeToFirstToken,
        LatencyMetric::Itl => Latency::InterToken,
        LatencyMetric::Tpot => Latency::TimePerOutputToken,
        LatencyMetric::E2e => Latency::EndToEnd,
    };
    let series = series::latencies(block, latency, None).ok()?;
    let value = stats::quantile(&series, objective.quantile).ok()?;
    (value > 0.0).then(|| value.ln())
}

fn explained(objective: &LatencyObjective, gathered: &Gathered<'_>, common: &Data) -> Explained {
    let finite = |block: &Block| log_quantile(block, objective).filter(|log| log.is_finite());
    let mut data = common.clone();
    let mut unbounded: BTreeMap<Stress, u32> = BTreeMap::new();
    for (at, round) in gathered.rounds.iter().enumerate() {
        let Some(alone) = reference_of(round, finite) else { continue };
        for (stress, block) in &round.doses {
            match log_quantile(block, objective) {
                Some(log) if log.is_finite() => {
                    if let Some(dose) = data.doses.get_mut(stress).and_then(|d| d.get_mut(at)) {
                        dose.response = Some(log - alone);
                    }
                }
                Some(_) => *unbounded.entry(*stress).or_default() += 1,
                None => {}
            }
        }
    }
    // A dose at which the quantile had no value in some block has no mean either.
    for stress in unbounded.keys() {
        for round in data.doses.get_mut(stress).into_iter().flatten() {
            round.response = None;
        }
    }
    data.pairs = gathered
        .pairs
        .iter()
        .filter_map(|(alone, together)| Some(finite(together)? - finite(alone)?))
        .collect();
    let references: Vec<f64> = gathered.references().into_iter().filter_map(finite).collect();
    let spread = Spread::new(&data);
    let prediction = prediction(&spread);
    let measured = effect(spread.point.measured, &spread.measured);
    let unexplained = effect(spread.point.unexplained(), &spread.unexplained);
    let (cause, sentence) =
        cause::name(prediction.as_ref(), measured.as_ref(), unexplained.as_ref());
    Explained {
        objective: *objective,
        alone_s: series::mean(&references).map(f64::exp),
        responses: responses(&data, &spread, &unbounded),
        prediction,
        measured,
        pairs: data.pairs.len() as u32,
        unexplained,
        cause,
        sentence,
    }
}

/// Mean logarithm over the reference blocks of a round.
fn reference_of(round: &Round<'_>, finite: impl Fn(&Block) -> Option<f64>) -> Option<f64> {
    let logs: Vec<f64> = round.references.iter().filter_map(|block| finite(block)).collect();
    series::mean(&logs)
}

fn responses(data: &Data, spread: &Spread, unbounded: &BTreeMap<Stress, u32>) -> Vec<Response> {
    data.doses
        .iter()
        .map(|(stress, rounds)| Response {
            stressor: stress.stressor,
            dose: stress.dose,
            effect: effect(
                spread.point.responses.get(stress).copied(),
                spread.responses.get(stress).map_or(&[][..], Vec::as_slice),
            ),
            rounds: rounds.iter().filter(|round| round.response.is_some()).count() as u32,
            unbounded: unbounded.get(stress).copied().unwrap_or(0),
        })
        .collect()
}

fn prediction(spread: &Spread) -> Option<Prediction> {
    let predicted = effect(spread.point.predicted, &spread.predicted)?;
    let parts: Vec<Part> = spread
        .point
        .parts
        .iter()
        .filter_map(|(stressor, state, response)| {
            let drawn = spread.parts.get(stressor).map_or(&[][..], Vec::as_slice);
            let effect = effect(Some(*response), drawn)?;
            Some(Part { stressor: *stressor, effect, state: *state })
        })
        .collect();
    let is_floor = parts.iter().any(|part| part.state != PartState::Tested);
    Some(Prediction { effect: predicted, parts, is_floor, more_at_most: spread.point.more.exp() })
}

/// An estimate and what the bootstrap made of it, in logarithms.
struct Spread {
    point: Estimate,
    responses: BTreeMap<Stress, Vec<f64>>,
    parts: BTreeMap<Stressor, Vec<f64>>,
    predicted: Vec<f64>,
    measured: Vec<f64>,
    unexplained: Vec<f64>,
}

impl Spread {
    fn new(data: &Data) -> Self {
        let mut spread = Self {
            point: estimate(data, &Draw::all(data)),
            responses: BTreeMap::new(),
            parts: BTreeMap::new(),
            predicted: Vec::new(),
            measured: Vec::new(),
            unexplained: Vec::new(),
        };
        let rounds_enough = data.rounds >= DRAWN_MIN;
        let pairs_enough = data.pairs.len() >= DRAWN_MIN;
        if !rounds_enough && !pairs_enough {
            return spread;
        }
        // A fixed seed: the same evidence gives the same interval.
        let mut random = Pcg64::seed_from_u64(data.rounds as u64);
        for _ in 0..RESAMPLES {
            let drawn = estimate(data, &Draw::again(data, &mut random));
            if rounds_enough {
                spread.predicted.extend(drawn.predicted);
                for (stress, response) in &drawn.responses {
                    spread.responses.entry(*stress).or_default().push(*response);
                }
                for (stressor, _, response) in &drawn.parts {
                    spread.parts.entry(*stressor).or_default().push(*response);
                }
            }
            if pairs_enough {
                spread.measured.extend(drawn.measured);
            }
            if rounds_enough && pairs_enough {
                spread.unexplained.extend(drawn.unexplained());
            }
        }
        spread
    }
}

/// A factor with its interval, from logarithms.
fn effect(point: Option<f64>, drawn: &[f64]) -> Option<Effect> {
    let ratio = point?.exp();
    let mut drawn = drawn.to_vec();
    drawn.sort_by(f64::total_cmp);
    let at = |share: f64| stats::quantile_sorted(&drawn, share).ok().map(f64::exp);
    let interval = at(0.025).zip(at(0.975));
    ratio.is_finite().then_some(Effect { ratio, interval })
}

fn limits(gathered: &Gathered<'_>, stressors: &[Stressor]) -> Vec<String> {
    let mut remarks = Vec::new();
    let rounds = gathered.rounds.len();
    if rounds < DRAWN_MIN {
        remarks.push(format!("{rounds} valid rounds give no interval"));
    } else if rounds < ROUNDS_FEW {
        remarks.push(format!("with {rounds} rounds the intervals are too narrow"));
    }
    if !stressors.contains(&Stressor::Cpu) && !stressors.is_empty() {
        remarks.push(
            "the CPU was not stressed, so what the other stressors take of the cores counts as \
             their own"
                .to_owned(),
        );
    }
    let mut notes: Vec<(Stressor, &String)> = gathered
        .rounds
        .iter()
        .flat_map(|round| &round.doses)
        .filter_map(|(stress, block)| Some((stress.stressor, block.observed.stress.as_ref()?)))
        .flat_map(|(stressor, record)| record.remarks.iter().map(move |note| (stressor, note)))
        .collect();
    notes.sort();
    notes.dedup();
    remarks
        .extend(notes.into_iter().map(|(stressor, note)| format!("{}: {note}", stressor.name())));
    remarks
}

fn missing(question: &Question<'_>, gathered: &Gathered<'_>) -> Vec<MissingTest> {
    let test = |what: &str, tests: &str| MissingTest {
        what: what.to_owned(),
        command: format!("cotenant measure {} --tests {tests}", question.site_file),
    };
    let mut missing = Vec::new();
    if gathered.rounds.len() < DRAWN_MIN {
        missing.push(test("too few valid rounds under stress", "sensitivity"));
    }
    if question.neighbour.is_some() && gathered.neighbour.is_empty() {
        missing.push(test("what the neighbour presses on: no valid block of test B", "b"));
    }
    if question.neighbour.is_some() && gathered.pairs.is_empty() {
        missing.push(test("what C measures: no valid pair of A and C", "a,c"));
    }
    missing
}
