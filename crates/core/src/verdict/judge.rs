//! From a site and its runs to the whole answer.

use crate::evidence::{Block, Condition, Origin, PointEstimate, Run};
use crate::observed::causes;
use crate::site::{Inference, SharingMode, Site, Workload, WorkloadKind};

use super::decide::{Evaluation, decide};
use super::expected::Expected;
use super::findings::Case;
use super::missing::missing;
use super::pool::Pool;
use super::{
    Finding, Gate, GateKind, Rejected, Ruling, Strategy, Validity, Verdict, compare, completion,
    findings, inference, isolation, operations, preemption, series,
};

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What is declared.
    pub site: &'a Site,
    /// The site file's name, for commands that are printed.
    pub site_file: &'a str,
    /// Every run that counts.
    pub runs: &'a [Run],
    /// Runs left out, each with its recorded reason.
    pub excluded: &'a [(String, String)],
    /// The instant to judge for: the newest evidence's time, or the site's own, unless the user
    /// asks for another.
    pub as_of: Option<jiff::Timestamp>,
    /// Single numbers from elsewhere. They can neither fail nor pass.
    pub points: &'a [PointEstimate],
}

/// Judges. Same input, same answer.
pub fn judge(question: &Question<'_>) -> Verdict {
    let Question { site, site_file, runs, excluded, as_of: asked, points } = *question;
    let inference = tested_inference(site, runs);
    let neighbour = tested_neighbour(site, runs);
    let training = neighbour.and_then(Workload::job);
    let pool = Pool::new(runs, Expected::new(site, inference, neighbour, training));
    let newest = newest_instant(runs);
    let as_of = asked.or(site.as_of).or(newest);
    let case = Case {
        site,
        site_file,
        inference,
        neighbour,
        training,
        pool: pool.as_ref(),
        as_of,
        points,
    };
    let rejected = pool.as_ref().map(|pool| pool.rejected.clone()).unwrap_or_default();
    let together = isolation::not_binding(&case, Strategy::AsDeclared);
    let validity = without_enforcement(validity(pool.as_ref(), &rejected, runs), &together);

    let declared = evaluate(&case, Strategy::AsDeclared, &validity);
    let remedies: Vec<Evaluation> = pool
        .as_ref()
        .map(Pool::remedies)
        .unwrap_or_default()
        .into_iter()
        .map(|remedy| evaluate(&case, Strategy::With(remedy), &validity))
        .collect();
    let decision = decide(&declared, &remedies);
    let mut comparisons = compare::compare(&case, Strategy::AsDeclared);
    for remedy in &remedies {
        comparisons.extend(compare::compare(&case, remedy.strategy));
    }
    let open = if decision.ruling == Ruling::NotProven {
        missing(&decision.gates, decision.strategy)
    } else {
        Vec::new()
    };
    let mut excluded = excluded.to_vec();
    excluded.extend(left_out(pool.as_ref()));
    // A reason that asks for evidence would mislead where evidence was gathered and is void.
    let reason = match &validity {
        Validity::Invalid(reasons) if decision.ruling == Ruling::NotProven => {
            format!("the tests prove nothing: {}", reasons.join("; "))
        }
        _ => decision.reason,
    };
    Verdict {
        ruling: decision.ruling,
        reason,
        conditions: decision.conditions,
        missing: open,
        gates: decision.gates,
        comparisons,
        validity,
        rejected,
        excluded,
        as_of,
        remarks: remarks(&case, runs, newest),
    }
}

/// The inference workload that was tested last, else the first one declared.
pub(super) fn tested_inference<'a>(
    site: &'a Site,
    runs: &[Run],
) -> Option<(&'a Workload, &'a Inference)> {
    let declared =
        |run: &Run| site.inference().find(|(workload, _)| workload.name == run.inference);
    let tested = runs.iter().filter(|run| declared(run).is_some());
    tested
        .max_by_key(|run| (run.started, &run.id))
        .and_then(declared)
        .or_else(|| site.inference().next())
}

