//! Amplification, slowdown and retention: descriptions that judge nothing. 1.30 is no norm.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use crate::evidence::Condition;
use crate::stats;

use super::findings::Case;
use super::pool::Member;
use super::{Comparison, Strategy, series};

/// Resamples of the bootstrap.
const RESAMPLES: usize = 2_000;

pub(super) fn compare(case: &Case<'_>, strategy: Strategy) -> Vec<Comparison> {
    let alone = case.blocks(Condition::A, Strategy::Alone);
    let together = case.blocks(Condition::C, strategy);
    let training_alone = case.training_alone(strategy);
    let mut comparisons = Vec::new();
    for (name, metric, quantile) in [
        ("amplification of TTFT p95", series::Latency::TimeToFirstToken, 0.95),
        ("amplification of ITL p95", series::Latency::InterToken, 0.95),
        ("amplification of E2E p95", series::Latency::EndToEnd, 0.95),
    ] {
        let value = |member: &Member<'_>| {
            let series = series::latencies(member.block, metric, None).ok()?;
            stats::quantile(&series, quantile)
                .ok()
                .filter(|value| value.is_finite() && *value > 0.0)
        };
        comparisons.extend(paired(name, strategy, &alone, &together, value));
    }
    let tokens = |member: &Member<'_>| {
        series::finished_per_s(member.block, None, true).filter(|rate| *rate > 0.0)
    };
    comparisons.extend(paired("retention of throughput", strategy, &alone, &together, tokens));
    comparisons.extend(slowdown(strategy, &training_alone, &together));
    comparisons
}

/// Ratio over pairs of blocks that replayed the same arrivals: exp of the mean of ln(C ÷ A).
fn paired(
    name: &str,
    strategy: Strategy,
    alone: &[Member<'_>],
    together: &[Member<'_>],
    value: impl Fn(&Member<'_>) -> Option<f64>,
) -> Option<Comparison> {
    let differences: Vec<f64> = together
        .iter()
        .filter_map(|c| {
            // The partner of the same run is nearer in time than one of another run.
            let partner = |is_own: bool| {
                alone.iter().find(|a| (a.run.id == c.run.id) == is_own && replay_the_same(a, c))
            };
            let a = partner(true).or_else(|| partner(false))?;
            Some((value(c)? / value(a)?).ln()).filter(|difference| difference.is_finite())
        })
        .collect();
    if differences.is_empty() {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let mut random = Pcg64::seed_from_u64(differences.len() as u64);
    let interval = stats::bootstrap_mean_interval(&differences, 0.95, RESAMPLES, &mut random)
        .ok()
        .map(|(low, high)| (low.exp(), high.exp()))
        .filter(|(low, high)| low.is_finite() && high.is_finite());
    Some(Comparison {
        name: name.to_owned(),
        strategy,
        ratio: mean.exp(),
        interval,
        pairs: differences.len() as u32,
    })
}

/// Whether two blocks replayed the same arrivals. Seed and pair number fix the arrivals of a load;
/// the digest is of all pairs of a run, so it differs where two runs planned different numbers of
/// them.
fn replay_the_same(one: &Member<'_>, other: &Member<'_>) -> bool {
    let judged = |member: &Member<'_>| (member.block.judged_from_ns, member.block.judged_until_ns);
    let seeded = || {
        one.run.seed == other.run.seed
            && one.run.load.description == other.run.load.description
            && judged(one) == judged(other)
    };
    one.block.plan.pair == other.block.plan.pair
        && (one.run.id == other.run.id || one.run.load.digest == other.run.load.digest || seeded())
}

/// Mean step together ÷ mean step alone, each over its own blocks.
fn slowdown(
    strategy: Strategy,
    alone: &[Member<'_>],
    together: &[Member<'_>],
) -> Option<Comparison> {
    let means = |members: &[Member<'_>]| -> Vec<f64> {
        members
            .iter()
            .map(|member| series::step_durations(member.block))
            .filter(|steps| !steps.is_empty())
            .map(|steps| steps.iter().sum::<f64>() / steps.len() as f64)
            .collect()
    };
    let (alone, together) = (means(alone), means(together));
    if alone.is_empty() || together.is_empty() {
        return None;
    }
    let ratio = series::mean(&together)? / series::mean(&alone)?;
    if !ratio.is_finite() {
        return None;
    }
    Some(Comparison {
        name: "slowdown of the step".into(),
        strategy,
        ratio,
        interval: None,
        pairs: alone.len().min(together.len()) as u32,
    })
}
