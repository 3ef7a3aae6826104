//! The isolation gate: each property that a workload requires must be given by the rule of the
//! sharing mode, and an audit must have shown that it binds. A knob that is present is no isolation.

use crate::evidence::{EnforcementAudit, Origin, Remedy};
use crate::site::{IsolationProperty, MpsMode, NeighbourPriority, SharingMode};

use super::findings::{Case, gate, open};
use super::{Finding, Gate, GateKind, Ruling, Strategy};

/// Name of the audit which shows that a fault of the neighbour does not reach inference.
pub const AUDIT_FAULTS: &str = "a fault of the neighbour does not reach inference";

/// Whether the rule of a mode gives a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It does, for this reason.
    Gives(&'static str),
    /// It does not, for this reason.
    Not(&'static str),
    /// The mode is not chosen yet.
    Unknown,
}

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let mut findings = Vec::new();
    let Some((workload, _)) = case.inference else {
        return gate(GateKind::Isolation, findings);
    };
    let names = [Some(workload), case.neighbour];
    let needs: Vec<_> = case
        .site
        .operations
        .isolation
        .iter()
        .filter(|need| names.into_iter().flatten().any(|w| w.name == need.workload))
        .collect();
    if needs.iter().all(|need| need.workload != workload.name) {
        let mut finding = open(format!("{}: required isolation", workload.name), strategy);
        finding.explanation = "the site does not say what it must be protected from".into();
        finding.missing.push(case.declare(
            "what inference must be protected from (an empty list says: nothing)",
            &format!("operations.isolation.{}: [memory_capacity, faults]", workload.name),
        ));
        findings.push(finding);
    }
    for need in needs {
        if need.properties.is_empty() {
            let mut finding = open(format!("{}: required isolation", need.workload), strategy);
            finding.ruling = Ruling::Pass;
            finding.origin = Some(Origin::Declared);
            finding.explanation = "declared: nothing is required".into();
            findings.push(finding);
        }
        for property in &need.properties {
            findings.push(required(case, strategy, &need.workload, *property));
        }
    }
    if let Strategy::With(remedy) = strategy {
        findings.push(enforcement(case, strategy, remedy.name()));
    }
    gate(GateKind::Isolation, findings)
}

fn required(
    case: &Case<'_>,
    strategy: Strategy,
    workload: &str,
    property: IsolationProperty,
) -> Finding {
    let mode = &case.site.sharing.mode;
    let mut finding = open(format!("{workload}: {}", property.name()), strategy);
    match rule(mode, property, strategy) {
        Rule::Unknown => {
            finding.explanation = "no sharing mode is chosen, so no rule applies".into();
            finding.missing.push(case.declare("a sharing mode", "sharing: { mode: … }"));
        }
        Rule::Not(why) => {
            finding.ruling = Ruling::Fail;
            finding.origin = Some(Origin::Declared);
            finding.explanation = format!("{} does not give it: {why}", mode.name());
        }
        Rule::Gives(why) => {
            let mechanism = match property {
                IsolationProperty::Faults => AUDIT_FAULTS,
                IsolationProperty::Cpu => Remedy::IdlePriority.name(),
                _ => property.name(),
            };
            finding = enforcement(case, strategy, mechanism);
            finding.subject = format!("{workload}: {}", property.name());
            finding.explanation = format!("{why}; {}", finding.explanation);
        }
    }
    finding
}

