//! What latencies at any load are told from: a step, an engine's limits and a mix of lengths.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use rand_pcg::Pcg64;

use super::limits::{engine_limits, engine_words};
use crate::evidence::Origin;
use crate::gpu;
use crate::perf::{Efficiencies, Multipliers, PeakRates, StepModel, known_model, prior};
use crate::sim::calibration::{Answer, NOT_JUDGED, ServedRun, Simulated, serve};
use crate::sim::engine::{ReplicaSpec, SimRequest, SpecProblem};
use crate::sim::{Capacity, LoadMargin, Predictable, capacity};
use crate::site::{Inference, LatencyMetric, LatencyObjective, Site, TokenCounts, Workload};
use crate::stats::{MeanBounds, quantile, student_bounds};
use crate::units::Picoseconds;

/// Replications of a level, each with a seed of its own.
const REPLICATIONS: u64 = 8;
/// Requests of a replication, a quarter of which are warm-up.
const REQUESTS: usize = 2000;
/// The relative error of a capacity that shapes and peak rates alone tell: no whole answer of the
/// public runs that the efficiencies come from was told worse, each from a fit on the others.
const PRIOR_ERROR: f64 = 0.25;

/// What latencies are told from.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyBasis {
    /// The step.
    pub model: StepModel,
    /// Where that comes from: fitted on tests (`simulated` from what was measured), or `assumed`.
    pub origin: Origin,
    /// The engine's limits.
    pub spec: ReplicaSpec,
    /// Lengths of prompts and answers, from which requests are drawn.
    pub mix: Mix,
    /// The relative error of the capacity that is reckoned with.
    pub capacity_error: f64,
    /// The rate that tests had, requests a second.
    pub tested_rate_per_s: Option<f64>,
    /// What was assumed, as sentences.
    pub assumed: Vec<String>,
}

/// One latency at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Foretold {
    /// The objective: `ttft_p95`.
    pub name: &'static str,
    /// The mean over replications, seconds, and bounds with 95 % confidence each.
    pub time_s: MeanBounds,
    /// The target, where the objective is declared, seconds.
    pub target_s: Option<f64>,
}

impl LatencyBasis {
    /// From the shape of the model and the peak rates of the GPU, before anything was tested.
    ///
    /// # Errors
    /// What is not known: the model's shape, the GPU, or the lengths of requests.
    pub fn of_shape(
        site: &Site,
        workload: &Workload,
        inference: &Inference,
        seed: u64,
    ) -> Result<Self, String> {
        let name = workload.model.as_ref().map(|model| model.name.as_str());
        let shape = name.and_then(known_model).ok_or_else(|| {
            let said = name.unwrap_or("not declared");
            format!("the shape of the model of {} is not known: {said}", workload.name)
        })?;
        let gpu = site.server().and_then(|server| server.gpu.as_deref());
        let found = gpu.map(gpu::candidates).unwrap_or_default();
        let [sku] = found[..] else {
            return Err(format!("which GPU serves {} is not known exactly", workload.name));
        };
        let rates = PeakRates::of(sku.id).map_err(|why| why.to_string())?;
        let gpus = inference.capacity.as_ref().map_or(1.0, |it| it.gpus).ceil().max(1.0) as u32;
        let lengths = inference.prompt_tokens.zip(inference.output_tokens).ok_or_else(|| {
            format!("`prompt_tokens` and `output_tokens` of {} are not declared", workload.name)
        })?;
        let limits = engine_limits(&engine_words(inference, ""));
        let mut assumed = limits.assumed;
        assumed.push(format!(
            "{}: passes from the shape of {} and the peak rates of {}, as nothing was tested",
            workload.name,
            name.unwrap_or_default(),
            sku.product
        ));
        if inference.capacity.is_none() {
            assumed.push(format!(
                "{}: a replica has one GPU, as `capacity.gpus` is not declared",
                workload.name
            ));
        }
        Ok(Self {
            model: prior(&shape, rates, gpus, &Efficiencies::default()),
            origin: Origin::Assumed,
            spec: limits.spec,
            mix: declared_mix(lengths, seed),
            capacity_error: PRIOR_ERROR,
            tested_rate_per_s: None,
            assumed,
        })
    }

    /// What the engine carries of the mix, beside a neighbour. `None` of a mix too small to tell.
    ///
    /// # Errors
    /// The limits make no engine.
    pub fn capacity(
        &self,
        beside: Multipliers,
        seed: u64,
    ) -> Result<Option<Capacity>, SpecProblem> {
        capacity_of(&self.model, self.spec, &self.mix, beside, seed)
    }
}

/// Lengths with the declared median and 95th percentile, lognormal.
fn declared_mix((prompt, output): (TokenCounts, TokenCounts), seed: u64) -> Mix {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut drawn = |counts: TokenCounts| {
        let median = f64::from(counts.p50.max(1));
        let spread = (f64::from(counts.p95.max(1)) / median).ln().max(0.0) / 1.645;
        let normal: f64 = StandardNormal.sample(&mut random);
        (median * (spread * normal).exp()).round().max(1.0) as u32
    };
    (0..REQUESTS).map(|_| (drawn(prompt), drawn(output))).collect()
}

