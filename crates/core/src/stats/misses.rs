//! A quantile objective as a share of misses: "p95 ≤ 500 ms" is "at most 5 % take longer".
//!
//! Requests without an answer have latency +∞ and miss. The unit of evidence is the block; a phase
//! of the neighbour that makes blocks differ is a stratum with a declared weight.

use super::autocorrelation::{autocorrelation, effective_sample_size};
use super::blocks::{BLOCKS_MIN, cox_bounds_at, moments};
use super::distributions::student_t_quantile;
use super::order::{check_open_share, require_sample};
use super::proportion::{clopper_pearson_lower, clopper_pearson_upper};
use super::refusal::Refusal;
use super::spread::{assumed_spread_upper, lifted_bound};

/// What one block says about one latency objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockMisses {
    /// Judged requests that took longer than the objective or were not answered.
    pub misses: u64,
    /// Judged requests.
    pub requests: u64,
    /// Lag-1 autocorrelation of the block's latencies above their median, −1 to 1.
    pub autocorrelation: f64,
}

impl BlockMisses {
    /// Counts a block's latencies, in the order of intended send time, against `limit` (same unit).
    /// A latency equal to the limit is no miss; +∞ always is one.
    ///
    /// ```
    /// # use cotenant_core::stats::BlockMisses;
    /// let block = BlockMisses::from_latencies(&[0.2, 0.5, f64::INFINITY, 0.1], 0.5)?;
    /// assert_eq!((block.misses, block.requests), (1, 4));
    /// # Ok::<(), cotenant_core::stats::Refusal>(())
    /// ```
    pub fn from_latencies(latencies: &[f64], limit: f64) -> Result<Self, Refusal> {
        if limit.is_nan() || limit.is_infinite() {
            return Err(Refusal::OutOfRange {
                name: "latency objective",
                value: limit,
                range: "finite",
            });
        }
        let autocorrelation = autocorrelation(latencies)?;
        let misses = latencies.iter().filter(|latency| **latency > limit).count();
        Ok(Self { misses: misses as u64, requests: latencies.len() as u64, autocorrelation })
    }
}

/// Blocks that contained the same declared phase of the neighbour.
#[derive(Clone, Debug, PartialEq)]
pub struct Stratum {
    /// The phase: "steps only", "with a checkpoint".
    pub name: String,
    /// Share of production time that the phase takes, as declared; the weights of all strata sum
    /// to 1.
    pub weight: f64,
    /// Its blocks, in any order. Empty where none was seen.
    pub blocks: Vec<BlockMisses>,
}

/// What one stratum bounds, each one-sided at level 1 − α.
#[derive(Clone, Debug, PartialEq)]
pub struct StratumBounds {
    /// The phase.
    pub name: String,
    /// Its declared share of time.
    pub weight: f64,
    /// Blocks.
    pub blocks: usize,
    /// Judged requests.
    pub requests: u64,
    /// Misses among them.
    pub misses: u64,
    /// Effective requests: autocorrelation taken off.
    pub effective_requests: f64,
    /// Pooled autocorrelation, as estimated.
    pub autocorrelation: f64,
    /// Misses ÷ requests; `None` without a request.
    pub estimate: Option<f64>,
    /// Smaller of Cox's and Clopper–Pearson's lower bounds; 0 where the blocks are too few.
    pub lower: f64,
    /// Largest of the three upper bounds that follow; 1 where the blocks are too few.
    pub upper: f64,
    /// Clopper–Pearson's upper bound at the effective sample size.
    pub clopper_pearson_upper: f64,
    /// Upper bound under the assumed spread of blocks.
    pub assumed_spread_upper: f64,
    /// Cox's upper bound, lifted so that more misses never lower it.
    pub cox_upper_lifted: f64,
    /// Cox's upper bound as published, for comparison; it decides nothing.
    pub cox_upper: f64,
}

/// What all blocks together bound.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareBounds {
    /// Weighted share of misses; over the strata that were seen where one was not.
    pub estimate: f64,
    /// The share is above this with confidence 1 − α.
    pub lower: f64,
    /// The share is below this with confidence 1 − α; 1 where nothing can be said.
    pub upper: f64,
    /// Judged requests.
    pub requests: u64,
    /// Misses among them.
    pub misses: u64,
    /// Effective requests.
    pub effective_requests: f64,
    /// Blocks.
    pub blocks: usize,
    /// The error probability that both bounds were made for.
    pub alpha: f64,
    /// Each stratum's own bounds.
    pub strata: Vec<StratumBounds>,
    /// Why these blocks cannot make a PASS, whatever they say: phases that were not seen or were
    /// seen in too few blocks.
    pub refusals: Vec<Refusal>,
}

