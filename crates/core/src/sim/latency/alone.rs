//! An engine alone: the step that its tests show, how well that tells tests which it was not fitted
//! on, and what the same engine would do at other loads.

use super::basis::{Foretold, LatencyBasis, Mix, figures};
use super::beside::{self, BesideForecast};
use super::evidence::{Comparison, Figure, Served, served};
use super::limits::{engine_limits, engine_words};
use super::shape;
use crate::evidence::{Aspect, Block, Condition, Origin, Run, Situation};
use crate::perf::Multipliers;
use crate::sim::calibration::{Answer, Fit, FitOptions, ServedRun, fit, serve};
use crate::sim::engine::{ReplicaSpec, SpecProblem};
use crate::sim::{Capacity, LoadMargin, Predictable};
use crate::site::{Inference, Site, Workload};
use crate::stats::quantile;
use crate::verdict::Expected;

/// Folds of the check on blocks that a fit did not see.
const FOLDS: usize = 5;
/// Blocks that are fitted at most, spread evenly: more tell little more and cost time.
const BLOCKS_MAX: usize = 24;
/// Loads at which the curve is drawn, as shares of the simulated capacity.
const SHARES: [f64; 8] = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1];
/// The capacity is never taken to be better known than this.
const CAPACITY_ERROR_MIN: f64 = 0.05;
/// An error of a block's mean that counts as one standard deviation in the fit.
const BLOCK_ERROR: f64 = 0.08;

/// Latencies of one inference workload, foretold.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyForecast {
    /// The workload.
    pub workload: String,
    /// The engine and its version, as it was measured.
    pub engine: String,
    /// Its step, its limits and the tested lengths.
    pub basis: LatencyBasis,
    /// Blocks of inference alone that it was fitted on.
    pub blocks: usize,
    /// Requests in them.
    pub requests: usize,
    /// Each block, predicted from a fit on others only.
    pub held_out: Vec<Comparison>,
    /// What the engine carries of the tested mix, simulated.
    pub capacity: Option<Capacity>,
    /// The declared peak first, where there is one, then the tested rate, then a curve.
    pub levels: Vec<Level>,
    /// Beside the neighbour, where both were tested together.
    pub beside: Option<BesideForecast>,
}

/// What is foretold at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What the rate is: `declared peak`, `tested`, `60 % of capacity`.
    pub name: String,
    /// Requests a second.
    pub rate_per_s: f64,
    /// How near to capacity that is.
    pub margin: LoadMargin,
    /// The latencies; empty where the load is not predictable.
    pub foretold: Vec<Foretold>,
}

/// Foretells an inference workload's latencies from its tests. Runs on another stack than the site
/// declares are left aside; another load is none, for it tells the same step.
///
/// # Errors
/// Why nothing can be told: no test of it alone, too few blocks, or limits that make no engine.
pub fn foretell(
    site: &Site,
    workload: &Workload,
    inference: &Inference,
    runs: &[Run],
    seed: u64,
) -> Result<LatencyForecast, String> {
    let expected = Expected::new(site, Some((workload, inference)), None, None);
    let counts = |run: &&Run| {
        run.inference == workload.name
            && run.origin.proves_performance()
            && expected.differences(&run.fingerprint, Aspect::stales_inference).is_empty()
    };
    let runs: Vec<&Run> = runs.iter().filter(counts).collect();
    let (runs, workload) = (&runs[..], &workload.name);
    let (newest, told) = newest_stack(workload, runs)?;
    let limits = engine_limits(&engine_words(inference, told));
    let alone = alone_blocks(&limits.spec, runs, newest);
    let problem = |why: SpecProblem| format!("the engine of {workload}: {why}");
    if alone.len() < 2 {
        return Err(format!(
            "{workload} was tested alone in {} valid blocks, and two are needed: `cotenant measure --tests a`",
            alone.len()
        ));
    }
    let found = fit_blocks(&alone.iter().collect::<Vec<_>>())
        .ok_or_else(|| format!("no answer of {workload} has two tokens"))?;
    let model = shape::fitted(&found);
    let held_out = held_out(&alone);
    let tested = mean_rate(&alone);
    let basis = LatencyBasis {
        model,
        origin: Origin::Simulated,
        spec: limits.spec,
        mix: mix(&alone),
        capacity_error: capacity_error(&held_out),
        tested_rate_per_s: Some(tested),
        assumed: limits.assumed,
    };
    let capacity = basis.capacity(Multipliers::default(), seed).map_err(problem)?;
    let mut levels = Vec::new();
    for (name, rate_per_s) in
        capacity.iter().flat_map(|it| rates(inference, tested, it.requests_per_s))
    {
        let capacity_per_s = capacity.map_or(f64::NAN, |it| it.requests_per_s);
        let margin = LoadMargin::new(rate_per_s, capacity_per_s, basis.capacity_error);
        let foretold = match margin.predictable() {
            Predictable::Yes => {
                figures(&basis, inference, rate_per_s, Multipliers::default(), seed)
                    .map_err(problem)?
            }
            Predictable::No | Predictable::Overloaded => Vec::new(),
        };
        levels.push(Level { name, rate_per_s, margin, foretold });
    }
    Ok(LatencyForecast {
        workload: workload.clone(),
        engine: newest.fingerprint.0.get(&Aspect::Engine).cloned().unwrap_or_default(),
        blocks: alone.len(),
        requests: alone.iter().map(|block| block.answers.len()).sum(),
        held_out,
        capacity,
        levels,
        beside: beside::foretell(&basis, runs, newest, seed),
        basis,
    })
}

