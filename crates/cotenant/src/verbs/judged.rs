//! From a site file and its evidence to a verdict and a report: what `verdict`, `measure` and `try`
//! share.

use std::error::Error as _;
use std::path::Path;

use cotenant_core::evidence::Run;
use cotenant_core::sensitivity::{self, Explanation};
use cotenant_core::site::{CheckpointInterval, Demand, SharingMode, Site};
use cotenant_core::units::format_duration;
use cotenant_core::verdict::{Question, Unit, Verdict, judge};
use cotenant_records::evidence::{EvidenceError, ReadWhat, RunStatus, Store, StoredEvidence};
use cotenant_report::{
    DeclaredCheckpoint, DeclaredLoad, DeclaredObjective, NextStepInput, Report, ReportInputs,
    RequestClass,
};

use crate::exit::Failure;
use crate::site_file::SiteFile;

/// What was judged.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) report: Report,
    /// The runs that count.
    pub(crate) runs: Vec<Run>,
    /// Remarks about the evidence folder itself.
    pub(crate) remarks: Vec<String>,
}

/// How to judge.
pub(crate) struct Judging<'a> {
    pub(crate) file: &'a SiteFile,
    pub(crate) evidence: &'a Path,
    pub(crate) as_of: Option<jiff::Timestamp>,
    pub(crate) notes: &'a [String],
    pub(crate) next_steps: &'a [NextStepInput],
}

/// Damaged evidence, with the file, what the operating system said, and the way out.
pub(crate) fn evidence_failure(error: &EvidenceError) -> Failure {
    match error.source() {
        Some(source) => Failure::world_hint(format!("{error}: {source}"), error.advice()),
        None => Failure::world_hint(error, error.advice()),
    }
}

/// Reads every run and judges.
pub(crate) fn judged(judging: &Judging<'_>) -> Result<Judged, Failure> {
    let site = &judging.file.site;
    let store = Store::open(judging.evidence).map_err(|error| evidence_failure(&error))?;
    let stored =
        store.read_all(ReadWhat { gaps: true }).map_err(|error| evidence_failure(&error))?;
    let (runs, excluded, remarks) = sorted(stored);
    let name = judging.file.name();
    let verdict = judge(&Question {
        site,
        site_file: &name,
        runs: &runs,
        excluded: &excluded,
        as_of: judging.as_of,
        points: &[],
    });
    let sensitivity = sensitivity(site, &name, &runs);
    let report = cotenant_report::build(&ReportInputs {
        site_name: &site.name,
        site_lines: &site_lines(site),
        as_of: judging.as_of,
        verdict: &verdict,
        runs: &runs,
        capacities: &cotenant_core::capacity::measured(site, &runs),
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
        notes: judging.notes,
        next_steps: judging.next_steps,
        objectives: &objectives(site),
        loads: &loads(site),
        classes: &classes(site),
        sensitivity: sensitivity.as_ref(),
        checkpoint: &checkpoint(site),
    });
    Ok(Judged { verdict, report, runs, remarks })
}

/// Why inference is slower beside the first neighbour that can be measured.
fn sensitivity(site: &Site, site_file: &str, runs: &[Run]) -> Option<Explanation> {
    let (workload, inference) = site.inference().next()?;
    let neighbour = site.training().next().map(|(workload, _)| workload.name.as_str());
    sensitivity::explain(&sensitivity::Question {
        runs,
        site_file,
        inference: &workload.name,
        neighbour,
        objectives: &inference.objectives.latency(),
    })
}

/// The runs that count, those left out with the reason, and what a reader should know.
fn sorted(stored: StoredEvidence) -> (Vec<Run>, Vec<(String, String)>, Vec<String>) {
    let mut remarks = stored.remarks;
    let mut excluded: Vec<(String, String)> = stored
        .lost
        .into_iter()
        .map(|lost| {
            let reason = format!(
                "{} ({}); and it can no longer be read",
                lost.excluded.reason, lost.excluded.who
            );
            (lost.id, reason)
        })
        .collect();
    let mut runs = Vec::new();
    for stored in stored.runs {
        remarks.extend(stored.remarks.iter().map(|text| format!("{}: {text}", stored.run.id)));
        if stored.status != RunStatus::Complete {
            remarks.push(format!(
                "{}: {}, {} of {} blocks are finished, and they count",
                stored.run.id,
                stored.status.name(),
                stored.run.blocks.len(),
                stored.run.schedule.len()
            ));
        }
        match stored.excluded {
            Some(exclusion) => {
                excluded.push((stored.run.id, format!("{} ({})", exclusion.reason, exclusion.who)));
            }
            None => runs.push(stored.run),
        }
    }
    (runs, excluded, remarks)
}

