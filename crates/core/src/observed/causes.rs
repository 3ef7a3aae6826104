//! What differed between conditions beside the neighbour, told as a possible cause of what was
//! measured. A cause explains; it neither passes nor fails, and it removes no block.

use std::collections::BTreeSet;

use crate::evidence::{Block, Condition, GpuSample, Reading};
use crate::stats;

/// Relative difference of mean clocks from which conditions are not at equal clock state.
const CLOCK_DIFFERENCE: f64 = 0.03;
/// Utilisation below which a GPU counts as idle.
const IDLE_SHARE: f64 = 0.05;
/// Share of a GPU's highest clock below which it has ramped down.
const RAMPED_DOWN: f64 = 0.7;
/// Share of readings from which a state is worth a sentence.
const WORTH_TELLING: f64 = 0.05;
/// A p-value below which a clock is taken to fall through a block.
const SLOPE_P: f64 = 0.01;

/// The causes that the readings of valid blocks show, as sentences without a full stop.
pub fn causes(blocks: &[&Block]) -> Vec<String> {
    let of = |condition: Condition| -> Vec<&Block> {
        blocks.iter().copied().filter(|block| block.plan.condition == condition).collect()
    };
    let (alone, training, together) = (of(Condition::A), of(Condition::B), of(Condition::C));
    let mut causes = Vec::new();
    let uuids: BTreeSet<&str> = blocks
        .iter()
        .flat_map(|block| &block.observed.gpus)
        .map(|sample| sample.uuid.as_str())
        .collect();
    for uuid in uuids {
        let gpu = format!("SM clock of {uuid}");
        let clocks = |blocks: &[&Block]| values(blocks, uuid, |s| s.sm_clock_mhz.clone());
        causes.extend(difference(&gpu, &clocks(&alone), &clocks(&together)));
        causes.extend(ramp_down(uuid, &alone, &together));
        let falls = training.iter().filter_map(|block| {
            fall(&values(&[block], uuid, |sample| sample.sm_clock_mhz.clone()))
        });
        causes.extend(falling(&gpu, &falls.collect::<Vec<_>>(), training.len()));
    }
    let cpu = |blocks: &[&Block]| -> Vec<f64> {
        let samples = blocks.iter().flat_map(|block| {
            let judged = block.judged_from_ns..block.judged_until_ns;
            block.host.iter().filter(move |sample| judged.contains(&sample.at_ns))
        });
        samples.filter_map(|sample| sample.cpu_clock_mhz.clone().ok()).collect()
    };
    causes.extend(difference("CPU clock", &cpu(&alone), &cpu(&together)));
    for (letter, blocks) in [("A", &alone), ("B", &training), ("C", &together)] {
        causes.extend(held_down(letter, blocks));
        causes.extend(throttled(letter, blocks));
    }
    causes
}

/// The judged readings of one GPU.
fn judged<'b>(blocks: &[&'b Block], uuid: &str) -> Vec<&'b GpuSample> {
    let of_block = |block: &&'b Block| {
        let judged = block.judged_from_ns..block.judged_until_ns;
        block
            .observed
            .gpus
            .iter()
            .filter(move |sample| sample.uuid == uuid && judged.contains(&sample.at_ns))
    };
    blocks.iter().flat_map(of_block).collect()
}

