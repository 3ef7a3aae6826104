//! Whether the neighbour really goes on where it stopped: what cannot is not preemptible, however fast
//! it leaves.

use crate::evidence::ResumeCheck;
use crate::stats::{ALPHA, clopper_pearson_lower, clopper_pearson_upper};

use super::findings::{Case, Percent, open};
use super::inference::count;
use super::pool::Pool;
use super::preemption::allowed_failures;
use super::{Bounded, Finding, Ruling, Sample, Strategy, Target, Unit};

/// The finding about resumes. `None` where nothing is preempted or no start after a drill was seen,
/// which the finding about reclaims says.
///
/// It fails where the share of starts that did not go on is shown to exceed what is allowed, and where
/// not one of them went on: then there is no evidence that the neighbour ever does.
pub(super) fn resumes(case: &Case<'_>, strategy: Strategy) -> Option<Finding> {
    let preemption = case.training.and_then(|training| training.preemption.as_ref())?;
    let allowed = allowed_failures(case).filter(|_| preemption.allowed)?;
    let members = case.drills(strategy);
    let resumes: Vec<&ResumeCheck> =
        members.iter().filter_map(|member| member.block.drill.as_ref()?.resume.as_ref()).collect();
    if resumes.is_empty() {
        return None;
    }
    let name = case.neighbour.map_or("the neighbour", |workload| workload.name.as_str());
    let mut finding = open(format!("{name}: goes on where it stopped"), strategy);
    finding.evidence = Pool::run_ids(&members);
    finding.origin = Pool::origin(&members);
    let seen = resumes.len();
    let failed = resumes.iter().filter(|resume| resume.failure.is_some()).count();
    // A log without losses shows the counter alone: the model may still be another one.
    // A renderer has none: each of its frames stands for itself.
    let unseen = resumes.iter().filter(|resume| !case.renders() && is_unseen(resume)).count();
    let share = failed as f64 / seen as f64;
    let lower = clopper_pearson_lower(failed as f64, seen as f64, ALPHA).unwrap_or(0.0);
    let upper = clopper_pearson_upper((failed + unseen) as f64, seen as f64, ALPHA).unwrap_or(1.0);
    finding.sample = Sample { count: seen as u64, effective: seen as f64, blocks: seen as u32 };
    finding.target = Some(Target {
        metric: "failed resumes".into(),
        value: allowed,
        unit: Unit::Share,
        misses_allowed: None,
    });
    finding.observed = Some(share);
    finding.judged = Some(Bounded { estimate: share, lower: Some(lower), upper: Some(upper) });
    finding.ruling = if failed == seen || lower > allowed {
        Ruling::Fail
    } else if failed == 0 && unseen == 0 {
        // How rarely it may fail is the question of the finding about reclaims.
        Ruling::Pass
    } else {
        Ruling::NotProven
    };
    finding.explanation = explain(&resumes, failed, unseen, upper, finding.ruling);
    if finding.ruling == Ruling::NotProven && unseen > 0 {
        finding.missing.push(case.declare(
            "a step line with the loss, so that it is seen that the model continued",
            "log: { step: \"step={step} loss={loss} step_s={step_s}\" }",
        ));
    } else if finding.ruling == Ruling::NotProven {
        let needed = 2 * seen as u64;
        finding.missing.push(case.measure(
            "reclaim",
            "more drills, to tell a rare failure from a frequent one".into(),
            Some(needed as f64 * case.drill_minutes()),
        ));
    }
    Some(finding)
}

fn is_unseen(resume: &ResumeCheck) -> bool {
    resume.failure.is_none() && (resume.loss_after.is_none() || resume.loss_before.is_none())
}

fn explain(
    resumes: &[&ResumeCheck],
    failed: usize,
    unseen: usize,
    upper: f64,
    ruling: Ruling,
) -> String {
    let first = resumes.iter().find_map(|resume| resume.failure.as_deref());
    let seen = count(resumes.len(), "start");
    match (ruling, first) {
        (Ruling::Fail, Some(why)) => format!(
            "{failed} of {seen} after a stop did not go on where it stopped, so it is not \
             preemptible: it {why}"
        ),
        (_, Some(why)) => {
            format!("{failed} of {seen} after a stop did not go on where it stopped: it {why}")
        }
        (Ruling::Pass, None) => format!(
            "the step counter and the loss went on at each of {seen} after a stop; at most {} do \
             not (95 %)",
            Percent(upper)
        ),
        (_, None) => format!(
            "the step counter went on at each of {seen} after a stop, but {unseen} of them showed \
             no loss"
        ),
    }
}
