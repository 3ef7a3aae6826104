//! The gate of the neighbour's objective: does training (batch, rendering) get done in time beside
//! inference?

use crate::evidence::{BlockFault, Condition};
use crate::site::{Training, WorkloadKind};

use super::claims::{Claim, rule_failures};
use super::deadline::one_off;
use super::drift::drift;
use super::findings::{Case, gate, not_tested, open, untested_workload};
use super::inference::count;
use super::load::{self, Tie};
use super::pool::{Member, Pool};
use super::{Finding, Gate, GateKind, Missing, Ruling, Strategy, Target, Unit, points, series};

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let Some(workload) = case.neighbour else {
        let mut finding = open("neighbour", strategy);
        finding.explanation = "the site declares no workload beside inference".into();
        finding.missing.push(case.declare("a neighbour", "workloads: [{ training: … }]"));
        return gate(GateKind::Completion, vec![finding]);
    };
    let Some(training) = case.training else {
        let mut finding = open(format!("{}: objective", workload.name), strategy);
        finding.explanation = format!(
            "`{}` is {}, and only training and rendering can be measured",
            workload.name,
            kind_with_article(&workload.kind)
        );
        finding.missing.push(case.measure("b,c", "its progress alone and together".into(), None));
        return gate(GateKind::Completion, vec![finding]);
    };
    if training.objectives.is_empty() {
        let mut finding = open(format!("{}: objectives", workload.name), strategy);
        finding.explanation = "the site declares no objective for it".into();
        let line = if case.renders() {
            "render: { deadline: …, frame_time_max: 20 s }"
        } else {
            "objectives: { deadline: …, step_time_max: 120 ms }"
        };
        finding.missing.push(case.declare("an objective", line));
        return gate(GateKind::Completion, vec![finding]);
    }
    let mut findings = untested(case, strategy, &workload.name);
    let together = case.blocks(Condition::C, strategy);
    let alone = case.training_alone(strategy);
    if alone.is_empty() {
        findings.push(not_tested(case, Condition::B, strategy, &workload.name));
    }
    findings.extend(broken_off(case, strategy));
    if together.is_empty() {
        findings.push(not_tested(case, Condition::C, strategy, &workload.name));
        findings.extend(points::step_time(case, strategy, &workload.name));
        return gate(GateKind::Completion, findings);
    }
    findings.extend(drift(case, &alone, Strategy::Alone));
    findings.extend(drift(case, &together, strategy));
    let tie = load::tie(case, &together);
    if !tie.below.is_empty() {
        let mut finding = begun(case, strategy, &together, "load beside it");
        finding.explanation = format!(
            "inference was under less load than is declared, which leaves more to training: {}",
            tie.below.join("; ")
        );
        finding.missing.push(case.at_declared_load());
        findings.push(finding);
    }
    let look = Look { case, training, strategy, together: &together, alone: &alone, tie: &tie };
    findings.extend(look.objectives());
    gate(GateKind::Completion, findings)
}

/// Workloads beside inference that no test covers.
fn untested(case: &Case<'_>, strategy: Strategy, tested: &str) -> Vec<Finding> {
    case.site
        .workloads
        .iter()
        .filter(|workload| !matches!(workload.kind, WorkloadKind::Inference(_)))
        .filter(|workload| workload.name != tested)
        .map(|workload| untested_workload(case, strategy, &workload.name))
        .collect()
}

/// Blocks of training beside inference that broke off: the neighbour may have died of the sharing.
fn broken_off(case: &Case<'_>, strategy: Strategy) -> Option<Finding> {
    let blocks = case.pool?.incomplete(Condition::C, Case::remedy(strategy));
    let first = blocks.first()?;
    let mut finding = begun(case, strategy, &blocks, "runs through");
    let reasons: Vec<String> = first.block.faults.iter().map(BlockFault::sentence).collect();
    finding.explanation = format!(
        "{} of test C broke off (block {}: {}), which may be what sharing does to it",
        count(blocks.len(), "block"),
        first.block.plan.index,
        reasons.join("; ")
    );
    finding.missing.push(case.measure(
        "a,c",
        "test C that runs through".into(),
        Some(6.0 * case.pair_minutes()),
    ));
    Some(finding)
}

/// One way of sharing in its setting.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) training: &'a Training,
    pub(super) strategy: Strategy,
    pub(super) together: &'a [Member<'a>],
    pub(super) alone: &'a [Member<'a>],
    pub(super) tie: &'a Tie,
}

/// A finding, and what would make it fail.
pub(super) type Judged<'a> = (Finding, Option<Box<dyn Fn(f64) -> bool + 'a>>);

impl<'a> Look<'a> {
    fn objectives(self) -> Vec<Finding> {
        let objectives = &self.training.objectives;
        let mut judged: Vec<Judged<'a>> = Vec::new();
        if let Some(most) = objectives.step_time_max {
            judged.push(self.step_time(most.as_secs_f64()));
        }
        if let Some(least) = &objectives.throughput_min {
            judged.push(self.throughput(least));
        }
        if let Some(deadline) = &objectives.deadline {
            judged.push(self.meets(deadline));
        }
        let mut findings = Vec::new();
        let mut claims = Vec::new();
        for (finding, beyond) in judged {
            if let Some(beyond) = beyond {
                claims.push(Claim { finding: findings.len(), beyond, tests: "b,c" });
            }
            findings.push(finding);
        }
        rule_failures(self.case, &mut findings, &claims);
        if objectives.on_time_share.is_some() {
            let mut finding = begun(self.case, self.strategy, self.together, "on_time_share");
            finding.explanation =
                "a share of weeks needs a calendar of weeks, and none has been planned".into();
            finding.missing.push(one_off(self.case));
            findings.push(finding);
        }
        findings
    }
}

/// Steps a second of each block; none where nothing was judged.
pub(super) fn rates(members: &[Member<'_>]) -> Vec<f64> {
    members.iter().map(|member| series::steps_per_s(member.block).unwrap_or(0.0)).collect()
}

/// Keeps a pass back, with the reason.
pub(super) fn withhold(finding: &mut Finding, why: &str, missing: Missing) {
    if finding.ruling == Ruling::Pass {
        finding.ruling = Ruling::NotProven;
        finding.blind_spot = None;
        finding.missing.push(missing);
    }
    if finding.ruling == Ruling::NotProven {
        finding.explanation = format!("{why}{}", finding.explanation);
    }
}

fn kind_with_article(kind: &WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Inference(_) => "inference",
        WorkloadKind::Training(_) => "training",
        WorkloadKind::Batch(_) => "a batch",
        WorkloadKind::Render(_) => "a render",
    }
}

/// A finding about an objective of the neighbour, with the runs that it rests on.
pub(super) fn begun(
    case: &Case<'_>,
    strategy: Strategy,
    members: &[Member<'_>],
    what: &str,
) -> Finding {
    let name = case.neighbour.map_or("neighbour", |workload| workload.name.as_str());
    let mut finding = open(format!("{name}: {what}"), strategy);
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    finding
}

/// A target for a mean or a time, to which no share of misses belongs.
pub(super) fn target(metric: &str, value: f64, unit: Unit) -> Target {
    Target { metric: metric.to_owned(), value, unit, misses_allowed: None }
}