/// The neighbour that was tested last, else the first one declared.
pub(super) fn tested_neighbour<'a>(site: &'a Site, runs: &[Run]) -> Option<&'a Workload> {
    let is_neighbour = |workload: &&Workload| !matches!(workload.kind, WorkloadKind::Inference(_));
    let declared = |run: &Run| site.workload(&run.neighbour).filter(is_neighbour);
    let tested = runs.iter().filter(|run| declared(run).is_some());
    tested
        .max_by_key(|run| (run.started, &run.id))
        .and_then(declared)
        .or_else(|| site.workloads.iter().find(is_neighbour))
}

/// The tests of runs that do not count, with the reason: they are never passed over in silence.
fn left_out(pool: Option<&Pool<'_>>) -> Vec<(String, String)> {
    let Some(pool) = pool else { return Vec::new() };
    pool.differences
        .iter()
        .map(|one| {
            let letter = one.condition.letter();
            (one.run.clone(), format!("test {letter} does not count: {}", one.what))
        })
        .collect()
}

fn evaluate(case: &Case<'_>, strategy: Strategy, validity: &Validity) -> Evaluation {
    let mut gates: Vec<Gate> = vec![
        inference::judge(case, strategy),
        completion::judge(case, strategy),
        isolation::judge(case, strategy),
        preemption::judge(case, strategy),
        operations::maintenance(case),
        operations::failure_domain(case),
    ];
    if let Validity::Invalid(reasons) = validity {
        let measured = [GateKind::Inference, GateKind::Completion, GateKind::Preemption];
        let void = |gate| void(case, gate, &measured, &reasons.join("; "), |_| true);
        gates = gates.into_iter().map(void).collect();
    }
    let broken = isolation::not_binding(case, strategy);
    if !broken.is_empty() {
        let together = |finding: &Finding| finding.strategy != Strategy::Alone;
        let shared = [GateKind::Inference, GateKind::Completion];
        let void = |gate| void(case, gate, &shared, &broken.join("; "), together);
        gates = gates.into_iter().map(void).collect();
    }
    let tested_by = Pool::run_ids(&case.blocks(Condition::C, strategy));
    Evaluation { strategy, gates, tested_by }
}

/// Test C under a mechanism that does not bind says nothing of the sharing that is declared; tests A
/// and B stand.
fn without_enforcement(validity: Validity, broken: &[String]) -> Validity {
    let told = broken.iter().map(|what| format!("test C is invalid under a limit: {what}"));
    match validity {
        Validity::Invalid(mut reasons) => {
            reasons.extend(told);
            Validity::Invalid(reasons)
        }
        Validity::Degraded(mut reasons) => {
            reasons.extend(told);
            Validity::Degraded(reasons)
        }
        Validity::Valid if broken.is_empty() => Validity::Valid,
        Validity::Valid => Validity::Degraded(told.collect()),
    }
}

/// An invalid test proves nothing, in either direction: what was measured in it is open.
fn void(
    case: &Case<'_>,
    gate: Gate,
    kinds: &[GateKind],
    reasons: &str,
    is_of_it: impl Fn(&Finding) -> bool,
) -> Gate {
    if !kinds.contains(&gate.kind) {
        return gate;
    }
    let findings = gate.findings.into_iter().map(|mut finding| {
        if is_of_it(&finding)
            && finding.ruling != Ruling::NotProven
            && finding.origin != Some(Origin::Declared)
        {
            finding.ruling = Ruling::NotProven;
            finding.blind_spot = None;
            finding.explanation = format!(
                "the test is invalid and proves nothing ({reasons}); {}",
                finding.explanation
            );
            finding.missing.push(case.measure(
                "a,b,c",
                "a test that is valid".into(),
                Some(6.0 * case.pair_minutes()),
            ));
        }
        finding
    });
    findings::gate(gate.kind, findings.collect())
}

/// The last instant that evidence speaks of: the end of its last block.
fn newest_instant(runs: &[Run]) -> Option<jiff::Timestamp> {
    let ends = runs.iter().flat_map(|run| &run.blocks).filter_map(|block| {
        let length = jiff::SignedDuration::from_nanos(i64::try_from(block.ended_ns).ok()?);
        block.started.checked_add(length).ok()
    });
    ends.chain(runs.iter().map(|run| run.started)).max()
}

