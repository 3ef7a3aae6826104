//! The six gates as far as arithmetic can decide them.

use super::candidates::word_of;
use super::model::{Certificate, Check, InferencePlan, Outcome, PlanGate, PlanWord};
use super::question::PlanQuestion;
use crate::verdict::GateKind;

/// The gate that a check speaks about, by its key.
fn gate_of(key: &str) -> GateKind {
    match key {
        "deadline" | "placement" | "ranks" => GateKind::Completion,
        "partition" | "booked" | "isolation" => GateKind::Isolation,
        "notice" | "checkpoint" => GateKind::Preemption,
        "change_cycle" | "changes" | "maintenance" => GateKind::Maintenance,
        "fault_domain" | "availability" => GateKind::FailureDomain,
        _ => GateKind::Inference,
    }
}

/// What the calendar does not give.
#[derive(Debug, Default)]
pub(super) struct Unmet {
    /// Jobs that are not done by their deadline.
    pub(super) late: Vec<String>,
    /// Workloads of which no job runs at all.
    pub(super) starved: Vec<String>,
}

/// What a plan says of one gate besides its checks.
#[derive(Default)]
struct Finding {
    fails: Vec<String>,
    open: Vec<String>,
    conditions: Vec<String>,
    to_test: Vec<String>,
}

/// The gates, in the verdict's order.
pub(super) fn gates(
    question: &PlanQuestion<'_>,
    checks: &[Check],
    reserves: &[InferencePlan],
    gpus: u32,
    certificates: &[Certificate],
    unmet: &Unmet,
) -> Vec<PlanGate> {
    GateKind::ALL
        .into_iter()
        .map(|kind| {
            let mut finding = match kind {
                GateKind::Inference => inference(question, reserves, gpus),
                GateKind::Completion => completion(question, certificates, unmet),
                GateKind::Preemption => Finding {
                    open: vec!["what a reclaim costs under load is not measured".into()],
                    to_test: vec![format!("cotenant measure {} --tests c", question.site_file)],
                    ..Finding::default()
                },
                GateKind::Isolation => Finding {
                    open: vec!["no audit has shown that it binds".into()],
                    to_test: vec![format!("cotenant measure {} --tests c", question.site_file)],
                    ..Finding::default()
                },
                GateKind::Maintenance | GateKind::FailureDomain => Finding::default(),
            };
            for check in checks.iter().filter(|check| gate_of(check.key) == kind) {
                finding.conditions.extend(check.would_be_conditional_on.iter().cloned());
                match check.outcome {
                    Outcome::Fails => finding.fails.push(check.answer.clone()),
                    Outcome::Open => finding.open.push(check.answer.clone()),
                    Outcome::Holds => {}
                }
            }
            gate(kind, finding)
        })
        .collect()
}

fn gate(kind: GateKind, finding: Finding) -> PlanGate {
    let word = word_of(if finding.fails.is_empty() { Outcome::Open } else { Outcome::Fails });
    let said = if finding.fails.is_empty() { finding.open } else { finding.fails };
    let reason = match said.as_slice() {
        [] => "arithmetic does not speak against it".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    };
    let mut conditions = finding.conditions;
    conditions.dedup();
    PlanGate {
        name: kind.name(),
        word,
        reason,
        would_be_conditional_on: conditions,
        to_test: finding.to_test,
    }
}

/// Whether there are GPUs enough for inference, and whether its bursts were seen.
fn inference(question: &PlanQuestion<'_>, reserves: &[InferencePlan], gpus: u32) -> Finding {
    let mut finding = Finding {
        to_test: vec![format!("cotenant measure {} --tests a,c", question.site_file)],
        ..Finding::default()
    };
    let windows = reserves.iter().map(|plan| plan.windows.len()).max().unwrap_or(0);
    let need = |window: usize| -> u32 {
        let needs = reserves.iter().filter_map(|plan| plan.windows.get(window));
        needs.map(|need| need.reserved + need.hot + need.lent).sum()
    };
    // A workload's own windows are cut at what the place has; several together may still exceed it.
    let together = (0..windows).map(need).max().unwrap_or(0);
    let alone = reserves.iter().map(|plan| plan.gpus_needed_max).max().unwrap_or(0);
    let most = together.max(alone);
    if most > gpus {
        let short = format!(
            "inference needs up to {most} GPUs with its reserve and there are {gpus}: at its peaks \
             it is short even without a neighbour"
        );
        // What rests on an assumed burst is no proof that it fails.
        if reserves.iter().all(|plan| plan.bursts_seen) || together > gpus {
            finding.fails.push(short);
        } else {
            finding.open.push(short);
        }
        finding.conditions.push(format!("{} more GPUs for inference at its peaks", most - gpus));
    }
    for plan in reserves {
        if !plan.bursts_seen {
            finding.open.push(format!(
                "{}: bursts shorter than a reclaim were not seen, the reserve for them is assumed",
                plan.workload
            ));
        }
        if !plan.risk_supported {
            finding.open.push(format!(
                "{}: the history is too short for the risk tolerance that is asked for",
                plan.workload
            ));
        }
    }
    finding.open.push("whether the objectives hold under this load is not tested".into());
    finding
}

/// Whether every deadline can be met.
fn completion(
    question: &PlanQuestion<'_>,
    certificates: &[Certificate],
    unmet: &Unmet,
) -> Finding {
    let mut finding = Finding {
        to_test: vec![format!("cotenant measure {} --tests b,c", question.site_file)],
        ..Finding::default()
    };
    for certificate in certificates {
        finding.fails.push(format!(
            "{} cannot be done in time: {:.1} GPU-h are needed and {:.1} are free",
            certificate.jobs.join(", "),
            certificate.needed,
            certificate.free
        ));
        finding.conditions.extend(
            certificate.changes.iter().filter(|it| it.confirmed).map(|it| it.what.clone()),
        );
    }
    if certificates.is_empty() && !unmet.late.is_empty() {
        finding.fails.push(format!(
            "no calendar was found that has {} done in time, and none was proven impossible",
            unmet.late.join(", ")
        ));
    }
    if !unmet.starved.is_empty() {
        finding.fails.push(format!(
            "{} gets no GPU at any hour: demand and reserve leave no window that is long enough",
            unmet.starved.join(", ")
        ));
    }
    finding.open.push("step times together with inference are not measured".into());
    finding
}

/// The word of the whole: FAIL where a gate fails.
pub(super) fn word(gates: &[PlanGate]) -> (PlanWord, String) {
    let failed: Vec<&str> =
        gates.iter().filter(|gate| gate.word == PlanWord::Fail).map(|gate| gate.name).collect();
    if failed.is_empty() {
        let reason = "nothing speaks against it that arithmetic can see; a plan proves nothing, \
                      and each gate names the test that would"
            .to_owned();
        return (PlanWord::NotProven, reason);
    }
    let reasons: Vec<String> = gates
        .iter()
        .filter(|gate| gate.word == PlanWord::Fail)
        .map(|gate| format!("{}: {}", gate.name, gate.reason))
        .collect();
    (PlanWord::Fail, reasons.join("; "))
}
