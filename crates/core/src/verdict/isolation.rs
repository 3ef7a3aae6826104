//! The isolation gate: each property that a workload requires must be given by the rule of the
//! sharing mode, and an audit must have shown that it binds. A knob that is present is no isolation.

use crate::evidence::{EnforcementAudit, Origin, Remedy, Run};
use crate::gpu::sharing::{self, Gives, Mechanism};
use crate::site::{
    HostCaps, IsolationProperty, MemoryLimits, MpsMode, NeighbourPriority, SharingMode, Workload,
};

use super::findings::{Case, gate, open};
use super::pool::Pool;
use super::{Finding, Gate, GateKind, Ruling, Strategy};

/// Name of the audit which shows that a fault of the neighbour does not reach inference.
pub const AUDIT_FAULTS: &str = "a fault of the neighbour does not reach inference";

/// What the names of all audits of caps begin with.
const CAP: &str = "cap of ";

/// Name of the audit which shows that a cap (one of [`HostCaps::names`]) holds a workload.
pub fn audit_of_cap(workload: &str, cap: &str) -> String {
    format!("{CAP}{cap} of `{workload}`")
}

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
            "what inference must be protected from",
            &format!("operations.isolation.{}: [memory_capacity, faults]", workload.name),
        ));
        findings.push(finding);
    }
    let mut looked_at: Vec<String> = Vec::new();
    for need in needs {
        if need.properties.is_empty() {
            let mut finding = open(format!("{}: required isolation", need.workload), strategy);
            finding.ruling = Ruling::Pass;
            finding.origin = Some(Origin::Declared);
            finding.explanation = "declared: nothing is required".into();
            findings.push(finding);
        }
        for property in &need.properties {
            looked_at.push(mechanism(case, &need.workload, *property, strategy));
            findings.push(required(case, strategy, &need.workload, *property));
        }
    }
    if let Strategy::With(remedy) = strategy {
        looked_at.push(remedy.name().to_owned());
        findings.push(enforcement(case, strategy, remedy.name()));
    }
    // What holds inference protects the neighbour, and is not what a PASS rests on.
    let of_neighbour = |(name, _): &(&String, &HostCaps)| {
        case.neighbour.is_some_and(|neighbour| neighbour.name == **name)
    };
    for (workload, caps) in case.site.sharing.caps.iter().filter(of_neighbour) {
        for cap in caps.names() {
            looked_at.push(audit_of_cap(workload, cap));
            findings.push(enforcement(case, strategy, &audit_of_cap(workload, cap)));
        }
    }
    findings.extend(knobs(case, strategy, &looked_at));
    gate(GateKind::Isolation, findings)
}

/// Audits of whatever else is configured: a knob that does not bind fails, whether or not a
/// workload requires what it was to give.
fn knobs(case: &Case<'_>, strategy: Strategy, looked_at: &[String]) -> Vec<Finding> {
    let is_remedy = |mechanism: &str| {
        mechanism == Remedy::IdlePriority.name() && !is_idle(&case.site.sharing.mode, strategy)
    };
    let mut mechanisms: Vec<&str> = case
        .pool
        .map(Pool::audits)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, audit)| audit.mechanism.as_str())
        .filter(|mechanism| !is_remedy(mechanism))
        .collect();
    mechanisms.sort_unstable();
    mechanisms.dedup();
    let is_new = |mechanism: &&str| !looked_at.iter().any(|looked_at| looked_at == mechanism);
    mechanisms.into_iter().filter(is_new).map(|m| enforcement(case, strategy, m)).collect()
}

/// Mechanisms that an audit showed not to bind, each with what it showed. Test C under one of them was
/// no test of the sharing that is declared.
pub(super) fn not_binding(case: &Case<'_>, strategy: Strategy) -> Vec<String> {
    let applies = |audit: &EnforcementAudit| {
        audit.mechanism != AUDIT_FAULTS
            && (audit.mechanism != Remedy::IdlePriority.name()
                || is_idle(&case.site.sharing.mode, strategy))
    };
    let mut broken: Vec<String> = case
        .pool
        .map(Pool::audits)
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, audit)| applies(audit) && !binds(audit))
        .map(|(_, audit)| {
            format!(
                "«{}» is not effective (a ratio of {} where {} was expected)",
                audit.mechanism,
                ratio(audit.ratio_measured),
                ratio(audit.ratio_expected)
            )
        })
        .collect();
    broken.sort();
    broken.dedup();
    broken
}

