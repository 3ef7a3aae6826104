//! A waiting queue that grows through a block is overload: latencies then grow with the length of
//! the test, and a percentile of them means nothing.

use crate::stats;

use super::findings::{Case, open};
use super::pool::{Member, Pool};
use super::{Finding, Ruling, Sample, Strategy};

/// A p-value below which a block's queue is taken to grow.
const GROWTH_P: f64 = 0.01;

/// Whether inference was overloaded in most of these blocks.
pub(super) fn overload(
    case: &Case<'_>,
    members: &[Member<'_>],
    strategy: Strategy,
) -> Option<Finding> {
    let growing: Vec<f64> = members.iter().filter_map(growth_per_s).collect();
    if growing.len() * 2 <= members.len() {
        return None;
    }
    let name = case.inference.map_or("inference", |(workload, _)| workload.name.as_str());
    let mut finding = open(format!("{name}: overload"), strategy);
    finding.ruling = Ruling::Fail;
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    finding.sample = Sample {
        count: members.len() as u64,
        effective: members.len() as f64,
        blocks: members.len() as u32,
    };
    let growth = growing.iter().sum::<f64>() / growing.len() as f64;
    let backlog = members
        .iter()
        .filter_map(|member| member.block.engine_waiting.last())
        .map(|(_, waiting)| *waiting)
        .fold(0.0, f64::max);
    let asked = members.last().map_or(0.0, |member| member.run.load.rate_per_s);
    let served = (asked - growth).max(0.0);
    finding.explanation = format!(
        "the waiting queue grows through {} of {} blocks, by {growth:.2} requests a second, to \
         {backlog:.0}: {asked:.2} req/s are asked and about {served:.2} served, so no percentile \
         has a meaning",
        growing.len(),
        members.len()
    );
    Some(finding)
}

/// Growth of the waiting queue in a block, requests per second; `None` where it does not grow.
///
/// Beside the test (with the correction for autocorrelation), the growth must be a request or more
/// over the judged interval: an overload that adds less is none that a test of this length can tell.
fn growth_per_s(member: &Member<'_>) -> Option<f64> {
    let block = member.block;
    let (times_s, counts): (Vec<f64>, Vec<f64>) = block
        .engine_waiting
        .iter()
        .filter(|(at_ns, _)| (block.judged_from_ns..block.judged_until_ns).contains(at_ns))
        .map(|(at_ns, count)| (*at_ns as f64 / 1e9, *count))
        .unzip();
    let trend = stats::mann_kendall_at(&times_s, &counts).ok()?;
    let span_s = times_s.last()? - times_s.first()?;
    let grows = trend.p_increasing_corrected < GROWTH_P && trend.slope * span_s >= 1.0;
    grows.then_some(trend.slope)
}