fn values(blocks: &[&Block], uuid: &str, read: fn(&GpuSample) -> Reading<f64>) -> Vec<f64> {
    judged(blocks, uuid).into_iter().filter_map(|sample| read(sample).ok()).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A and C compare the neighbour's effect only at equal clocks.
fn difference(what: &str, alone: &[f64], together: &[f64]) -> Option<String> {
    let (alone, together) = (mean(alone)?, mean(together)?);
    let change = together / alone - 1.0;
    (change.is_finite() && change.abs() >= CLOCK_DIFFERENCE).then(|| {
        let way = if change < 0.0 { "below" } else { "above" };
        format!(
            "the {what} was {together:.0} MHz in C, {} {way} its {alone:.0} MHz in A: part of what \
             differs between them is the clock's",
            percent(change.abs())
        )
    })
}

/// A GPU that idles between requests lowers its clock, and the first tokens after pay for it: beside
/// a busy neighbour inference may then look better than alone.
fn ramp_down(uuid: &str, alone: &[&Block], together: &[&Block]) -> Option<String> {
    let both: Vec<&Block> = alone.iter().chain(together).copied().collect();
    let highest =
        values(&both, uuid, |s| s.sm_clock_mhz.clone()).into_iter().fold(0.0_f64, f64::max);
    let low = |blocks: &[&Block]| -> Option<f64> {
        let samples = judged(blocks, uuid);
        let known: Vec<bool> = samples
            .iter()
            .filter_map(|sample| {
                let clock = sample.sm_clock_mhz.clone().ok()?;
                let used = sample.utilization_share.clone().ok()?;
                Some(used < IDLE_SHARE && clock < RAMPED_DOWN * highest)
            })
            .collect();
        let low = known.iter().filter(|low| **low).count();
        (!known.is_empty()).then(|| low as f64 / known.len() as f64)
    };
    let (alone, together) = (low(alone)?, low(together).unwrap_or(0.0));
    (alone >= WORTH_TELLING && alone > 2.0 * together).then(|| {
        format!(
            "{uuid} was idle with its clock ramped down in {} of the readings of A and in {} of C: \
             requests after a pause start slower alone, so C may look better than it is",
            percent(alone),
            percent(together)
        )
    })
}

/// How far a clock falls through a block, as a share of where it began; `None` where it does not.
fn fall(clocks: &[f64]) -> Option<f64> {
    let falling: Vec<f64> = clocks.iter().map(|clock| -clock).collect();
    let trend = stats::mann_kendall(&falling).ok()?;
    let quarter = (clocks.len() / 4).max(1);
    let first = mean(&clocks[..quarter])?;
    let last = mean(&clocks[clocks.len() - quarter..])?;
    let fall = 1.0 - last / first;
    (trend.p_increasing_corrected < SLOPE_P && fall >= CLOCK_DIFFERENCE).then_some(fall)
}

fn falling(what: &str, falls: &[f64], blocks: usize) -> Option<String> {
    let most = falls.iter().copied().reduce(f64::max)?;
    (2 * falls.len() > blocks).then(|| {
        format!(
            "the {what} still falls through {} of {blocks} blocks of test B, by up to {}: a short \
             test B overstates what a long job gets",
            falls.len(),
            percent(most)
        )
    })
}

/// Clocks that something holds down, by its name.
fn held_down(letter: &str, blocks: &[&Block]) -> Option<String> {
    let samples: Vec<&Vec<String>> = blocks
        .iter()
        .flat_map(|block| {
            let judged = block.judged_from_ns..block.judged_until_ns;
            block.observed.gpus.iter().filter(move |sample| judged.contains(&sample.at_ns))
        })
        .filter_map(|sample| sample.clocks_limited_by.as_ref().ok())
        .collect();
    let held = samples.iter().filter(|causes| !causes.is_empty()).count();
    let share = held as f64 / samples.len().max(1) as f64;
    let names: BTreeSet<&str> =
        samples.iter().flat_map(|causes| causes.iter().map(String::as_str)).collect();
    (share >= WORTH_TELLING).then(|| {
        let names: Vec<&str> = names.into_iter().collect();
        format!(
            "GPU clocks were held down in {} of the readings of {letter} ({})",
            percent(share),
            names.join(", ")
        )
    })
}

/// A CPU limit that was hit.
fn throttled(letter: &str, blocks: &[&Block]) -> Option<String> {
    let seen: Vec<_> = blocks
        .iter()
        .flat_map(|block| {
            let judged = block.judged_from_ns..block.judged_until_ns;
            block.host.iter().filter(move |sample| judged.contains(&sample.at_ns))
        })
        .filter_map(|sample| sample.cgroup_cpu.as_ref().ok())
        .collect();
    let share = seen.iter().map(|cpu| cpu.throttled_share).sum::<f64>() / seen.len().max(1) as f64;
    let quota = seen.iter().find_map(|cpu| cpu.quota_cores)?;
    (share > 0.0).then(|| {
        format!(
            "the control group's CPU limit of {quota:.2} cores throttled in {:.1} % of the periods of \
             {letter}",
            100.0 * share
        )
    })
}
