//! The capacity that a site's evidence shows, and which looks do not count for it any more.

use super::estimate::{CapacityEstimate, estimate};
use super::look::{Look, look};
use crate::evidence::{Aspect, Block, Fingerprint, Run, Situation, TestedLoad};
use crate::site::{Inference, Site, TokenCounts, Workload};
use crate::verdict::{Expected, load_words};

/// Relative difference of two lengths below which they are taken to be the same.
const LENGTH_TOLERANCE: f64 = 0.25;

/// What the evidence says of the capacity of one inference workload.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCapacity {
    /// The workload.
    pub workload: String,
    /// What the looks say; `None` where none of them counts.
    pub estimate: Option<CapacityEstimate>,
    /// GPUs of the engine under test, as the site declares them: those of a replica, else those that
    /// the workload always has.
    pub gpus: Option<f64>,
    /// Runs with looks that count.
    pub runs: Vec<String>,
    /// Looks that were rejected for causes outside, over the runs that count.
    pub rejected: u32,
    /// Runs whose looks do not count, each with the reason.
    pub stale: Vec<StaleLooks>,
}

/// A run whose looks do not count any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleLooks {
    /// The run.
    pub run: String,
    /// What differs.
    pub why: String,
}

/// The measured capacities of a site, for each inference workload that was searched, in the order of
/// the file. Looks of one stack and one kind of load pool over runs; those of another are named.
pub fn measured(site: &Site, runs: &[Run]) -> Vec<MeasuredCapacity> {
    site.inference()
        .filter_map(|(workload, inference)| of_workload(site, workload, inference, runs))
        .collect()
}

fn is_look(block: &Block) -> bool {
    matches!(block.plan.situation, Situation::Search(_))
}

fn of_workload(
    site: &Site,
    workload: &Workload,
    inference: &Inference,
    runs: &[Run],
) -> Option<MeasuredCapacity> {
    let mut about: Vec<&Run> = runs
        .iter()
        .filter(|run| run.inference == workload.name && run.origin.proves_performance())
        .collect();
    about.sort_by_key(|run| (run.started, &run.id));
    let searched: Vec<&Run> =
        about.iter().copied().filter(|run| run.blocks.iter().any(is_look)).collect();
    if searched.is_empty() {
        return None;
    }
    let newest = about.iter().rev().find(|run| !run.blocks.is_empty());
    let expected = Expected::new(site, Some((workload, inference)), None, None);
    let (mut looks, mut counted, mut stale, mut rejected) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for run in searched {
        if let Some(why) = differs(run, inference, &expected, newest.map(|run| &run.fingerprint)) {
            stale.push(StaleLooks { run: run.id.clone(), why });
            continue;
        }
        let before = looks.len();
        for block in run.blocks.iter().filter(|block| is_look(block)) {
            if block.is_valid() {
                looks.push(look_of(workload, inference, run, block));
            } else {
                rejected += 1;
            }
        }
        if looks.len() > before {
            counted.push(run.id.clone());
        }
    }
    let declared = inference.capacity.as_ref().map(|capacity| capacity.gpus);
    let allocated = workload.allocation.as_ref().and_then(|allocation| allocation.normal);
    Some(MeasuredCapacity {
        workload: workload.name.clone(),
        estimate: estimate(&looks),
        gpus: declared.or(allocated),
        runs: counted,
        rejected,
        stale,
    })
}

/// One block of a run as a look. In a run of a search the load's rate is that of factor 1.
fn look_of(workload: &Workload, inference: &Inference, run: &Run, block: &Block) -> Look {
    look(workload, inference, block, block.load_factor * run.load.rate_per_s)
}

/// Why a run's looks say nothing of the site as it is: another stack than is declared, or than was
/// seen last, or a load of another kind. The declared rate may change: looks have rates of their own.
fn differs(
    run: &Run,
    inference: &Inference,
    expected: &Expected,
    newest: Option<&Fingerprint>,
) -> Option<String> {
    let mut differences = expected.differences(&run.fingerprint, Aspect::stales_inference);
    let value = |value: Option<&str>| value.unwrap_or("not observed").to_owned();
    for (aspect, there, now) in
        newest.map(|newest| run.fingerprint.differences(newest)).unwrap_or_default()
    {
        if aspect.stales_inference() {
            differences.push(format!("{aspect}: {} there, {} now", value(there), value(now)));
        }
    }
    let description = run.load.description.to_lowercase();
    let other: Vec<String> = load_words(&inference.demand)
        .into_iter()
        .filter(|word| !word.starts_with("rate factor"))
        .filter(|word| !description.contains(&word.to_lowercase()))
        .collect();
    if !other.is_empty() {
        differences.push(format!(
            "the load was «{}», {} is declared",
            run.load.description,
            other.join(", ")
        ));
    }
    differences.extend(lengths(&run.load, inference));
    (!differences.is_empty()).then(|| differences.join("; "))
}

fn lengths(load: &TestedLoad, inference: &Inference) -> Vec<String> {
    let far = |one: u32, other: u32| {
        let (one, other) = (f64::from(one), f64::from(other));
        (one - other).abs() > LENGTH_TOLERANCE * one.max(other)
    };
    let differs = |name: &str, there: (u32, u32), declared: Option<TokenCounts>| {
        let declared = declared?;
        (far(there.0, declared.p50) || far(there.1, declared.p95)).then(|| {
            format!(
                "{name} tokens were p50 {} p95 {}, p50 {} p95 {} are declared",
                there.0, there.1, declared.p50, declared.p95
            )
        })
    };
    let prompt = (load.prompt_tokens_p50, load.prompt_tokens_p95);
    let output = (load.output_tokens_p50, load.output_tokens_p95);
    [
        differs("prompt", prompt, inference.prompt_tokens),
        differs("output", output, inference.output_tokens),
    ]
    .into_iter()
    .flatten()
    .collect()
}
