//! Puts the report together.

use super::inputs::ReportInputs;
use super::pool::Pool;
use super::sample::stream_samples;
use super::{capacity, charts, facts, gates, host, reclaim, story, tables, timeline, why};
use crate::model::{Charts, NextStep, Report};
use crate::{FORMAT, VERSION};

/// The report of a verdict and of the evidence that it rests on. The same inputs give an equal
/// report.
pub fn build(inputs: &ReportInputs<'_>) -> Report {
    let pool = Pool::new(inputs.runs, inputs.verdict);
    let workload = inputs.loads.first().map_or("inference", |load| load.workload.as_str());
    let samples = stream_samples(&pool, workload);
    let as_of = inputs.as_of.or(inputs.verdict.as_of);
    let (drill_chart, drill_table) = reclaim::drills(&pool);
    Report {
        format: FORMAT.to_owned(),
        version: VERSION,
        tool: inputs.tool_version.to_owned(),
        site: inputs.site_name.to_owned(),
        as_of: as_of.map(|instant| instant.to_string()),
        as_of_text: as_of.map_or_else(|| "no instant given".to_owned(), facts::instant),
        notes: facts::notes(inputs),
        verdict: gates::headline(inputs.verdict),
        tested: facts::tested(inputs, &pool),
        objectives: facts::objectives(inputs),
        story: story::story(inputs, &pool, &samples),
        gates: gates::gates(inputs.verdict),
        capacity: capacity::capacity(inputs.capacities),
        missing: inputs.verdict.missing.iter().map(gates::missing).collect(),
        next_steps: inputs
            .next_steps
            .iter()
            .map(|step| NextStep { text: step.text.clone(), command: step.command.clone() })
            .collect(),
        why: why::why(inputs),
        charts: Charts {
            latency: charts::latency(inputs, &samples),
            steps: charts::steps(inputs, &pool),
            timeline: timeline::timeline(&pool),
            host: host::host(&pool),
            drills: drill_chart,
        },
        tables: tables::tables(inputs, &pool, drill_table),
    }
}
