//! The six gates as far as arithmetic can decide them.

use super::candidates::word_of;
use super::model::{Certificate, Check, InferencePlan, Outcome, PlanGate, PlanWord};
use super::question::PlanQuestion;
use super::reserves::{Short, short};
use crate::site::Site;
use crate::verdict::GateKind;

/// The gate that a check speaks about, by its key. What a place lacks, memory or cores, hurts
/// inference where any is concerned, and else the jobs.
fn gate_of(site: &Site, check: &Check) -> GateKind {
    match check.key {
        "deadline" | "ranks" => GateKind::Completion,
        "partition" | "booked" => GateKind::Isolation,
        "notice" => GateKind::Preemption,
        "changes" => GateKind::Maintenance,
        "fault_domain" | "availability" => GateKind::FailureDomain,
        _ if check.workloads.iter().any(|name| is_inference(site, name)) => GateKind::Inference,
        _ if check.workloads.is_empty() => GateKind::Inference,
        _ => GateKind::Completion,
    }
}

fn is_inference(site: &Site, name: &str) -> bool {
    site.inference().any(|(workload, _)| workload.name == name)
}

/// What the calendar does not give.
#[derive(Debug, Default)]
pub(super) struct Unmet {
    /// Why inference workloads have no reserve.
    pub(super) unreserved: Vec<String>,
    /// What a workload must be protected from and the way of sharing does not give.
    pub(super) unprotected: Vec<String>,
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
                GateKind::Inference => inference(question, reserves, gpus, unmet),
                GateKind::Completion => completion(question, certificates, unmet),
                GateKind::Preemption => Finding {
                    open: vec!["what a reclaim costs under load is not measured".into()],
                    to_test: vec![format!("cotenant measure {} --tests c", question.site_file)],
                    ..Finding::default()
                },
                GateKind::Isolation => Finding {
                    fails: unmet.unprotected.clone(),
                    open: vec!["no audit has shown that it binds".into()],
                    to_test: vec![format!("cotenant measure {} --tests c", question.site_file)],
                    ..Finding::default()
                },
                GateKind::Maintenance | GateKind::FailureDomain => Finding::default(),
            };
            for check in checks.iter().filter(|check| gate_of(question.site, check) == kind) {
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
    PlanGate {
        name: kind.name(),
        word,
        reason,
        would_be_conditional_on: each_once(finding.conditions),
        to_test: finding.to_test,
    }
}

/// Sentences, each where it stands first.
pub(super) fn each_once(sentences: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for sentence in sentences {
        if !kept.contains(&sentence) {
            kept.push(sentence);
        }
    }
    kept
}

/// Whether there are GPUs enough for inference, and whether its bursts were seen.
fn inference(
    question: &PlanQuestion<'_>,
    reserves: &[InferencePlan],
    gpus: u32,
    unmet: &Unmet,
) -> Finding {
    let mut finding = Finding {
        to_test: vec![format!("cotenant measure {} --tests a,c", question.site_file)],
        ..Finding::default()
    };
    if let Some(Short { needed, is_certain }) = short(reserves, gpus) {
        let said = format!(
            "inference needs up to {needed} GPUs with its reserve and there are {gpus}: at its \
             peaks it is short even without a neighbour"
        );
        if is_certain {
            finding.fails.push(said);
        } else {
            finding.open.push(said);
        }
        let more = needed - gpus;
        let plural = if more == 1 { "" } else { "s" };
        finding.conditions.push(format!("{more} more GPU{plural} for inference at its peaks"));
    }
    finding.open.extend(unmet.unreserved.iter().cloned());
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
fn completion(question: &PlanQuestion<'_>, certificates: &[Certificate], unmet: &Unmet) -> Finding {
    let mut finding = Finding {
        to_test: vec![format!("cotenant measure {} --tests b,c", question.site_file)],
        ..Finding::default()
    };
    for certificate in certificates {
        let jobs = certificate.jobs.join(", ");
        finding.fails.push(if certificate.from >= certificate.until {
            format!("{jobs} cannot be done in time: no window lies before its deadline")
        } else {
            format!(
                "{jobs} cannot be done in time: {:.1} GPU-h are needed and {:.1} are free",
                certificate.needed, certificate.free
            )
        });
        finding
            .conditions
            .extend(certificate.changes.iter().filter(|it| it.confirmed).map(|it| it.what.clone()));
    }
    let is_proven =
        |job: &&String| certificates.iter().any(|certificate| certificate.jobs.contains(job));
    let unproven: Vec<&str> =
        unmet.late.iter().filter(|job| !is_proven(job)).map(String::as_str).collect();
    if !unproven.is_empty() {
        finding.fails.push(format!(
            "no calendar was found that has {} done in time; that there is none is not proven",
            unproven.join(", ")
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
