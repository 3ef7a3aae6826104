//! The inference gate: does inference keep its objectives with the neighbour beside it, at the load
//! that was declared?

use crate::evidence::Condition;
use crate::site::{Inference, InferenceObjectives, SiteKind, Workload, WorkloadKind};

use super::claims::{Claim, rule_failures};
use super::cpu_limit::cpu_limit;
use super::findings::{Case, gate, not_tested, open};
use super::load::{self, Tie};
use super::objectives::Look;
use super::overload::overload;
use super::pool::{Member, Pool};
use super::{Finding, Gate, GateKind, Ruling, Strategy, points, series};

pub(super) fn judge(case: &Case<'_>, strategy: Strategy) -> Gate {
    let mut findings = Vec::new();
    let Some((workload, inference)) = case.inference else {
        let mut finding = open("inference workload", strategy);
        finding.explanation = "the site declares none".into();
        finding
            .missing
            .push(case.declare("an inference workload", "workloads: [{ inference: … }]"));
        return gate(GateKind::Inference, vec![finding]);
    };
    let classes = declared_classes(workload, inference);
    let inspected = classes.iter().any(|(_, objectives)| is_measurable(objectives));
    if !inspected {
        let mut finding = open(format!("{}: objectives", workload.name), strategy);
        finding.explanation = "the site declares no objective that a test can judge".into();
        finding.missing.push(case.declare("an objective", "objectives: { ttft_p95: 500 ms }"));
        return gate(GateKind::Inference, vec![finding]);
    }
    for (condition, strategy) in [(Condition::C, strategy), (Condition::A, Strategy::Alone)] {
        findings.extend(test(case, condition, strategy, &classes));
    }
    let limit = cpu_limit(case, strategy, &findings);
    findings.extend(limit);
    findings.extend(others(case, strategy, &workload.name));
    if matches!(case.site.kind, SiteKind::Pool(_)) {
        let mut finding = open("the pool", strategy);
        finding.explanation =
            "the site is a pool, and what was measured is one server of it".into();
        finding.missing.push(case.declare(
            "the server that the test is about, as a site of its own",
            "kind: { server: … }",
        ));
        findings.push(finding);
    }
    gate(GateKind::Inference, findings)
}

/// Whether a test of this program can say anything of an objective.
fn is_measurable(objectives: &InferenceObjectives) -> bool {
    !objectives.latency().is_empty()
        || objectives.error_rate.is_some()
        || objectives.throughput.is_some()
        || objectives.queue_length.is_some()
        || objectives.queue_time.is_some()
}

/// The findings of one test.
fn test(
    case: &Case<'_>,
    condition: Condition,
    strategy: Strategy,
    classes: &[(Option<u16>, InferenceObjectives)],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let members = case.blocks(condition, strategy);
    findings.extend(incomplete(case, condition, strategy));
    if members.is_empty() {
        findings.push(not_tested(case, condition, strategy, &subject(case, None, "")));
        findings.extend(points::inference(case, condition, strategy, classes));
        return findings;
    }
    let tie = load::tie(case, &members);
    findings.push(load::finding(case, condition, strategy, &members, &tie));
    if condition == Condition::C {
        findings.extend(at_work(case, strategy, &members));
    }
    if let Some(finding) = overload(case, &members, strategy) {
        findings.push(soften(case, finding, &tie));
        return findings;
    }
    let look = Look { case, condition, strategy, members: &members };
    let mut judged = Vec::new();
    let mut claims: Vec<Claim<'_>> = Vec::new();
    for (class, objectives) in classes {
        look.objectives(*class, objectives, &mut judged, &mut claims);
    }
    findings.extend(look.undeclared_classes(classes));
    rule_failures(case, &mut judged, &claims);
    drop(claims);
    findings.extend(judged.into_iter().map(|finding| soften(case, finding, &tie)));
    findings
}

/// What fails under more load than is declared may hold under the declared one.
fn soften(case: &Case<'_>, mut finding: Finding, tie: &Tie) -> Finding {
    if finding.ruling == Ruling::Fail && !tie.above.is_empty() {
        finding.ruling = Ruling::NotProven;
        finding.explanation = format!(
            "fails, but under more load than is declared ({}): {}",
            tie.above.join("; "),
            finding.explanation
        );
        finding.missing.push(case.at_declared_load());
    }
    finding
}

