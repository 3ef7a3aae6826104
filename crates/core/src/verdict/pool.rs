//! Which blocks may be looked at together.
//!
//! All valid blocks of one stack and one load pool over runs, so that nobody can run again until it
//! passes. The newest observations say which stack and load the question is about; blocks of another
//! stack are left out by the name of what differs, and never compared.

use crate::evidence::{
    Aspect, Block, BlockFault, Condition, EnforcementAudit, Fingerprint, Origin, Remedy, Run,
};

use super::Rejected;

/// A block with the run that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub(super) run: &'a Run,
    pub(super) block: &'a Block,
}

/// The stack, load and workloads that the question is about: of each, what was seen last. A run of A
/// alone says nothing of the trainer, so the trainer's aspects come from the last run that had one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reference {
    pub(super) fingerprint: Fingerprint,
    pub(super) load: Option<String>,
    pub(super) inference: Option<String>,
    pub(super) neighbour: Option<String>,
}

impl Reference {
    /// Reads it off the runs, oldest first.
    pub(super) fn new(runs: &[&Run]) -> Self {
        let mut reference = Self::default();
        for run in runs {
            let values = run.fingerprint.0.iter().map(|(aspect, value)| (*aspect, value.clone()));
            reference.fingerprint.0.extend(values);
            let has = |condition| run.blocks.iter().any(|b| b.plan.condition == condition);
            if has(Condition::A) || has(Condition::C) {
                reference.load = Some(run.load.description.clone());
                reference.inference = Some(run.inference.clone());
            }
            if has(Condition::B) || has(Condition::C) {
                reference.neighbour = Some(run.neighbour.clone());
            }
        }
        reference
    }
}

/// Why the blocks of a run do not count for a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) run: String,
    pub(super) condition: Condition,
    /// "driver: 580.1 there, 590.2 now".
    pub(super) what: String,
}

/// The evidence about one question.
#[derive(Clone, Debug)]
pub(super) struct Pool<'a> {
    pub(super) reference: Reference,
    pub(super) members: Vec<Member<'a>>,
    pub(super) differences: Vec<Difference>,
    pub(super) rejected: Vec<Rejected>,
}

impl<'a> Pool<'a> {
    /// Pools the runs about one pair of workloads. `None` where there is no run.
    pub(super) fn new(runs: &'a [Run]) -> Option<Self> {
        let mut in_order: Vec<&Run> = runs.iter().collect();
        in_order.sort_by_key(|run| (run.started, &run.id));
        in_order.last()?;
        let mut pool = Self {
            reference: Reference::new(&in_order),
            members: Vec::new(),
            differences: Vec::new(),
            rejected: Vec::new(),
        };
        for run in in_order {
            for condition in [Condition::A, Condition::B, Condition::C] {
                pool.add(run, condition);
            }
        }
        Some(pool)
    }

    fn add(&mut self, run: &'a Run, condition: Condition) {
        let mut blocks = run.blocks.iter().filter(|b| b.plan.condition == condition).peekable();
        if blocks.peek().is_none() {
            return;
        }
        let different = differences(run, &self.reference, condition);
        if !different.is_empty() {
            self.differences.extend(different.into_iter().map(|what| Difference {
                run: run.id.clone(),
                condition,
                what,
            }));
            return;
        }
        for block in blocks {
            if block.is_valid() {
                self.members.push(Member { run, block });
            } else {
                self.rejected.push(Rejected {
                    run: run.id.clone(),
                    index: block.plan.index,
                    letter: condition.letter(),
                    reason: block
                        .faults
                        .iter()
                        .map(fault_sentence)
                        .collect::<Vec<_>>()
                        .join("; "),
                });
            }
        }
    }

