//! A simulation as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Table;

/// What a plan came to where its calendar was carried out under drawn demand. Everything in it is simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationReport {
    /// Always `cotenant-simulation`.
    pub format: String,
    /// Version of this shape.
    pub version: u32,
    /// Program and version that wrote it.
    pub tool: String,
    /// Name of the site.
    pub site: String,
    /// Where its numbers come from: `simulated`.
    pub origin: String,
    /// The answer in one sentence.
    pub headline: String,
    /// Latencies of each inference workload whose tests tell its engine's step.
    pub latencies: Vec<LatencySection>,
    /// Calendars that were drawn and carried out; each is as long as the plan's.
    pub weeks: u32,
    /// Each workload that serves: how often it had too few replicas.
    pub services: Table,
    /// Each job: its deadline, and what became of its GPU-hours.
    pub jobs: Table,
    /// Where the GPUs' time went.
    pub gpu_time: Table,
    /// What was assumed, as sentences.
    pub assumed: Vec<String>,
    /// Notes that narrow what may be read from it.
    pub notes: Vec<String>,
}

/// What is foretold of one inference workload's latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySection {
    /// The workload.
    pub workload: String,
    /// The answer in one sentence.
    pub headline: String,
    /// The step, how well it predicts, latencies by load, and test C predicted.
    pub tables: Vec<Table>,
    /// What was assumed, as sentences.
    pub assumed: Vec<String>,
}
