//! What the store takes and gives beside core's own types.

use std::collections::BTreeMap;

use cotenant_core::evidence::{Fingerprint, Origin, Pilot, PlannedBlock, Remedy, Run, TestedLoad};
use jiff::Timestamp;

use super::EvidenceError;

/// Everything that is fixed before a run's first block, and therefore written before it. The fields
/// that [`Run`] has too mean the same here.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// When the run began; names its folder.
    pub started: Timestamp,
    /// Measured here, or imported.
    pub origin: Origin,
    /// Name of the inference workload.
    pub inference: String,
    /// Name of the neighbour; empty in a run of A alone.
    pub neighbour: String,
    /// Seed of the schedule, arrivals and lengths.
    pub seed: u64,
    /// The stack as far as it is known before the first block. Aspects that only a running process
    /// can tell are added later with [`RunWriter::add_fingerprint`](super::RunWriter::add_fingerprint).
    pub fingerprint: Fingerprint,
    /// The load.
    pub load: TestedLoad,
    /// The pilot.
    pub pilot: Pilot,
    /// Remedies whose blocks are in the schedule.
    pub remedies: Vec<Remedy>,
    /// Whether inference is started by the run.
    pub engine_supervised: bool,
    /// Digest of the site file that the run was made from.
    pub site_digest: String,
    /// Warm-up that is cut from every block, seconds.
    pub warm_up_s: f64,
    /// Length of the judged interval of every block, seconds.
    pub block_s: f64,
    /// What follows the judged interval (the drill), seconds.
    pub tail_s: f64,
    /// What else is needed to resume the run, by name.
    pub options: BTreeMap<String, String>,
    /// The blocks in order of time; a block's index is its position.
    pub schedule: Vec<PlannedBlock>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// It has not ended, or it was killed before it could say so.
    Running,
    /// It ended before its schedule did.
    Interrupted,
    /// Every planned block is there, or the rule of a search ended it before its last planned look.
    Complete,
}

impl RunStatus {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Complete => "complete",
        }
    }
}

/// Why a run is left out, as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The reason.
    pub reason: String,
    /// Who decided.
    pub who: String,
    /// When.
    pub at: Timestamp,
}

/// What to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadWhat {
    /// Whether the gaps between chunks are wanted. Where not, their files are verified all the
    /// same, and [`Block::gaps`](cotenant_core::evidence::Block::gaps) stays empty.
    pub gaps: bool,
}

/// One verified run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// The run, with every finished block in order of its index.
    pub run: Run,
    /// How far it came.
    pub status: RunStatus,
    /// Why a search ended before its last planned look, where it did.
    pub decided: Option<String>,
    /// Why it is left out, if it is.
    pub excluded: Option<Exclusion>,
    /// Digest of the site file that it was made from.
    pub site_digest: String,
    /// Warm-up that is cut from every block, seconds.
    pub warm_up_s: f64,
    /// Length of the judged interval of every block, seconds.
    pub block_s: f64,
    /// What follows the judged interval, seconds.
    pub tail_s: f64,
    /// What else is needed to resume it.
    pub options: BTreeMap<String, String>,
    /// SHA-256 of its record `run.json`, hexadecimal: names this evidence exactly.
    pub digest: String,
    /// What a reader should know: a block adopted after a kill, a file left over.
    pub remarks: Vec<String>,
}

/// A run that is excluded and can no longer be read. It counts for nothing, and is shown.
#[derive(Debug)]
pub struct LostRun {
    /// Name of its folder.
    pub id: String,
    /// Why it was left out.
    pub excluded: Exclusion,
    /// What is wrong with it.
    pub damage: EvidenceError,
}

/// All evidence of one site.
#[derive(Debug, Default)]
pub struct StoredEvidence {
    /// The verified runs in the order in which they began, excluded ones among them.
    pub runs: Vec<StoredRun>,
    /// Excluded runs that are damaged. A damaged run that is not excluded is an error instead.
    pub lost: Vec<LostRun>,
    /// What a reader should know about the folder itself.
    pub remarks: Vec<String>,
}