/// The runs that count, from a folder of evidence.
pub(crate) fn runs(evidence: &Path, what: ReadWhat) -> Result<Vec<Run>, Failure> {
    let store = Store::open(evidence).map_err(|error| evidence_failure(&error))?;
    let stored = store.read_all(what).map_err(|error| evidence_failure(&error))?;
    Ok(sorted(stored).0)
}

pub(crate) fn site_lines(site: &Site) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(server) = site.server() {
        lines.push(match &server.gpu {
            Some(gpu) => format!("server: {} × {gpu}", server.gpu_count),
            None => "server: no GPU".to_owned(),
        });
    }
    for workload in &site.workloads {
        lines.push(format!("{}: {}", workload.kind.name(), workload.name));
    }
    lines.push(format!("sharing: {}", site.sharing.mode.name()));
    lines
}

fn objectives(site: &Site) -> Vec<DeclaredObjective> {
    let mut list = Vec::new();
    for (workload, inference) in site.inference() {
        for objective in inference.objectives.latency() {
            list.push(DeclaredObjective {
                workload: workload.name.clone(),
                metric: objective.name.to_owned(),
                target: Some(objective.target.as_secs_f64()),
                unit: Unit::Seconds,
                sentence: format!(
                    "{} p{} at most {}",
                    objective.metric.name().to_uppercase(),
                    (objective.quantile * 1000.0).round() / 10.0,
                    format_duration(objective.target)
                ),
            });
        }
        if let Some(share) = inference.objectives.error_rate {
            list.push(DeclaredObjective {
                workload: workload.name.clone(),
                metric: "error_rate".into(),
                target: Some(share.value()),
                unit: Unit::Share,
                sentence: format!("at most {share} of requests not completed"),
            });
        }
    }
    for (workload, training) in site.training() {
        if let Some(most) = training.objectives.step_time_max {
            list.push(DeclaredObjective {
                workload: workload.name.clone(),
                metric: "step_time_max".into(),
                target: Some(most.as_secs_f64()),
                unit: Unit::Seconds,
                sentence: format!("mean step at most {}", format_duration(most)),
            });
        }
        if let Some(deadline) = &training.objectives.deadline {
            list.push(DeclaredObjective {
                workload: workload.name.clone(),
                metric: "deadline".into(),
                target: None,
                unit: Unit::Seconds,
                sentence: format!("done by {deadline}"),
            });
        }
    }
    list
}

fn loads(site: &Site) -> Vec<DeclaredLoad> {
    site.inference()
        .map(|(workload, inference)| {
            let demand_rate = match &inference.demand {
                Demand::Poisson { rate }
                | Demand::Gamma { rate, .. }
                | Demand::Constant { rate } => Some(rate.per_second),
                _ => None,
            };
            let peak = inference.peak_rate.as_ref().map(|rate| rate.per_second);
            DeclaredLoad {
                workload: workload.name.clone(),
                description: inference.demand.name().to_owned(),
                rate_per_s: peak.or(demand_rate),
                prompt_tokens_p50: inference.prompt_tokens.map(|tokens| tokens.p50),
                prompt_tokens_p95: inference.prompt_tokens.map(|tokens| tokens.p95),
                output_tokens_p50: inference.output_tokens.map(|tokens| tokens.p50),
                output_tokens_p95: inference.output_tokens.map(|tokens| tokens.p95),
            }
        })
        .collect()
}

fn classes(site: &Site) -> Vec<RequestClass> {
    site.inference()
        .flat_map(|(workload, _)| {
            workload.classes.iter().enumerate().map(|(index, class)| RequestClass {
                workload: workload.name.clone(),
                index: index as u16,
                name: class.name.clone(),
            })
        })
        .collect()
}

/// What the site declares of the neighbour's checkpoints, and the windows that it has.
fn checkpoint(site: &Site) -> DeclaredCheckpoint {
    let Some((workload, training)) = site.training().next() else {
        return DeclaredCheckpoint::default();
    };
    let declared = training.checkpoint.as_ref();
    let step_s = training.step_time_alone.map(|time| time.as_secs_f64());
    let interval_s = declared.and_then(|checkpoint| match checkpoint.interval? {
        CheckpointInterval::Time(time) => Some(time.as_secs_f64()),
        CheckpointInterval::Steps(steps) => Some(steps as f64 * step_s?),
    });
    let windows_s = match &site.sharing.mode {
        SharingMode::Temporal(windows) => windows
            .iter()
            .filter(|window| window.workload == workload.name)
            .map(|window| f64::from(window.when.wall_minutes()) * 60.0)
            .collect(),
        _ => Vec::new(),
    };
    let loss = training.preemption.as_ref().and_then(|preemption| preemption.mean_time_to_loss);
    DeclaredCheckpoint {
        asynchronous: declared.and_then(|checkpoint| checkpoint.asynchronous),
        interval_s,
        mean_time_to_loss_s: loss.map(|time| time.as_secs_f64()),
        windows_s,
    }
}
