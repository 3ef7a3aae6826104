//! What each checkpoint took besides its own time: whether steps went on, how long they visibly stood
//! still, and the host memory and CPU that it added.

use crate::evidence::{Block, CheckpointRecord, HostSample};
use crate::stats::quantile;

/// How a checkpoint was written, as the steps around it show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckpointKind {
    /// No step was finished while it was written.
    Synchronous,
    /// Steps went on, after a visible stall.
    Asynchronous,
    /// Steps went on as if nothing were.
    Staged,
    /// It took less than a step, so that the steps do not show it.
    Unclear,
}

impl CheckpointKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Synchronous, Self::Asynchronous, Self::Staged, Self::Unclear];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
            Self::Staged => "staged in the background",
            Self::Unclear => "shorter than a step",
        }
    }

    /// Whether training went on; `None` where it was not seen.
    pub fn is_asynchronous(self) -> Option<bool> {
        match self {
            Self::Synchronous => Some(false),
            Self::Asynchronous | Self::Staged => Some(true),
            Self::Unclear => None,
        }
    }
}

/// What one checkpoint took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckpointLook {
    /// How it was written.
    pub kind: CheckpointKind,
    /// How long it took, as the trainer printed it, seconds.
    pub duration_s: f64,
    /// How much longer than a median step the longest gap between two steps around it was, seconds;
    /// `None` where there are no steps on both sides.
    pub stall_s: Option<f64>,
    /// Most memory of the trainer while it was written, above what it had before, bytes.
    pub host_memory_bytes: Option<u64>,
    /// CPU of the trainer while it was written, above what it used before, cores.
    pub cpu_cores: Option<f64>,
}

impl CheckpointLook {
    /// What it costs the job: the whole time where steps stood still, else the visible stall, seconds.
    pub fn cost_s(&self) -> f64 {
        match self.kind {
            CheckpointKind::Asynchronous | CheckpointKind::Staged => {
                self.stall_s.unwrap_or(self.duration_s)
            }
            CheckpointKind::Synchronous | CheckpointKind::Unclear => self.duration_s,
        }
    }
}

/// Share of a median step below which a longer gap is no visible stall.
const STALL_SHARE: f64 = 0.5;
/// How long before a checkpoint readings of the host are taken for what was there before, seconds.
const BEFORE_S: f64 = 6.0;
/// How long after it a reading still belongs to it: readings come once a second.
const AFTER_S: f64 = 1.1;

/// Looks at every checkpoint of a block that its trainer wrote beside its steps. `trainer` is the name
/// under which the host's readings know it.
pub fn checkpoint_looks(block: &Block, trainer: &str) -> Vec<CheckpointLook> {
    let signal_ns = block.drill.as_ref().map_or(u64::MAX, |drill| drill.signal_ns);
    let ends: Vec<f64> = block.steps.iter().map(|step| step.at_ns as f64 / 1e9).collect();
    let gaps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Ok(median_s) = quantile(&gaps, 0.5) else { return Vec::new() };
    // The one that a stop asks for has no steps behind it, and is a part of the drill.
    let beside = block.checkpoints.iter().filter(|checkpoint| checkpoint.at_ns < signal_ns);
    beside.map(|checkpoint| look(checkpoint, &ends, median_s, &block.host, trainer)).collect()
}

fn look(
    checkpoint: &CheckpointRecord,
    ends: &[f64],
    median_s: f64,
    host: &[HostSample],
    trainer: &str,
) -> CheckpointLook {
    let end_s = checkpoint.at_ns as f64 / 1e9;
    let begin_s = end_s - checkpoint.duration_s.max(0.0);
    let inside = ends.iter().filter(|at_s| (begin_s..end_s).contains(*at_s)).count();
    let around = ends.windows(2).filter(|pair| pair[0] < end_s && pair[1] > begin_s);
    let longest_s = around.map(|pair| pair[1] - pair[0]).reduce(f64::max);
    let stall_s = longest_s.map(|longest_s| (longest_s - median_s).max(0.0));
    let kind = match (inside, stall_s) {
        (0, _) if checkpoint.duration_s < median_s => CheckpointKind::Unclear,
        (0, _) => CheckpointKind::Synchronous,
        (_, Some(stall_s)) if stall_s > STALL_SHARE * median_s => CheckpointKind::Asynchronous,
        (_, _) => CheckpointKind::Staged,
    };
    let at_s = |sample: &&HostSample| sample.at_ns as f64 / 1e9;
    let within = |from_s: f64, until_s: f64| {
        host.iter().filter(move |sample| (from_s..until_s).contains(&at_s(sample)))
    };
    let memory = |sample: &HostSample| of(&sample.workload_memory_bytes, trainer);
    let cores = |sample: &HostSample| of(&sample.workload_cpu_cores, trainer);
    let before: Vec<u64> = within(begin_s - BEFORE_S, begin_s).filter_map(memory).collect();
    let during = within(begin_s, end_s + AFTER_S).filter_map(memory).max();
    let mean = |values: Vec<f64>| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let cpu_before = mean(within(begin_s - BEFORE_S, begin_s).filter_map(cores).collect());
    let cpu_during = mean(within(begin_s, end_s + AFTER_S).filter_map(cores).collect());
    CheckpointLook {
        kind,
        duration_s: checkpoint.duration_s,
        stall_s,
        host_memory_bytes: during
            .zip(before.last().copied())
            .map(|(during, before)| during.saturating_sub(before)),
        cpu_cores: cpu_during.zip(cpu_before).map(|(during, before)| during - before),
    }
}

/// A reading of one workload.
fn of<T: Copy, E>(readings: &[(String, Result<T, E>)], workload: &str) -> Option<T> {
    let (_, reading) = readings.iter().find(|(name, _)| name == workload)?;
    reading.as_ref().ok().copied()
}