/// The newest run in which the workload was tested alone, and the engine's words in it.
fn newest_stack<'a>(workload: &str, runs: &[&'a Run]) -> Result<(&'a Run, &'a str), String> {
    let of_alone = |run: &&&Run| run.blocks.iter().any(|block| is_plain(block, Condition::A));
    let newest = runs.iter().filter(of_alone).max_by_key(|run| (run.started, &run.id));
    let newest = newest.ok_or_else(|| {
        format!("{workload} was not tested alone on today's stack: `cotenant measure --tests a`")
    })?;
    let told = newest.fingerprint.0.get(&Aspect::EngineArguments).map_or("", String::as_str);
    Ok((newest, told))
}

/// Whether a block is a valid one of a condition, without a remedy and with nothing done on purpose.
pub(super) fn is_plain(block: &Block, condition: Condition) -> bool {
    let ordinary = matches!(block.plan.situation, Situation::Ordinary | Situation::Search(_));
    block.plan.condition == condition && block.plan.remedy.is_none() && ordinary && block.is_valid()
}

/// Whether two runs had the same engine on the same device.
pub(super) fn same_engine(run: &Run, other: &Run) -> bool {
    let aspects = [Aspect::Device, Aspect::VisibleDevices, Aspect::Engine, Aspect::EngineArguments];
    aspects.iter().all(|aspect| run.fingerprint.0.get(aspect) == other.fingerprint.0.get(aspect))
}

/// Blocks of inference alone on one stack, evenly chosen where there are many.
fn alone_blocks(spec: &ReplicaSpec, runs: &[&Run], newest: &Run) -> Vec<Served> {
    let same = runs.iter().filter(|run| same_engine(run, newest));
    let blocks = same.flat_map(|run| {
        let plain = run.blocks.iter().filter(|block| is_plain(block, Condition::A));
        plain.filter_map(|block| {
            served(format!("{} block {}", run.id, block.plan.index), *spec, block)
        })
    });
    let all: Vec<Served> = blocks.collect();
    let count = all.len();
    let kept = |index: usize| index * BLOCKS_MAX / count != (index + 1) * BLOCKS_MAX / count;
    let chosen =
        all.into_iter().enumerate().filter(|(index, _)| count <= BLOCKS_MAX || kept(*index));
    chosen.map(|(_, block)| block).collect()
}

/// Fits the step on some blocks; `None` where no answer tells a time between tokens.
pub(super) fn fit_blocks(blocks: &[&Served]) -> Option<Fit> {
    let answers: Vec<Answer> = blocks.iter().flat_map(|block| block.answers.clone()).collect();
    let start = shape::start(&blocks.first()?.run, &answers)?;
    let runs: Vec<&ServedRun> = blocks.iter().map(|block| &block.run).collect();
    let numbers: Vec<usize> = (0..runs.len()).collect();
    let options =
        FitOptions { start: &start, spread: &shape::SPREAD, error: BLOCK_ERROR, steps_max: 20 };
    let form = |_: usize, at: &[f64]| (shape::model(at), Multipliers::default());
    Some(fit(&runs, &numbers, &form, options))
}

/// Each block against what a fit on the blocks of other folds predicts.
fn held_out(blocks: &[Served]) -> Vec<Comparison> {
    let folds = blocks.len().min(FOLDS);
    let compared = (0..folds).flat_map(|fold| {
        let within = move |index: usize| index % folds == fold;
        let others = blocks.iter().enumerate().filter(|(index, _)| !within(*index));
        let others: Vec<&Served> = others.map(|(_, block)| block).collect();
        let model = fit_blocks(&others).map(|found| shape::model(&found.at));
        let left_out = blocks.iter().enumerate().filter(move |(index, _)| within(*index));
        left_out.flat_map(move |(_, block)| {
            let there = model.and_then(|it| serve(&block.run, &it, Multipliers::default()).ok());
            there.map_or_else(Vec::new, |there| Comparison::all(&block.answers, &there.answers))
        })
    });
    compared.collect()
}

/// The error that the capacity may have: twice the median held-out error of a whole answer's mean
/// time, which is mostly passes, as the capacity is.
fn capacity_error(held_out: &[Comparison]) -> f64 {
    let errors = held_out.iter().filter(|it| it.figure == Figure::E2eMean);
    let errors: Vec<f64> = errors.map(|it| it.error().abs()).collect();
    let median = quantile(&errors, 0.5).unwrap_or(f64::INFINITY);
    (2.0 * median).max(CAPACITY_ERROR_MIN)
}

/// Lengths of prompts and answers that were really sent.
pub(super) fn mix(blocks: &[Served]) -> Mix {
    let requests = blocks.iter().flat_map(|block| &block.run.requests);
    requests.map(|request| (request.prompt_tokens, request.output_tokens)).collect()
}

pub(super) fn mean_rate(blocks: &[Served]) -> f64 {
    let rates: Vec<f64> = blocks.iter().filter_map(|block| rate_of(&block.run)).collect();
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

/// The mean rate of a run's requests; `None` of fewer than two.
pub(super) fn rate_of(run: &ServedRun) -> Option<f64> {
    let (first, last) = (run.requests.first()?.at, run.requests.last()?.at);
    let gaps = run.requests.len().checked_sub(1)? as f64;
    ((last - first).seconds() > 0.0).then(|| gaps / (last - first).seconds())
}

/// The rates that are foretold, with their names.
fn rates(inference: &Inference, tested: f64, capacity: f64) -> Vec<(String, f64)> {
    let peak =
        inference.peak_rate.as_ref().map(|rate| ("declared peak".to_owned(), rate.per_second));
    let curve =
        SHARES.map(|share| (format!("{:.0} % of capacity", share * 100.0), share * capacity));
    peak.into_iter().chain([("tested".to_owned(), tested)]).chain(curve).collect()
}