/// The objectives, per class where classes are declared: results of classes are never averaged. A
/// class's own objectives stand beside those of the whole workload; where both name one, its own
/// counts.
pub(crate) fn declared_classes(
    workload: &Workload,
    inference: &Inference,
) -> Vec<(Option<u16>, InferenceObjectives)> {
    let whole = &inference.objectives;
    if workload.classes.is_empty() {
        return vec![(None, whole.clone())];
    }
    let beside = |own: &InferenceObjectives| InferenceObjectives {
        ttft_p95: own.ttft_p95.or(whole.ttft_p95),
        ttft_p99: own.ttft_p99.or(whole.ttft_p99),
        itl_p95: own.itl_p95.or(whole.itl_p95),
        tpot_p95: own.tpot_p95.or(whole.tpot_p95),
        e2e_p95: own.e2e_p95.or(whole.e2e_p95),
        error_rate: own.error_rate.or(whole.error_rate),
        queue_length: own.queue_length,
        throughput: own.throughput.clone(),
        queue_time: own.queue_time,
        availability: own.availability,
    };
    // What belongs to the engine as a whole, its queue and its throughput, has no class.
    let of_all = InferenceObjectives {
        queue_length: whole.queue_length,
        queue_time: whole.queue_time,
        throughput: whole.throughput.clone(),
        ..InferenceObjectives::default()
    };
    let mut all = vec![(None, of_all)];
    all.extend(workload.classes.iter().enumerate().map(|(index, class)| {
        let own = class.objectives.clone().unwrap_or_default();
        (Some(index as u16), beside(&own))
    }));
    all
}

pub(super) fn subject(case: &Case<'_>, class: Option<u16>, what: &str) -> String {
    let Some((workload, _)) = case.inference else { return what.to_owned() };
    let class = class.and_then(|index| workload.classes.get(usize::from(index)));
    match class {
        Some(class) => format!("{} ({}): {what}", workload.name, class.name),
        None if what.is_empty() => workload.name.clone(),
        None => format!("{}: {what}", workload.name),
    }
}

/// A block that was not completed has no cause outside the tenants: it may be the interference.
fn incomplete(case: &Case<'_>, condition: Condition, strategy: Strategy) -> Option<Finding> {
    let remedy = Case::remedy(strategy);
    let blocks = case.pool?.incomplete(condition, remedy);
    let first = blocks.first()?;
    let reasons: Vec<String> =
        first.block.faults.iter().map(crate::evidence::BlockFault::sentence).collect();
    let letter = condition.letter();
    let what = format!("test {letter} to its end");
    let mut finding = open(subject(case, None, &what), strategy);
    finding.evidence = Pool::run_ids(&blocks);
    finding.origin = Pool::origin(&blocks);
    let guarded = blocks.iter().find_map(|member| {
        let fault = member.block.faults.iter();
        let mut fault = fault.filter(|f| matches!(f, crate::evidence::BlockFault::Guarded { .. }));
        Some((member.block.plan.index, fault.next()?.sentence()))
    });
    if let Some((index, sentence)) = guarded {
        finding.explanation = format!(
            "{sentence} (test {letter}, block {index}); a test that its guard ended proves nothing in \
             favour of sharing"
        );
        finding.missing.push(super::Missing {
            what: "a test that the guard does not end: with a remedy, a lighter neighbour, or at \
                   another time"
                .into(),
            remedy: format!(
                "cotenant measure {} --tests a,c --remedy idle-priority",
                case.site_file
            ),
            minutes: Some(12.0 * case.pair_minutes()),
        });
        return Some(finding);
    }
    finding.explanation = format!(
        "{} of test {letter} broke off, and nothing outside the tenants is known to have caused it \
         (block {}: {})",
        count(blocks.len(), "block"),
        first.block.plan.index,
        reasons.join("; ")
    );
    finding.missing.push(super::Missing {
        what: "why it broke off; where no tenant caused it, the run can be left out by that reason"
            .into(),
        remedy: format!("cotenant exclude {} {} --reason … --by …", case.site_file, first.run.id),
        minutes: Some(0.0),
    });
    Some(finding)
}

/// A block whose neighbour was dead says nothing of sharing.
fn at_work(case: &Case<'_>, strategy: Strategy, members: &[Member<'_>]) -> Option<Finding> {
    let neighbour = case.neighbour?;
    let idle = members
        .iter()
        .filter(|member| !series::neighbour_at_work(member.block, &neighbour.name))
        .count();
    if idle == 0 {
        return None;
    }
    let mut finding = open(format!("{}: at work in test C", neighbour.name), strategy);
    finding.evidence = Pool::run_ids(members);
    finding.origin = Pool::origin(members);
    finding.explanation = format!(
        "in {idle} of {} blocks of test C `{}` was not seen at work in both halves of what is \
         judged, so they may be blocks of inference alone",
        members.len(),
        neighbour.name
    );
    finding.missing.push(case.measure(
        "a,c",
        format!("blocks of test C in which `{}` works throughout (longer ones, where its steps are long)", neighbour.name),
        Some(2.0 * members.len() as f64 * case.pair_minutes()),
    ));
    Some(finding)
}

/// Inference workloads that no test covers.
fn others(case: &Case<'_>, strategy: Strategy, tested: &str) -> Vec<Finding> {
    case.site
        .workloads
        .iter()
        .filter(|workload| matches!(workload.kind, WorkloadKind::Inference(_)))
        .filter(|workload| workload.name != tested)
        .map(|workload| super::findings::untested_workload(case, strategy, &workload.name))
        .collect()
}

/// "1 block", "3 blocks".
pub(super) fn count(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
