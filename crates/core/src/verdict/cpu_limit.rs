//! Inference that its CPU limit holds back: it waits for CPU while its GPUs idle, and what the GPUs
//! have left is no capacity to lend.

use crate::evidence::{Block, Condition};

use super::findings::{Case, Percent, open};
use super::pool::{Member, Pool};
use super::{Finding, Missing, Ruling, Sample, Strategy, series};

/// Share of the enforcement periods from which inference counts as held back. Less comes of threads
/// that start together, whatever the load.
const THROTTLED_MIN: f64 = 0.01;

/// What a CPU limit that throttles inference alone means for a neighbour. `findings` are those of
/// the objectives.
///
/// It fails where inference does not keep its objectives even alone, is open where only sharing is
/// not proven, and is silent where tests A and C hold all the same (the report then tells it as a
/// cause). An engine that was found running has a control group of its own, which is not read.
pub(super) fn cpu_limit(
    case: &Case<'_>,
    strategy: Strategy,
    findings: &[Finding],
) -> Option<Finding> {
    let (workload, _) = case.inference?;
    let members: Vec<Member<'_>> = case
        .blocks(Condition::A, Strategy::Alone)
        .into_iter()
        .filter(|member| member.run.engine_supervised)
        .collect();
    let (share, quota_cores) = throttled(&members)?;
    if share < THROTTLED_MIN {
        return None;
    }
    let hold = |strategy: Strategy| {
        let mut of = findings.iter().filter(|f| f.strategy == strategy && f.target.is_some());
        let first = of.next().is_some_and(|finding| finding.ruling == Ruling::Pass);
        first && of.all(|finding| finding.ruling == Ruling::Pass)
    };
    if hold(Strategy::Alone) && hold(strategy) {
        return None;
    }
    let mut finding = open(format!("{}: CPU limit", workload.name), strategy);
    if !hold(Strategy::Alone) {
        finding.ruling = Ruling::Fail;
    }
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    finding.sample = Sample {
        count: members.iter().map(|m| judged(m.block).count() as u64).sum(),
        effective: members.len() as f64,
        blocks: members.len() as u32,
    };
    let busy = utilisation(&members).map_or(String::new(), |busy| {
        format!(" while its GPUs were busy {} of the time", Percent(busy))
    });
    finding.explanation = format!(
        "even alone its CPU limit of {quota_cores:.2} cores throttles it in {} of the \
         periods{busy}: it waits for CPU, so what the GPUs have left is no capacity to lend, and \
         nothing may be added until cpu.stat counts no throttling",
        Percent(share)
    );
    finding.missing.push(Missing {
        what:
            "enough CPU for inference: a higher limit, less CPU for each token (without penalties \
               or log probabilities), or another version of the engine"
                .into(),
        remedy: format!(
            "raise the CPU limit (cpu.max) until nr_throttled of cpu.stat stands still, then \
             cotenant measure {} --tests a",
            case.site_file
        ),
        minutes: Some(6.0 * case.pair_minutes() / 2.0),
    });
    Some(finding)
}

fn judged(block: &Block) -> impl Iterator<Item = &crate::evidence::HostSample> {
    let judged = block.judged_from_ns..block.judged_until_ns;
    block.host.iter().filter(move |sample| judged.contains(&sample.at_ns))
}

/// Mean share of throttled periods, and the limit; `None` where there is no limit, or it is not seen.
fn throttled(members: &[Member<'_>]) -> Option<(f64, f64)> {
    let limited: Vec<(f64, f64)> = members
        .iter()
        .flat_map(|member| judged(member.block))
        .filter_map(|sample| sample.cgroup_cpu.as_ref().ok())
        .filter_map(|cpu| Some((cpu.throttled_share, cpu.quota_cores?)))
        .collect();
    let shares: Vec<f64> = limited.iter().map(|(share, _)| *share).collect();
    Some((series::mean(&shares)?, limited.last()?.1))
}

/// Mean utilisation of the GPUs that were in use at all.
fn utilisation(members: &[Member<'_>]) -> Option<f64> {
    let shares: Vec<f64> = members
        .iter()
        .flat_map(|member| {
            let block = member.block;
            let judged = block.judged_from_ns..block.judged_until_ns;
            block.observed.gpus.iter().filter(move |sample| judged.contains(&sample.at_ns))
        })
        .filter_map(|sample| sample.utilization_share.clone().ok())
        .filter(|share| *share > 0.0)
        .collect();
    series::mean(&shares)
}
