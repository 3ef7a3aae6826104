//! Tests of an engine under some loads, predicted from tests under others.

use super::alone::{fit_blocks, is_plain, mean_rate, mix};
use super::basis::capacity_of;
use super::evidence::{Comparison, Served, served};
use super::shape;
use crate::evidence::{Condition, Run};
use crate::perf::{Multipliers, StepModel};
use crate::sim::calibration::{Answer, serve};
use crate::sim::engine::ReplicaSpec;

/// A load that was predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedLoad {
    /// Its name.
    pub name: String,
    /// The mean rate that was asked, requests a second.
    pub rate_per_s: f64,
    /// That rate by the simulated capacity for its lengths.
    pub rho: Option<f64>,
    /// All of its blocks together.
    pub compared: Vec<Comparison>,
}

/// Predicts tests of inference alone from a fit on others, of the same engine with the same limits.
/// `predicted` are the runs of each load, by name.
///
/// # Errors
/// Nothing to fit on, or numbers that make no engine.
pub fn predict_loads(
    spec: ReplicaSpec,
    fitted_on: &[&Run],
    predicted: &[(String, Vec<Run>)],
    seed: u64,
) -> Result<(StepModel, Vec<PredictedLoad>), String> {
    let blocks = |run: &Run| -> Vec<Served> {
        let plain = run.blocks.iter().filter(|block| is_plain(block, Condition::A));
        plain.filter_map(|block| served(run.id.clone(), spec, block)).collect()
    };
    let known: Vec<Served> = fitted_on.iter().flat_map(|run| blocks(run)).collect();
    let found = fit_blocks(&known.iter().collect::<Vec<_>>());
    let model = shape::fitted(&found.ok_or("no valid block of inference alone to fit on")?);
    let predict = |(name, runs): &(String, Vec<Run>)| -> Result<PredictedLoad, String> {
        let blocks: Vec<Served> = runs.iter().flat_map(&blocks).collect();
        let mut there: Vec<Answer> = Vec::new();
        for block in &blocks {
            let simulated = serve(&block.run, &model, Multipliers::default());
            there.extend(simulated.map_err(|why| why.to_string())?.answers);
        }
        let measured: Vec<Answer> = blocks.iter().flat_map(|block| block.answers.clone()).collect();
        let rate_per_s = mean_rate(&blocks);
        let alone = Multipliers::default();
        let capacity = capacity_of(&model, spec, &mix(&blocks), alone, seed);
        let capacity = capacity.map_err(|why| why.to_string())?;
        Ok(PredictedLoad {
            name: name.clone(),
            rate_per_s,
            rho: capacity.map(|capacity| rate_per_s / capacity.requests_per_s),
            compared: Comparison::all(&measured, &there),
        })
    };
    let predicted: Result<Vec<PredictedLoad>, String> = predicted.iter().map(predict).collect();
    Ok((model, predicted?))
}
