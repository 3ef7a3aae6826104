//! Candidates, carried out by the simulator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{State, Value};

/// A candidate, carried out by the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateSimulation {
    /// Where its numbers come from: `simulated`.
    pub origin: String,
    /// Calendars that were drawn and carried out.
    pub calendars: u32,
    /// Deadlines that held in every one of them.
    pub deadlines: Value,
    /// GPU-hours of work that jobs kept, in the mean.
    pub gpu_hours_kept: Value,
    /// GPU-hours that jobs held without keeping work, in the mean.
    pub gpu_hours_lost: Value,
    /// Share of the time in which inference was short of replicas, in the worst one.
    pub short_share_max: Value,
    /// Latencies of inference at its peak.
    pub latencies: Vec<PeakLatencies>,
    /// What was assumed of this way of sharing, as sentences.
    pub assumed: Vec<String>,
}

impl CandidateSimulation {
    /// What became of deadlines and GPU-hours.
    fn carried_out(&self) -> String {
        if self.gpu_hours_kept.state != State::Known {
            return format!("not carried out: {}", reason(&self.gpu_hours_kept));
        }
        let deadlines = if self.deadlines.state == State::Known {
            format!("{} deadlines held in each", self.deadlines.text)
        } else {
            reason(&self.deadlines).to_owned()
        };
        let short = if self.short_share_max.state == State::Known {
            format!("; inference short of replicas {} of the worst", self.short_share_max.text)
        } else {
            String::new()
        };
        let calendars = if self.calendars == 1 { "calendar" } else { "calendars" };
        format!(
            "in {} drawn {calendars}: {deadlines}; {} kept, {} lost{short}",
            self.calendars, self.gpu_hours_kept.text, self.gpu_hours_lost.text
        )
    }

    /// It as sentences, the same in every rendering.
    pub fn sentences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.push(self.carried_out());
        for of in &self.latencies {
            let figures: Vec<String> = of.figures.iter().map(PeakLatency::text).collect();
            lines.push(if of.rate.state == State::Known {
                format!(
                    "{}: {} at {} for each replica",
                    of.workload,
                    figures.join(", "),
                    of.rate.text
                )
            } else {
                format!("{}: no latencies: {}", of.workload, reason(&of.rate))
            });
        }
        lines.extend(self.assumed.iter().map(|sentence| format!("assumed: {sentence}")));
        lines
    }
}

/// Why a value is missing, without the words that say that it is.
fn reason(value: &Value) -> &str {
    value.text.strip_prefix("not seen: ").unwrap_or(&value.text)
}

impl PeakLatency {
    fn text(&self) -> String {
        let target = self.target.as_ref();
        let declared = target.map_or_else(String::new, |it| format!(" ({} declared)", it.text));
        format!("{} {}{declared}", self.name, self.time.text)
    }
}

/// Latencies of one inference workload at its peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakLatencies {
    /// The workload.
    pub workload: String,
    /// Requests a second for each replica; missing where nothing can be told, with the reason.
    pub rate: Value,
    /// The latencies.
    pub figures: Vec<PeakLatency>,
}

/// One latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakLatency {
    /// The objective: `ttft p95`.
    pub name: String,
    /// What the simulator says.
    pub time: Value,
    /// What is declared.
    pub target: Option<Value>,
}
