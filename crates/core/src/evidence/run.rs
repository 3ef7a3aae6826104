//! A run: the blocks that one `measure` (or one import) made, and what they were made of.

use super::{Block, Fingerprint, PlannedBlock, Remedy};

/// Where a number comes from. Every number that is shown carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// By this program, here.
    Measured,
    /// By another program, read from its files.
    Imported,
    /// By the user, in the site file.
    Declared,
    /// By the simulator.
    Simulated,
    /// By nobody: a stated assumption.
    Assumed,
}

impl Origin {
    /// The word in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Imported => "imported",
            Self::Declared => "declared",
            Self::Simulated => "simulated",
            Self::Assumed => "assumed",
        }
    }

    /// Whether a performance gate may pass on it.
    pub fn proves_performance(self) -> bool {
        matches!(self, Self::Measured | Self::Imported)
    }
}

/// The load that A and C were tested under.
#[derive(Clone, Debug, PartialEq)]
pub struct TestedLoad {
    /// What the arrivals are: "poisson", "trace …".
    pub description: String,
    /// Digest of every arrival and length of every pair, so that two loads can be compared.
    pub digest: String,
    /// Mean rate over the judged intervals, requests per second.
    pub rate_per_s: f64,
    /// Median prompt length, tokens.
    pub prompt_tokens_p50: u32,
    /// 95th percentile of the prompt length, tokens.
    pub prompt_tokens_p95: u32,
    /// Median output length, tokens.
    pub output_tokens_p50: u32,
    /// 95th percentile of the output length, tokens.
    pub output_tokens_p95: u32,
}

/// What the pilot saw, which fixed the shape of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// Requests that completed in the pilot.
    pub requests: u32,
    /// Time to first token, 95th percentile, seconds (order statistic).
    pub ttft_p95_s: Option<f64>,
    /// Inter-token latency, 95th percentile, seconds.
    pub itl_p95_s: Option<f64>,
    /// Training steps in the pilot.
    pub steps: u32,
    /// Mean step time, seconds.
    pub step_s: Option<f64>,
    /// Warm-up that is cut from every block, seconds (MSER-5).
    pub warm_up_s: f64,
}

/// Whether a sharing mechanism that is configured really binds.
#[derive(Clone, Debug, PartialEq)]
pub struct EnforcementAudit {
    /// What was audited: "trainer at idle CPU priority".
    pub mechanism: String,
    /// The ratio of shares that the mechanism should give (neighbour ÷ inference).
    pub ratio_expected: f64,
    /// The ratio that was measured.
    pub ratio_measured: f64,
    /// Whether it binds.
    pub binds: bool,
    /// How it was measured, one sentence.
    pub method: String,
}

/// One run with everything that verdicts need.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Name of its folder: `<utc time>-<test>`.
    pub id: String,
    /// When it began.
    pub started: jiff::Timestamp,
    /// Measured here, or imported.
    pub origin: Origin,
    /// Name of the inference workload.
    pub inference: String,
    /// Name of the neighbour: a training, batch or render workload. Empty in a run of A alone.
    pub neighbour: String,
    /// Seed of the schedule, arrivals and lengths.
    pub seed: u64,
    /// The stack.
    pub fingerprint: Fingerprint,
    /// The load.
    pub load: TestedLoad,
    /// The pilot.
    pub pilot: Pilot,
    /// Audits of the enforcement, before test C.
    pub audits: Vec<EnforcementAudit>,
    /// Remedies whose blocks are in this run.
    pub remedies: Vec<Remedy>,
    /// What was planned.
    pub schedule: Vec<PlannedBlock>,
    /// What was finished, in order of time. Fewer than planned where the run was interrupted.
    pub blocks: Vec<Block>,
    /// Whether inference was started by the run (`false`: an endpoint that it found running).
    pub engine_supervised: bool,
}