/// A test in which every block of a condition was rejected proves nothing.
fn validity(pool: Option<&Pool<'_>>, rejected: &[Rejected], runs: &[Run]) -> Validity {
    let Some(pool) = pool else { return Validity::Valid };
    let mut invalid = Vec::new();
    let mut degraded = Vec::new();
    for condition in [Condition::A, Condition::B, Condition::C] {
        let lost = rejected.iter().filter(|block| block.letter == condition.letter()).count();
        let kept =
            pool.members.iter().filter(|member| member.block.plan.condition == condition).count();
        if lost > 0 && kept == 0 {
            let first = rejected.iter().find(|block| block.letter == condition.letter());
            let reason = first.map_or("", |block| block.reason.as_str());
            invalid.push(format!(
                "all {lost} blocks of test {} were rejected: {reason}",
                condition.letter()
            ));
        } else if lost > 0 {
            degraded.push(format!(
                "{lost} of {} blocks of test {} were rejected",
                lost + kept,
                condition.letter()
            ));
        }
    }
    // A search ends when it knows enough, and other tests have gates of their own.
    let compares = |run: &&Run| run.schedule.iter().all(|plan| plan.situation.is_ordinary());
    for run in runs.iter().filter(compares).filter(|run| run.blocks.len() < run.schedule.len()) {
        degraded.push(format!(
            "run {} ended after {} of {} planned blocks",
            run.id,
            run.blocks.len(),
            run.schedule.len()
        ));
    }
    let lost: usize = pool.members.iter().map(|member| series::lost(member.block)).sum();
    if lost > 0 {
        degraded
            .push(format!("{lost} requests that were planned have no record and count as failed"));
    }
    let unknown = pool
        .members
        .iter()
        .filter(|m| m.block.client.is_none() && m.block.plan.condition != Condition::B)
        .count();
    if unknown > 0 {
        degraded.push(format!("nothing tells how late the load client was in {unknown} blocks"));
    }
    let mut remarks: Vec<String> =
        pool.members.iter().flat_map(|member| member.block.remarks.iter().cloned()).collect();
    remarks.sort();
    remarks.dedup();
    degraded.extend(remarks);
    if !invalid.is_empty() {
        Validity::Invalid(invalid)
    } else if degraded.is_empty() {
        Validity::Valid
    } else {
        Validity::Degraded(degraded)
    }
}

fn remarks(case: &Case<'_>, runs: &[Run], newest: Option<jiff::Timestamp>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let (Some(as_of), Some(newest)) = (case.as_of, newest)
        && as_of < newest
    {
        remarks.push(format!(
            "The answer speaks of {}, before the newest evidence ({}).",
            as_of.strftime("%F %R UTC"),
            newest.strftime("%F %R UTC")
        ));
    }
    let blocks: Vec<&Block> = case
        .pool
        .map(|pool| pool.members.iter().map(|member| member.block).collect())
        .unwrap_or_default();
    remarks.extend(causes(&blocks).into_iter().map(|cause| sentence(&cause)));
    if !case.points.is_empty() {
        remarks.push(
            "Single numbers without a sample were told: they can neither fail nor pass.".to_owned(),
        );
    }
    if case.site.gpu_count() == 0 || matches!(case.site.sharing.mode, SharingMode::HostCpu(_)) {
        remarks.push(
            "The workloads share CPU cores: this demonstrates the method, and no GPU claim comes of \
             it."
            .to_owned(),
        );
    }
    if runs.iter().any(|run| run.origin == Origin::Imported) {
        remarks.push("Some evidence was imported: another program measured it.".to_owned());
    }
    if runs.iter().any(|run| !run.engine_supervised && !run.neighbour.is_empty()) {
        remarks.push(
            "The engine was found running and was never stopped: test B is training beside an idle \
             engine, not training alone."
                .to_owned(),
        );
    }
    remarks
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