/// Bounds the weighted share of misses, p̂ = Σ wₛp̂ₛ, from the bounds Lₛ and Uₛ of each stratum:
///
/// U = p̂ + √Σ wₛ²(Uₛ − p̂ₛ)²,  L = p̂ − √Σ wₛ²(p̂ₛ − Lₛ)²
///
/// (Zou & Donner, Statistics in Medicine 2008: the variance is recovered from each bound, and the
/// strata err independently). With one stratum these are its own bounds. U can only grow with a
/// miss. The sum Σ wₛUₛ at level α/S (Bonferroni) would be valid too, but it asks that every stratum
/// be at its worst at once, and passes a third as many good systems (`docs/statistics.md`).
///
/// A stratum with fewer than two blocks gives the bounds 0 and 1 and a refusal: how much blocks
/// differ cannot be known from one. Errors: no stratum, a weight that is not positive or weights
/// that do not sum to 1, α outside (0, 1), a block with more misses than requests.
pub fn bound_misses(strata: &[Stratum], alpha: f64) -> Result<ShareBounds, Refusal> {
    check_open_share("alpha", alpha)?;
    check_weights(strata)?;
    let bounds = strata
        .iter()
        .map(|stratum| bound_stratum(stratum, alpha))
        .collect::<Result<Vec<_>, _>>()?;
    let refusals = bounds.iter().filter_map(|stratum| refusal_of(stratum, bounds.len())).collect();
    let seen: Vec<(f64, f64)> =
        bounds.iter().filter_map(|s| s.estimate.map(|share| (s.weight, share))).collect();
    let weight_seen: f64 = seen.iter().map(|(weight, _)| weight).sum();
    if seen.is_empty() {
        return Err(Refusal::Empty);
    }
    let parts =
        |bound: fn(&StratumBounds) -> f64, unseen: f64| {
            combine(bounds.iter().map(|stratum| {
                (stratum.weight, stratum.estimate.unwrap_or(unseen), bound(stratum))
            }))
        };
    // What was not seen may be all misses for the upper bound and none for the lower one: its
    // estimate is set to the other end, so that its whole range counts.
    let (centre_upper, reach_upper) = parts(|stratum| stratum.upper, 0.0);
    let (centre_lower, reach_lower) = parts(|stratum| stratum.lower, 0.0);
    Ok(ShareBounds {
        estimate: seen.iter().map(|(weight, share)| weight * share).sum::<f64>() / weight_seen,
        lower: (centre_lower - reach_lower).clamp(0.0, 1.0),
        upper: (centre_upper + reach_upper).clamp(0.0, 1.0),
        requests: bounds.iter().map(|stratum| stratum.requests).sum(),
        misses: bounds.iter().map(|stratum| stratum.misses).sum(),
        effective_requests: bounds.iter().map(|stratum| stratum.effective_requests).sum(),
        blocks: bounds.iter().map(|stratum| stratum.blocks).sum(),
        alpha,
        strata: bounds,
        refusals,
    })
}

/// Centre Σ wₛp̂ₛ and reach √Σ wₛ²(boundₛ − p̂ₛ)² of weighted strata (weight, estimate, bound).
pub(super) fn combine(strata: impl Iterator<Item = (f64, f64, f64)>) -> (f64, f64) {
    let (centre, squares) = strata.fold((0.0, 0.0), |(centre, squares), (weight, share, bound)| {
        (centre + weight * share, squares + (weight * (bound - share)).powi(2))
    });
    (centre, f64::sqrt(squares))
}

impl ShareBounds {
    /// Every reason why these blocks cannot prove a q-quantile objective, whatever they say: those
    /// in [`ShareBounds::refusals`], and too few effective requests to bound the quantile at all.
    pub fn obstacles(&self, quantile: f64) -> Vec<Refusal> {
        let mut obstacles = self.refusals.clone();
        obstacles.extend(require_sample(quantile, self.effective_requests, self.alpha).err());
        obstacles
    }
}

fn refusal_of(stratum: &StratumBounds, strata: usize) -> Option<Refusal> {
    if stratum.blocks >= BLOCKS_MIN {
        return None;
    }
    let (needed, seen) = (BLOCKS_MIN, stratum.blocks);
    Some(if strata == 1 {
        Refusal::TooFewBlocks { needed, seen }
    } else {
        Refusal::UnseenStratum { stratum: stratum.name.clone(), needed, seen }
    })
}