/// Whether an audit showed that a mechanism binds.
fn enforcement(case: &Case<'_>, strategy: Strategy, mechanism: &str) -> Finding {
    let mut finding = open(format!("enforcement: {mechanism}"), strategy);
    let audits: Vec<(&str, &EnforcementAudit, Origin)> = case
        .pool
        .map(|pool| pool.audits(mechanism))
        .unwrap_or_default();
    let Some((_, newest, origin)) = audits.last() else {
        finding.explanation = "no audit has shown that it binds".into();
        finding.missing.push(case.measure(
            "c",
            format!("an audit that «{mechanism}» binds"),
            Some(case.pair_minutes()),
        ));
        return finding;
    };
    finding.origin = Some(*origin);
    finding.evidence = audits.iter().map(|(run, _, _)| (*run).to_owned()).collect();
    // One audit in which it did not bind is enough: what binds only sometimes protects nobody.
    let broken = audits.iter().find(|(_, audit, _)| !audit.binds);
    finding.ruling = if broken.is_some() { Ruling::Fail } else { Ruling::Pass };
    let (_, shown, _) = broken.unwrap_or(&audits[audits.len() - 1]);
    let word = if shown.binds { "binds" } else { "enforcement not effective" };
    finding.explanation = format!(
        "{word}: neighbour to inference {:.3} measured, {:.3} expected ({})",
        shown.ratio_measured, shown.ratio_expected, newest.method
    );
    finding
}

/// What each mode isolates. Sources: NVIDIA, *Multi-Instance GPU User Guide* (memory, cache and
/// bandwidth partitioned, faults contained); NVIDIA, *Multi-Process Service*, «Memory Protection»
/// and «Error Containment» (a fatal fault is reported to all clients of the GPU; a percentage limits
/// and does not reserve); README of the Kubernetes device plugin, «With CUDA Time-Slicing» (no
/// memory or fault isolation).
fn rule(mode: &SharingMode, property: IsolationProperty, strategy: Strategy) -> Rule {
    use IsolationProperty as Property;
    use Rule::{Gives, Not};
    match (mode, property) {
        (SharingMode::CandidatesAll, _) => Rule::Unknown,
        (SharingMode::HostCpu(host), Property::Cpu) => {
            let idle = host.neighbour_priority == NeighbourPriority::Idle
                || strategy == Strategy::With(Remedy::IdlePriority);
            if idle {
                Gives("an idle neighbour gets CPU only where inference leaves some")
            } else {
                Not("neighbours of one priority get equal shares of the CPU")
            }
        }
        (SharingMode::HostCpu(_), Property::Faults) => {
            Gives("processes have address spaces of their own")
        }
        (SharingMode::HostCpu(_), Property::MemoryCapacity) => {
            Not("nothing bounds the neighbour's memory")
        }
        (SharingMode::HostCpu(_), Property::MemoryBandwidth) => {
            Not("cores share the memory controllers and the last-level cache")
        }
        (SharingMode::HostCpu(_), Property::Sms) => Not("there is no GPU"),
        (_, Property::Cpu) => Not("a mode of sharing GPUs says nothing of the host's CPUs"),
        (SharingMode::WholeGpu(_) | SharingMode::Temporal(_), Property::Faults) => {
            Gives("a GPU belongs to one workload at a time, and a fault stays on its GPU")
        }
        (SharingMode::WholeGpu(_) | SharingMode::Temporal(_), _) => {
            Gives("a GPU belongs to one workload at a time")
        }
        (SharingMode::Mig(_), _) => {
            Gives("instances have SMs, memory, cache and bandwidth of their own")
        }
        (SharingMode::Mps(_), Property::Faults) => {
            Not("a fatal fault of one client stops all clients of the GPU")
        }
        (SharingMode::Mps(_), Property::MemoryBandwidth) => {
            Not("clients share the memory bandwidth")
        }
        (SharingMode::Mps(MpsMode::Static { .. }), Property::Sms) => {
            Gives("static partitions give each client SMs of its own")
        }
        (SharingMode::Mps(MpsMode::Default { .. }), Property::Sms) => {
            Not("an MPS percentage limits a client and reserves nothing for it")
        }
        (
            SharingMode::Mps(
                MpsMode::Default { memory_limits, .. } | MpsMode::Static { memory_limits, .. },
            ),
            Property::MemoryCapacity,
        ) => {
            if memory_limits.is_empty() {
                Not("no memory limit is set, so a client may take all of it")
            } else {
                Gives("device memory limits are set")
            }
        }
        (SharingMode::TimeSlicing(_), _) => {
            Not("time-slicing isolates neither memory nor faults, and a replica is no share")
        }
    }
}