/// Whether the neighbour runs at idle priority under a strategy.
fn is_idle(mode: &SharingMode, strategy: Strategy) -> bool {
    let declared = matches!(
        mode,
        SharingMode::HostCpu(host) if host.neighbour_priority == NeighbourPriority::Idle
    );
    declared || strategy == Strategy::With(Remedy::IdlePriority)
}

fn required(
    case: &Case<'_>,
    strategy: Strategy,
    workload: &str,
    property: IsolationProperty,
) -> Finding {
    let mode = &case.site.sharing.mode;
    let mut finding = open(format!("{workload}: {}", property.name()), strategy);
    match rule(case, workload, property, strategy) {
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
            finding = enforcement(case, strategy, &mechanism(case, workload, property, strategy));
            finding.subject = format!("{workload}: {}", property.name());
            finding.explanation = format!("{why}; {}", finding.explanation);
        }
    }
    finding
}

/// The audit that shows whether a property is really given.
fn mechanism(
    case: &Case<'_>,
    workload: &str,
    property: IsolationProperty,
    strategy: Strategy,
) -> String {
    let is_host = matches!(case.site.sharing.mode, SharingMode::HostCpu(_));
    match property {
        IsolationProperty::Faults => AUDIT_FAULTS.to_owned(),
        IsolationProperty::Cpu if is_idle(&case.site.sharing.mode, strategy) => {
            Remedy::IdlePriority.name().to_owned()
        }
        // On the host it is the other one's cap that protects.
        IsolationProperty::MemoryCapacity if is_host => others(case, workload).next().map_or_else(
            || property.name().to_owned(),
            |o| audit_of_cap(&o.name, HostCaps::MEMORY),
        ),
        _ => property.name().to_owned(),
    }
}

/// Whether an audit showed that a mechanism binds.
fn enforcement(case: &Case<'_>, strategy: Strategy, mechanism: &str) -> Finding {
    let mut finding = open(format!("enforcement: {mechanism}"), strategy);
    let audits: Vec<(&Run, &EnforcementAudit)> = case
        .pool
        .map(Pool::audits)
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, audit)| audit.mechanism == mechanism)
        .collect();
    let Some((newest_run, newest)) = audits.last() else {
        finding.explanation = format!("no audit has shown that it binds ({mechanism})");
        let tests = if mechanism.starts_with(CAP) { "audit" } else { "c" };
        finding.missing.push(case.measure(
            tests,
            format!("an audit that «{mechanism}» binds"),
            Some(case.pair_minutes()),
        ));
        return finding;
    };
    finding.origin = Some(newest_run.origin);
    finding.evidence = audits.iter().map(|(run, _)| run.id.clone()).collect();
    finding.evidence.dedup();
    finding.sample.count = audits.len() as u64;
    // One audit in which it did not bind is enough: what binds only sometimes protects nobody.
    let broken = audits.iter().find(|(_, audit)| !binds(audit));
    finding.ruling = if broken.is_some() { Ruling::Fail } else { Ruling::Pass };
    let shown = broken.map_or(*newest, |(_, audit)| audit);
    let word = if binds(shown) { "binds" } else { "enforcement not effective" };
    finding.observed = Some(shown.ratio_measured);
    finding.explanation = if mechanism == AUDIT_FAULTS || mechanism.starts_with(CAP) {
        // Nothing is shared out in these audits, so their ratio means nothing to a reader.
        format!("{word}: {}", shown.method)
    } else {
        format!(
            "{word}: the neighbour got {} times what inference got, {} times were expected ({})",
            ratio(shown.ratio_measured),
            ratio(shown.ratio_expected),
            shown.method
        )
    };
    finding
}

/// Whether a mechanism binds: the audit says so, and the neighbour's share of what both got lies
/// nearer to the expected one than to the half that two busy processes get where nothing binds. Where
/// half or more is expected, nothing tells a limit from none but the excess: a tenth is allowed.
fn binds(audit: &EnforcementAudit) -> bool {
    let share = |ratio: f64| ratio / (1.0 + ratio);
    let (expected, measured) = (share(audit.ratio_expected), share(audit.ratio_measured));
    let limit = if expected < 0.5 { f64::midpoint(expected, 0.5) } else { expected * 1.1 };
    audit.binds && audit.ratio_measured >= 0.0 && measured < limit
}