fn check_weights(strata: &[Stratum]) -> Result<(), Refusal> {
    if strata.is_empty() {
        return Err(Refusal::Empty);
    }
    for stratum in strata {
        if stratum.weight.is_nan() || stratum.weight <= 0.0 || stratum.weight > 1.0 + 1e-9 {
            return Err(Refusal::OutOfRange {
                name: "weight of a phase",
                value: stratum.weight,
                range: "above 0 and at most 1",
            });
        }
    }
    let sum: f64 = strata.iter().map(|stratum| stratum.weight).sum();
    if (sum - 1.0).abs() > 1e-6 {
        return Err(Refusal::OutOfRange {
            name: "sum of the phases' weights",
            value: sum,
            range: "1",
        });
    }
    Ok(())
}

fn bound_stratum(stratum: &Stratum, alpha: f64) -> Result<StratumBounds, Refusal> {
    let blocks: Vec<&BlockMisses> = stratum.blocks.iter().filter(|b| b.requests > 0).collect();
    for block in &blocks {
        if block.misses > block.requests || !(-1.0..=1.0).contains(&block.autocorrelation) {
            return Err(Refusal::OutOfRange {
                name: "number of misses of a block",
                value: block.misses as f64,
                range: "at most its requests, with an autocorrelation from -1 to 1",
            });
        }
    }
    let requests: u64 = blocks.iter().map(|block| block.requests).sum();
    let misses: u64 = blocks.iter().map(|block| block.misses).sum();
    let mut bounds = StratumBounds {
        name: stratum.name.clone(),
        weight: stratum.weight,
        blocks: blocks.len(),
        requests,
        misses,
        effective_requests: 0.0,
        autocorrelation: 0.0,
        estimate: None,
        lower: 0.0,
        upper: 1.0,
        clopper_pearson_upper: 1.0,
        assumed_spread_upper: 1.0,
        cox_upper_lifted: 1.0,
        cox_upper: 1.0,
    };
    if requests == 0 {
        return Ok(bounds);
    }
    let estimate = misses as f64 / requests as f64;
    bounds.estimate = Some(estimate);
    // Weighting each block's own ρ̂ by its requests pools them without counting the differences
    // between blocks as correlation inside one.
    let rho = blocks.iter().map(|b| b.requests as f64 * b.autocorrelation).sum::<f64>();
    bounds.autocorrelation = rho / requests as f64;
    bounds.effective_requests = blocks
        .iter()
        .map(|block| effective_sample_size(block.requests as f64, bounds.autocorrelation))
        .sum();
    if blocks.len() < BLOCKS_MIN {
        return Ok(bounds);
    }
    let logarithms: Vec<f64> = blocks
        .iter()
        .map(|block| ((block.misses as f64 + 0.5) / (block.requests as f64 + 1.0)).ln())
        .collect();
    let effective = bounds.effective_requests;
    let effective_misses = (estimate * effective).min(effective);
    let t = student_t_quantile(1.0 - alpha, blocks.len() as f64 - 1.0);
    let cox = cox_bounds_at(moments(&logarithms)?, t);
    bounds.cox_upper = cox.upper.min(1.0);
    bounds.cox_upper_lifted = lifted_bound(&logarithms, t).min(1.0);
    bounds.clopper_pearson_upper = clopper_pearson_upper(effective_misses, effective, alpha)?;
    bounds.assumed_spread_upper =
        assumed_spread_upper(effective_misses, effective, blocks.len(), alpha)?;
    bounds.upper = bounds
        .clopper_pearson_upper
        .max(bounds.assumed_spread_upper)
        .max(bounds.cox_upper_lifted)
        .min(1.0);
    bounds.lower = cox.lower.min(clopper_pearson_lower(effective_misses, effective, alpha)?);
    Ok(bounds)
}

/// Share of blocks in which a phase can occur and still, with probability 1 − `confidence`, be in
/// none of `blocks`: 1 − (1 − confidence)^(1/m). A phase rarer than this would have gone unseen.
///
/// ```
/// # use cotenant_core::stats::unseen_phase;
/// // Twelve blocks miss a phase that is in 22 % of all blocks one time in twenty.
/// assert!((unseen_phase(12, 0.95) - 0.2209).abs() < 1e-4);
/// ```
pub fn unseen_phase(blocks: usize, confidence: f64) -> f64 {
    if blocks == 0 {
        return 1.0;
    }
    1.0 - (1.0 - confidence).powf(1.0 / blocks as f64)
}