/// The declared objectives at a rate, or the usual figures where none is declared.
///
/// # Errors
/// Why there is no number: the load is not predictable, or the limits make no engine.
pub fn latencies_at(
    basis: &LatencyBasis,
    inference: &Inference,
    rate_per_s: f64,
    beside: Multipliers,
    seed: u64,
) -> Result<Vec<Foretold>, String> {
    let problem = |why: SpecProblem| why.to_string();
    let capacity = basis.capacity(beside, seed).map_err(problem)?;
    let capacity = capacity.ok_or("too few requests could be simulated to tell its capacity")?;
    let margin = LoadMargin::new(rate_per_s, capacity.requests_per_s, basis.capacity_error);
    match margin.predictable() {
        Predictable::Yes => figures(basis, inference, rate_per_s, beside, seed).map_err(problem),
        Predictable::No => Err(format!(
            "not predictable: at {rate_per_s:.3} req/s the load is {:.2} of capacity ({:.2} to {:.2})",
            margin.rho, margin.low, margin.high
        )),
        Predictable::Overloaded => Err(format!(
            "overload: {rate_per_s:.3} req/s are {:.2} of capacity, and the queue only grows",
            margin.rho
        )),
    }
}

/// Lengths of prompts and answers.
pub type Mix = Vec<(u32, u32)>;

/// What an engine with a step carries of a mix.
pub(super) fn capacity_of(
    model: &StepModel,
    spec: ReplicaSpec,
    mix: &[(u32, u32)],
    beside: Multipliers,
    seed: u64,
) -> Result<Option<Capacity>, SpecProblem> {
    if mix.is_empty() {
        return Ok(None);
    }
    let spec = ReplicaSpec { step: model.integer(beside), ..spec };
    capacity(spec, endless(mix, seed))
}

/// Requests of the mix, drawn with replacement, that are all there from the beginning.
fn endless(mix: &[(u32, u32)], seed: u64) -> Vec<SimRequest> {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..REQUESTS as u64).map(|id| drawn(mix, id, Picoseconds::ZERO, &mut random)).collect()
}

fn drawn(mix: &[(u32, u32)], id: u64, at: Picoseconds, random: &mut Pcg64) -> SimRequest {
    let (prompt_tokens, output_tokens) = mix[random.random_range(0..mix.len())];
    SimRequest { id, at, prompt_tokens, output_tokens, class: 0, prefix: None }
}

/// Replications at a rate.
pub(super) fn figures(
    basis: &LatencyBasis,
    inference: &Inference,
    rate_per_s: f64,
    beside: Multipliers,
    seed: u64,
) -> Result<Vec<Foretold>, SpecProblem> {
    let mut replications = Vec::new();
    for number in 0..REPLICATIONS {
        let mut random = Pcg64::seed_from_u64(seed ^ (number + 1).rotate_left(32));
        let mut at = 0.0;
        let mut requests: Vec<SimRequest> = Vec::with_capacity(REQUESTS);
        for id in 0..REQUESTS as u64 {
            let gap: f64 = Exp1.sample(&mut random);
            at += gap / rate_per_s;
            let mut request = drawn(&basis.mix, id, Picoseconds::from_seconds(at), &mut random);
            if id < REQUESTS as u64 / 4 {
                request.class = NOT_JUDGED;
            }
            requests.push(request);
        }
        let run = ServedRun { name: String::new(), spec: basis.spec, requests, seen: Vec::new() };
        let mut there = serve(&run, &basis.model, beside)?;
        there.answers.retain(|answer| answer.class != NOT_JUDGED);
        replications.push(there);
    }
    Ok(objectives(inference).into_iter().filter_map(|it| foretold(&it, &replications)).collect())
}

/// A latency that is foretold.
struct Objective {
    name: &'static str,
    metric: LatencyMetric,
    quantile: f64,
    target_s: Option<f64>,
}

/// The declared objectives, or the usual figures where none is declared.
fn objectives(inference: &Inference) -> Vec<Objective> {
    let declared = inference.objectives.latency();
    if declared.is_empty() {
        let usual = |(name, metric)| Objective { name, metric, quantile: 0.95, target_s: None };
        let metrics = [
            ("ttft_p95", LatencyMetric::Ttft),
            ("tpot_p95", LatencyMetric::Tpot),
            ("e2e_p95", LatencyMetric::E2e),
        ];
        return metrics.map(usual).into();
    }
    let one = |it: &LatencyObjective| Objective {
        name: it.name,
        metric: it.metric,
        quantile: it.quantile,
        target_s: Some(it.target.as_secs_f64()),
    };
    declared.iter().map(one).collect()
}

/// A latency over replications; `None` where one of them has nothing to say of it.
fn foretold(objective: &Objective, replications: &[Simulated]) -> Option<Foretold> {
    let level = |there: &Simulated| {
        let time = |answer: &Answer| match objective.metric {
            LatencyMetric::Ttft => Some(answer.ttft_s),
            LatencyMetric::E2e => Some(answer.e2e_s),
            LatencyMetric::Itl | LatencyMetric::Tpot => answer.token_s(),
        };
        if objective.metric == LatencyMetric::Itl {
            return there.itl.quantile(objective.quantile)?.at_most_s;
        }
        let times: Vec<f64> = there.answers.iter().filter_map(time).collect();
        quantile(&times, objective.quantile).ok()
    };
    let levels: Option<Vec<f64>> = replications.iter().map(level).collect();
    let time_s = student_bounds(&levels?, 0.05).ok()?;
    Some(Foretold { name: objective.name, time_s, target_s: objective.target_s })
}
