//! A queue that grows through a block is overload: latencies then grow with the length of the test,
//! and a percentile of them means nothing.

use crate::evidence::Block;
use crate::site::Demand;
use crate::stats;

use super::findings::{Case, open};
use super::pool::{Member, Pool};
use super::{Finding, Ruling, Sample, Strategy, series};

/// A p-value below which a block's queue is taken to grow.
const GROWTH_P: f64 = 0.01;

/// How a block's queue grows.
pub(crate) struct Growth {
    /// Requests per second.
    pub(crate) per_s: f64,
    /// Requests that wait (or are open) at the end of the judged interval.
    pub(crate) backlog: f64,
}

/// Whether inference was overloaded in most of these blocks.
pub(super) fn overload(
    case: &Case<'_>,
    members: &[Member<'_>],
    strategy: Strategy,
) -> Option<Finding> {
    // Under a ramp a queue may grow because the rate does.
    if case.inference.is_some_and(|(_, inf)| matches!(inf.demand, Demand::Ramp { .. })) {
        return None;
    }
    let growing: Vec<Growth> = members.iter().filter_map(|member| growth(member.block)).collect();
    if growing.len() * 2 <= members.len() {
        return None;
    }
    let name = case.inference.map_or("inference", |(workload, _)| workload.name.as_str());
    let mut finding = open(format!("{name}: overload"), strategy);
    finding.ruling = Ruling::Fail;
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    let requests: usize = members.iter().map(|m| m.block.judged_requests().count()).sum();
    finding.sample = Sample {
        count: requests as u64,
        effective: members.len() as f64,
        blocks: members.len() as u32,
    };
    let per_s = growing.iter().map(|growth| growth.per_s).sum::<f64>() / growing.len() as f64;
    let backlog = growing.iter().map(|growth| growth.backlog).fold(0.0, f64::max);
    let asked: Vec<f64> =
        members.iter().filter_map(|member| series::asked_per_s(member.block, None)).collect();
    let asked = series::mean(&asked).unwrap_or(0.0);
    finding.explanation = format!(
        "the queue grows through {} of {} blocks, by {per_s:.2} requests a second, to a backlog of \
         {backlog:.0}: {asked:.2} req/s are asked for and about {:.2} served, so no percentile has \
         a meaning",
        growing.len(),
        members.len(),
        (asked - per_s).max(0.0)
    );
    Some(finding)
}

/// Growth of the queue in a block, by the engine's own count of waiting requests, else by the
/// requests that are open; `None` where it does not grow.
///
/// Beside the test (with the correction for autocorrelation), the growth must be more than chance
/// can tell over the judged interval: a request that waits, or several that are open and a quarter of
/// those that are open at the end.
pub(crate) fn growth(block: &Block) -> Option<Growth> {
    let waiting: Vec<(f64, f64)> = block
        .engine_waiting
        .iter()
        .filter(|(at_ns, _)| (block.judged_from_ns..block.judged_until_ns).contains(at_ns))
        .map(|(at_ns, count)| (*at_ns as f64 / 1e9, *count))
        .collect();
    let known = !block.engine_waiting.is_empty();
    let series = if known { waiting } else { series::in_flight(block) };
    let (times_s, counts): (Vec<f64>, Vec<f64>) = series.into_iter().unzip();
    let trend = stats::mann_kendall_at(&times_s, &counts).ok()?;
    let grown = trend.slope * (times_s.last()? - times_s.first()?);
    let backlog = *counts.last()?;
    let least = if known { 1.0 } else { (0.25 * backlog).max(4.0) };
    let grows = trend.p_increasing_corrected < GROWTH_P && grown >= least;
    grows.then_some(Growth { per_s: trend.slope, backlog })
}
