//! The phases of the neighbour that blocks of test C were in, weighted as they occur in production.
//!
//! A block of length L contains a checkpoint with probability min(1, L ÷ declared interval). A phase
//! that no block was in keeps its place, empty, so that it can make no pass.

use crate::evidence::{Condition, Phase};
use crate::site::CheckpointInterval;
use crate::stats::{BlockMisses, Stratum};

use super::findings::{Case, Percent, Seconds};
use super::pool::Member;
use super::{Missing, series};

/// A phase that takes less of production than this is folded into the other: a hundredth of the
/// blocks can hold no more than a hundredth of the misses.
const STEADY_SHARE_MIN: f64 = 0.01;

/// The blocks of one phase, by their place among the members.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PhaseBlocks {
    pub(super) name: &'static str,
    pub(super) weight: f64,
    pub(super) places: Vec<usize>,
}

/// How blocks are weighted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phases {
    /// Each way of weighting that must pass by itself. Two where production has a checkpoint in
    /// every block and some of the blocks had none: those that had one, and all.
    pub(super) ways: Vec<Vec<PhaseBlocks>>,
    /// Why nothing can pass, whatever the blocks say.
    pub(super) obstacle: Option<(String, Missing)>,
}

impl Phases {
    /// Sorts the blocks of a condition.
    pub(super) fn new(case: &Case<'_>, condition: Condition, members: &[Member<'_>]) -> Self {
        let all = || vec![PhaseBlocks { name: "all blocks", weight: 1.0, places: every(members) }];
        let (Condition::C, Some(training)) = (condition, case.training) else {
            return Self { ways: vec![all()], obstacle: None };
        };
        if case.renders() {
            // A frame is saved by itself: there is no time with and without a checkpoint.
            return Self { ways: vec![all()], obstacle: None };
        }
        let declared = training.checkpoint.as_ref().and_then(|checkpoint| checkpoint.interval);
        let Some(interval_s) = declared.and_then(|interval| seconds(interval, members)) else {
            let what = if declared.is_some() {
                "no step was seen, so a checkpoint interval in steps has no length in time"
            } else {
                "the site does not say how often the neighbour saves, so blocks with and without \
                 a checkpoint cannot be weighted"
            };
            let missing = case.declare(
                "how often the neighbour saves (its whole length, where it never does)",
                "checkpoint: { interval: 30 min }",
            );
            return Self { ways: vec![all()], obstacle: Some((what.into(), missing)) };
        };
        if never_saves(declared, training.steps, interval_s, members) {
            return Self { ways: vec![all()], obstacle: None };
        }
        let judged_s = members.iter().map(|member| member.block.judged_s()).sum::<f64>()
            / members.len().max(1) as f64;
        let with = (judged_s / interval_s).clamp(0.0, 1.0);
        let places = |phase: Phase| -> Vec<usize> {
            every(members)
                .into_iter()
                .filter(|place| members[*place].block.observed_phase() == phase)
                .collect()
        };
        let blocks = |phase: Phase, weight: f64| PhaseBlocks {
            name: phase.name(),
            weight,
            places: places(phase),
        };
        let ways = if with > 1.0 - STEADY_SHARE_MIN {
            let saving = vec![blocks(Phase::Checkpoint, 1.0)];
            if saving[0].places.len() == members.len() { vec![saving] } else { vec![saving, all()] }
        } else if with > 0.0 {
            vec![vec![blocks(Phase::Steady, 1.0 - with), blocks(Phase::Checkpoint, with)]]
        } else {
            vec![all()]
        };
        let obstacle = ways[0].iter().find(|phase| phase.places.is_empty()).map(|phase| {
            let what = format!(
                "no block of test C was seen {}, which {} of such blocks are (a checkpoint each {})",
                in_phase(phase.name),
                Percent(phase.weight),
                Seconds(interval_s)
            );
            let missing = case.measure(
                "a,c",
                format!("blocks of test C {}", in_phase(phase.name)),
                Some(4.0 * case.pair_minutes()),
            );
            (what, missing)
        });
        Self { ways, obstacle }
    }

    /// The strata of each way, from what each member missed. `None` for a block that says nothing.
    pub(super) fn strata(&self, misses: &[Option<BlockMisses>]) -> Vec<Vec<Stratum>> {
        let stratum = |phase: &PhaseBlocks| Stratum {
            name: phase.name.to_owned(),
            weight: phase.weight,
            blocks: phase.places.iter().filter_map(|place| misses[*place]).collect(),
        };
        self.ways.iter().map(|way| way.iter().map(stratum).collect()).collect()
    }

    /// The weights and values of each way, from one value of each member.
    pub(super) fn means(&self, values: &[f64]) -> Vec<Vec<(f64, Vec<f64>)>> {
        let one = |phase: &PhaseBlocks| {
            (phase.weight, phase.places.iter().map(|place| values[*place]).collect())
        };
        self.ways.iter().map(|way| way.iter().map(one).collect()).collect()
    }
}

fn in_phase(name: &str) -> &str {
    if name == Phase::Steady.name() { "with steps only" } else { name }
}

fn every(members: &[Member<'_>]) -> Vec<usize> {
    (0..members.len()).collect()
}

/// The interval in seconds. One in steps is turned into time by the measured rate of steps.
fn seconds(interval: CheckpointInterval, members: &[Member<'_>]) -> Option<f64> {
    match interval {
        CheckpointInterval::Time(time) => Some(time.as_secs_f64()).filter(|s| *s > 0.0),
        CheckpointInterval::Steps(steps) => {
            let rates: Vec<f64> =
                members.iter().filter_map(|member| series::steps_per_s(member.block)).collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            Some(steps as f64 / mean).filter(|s| s.is_finite() && *s > 0.0)
        }
    }
}

/// Whether the interval is at least as long as the whole job.
fn never_saves(
    interval: Option<CheckpointInterval>,
    steps: Option<u64>,
    interval_s: f64,
    members: &[Member<'_>],
) -> bool {
    let Some(steps) = steps else { return false };
    match interval {
        Some(CheckpointInterval::Steps(interval)) => interval >= steps,
        Some(CheckpointInterval::Time(_)) => {
            seconds(CheckpointInterval::Steps(steps), members).is_some_and(|job| interval_s >= job)
        }
        None => false,
    }
}
