//! From a site and its runs to the whole answer.

use crate::evidence::{Condition, Origin, PointEstimate, Run};
use crate::site::{Site, SharingMode, WorkloadKind};

use super::decide::{Evaluation, decide, missing};
use super::findings::Case;
use super::pool::Pool;
use super::{
    Gate, Rejected, Ruling, Strategy, Validity, Verdict, compare, completion, inference, isolation,
    operations, preemption,
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
    let Question { site, site_file, runs, excluded, as_of, points: _ } = *question;
    let inference = site.inference().next();
    // The neighbour is the one that was tested last, else the first one declared.
    let tested = runs
        .iter()
        .filter(|run| !run.neighbour.is_empty())
        .max_by_key(|run| (run.started, &run.id))
        .and_then(|run| site.workload(&run.neighbour));
    let is_neighbour = |kind: &WorkloadKind| !matches!(kind, WorkloadKind::Inference(_));
    let neighbour =
        tested.or_else(|| site.workloads.iter().find(|workload| is_neighbour(&workload.kind)));
    let training = neighbour.and_then(|workload| match &workload.kind {
        WorkloadKind::Training(training) => Some(&**training),
        _ => None,
    });
    let pool = Pool::new(runs);
    let as_of = as_of.or(site.as_of).or_else(|| newest_instant(runs));
    let case =
        Case { site, site_file, inference, neighbour, training, pool: pool.as_ref(), as_of };

    let declared = evaluate(&case, Strategy::AsDeclared);
    let remedies: Vec<Evaluation> = pool
        .as_ref()
        .map(Pool::remedies)
        .unwrap_or_default()
        .into_iter()
        .map(|remedy| evaluate(&case, Strategy::With(remedy)))
        .collect();
    let decision = decide(&declared, &remedies);
    let mut comparisons = compare::compare(&case, Strategy::AsDeclared);
    for remedy in &remedies {
        comparisons.extend(compare::compare(&case, remedy.strategy));
    }
    let rejected = pool.as_ref().map(|pool| pool.rejected.clone()).unwrap_or_default();
    let open = if decision.ruling == Ruling::Fail { Vec::new() } else { missing(&decision.gates) };
    Verdict {
        ruling: decision.ruling,
        reason: decision.reason,
        conditions: decision.conditions,
        missing: open,
        gates: decision.gates,
        comparisons,
        validity: validity(pool.as_ref(), &rejected),
        rejected,
        excluded: excluded.to_vec(),
        as_of,
        remarks: remarks(&case, runs),
    }
}

fn evaluate(case: &Case<'_>, strategy: Strategy) -> Evaluation {
    let gates: Vec<Gate> = vec![
        inference::judge(case, strategy),
        completion::judge(case, strategy),
        isolation::judge(case, strategy),
        preemption::judge(case, strategy),
        operations::maintenance(case),
        operations::failure_domain(case),
    ];
    let tested_by = Pool::run_ids(&case.blocks(Condition::C, strategy));
    Evaluation { strategy, gates, tested_by }
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
fn validity(pool: Option<&Pool<'_>>, rejected: &[Rejected]) -> Validity {
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

fn remarks(case: &Case<'_>, runs: &[Run]) -> Vec<String> {
    let mut remarks = Vec::new();
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
