//! What a report is made from.

use cotenant_core::capacity::MeasuredCapacity;
use cotenant_core::evidence::Run;
use cotenant_core::sensitivity::Explanation;
use cotenant_core::verdict::{Unit, Verdict};

/// Everything that [`crate::build`] needs. Nothing else is read.
#[derive(Clone, Copy, Debug)]
pub struct ReportInputs<'a> {
    /// Name of the site.
    pub site_name: &'a str,
    /// What the site is, one line each: its server, its workloads, its sharing mode.
    pub site_lines: &'a [String],
    /// The instant that the answer speaks of; the verdict's own where it is `None`.
    pub as_of: Option<jiff::Timestamp>,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// The runs that it rests on, with their chunk gaps where they are to be shown.
    pub runs: &'a [Run],
    /// What searches for capacity found.
    pub capacities: &'a [MeasuredCapacity],
    /// Program and version: `cotenant 0.1.0`.
    pub tool_version: &'a str,
    /// Notes that narrow what may be read from the page: that it is a demonstration on a CPU, that
    /// the objectives are examples.
    pub notes: &'a [String],
    /// What to do next.
    pub next_steps: &'a [NextStepInput],
    /// What the user asked for.
    pub objectives: &'a [DeclaredObjective],
    /// The load that the user declared, one entry for each inference workload.
    pub loads: &'a [DeclaredLoad],
    /// Names of the request classes. A class without a name is called by its number.
    pub classes: &'a [RequestClass],
    /// What inference is sensitive to; `None` where nothing was ever stressed.
    pub sensitivity: Option<&'a Explanation>,
    /// What the site declares of the neighbour's checkpoints.
    pub checkpoint: &'a DeclaredCheckpoint,
}

/// What a site declares of checkpoints and losses. What it leaves open is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredCheckpoint {
    /// Whether training goes on while one is written.
    pub asynchronous: Option<bool>,
    /// How often one is written, seconds.
    pub interval_s: Option<f64>,
    /// Mean time between losses that nothing announces, seconds.
    pub mean_time_to_loss_s: Option<f64>,
    /// Lengths of the windows in which the neighbour has the machine, seconds.
    pub windows_s: Vec<f64>,
}

/// One thing to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStepInput {
    /// Why, one sentence.
    pub text: String,
    /// The command; empty where there is none.
    pub command: String,
}

/// One objective as the site declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredObjective {
    /// The workload that has it.
    pub workload: String,
    /// Its key in the site file: `ttft_p95`, `step_time_max`, `deadline`.
    pub metric: String,
    /// The target in `unit`; `None` where it is not a number (a deadline).
    pub target: Option<f64>,
    /// Unit of the target.
    pub unit: Unit,
    /// The objective in words: `TTFT p95 at most 500 ms`.
    pub sentence: String,
}

/// The load that the site declares for one inference workload. What it leaves open is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredLoad {
    /// The inference workload.
    pub workload: String,
    /// What the demand is: a trace, a table, a rate.
    pub description: String,
    /// Peak rate, requests per second.
    pub rate_per_s: Option<f64>,
    /// Median prompt length, tokens.
    pub prompt_tokens_p50: Option<u32>,
    /// 95th percentile of the prompt length, tokens.
    pub prompt_tokens_p95: Option<u32>,
    /// Median output length, tokens.
    pub output_tokens_p50: Option<u32>,
    /// 95th percentile of the output length, tokens.
    pub output_tokens_p95: Option<u32>,
}

/// The name of a request class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestClass {
    /// The inference workload that has it.
    pub workload: String,
    /// Its index in the evidence.
    pub index: u16,
    /// Its name.
    pub name: String,
}