fn ratio(value: f64) -> String {
    if value < 0.1 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// What a mode isolates: the rules of [`sharing`] for GPUs, and those of the host.
fn rule(case: &Case<'_>, workload: &str, property: IsolationProperty, strategy: Strategy) -> Rule {
    let mode = &case.site.sharing.mode;
    if !has_own_part(case, mode) {
        return Rule::Not("the site file does not give each workload a part of its own");
    }
    let Some(mechanism) = Mechanism::of(mode) else {
        return match mode {
            SharingMode::HostCpu(_) => host_rule(case, workload, property, strategy),
            _ => Rule::Unknown,
        };
    };
    let rule = sharing::rule(mechanism, property);
    match rule.gives {
        Gives::Yes => Rule::Gives(rule.why),
        Gives::No => Rule::Not(rule.why),
        // It is the other one's limit that protects.
        Gives::IfOthersLimited { otherwise } => {
            let is_limited = memory_limits(mode).is_some_and(|limits| {
                others(case, workload).all(|other| limits.contains_key(&other.name))
            });
            if is_limited { Rule::Gives(rule.why) } else { Rule::Not(otherwise) }
        }
    }
}

/// What workloads that share only the host's CPUs are protected from.
fn host_rule(
    case: &Case<'_>,
    workload: &str,
    property: IsolationProperty,
    strategy: Strategy,
) -> Rule {
    use IsolationProperty as Property;
    use Rule::{Gives, Not};
    let mode = &case.site.sharing.mode;
    match property {
        Property::Cpu => {
            if own_cores(case, mode) {
                Gives("each workload has cores of its own")
            } else if !is_idle(mode, strategy) {
                Not("without cores of its own or an idle neighbour, each gets a share of the CPU")
            } else if case.neighbour.is_some_and(|neighbour| neighbour.name == workload) {
                Not("an idle neighbour gets only what inference leaves")
            } else {
                Gives("an idle neighbour gets CPU only where inference leaves some")
            }
        }
        Property::Faults => Gives("processes have address spaces of their own"),
        Property::MemoryCapacity => {
            let caps = &case.site.sharing.caps;
            let is_held =
                |other: &Workload| caps.get(&other.name).is_some_and(|caps| caps.memory.is_some());
            if others(case, workload).all(is_held) {
                Gives("a cap of the host's memory holds the other workload")
            } else {
                Not("nothing bounds the other workload's memory")
            }
        }
        Property::MemoryBandwidth => {
            Not("cores share the memory controllers and the last-level cache")
        }
        Property::Sms => Not("there is no GPU"),
    }
}

/// The limits of device memory that a mode sets.
fn memory_limits(mode: &SharingMode) -> Option<&MemoryLimits> {
    match mode {
        SharingMode::Mps(
            MpsMode::Default { memory_limits, .. } | MpsMode::Static { memory_limits, .. },
        ) => Some(memory_limits),
        _ => None,
    }
}

/// The two workloads of the question.
fn pair<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Workload> {
    case.inference.map(|(workload, _)| workload).into_iter().chain(case.neighbour)
}

/// The other workload.
fn others<'a>(case: &Case<'a>, workload: &str) -> impl Iterator<Item = &'a Workload> {
    pair(case).filter(move |other| other.name != workload)
}

/// Where a mode divides by name, whether each workload has a part. A file that assigns nothing
/// divides nothing.
fn has_own_part(case: &Case<'_>, mode: &SharingMode) -> bool {
    match mode {
        SharingMode::WholeGpu(whole) => {
            pair(case).all(|w| whole.gpus.get(&w.name).is_some_and(|gpus| !gpus.is_empty()))
        }
        SharingMode::Mig(layout) => pair(case).all(|workload| {
            let mut instances = layout.iter().flat_map(|gpu| &gpu.instances);
            instances.any(|instance| instance.workload.as_deref() == Some(&workload.name))
        }),
        SharingMode::Mps(MpsMode::Static { partitions, .. }) => {
            pair(case).all(|workload| partitions.contains_key(&workload.name))
        }
        SharingMode::Mps(MpsMode::Default { .. })
        | SharingMode::TimeSlicing(_)
        | SharingMode::Temporal(_)
        | SharingMode::HostCpu(_)
        | SharingMode::CandidatesAll => true,
    }
}

/// Whether both workloads are bound to cores, and to none in common.
fn own_cores(case: &Case<'_>, mode: &SharingMode) -> bool {
    let SharingMode::HostCpu(host) = mode else { return false };
    let cores: Vec<&[u32]> = pair(case)
        .map(|workload| host.affinity.get(&workload.name).map_or(&[][..], Vec::as_slice))
        .collect();
    match cores.as_slice() {
        [one, other] => {
            !one.is_empty() && !other.is_empty() && one.iter().all(|core| !other.contains(core))
        }
        _ => false,
    }
}
