//! Which blocks belong together: by condition, by remedy, and whether they count.

use std::collections::BTreeSet;

use cotenant_core::evidence::{Block, BlockFault, Condition, Remedy, Run, Situation};
use cotenant_core::verdict::{Strategy, Verdict};

use crate::format;
use crate::model::SeriesKind;

/// A block with its run, its condition as shown, and why it is left out, if it is.
#[derive(Clone, Debug)]
pub(super) struct Placed<'a> {
    pub(super) run: &'a Run,
    pub(super) block: &'a Block,
    pub(super) kind: SeriesKind,
    pub(super) rejected: Option<String>,
}

impl Placed<'_> {
    /// The block's short name: `C′ 7`.
    pub(super) fn label(&self) -> String {
        match self.block.plan.situation {
            Situation::Drill => format!("drill {}", self.block.plan.index),
            Situation::Burst => format!("burst {}", self.block.plan.index),
            _ => format!("{} {}", self.kind.letter(), self.block.plan.index),
        }
    }
}

/// Every block of every run, in order of time.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub(super) blocks: Vec<Placed<'a>>,
    /// Drills that are no part of tests A, B and C, in order of time.
    pub(super) drilled: Vec<Placed<'a>>,
}

impl<'a> Pool<'a> {
    /// Orders the blocks of tests A, B and C by time and marks those that the verdict, or a fault of
    /// their own, leaves out. What ran under a stressor, a burst or a fault is shown elsewhere.
    pub(super) fn new(runs: &'a [Run], verdict: &Verdict) -> Self {
        let placed = |is_shown: fn(Situation) -> bool| {
            let mut blocks: Vec<_> = runs
                .iter()
                .flat_map(|run| run.blocks.iter().map(move |block| (run, block)))
                .filter(|(_, block)| is_shown(block.plan.situation))
                .map(|(run, block)| Placed {
                    run,
                    block,
                    kind: kind(block),
                    rejected: rejection(run, block, verdict),
                })
                .collect();
            blocks.sort_by_key(|placed| (placed.block.started, placed.block.plan.index));
            blocks
        };
        Self {
            blocks: placed(Situation::is_ordinary),
            drilled: placed(|situation| matches!(situation, Situation::Drill | Situation::Burst)),
        }
    }

    /// The blocks that count.
    pub(super) fn valid(&self) -> impl Iterator<Item = &Placed<'a>> {
        self.blocks.iter().filter(|placed| placed.rejected.is_none())
    }

    /// The blocks that count, of one condition. A and B under a remedy stand in for plain ones only
    /// where there are no plain ones.
    pub(super) fn of(&self, kind: SeriesKind) -> Vec<&Placed<'a>> {
        let all: Vec<_> = self.valid().filter(|placed| placed.kind == kind).collect();
        let plain: Vec<_> =
            all.iter().copied().filter(|placed| placed.block.plan.remedy.is_none()).collect();
        if kind == SeriesKind::WithRemedy || plain.is_empty() { all } else { plain }
    }

    /// The remedies that were tested with both workloads, in order.
    pub(super) fn remedies(&self, verdict: &Verdict) -> Vec<Remedy> {
        let tested = self
            .blocks
            .iter()
            .filter(|placed| placed.block.plan.condition == Condition::C)
            .filter_map(|placed| placed.block.plan.remedy);
        let judged =
            verdict.gates.iter().flat_map(|gate| &gate.findings).filter_map(
                |finding| match finding.strategy {
                    Strategy::With(remedy) => Some(remedy),
                    Strategy::Alone | Strategy::AsDeclared => None,
                },
            );
        tested.chain(judged).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn kind(block: &Block) -> SeriesKind {
    match (block.plan.condition, block.plan.remedy) {
        (Condition::A, _) => SeriesKind::InferenceAlone,
        (Condition::B, _) => SeriesKind::TrainingAlone,
        (Condition::C, None) => SeriesKind::Together,
        (Condition::C, Some(_)) => SeriesKind::WithRemedy,
    }
}

fn rejection(run: &Run, block: &Block, verdict: &Verdict) -> Option<String> {
    let excluded = verdict.excluded.iter().find(|(id, _)| *id == run.id);
    if let Some((_, reason)) = excluded {
        return Some(format!("its run is left out: {reason}"));
    }
    let rejected = verdict
        .rejected
        .iter()
        .find(|rejected| rejected.run == run.id && rejected.index == block.plan.index);
    if let Some(rejected) = rejected {
        return Some(rejected.reason.clone());
    }
    let faults: Vec<_> = block.faults.iter().map(fault).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// A fault in words.
pub(super) fn fault(fault: &BlockFault) -> String {
    match fault {
        BlockFault::Steal { cores, cores_max } => format!(
            "the hypervisor took {} cores away (limit {})",
            format::trimmed(*cores),
            format::trimmed(*cores_max)
        ),
        BlockFault::ForeignCpu { cores, cores_max } => format!(
            "other processes used {} cores (limit {})",
            format::trimmed(*cores),
            format::trimmed(*cores_max)
        ),
        BlockFault::ForeignGpu(what) => format!("another process used the GPU: {what}"),
        BlockFault::ClientLate { lateness_p99_s, lateness_max_s } => format!(
            "the load client was late: p99 {} (limit {})",
            format::time(*lateness_p99_s),
            format::round_time(*lateness_max_s)
        ),
        BlockFault::Guarded { objective, .. } => {
            format!("stopped by the guard: {objective} was broken beyond its bound")
        }
        BlockFault::Incomplete(reason) => format!("incomplete: {reason}"),
    }
}