    /// Valid blocks of a condition under a remedy (or none). Test A knows no remedy: without a
    /// neighbour there is nothing that a remedy could change.
    pub(super) fn blocks(&self, condition: Condition, remedy: Option<Remedy>) -> Vec<Member<'a>> {
        self.members
            .iter()
            .filter(|member| member.block.plan.condition == condition)
            .filter(|member| condition == Condition::A || member.block.plan.remedy == remedy)
            .copied()
            .collect()
    }

    /// Remedies with at least one valid C block.
    pub(super) fn remedies(&self) -> Vec<Remedy> {
        let mut remedies: Vec<Remedy> = self
            .members
            .iter()
            .filter(|member| member.block.plan.condition == Condition::C)
            .filter_map(|member| member.block.plan.remedy)
            .collect();
        remedies.sort_unstable();
        remedies.dedup();
        remedies
    }

    /// Audits of a mechanism in runs of the same stack, oldest first, each with its run.
    pub(super) fn audits(&self, mechanism: &str) -> Vec<(&'a str, &'a EnforcementAudit, Origin)> {
        let mut runs: Vec<&Run> = self.members.iter().map(|member| member.run).collect();
        runs.sort_by_key(|run| (run.started, &run.id));
        runs.dedup_by_key(|run| &run.id);
        runs.into_iter()
            .flat_map(|run| run.audits.iter().map(|audit| (run.id.as_str(), audit, run.origin)))
            .filter(|(_, audit, _)| audit.mechanism == mechanism)
            .collect()
    }

    /// Runs that gave valid blocks of a condition.
    pub(super) fn run_ids(members: &[Member<'_>]) -> Vec<String> {
        let mut ids: Vec<String> = members.iter().map(|member| member.run.id.clone()).collect();
        ids.dedup();
        ids.sort();
        ids.dedup();
        ids
    }

    /// The weaker of the origins of some blocks: imported where one is.
    pub(super) fn origin(members: &[Member<'_>]) -> Option<Origin> {
        members.iter().map(|member| member.run.origin).max()
    }
}

/// In what a run differs from what the question is about, as far as it matters for a test.
pub(super) fn differences(run: &Run, reference: &Reference, condition: Condition) -> Vec<String> {
    let matters = |aspect: Aspect| match condition {
        Condition::A => aspect.stales_inference(),
        Condition::B => aspect.stales_training(),
        Condition::C => true,
    };
    let value = |value: Option<&str>| value.unwrap_or("not observed").to_owned();
    let mut differences: Vec<String> = run
        .fingerprint
        .differences(&reference.fingerprint)
        .into_iter()
        .filter(|(aspect, _, _)| matters(*aspect))
        .map(|(aspect, there, here)| format!("{aspect}: {} there, {} now", value(there), value(here)))
        .collect();
    let mut compare = |name: &str, there: &str, here: Option<&String>| {
        if let Some(here) = here.filter(|here| *here != there) {
            differences.push(format!("{name}: {there} there, {here} now"));
        }
    };
    if condition != Condition::B {
        compare("load", &run.load.description, reference.load.as_ref());
        compare("inference workload", &run.inference, reference.inference.as_ref());
    }
    if condition != Condition::A {
        compare("neighbour", &run.neighbour, reference.neighbour.as_ref());
    }
    differences
}

fn fault_sentence(fault: &BlockFault) -> String {
    match fault {
        BlockFault::Steal { cores, cores_max } => format!(
            "the hypervisor took {cores:.2} cores away (limit {cores_max:.2}), which is outside \
             both tenants"
        ),
        BlockFault::ForeignCpu { cores, cores_max } => format!(
            "processes of neither tenant used {cores:.2} cores (limit {cores_max:.2})"
        ),
        BlockFault::ClientLate { lateness_p99_s, lateness_max_s } => format!(
            "the load client was late: p99 {:.1} ms (limit {:.1} ms), which is not small beside \
             what it measured",
            lateness_p99_s * 1e3,
            lateness_max_s * 1e3
        ),
        BlockFault::Incomplete(why) => format!("not completed: {why}"),
    }
}
