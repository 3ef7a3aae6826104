//! Both together, from each alone and one block of both: what the first block of test C does to the
//! parts of a pass is taken to be what the neighbour does, and every other block of C is predicted
//! with it. Never carried over to another site.

use super::alone::{is_plain, rate_of, same_engine};
use super::basis::LatencyBasis;
use super::evidence::{Comparison, served};
use crate::evidence::{Block, Condition, Run};
use crate::perf::{Multipliers, StepModel};
use crate::sim::LoadMargin;
use crate::sim::calibration::{Answer, FitOptions, ServedRun, fit, mean, serve};

/// Logarithms of the multipliers before the block was looked at: a little slower.
const START: [f64; 3] = [0.05; 3];
/// How far from there the multipliers may well be: a standard deviation of their logarithms.
const SPREAD: [f64; 3] = [0.7; 3];
/// An error of a block's mean that counts as one standard deviation in the fit.
const BLOCK_ERROR: f64 = 0.08;

/// What a neighbour does, and how well that tells blocks which it was not learnt from.
#[derive(Clone, Debug, PartialEq)]
pub struct BesideForecast {
    /// The neighbour.
    pub neighbour: String,
    /// The block that it was learnt from: its run and its number.
    pub learnt_from: (String, u32),
    /// How much longer parts of a pass take.
    pub multipliers: Multipliers,
    /// How near to capacity the tested load is beside the neighbour: near it or above, latencies are
    /// compared and not predictable.
    pub margin: Option<LoadMargin>,
    /// Blocks that were predicted.
    pub blocks: usize,
    /// All of these together, measured and predicted.
    pub compared: Vec<Comparison>,
    /// The neighbour's step time, where its steps were seen alone and together.
    pub steps: Option<StepTimes>,
}

/// The neighbour's mean step time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    /// Alone.
    pub alone_s: f64,
    /// Beside inference, while a pass runs, over alone.
    pub slowdown_while_busy: f64,
    /// In the blocks of test C that were predicted.
    pub measured_s: f64,
    /// As it was predicted.
    pub predicted_s: f64,
}

/// Foretells test C of the newest run that has two blocks of it or more; `None` without one.
pub(super) fn foretell(
    basis: &LatencyBasis,
    runs: &[&Run],
    newest: &Run,
    seed: u64,
) -> Option<BesideForecast> {
    let (model, spec) = (&basis.model, &basis.spec);
    let together = |run: &&&Run| {
        let blocks = run.blocks.iter().filter(|block| is_plain(block, Condition::C)).count();
        same_engine(run, newest) && blocks >= 2
    };
    let run = *runs.iter().filter(together).max_by_key(|run| (run.started, &run.id))?;
    let mut blocks: Vec<&Block> =
        run.blocks.iter().filter(|block| is_plain(block, Condition::C)).collect();
    blocks.sort_by_key(|block| block.started);
    let (first, others) = blocks.split_first()?;
    let learnt = served(String::new(), *spec, first)?;
    let multipliers = multipliers(model, &learnt.run);
    let mut measured: Vec<Answer> = Vec::new();
    let mut predicted: Vec<Answer> = Vec::new();
    let mut busy = Vec::new();
    let mut rates = Vec::new();
    for block in others {
        let Some(seen) = served(String::new(), *spec, block) else { continue };
        let there = serve(&seen.run, model, multipliers).ok()?;
        measured.extend(seen.answers);
        predicted.extend(there.answers);
        busy.push(there.busy_share);
        rates.extend(rate_of(&seen.run));
    }
    let capacity = basis.capacity(multipliers, seed).ok().flatten();
    let offered = mean(rates.into_iter());
    let margin = offered.zip(capacity).map(|(offered, capacity)| {
        LoadMargin::new(offered, capacity.requests_per_s, basis.capacity_error)
    });
    let busy_first = serve(&learnt.run, model, multipliers).ok()?.busy_share;
    let busy_others = mean(busy.iter().copied())?;
    Some(BesideForecast {
        neighbour: run.neighbour.clone(),
        learnt_from: (run.id.clone(), first.plan.index),
        multipliers,
        margin,
        blocks: busy.len(),
        compared: Comparison::all(&measured, &predicted),
        steps: steps(run, first, others, busy_first, busy_others),
    })
}

/// What a neighbour does to the parts of a pass, from one block with it.
fn multipliers(model: &StepModel, block: &ServedRun) -> Multipliers {
    // Nobody is faster beside a neighbour: what looks like it is noise of the block.
    let slower = |at: f64| at.exp().max(1.0);
    let of = |at: &[f64]| Multipliers {
        compute: slower(at[0]),
        bandwidth: slower(at[1]),
        host: slower(at[2]),
    };
    let options = FitOptions { start: &START, spread: &SPREAD, error: BLOCK_ERROR, steps_max: 20 };
    let form = |_: usize, at: &[f64]| (*model, of(at));
    of(&fit(&[block], &[0], &form, options).at)
}

/// The neighbour's steps. Its work goes on at its own pace while no pass runs, and slower while one
/// does; how much slower is learnt from the first block.
fn steps(
    run: &Run,
    first: &Block,
    others: &[&Block],
    busy_first: f64,
    busy_others: f64,
) -> Option<StepTimes> {
    let alone = run.blocks.iter().filter(|block| is_plain(block, Condition::B));
    let alone_s = mean(alone.filter_map(step_s))?;
    let first_s = step_s(first)?;
    let measured_s = mean(others.iter().filter_map(|block| step_s(block)))?;
    // Of a second beside inference, `busy` is worked at 1 / slowdown of the pace and the rest at
    // the whole: alone / first = (1 − busy) + busy / slowdown.
    let kept_while_busy = (alone_s / first_s - (1.0 - busy_first)) / busy_first;
    let kept_while_busy = kept_while_busy.clamp(0.01, 1.0);
    let pace = (1.0 - busy_others) + busy_others * kept_while_busy;
    Some(StepTimes {
        alone_s,
        slowdown_while_busy: 1.0 / kept_while_busy,
        measured_s,
        predicted_s: alone_s / pace,
    })
}

/// Mean time of a block's judged steps, from the first to the last of them.
fn step_s(block: &Block) -> Option<f64> {
    let times: Vec<u64> = block.judged_steps().map(|step| step.at_ns).collect();
    let (first, last) = (times.first()?, times.last()?);
    let gaps = times.len().checked_sub(1).filter(|gaps| *gaps > 0)?;
    Some(last.saturating_sub(*first) as f64 / 1e9 / gaps as f64)
}
