//! Which blocks may be looked at together.
//!
//! All valid blocks of one stack and one load pool over runs, so that nobody can run again until it
//! passes. The newest observations say which stack and load the question is about; blocks of another
//! stack are left out by the name of what differs, and never compared.

use std::collections::BTreeSet;

use crate::evidence::{
    Aspect, Block, BlockFault, Condition, EnforcementAudit, Fingerprint, Origin, Remedy, Run,
    Situation, TestedLoad,
};

use super::Rejected;
use super::expected::Expected;

/// A block with the run that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub(super) run: &'a Run,
    pub(super) block: &'a Block,
}

const CONDITIONS: [Condition; 3] = [Condition::A, Condition::B, Condition::C];

/// Relative difference of two rates or lengths below which two loads of one description are taken
/// to differ by chance alone.
const LOAD_TOLERANCE: f64 = 0.25;
/// Standard deviations of the difference of two counts that are taken for chance. A few drills of a
/// few seconds ask for so few requests that their rate says little.
const LOAD_SPREADS: f64 = 3.0;

/// The stack, load and workloads that the question is about: of each, what was seen last. A run of A
/// alone says nothing of the trainer, so the trainer's aspects come from the last run that had one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reference {
    pub(super) fingerprint: Fingerprint,
    pub(super) load: Option<TestedLoad>,
    /// Requests behind that load's rate.
    pub(super) requests: f64,
    pub(super) expected: Expected,
}

impl Reference {
    /// Reads it off the runs, oldest first. What a later run did not observe is forgotten: a result
    /// whose driver is unknown must not be pooled with those of a known one.
    fn new(runs: &[&Run], expected: Expected) -> Self {
        let mut reference = Self { expected, ..Self::default() };
        for run in runs {
            for aspect in Aspect::ALL {
                if !CONDITIONS.into_iter().any(|c| shows(run, c) && matters(aspect, c)) {
                    continue;
                }
                match run.fingerprint.0.get(&aspect) {
                    Some(value) => reference.fingerprint.0.insert(aspect, value.clone()),
                    None => reference.fingerprint.0.remove(&aspect),
                };
            }
        }
        // What a few drills asked for is no question of its own where A or C was tested.
        let asked = |of: fn(&Run, Condition) -> bool| {
            let newest = runs.iter().rev();
            newest.into_iter().find(|run| of(run, Condition::A) || of(run, Condition::C))
        };
        if let Some(run) = asked(has).or_else(|| asked(shows)) {
            reference.load = Some(run.load.clone());
            reference.requests = requests(run).unwrap_or(f64::INFINITY);
        }
        reference
    }
}

/// The blocks of tests A, B and C. What was measured under a stressor, a burst or a fault answers
/// another question.
fn ordinary(run: &Run) -> impl Iterator<Item = &Block> {
    run.blocks.iter().filter(|block| block.plan.situation.is_ordinary())
}

fn has(run: &Run, condition: Condition) -> bool {
    ordinary(run).any(|block| block.plan.condition == condition)
}

/// Drills that are no part of tests A, B and C. A neighbour that yields to a burst is one of them: it
/// is how a reclaim comes in production.
fn drilled(run: &Run) -> impl Iterator<Item = &Block> {
    run.blocks.iter().filter(|block| match block.plan.situation {
        Situation::Drill => true,
        Situation::Burst => block.drill.is_some(),
        _ => false,
    })
}

/// Whether a run says something of a stack in a condition: a drill does, too.
fn shows(run: &Run, condition: Condition) -> bool {
    has(run, condition) || drilled(run).any(|block| block.plan.condition == condition)
}

/// About how many requests the rate of a run's load was counted on; `None` where no block was run.
fn requests(run: &Run) -> Option<f64> {
    let block = run.blocks.first()?;
    let judged_s = block.judged_until_ns.saturating_sub(block.judged_from_ns) as f64 / 1e9;
    let with_load = run.schedule.iter().filter(|plan| plan.condition != Condition::B);
    let pairs: BTreeSet<u32> = with_load.map(|plan| plan.pair).collect();
    Some(run.load.rate_per_s * judged_s * pairs.len() as f64)
}

/// Whether a change of an aspect makes a test stale.
fn matters(aspect: Aspect, condition: Condition) -> bool {
    match condition {
        Condition::A => aspect.stales_inference(),
        Condition::B => aspect.stales_training(),
        Condition::C => true,
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
    pub(super) members: Vec<Member<'a>>,
    pub(super) differences: Vec<Difference>,
    pub(super) rejected: Vec<Rejected>,
    /// Blocks that were not completed: no outside cause, so they are told and decide against a pass.
    pub(super) incomplete: Vec<Member<'a>>,
    /// Runs whose stack is the one that the question is about, the neighbour's included.
    same_stack: Vec<&'a Run>,
    /// Drills under that stack and load that are no part of tests A, B and C.
    drilled: Vec<Member<'a>>,
}

impl<'a> Pool<'a> {
    /// Pools the runs about one pair of workloads. `None` where there is no run.
    pub(super) fn new(runs: &'a [Run], expected: Expected) -> Option<Self> {
        let mut pool = Self {
            members: Vec::new(),
            differences: Vec::new(),
            rejected: Vec::new(),
            incomplete: Vec::new(),
            same_stack: Vec::new(),
            drilled: Vec::new(),
        };
        let mut in_order: Vec<&Run> = runs.iter().collect();
        in_order.sort_by_key(|run| (run.started, &run.id));
        in_order.last()?;
        let mut ids = BTreeSet::new();
        let mut contents = BTreeSet::new();
        in_order.retain(|run| {
            let refusal = if !run.origin.proves_performance() {
                Some(format!("its numbers are {}, and only measurements count", run.origin.name()))
            } else if !ids.insert(&run.id) || !contents.insert((run.started, run.seed)) {
                // The same blocks twice would look like twice the evidence.
                Some("it is a copy of another run".to_owned())
            } else {
                other_workloads(run, &expected)
            };
            let Some(what) = refusal else { return true };
            for condition in CONDITIONS.into_iter().filter(|condition| has(run, *condition)) {
                let run = run.id.clone();
                pool.differences.push(Difference { run, condition, what: what.clone() });
            }
            false
        });
        let reference = Reference::new(&in_order, expected);
        for run in in_order {
            for condition in CONDITIONS {
                pool.add(run, condition, &reference);
            }
            if differences(run, &reference, Condition::C).is_empty() {
                pool.same_stack.push(run);
                pool.drilled.extend(drilled(run).map(|block| Member { run, block }));
            }
        }
        Some(pool)
    }

    fn add(&mut self, run: &'a Run, condition: Condition, reference: &Reference) {
        if !has(run, condition) {
            return;
        }
        let different = differences(run, reference, condition);
        if !different.is_empty() {
            self.differences.extend(different.into_iter().map(|what| Difference {
                run: run.id.clone(),
                condition,
                what,
            }));
            return;
        }
        let mut places = BTreeSet::new();
        for block in ordinary(run).filter(|block| block.plan.condition == condition) {
            let member = Member { run, block };
            let mut reasons: Vec<String> = block.faults.iter().map(BlockFault::sentence).collect();
            if !places.insert(block.plan.index) {
                reasons.push("its place in the schedule was filled before".to_owned());
            }
            if reasons.is_empty() {
                self.members.push(member);
                continue;
            }
            let against_a_pass = |fault: &BlockFault| {
                matches!(fault, BlockFault::Incomplete(_) | BlockFault::Guarded { .. })
            };
            if block.faults.iter().any(against_a_pass) {
                self.incomplete.push(member);
            }
            self.rejected.push(Rejected {
                run: run.id.clone(),
                index: block.plan.index,
                letter: condition.letter(),
                reason: reasons.join("; "),
            });
        }
    }

    /// Valid blocks of a condition under a remedy (or none). Test A knows no remedy: without a
    /// neighbour there is nothing that a remedy could change.
    pub(super) fn blocks(&self, condition: Condition, remedy: Option<Remedy>) -> Vec<Member<'a>> {
        of(&self.members, condition, remedy)
    }

    /// Blocks that show how the machine changes hands under a remedy (or none): every drill, whether
    /// its block counts for tests A, B and C or not, and the valid C blocks.
    pub(super) fn drills(&self, remedy: Option<Remedy>) -> Vec<Member<'a>> {
        let mut members = self.blocks(Condition::C, remedy);
        members.extend(of(&self.drilled, Condition::C, remedy));
        members
    }

    /// Blocks of a condition under a remedy that were not completed.
    pub(super) fn incomplete(
        &self,
        condition: Condition,
        remedy: Option<Remedy>,
    ) -> Vec<Member<'a>> {
        of(&self.incomplete, condition, remedy)
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

    /// Audits in runs of the same stack, oldest first, each with its run.
    pub(super) fn audits(&self) -> Vec<(&'a Run, &'a EnforcementAudit)> {
        self.same_stack
            .iter()
            .flat_map(|run| run.audits.iter().map(move |audit| (*run, audit)))
            .collect()
    }

    /// Valid blocks, in runs of the same stack, in which something was done on purpose.
    pub(super) fn on_purpose(&self) -> Vec<Member<'a>> {
        self.same_stack
            .iter()
            .flat_map(|run| run.blocks.iter().map(move |block| Member { run, block }))
            .filter(|member| !member.block.plan.situation.is_ordinary() && member.block.is_valid())
            .collect()
    }

    /// Runs that gave valid blocks of a condition.
    pub(super) fn run_ids(members: &[Member<'_>]) -> Vec<String> {
        let mut ids: Vec<String> = members.iter().map(|member| member.run.id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// The weaker of the origins of some blocks: imported where one is.
    pub(super) fn origin(members: &[Member<'_>]) -> Option<Origin> {
        members.iter().map(|member| member.run.origin).max()
    }
}

fn of<'a>(members: &[Member<'a>], condition: Condition, remedy: Option<Remedy>) -> Vec<Member<'a>> {
    members
        .iter()
        .filter(|member| member.block.plan.condition == condition)
        .filter(|member| condition == Condition::A || member.block.plan.remedy == remedy)
        .copied()
        .collect()
}

/// Whether a run is about other workloads than the question. Such a run must not shape the
/// reference either.
fn other_workloads(run: &Run, expected: &Expected) -> Option<String> {
    let other = |name: &str, there: &str, here: &Option<String>| {
        let here = here.as_deref().unwrap_or("none");
        (there != here).then(|| format!("{name}: `{there}` there, `{here}` in the site file"))
    };
    let with_inference = shows(run, Condition::A) || shows(run, Condition::C);
    let with_neighbour = shows(run, Condition::B) || shows(run, Condition::C);
    with_inference
        .then(|| other("inference workload", &run.inference, &expected.inference))
        .flatten()
        .or_else(|| {
            with_neighbour
                .then(|| other("neighbour", &run.neighbour, &expected.neighbour))
                .flatten()
        })
}

/// In what a run differs from what the question is about, as far as it matters for a test.
fn differences(run: &Run, reference: &Reference, condition: Condition) -> Vec<String> {
    let value = |value: Option<&str>| value.unwrap_or("not observed").to_owned();
    let mut differences: Vec<String> = run
        .fingerprint
        .differences(&reference.fingerprint)
        .into_iter()
        .filter(|(aspect, _, _)| matters(*aspect, condition))
        .map(|(aspect, there, here)| {
            format!("{aspect}: {} there, {} now", value(there), value(here))
        })
        .collect();
    let declared =
        reference.expected.differences(&run.fingerprint, |aspect| matters(aspect, condition));
    differences.extend(declared);
    if let Some(load) = reference.load.as_ref().filter(|_| condition != Condition::B) {
        let counted = requests(run).map(|requests| (requests, reference.requests));
        differences.extend(load_differences(&run.load, load, counted));
    }
    differences
}

/// In what two loads differ. Seeds make rates and lengths stray, so those have a tolerance; it is wider
/// where few requests were `counted`. A run without blocks was tested under no load.
fn load_differences(
    there: &TestedLoad,
    here: &TestedLoad,
    counted: Option<(f64, f64)>,
) -> Vec<String> {
    if there.description != here.description {
        return vec![format!("load: {} there, {} now", there.description, here.description)];
    }
    let Some((one, other)) = counted else { return Vec::new() };
    // Of a Poisson count of n the relative spread is 1/√n.
    let chance = LOAD_SPREADS * (one.max(1.0).recip() + other.max(1.0).recip()).sqrt();
    let allowed = LOAD_TOLERANCE.max(chance);
    let far = |one: f64, other: f64| (one - other).abs() > allowed * one.abs().max(other.abs());
    let mut differences = Vec::new();
    if far(there.rate_per_s, here.rate_per_s) {
        differences.push(format!(
            "load: {:.2} req/s there, {:.2} req/s now",
            there.rate_per_s, here.rate_per_s
        ));
    }
    let lengths = [
        ("prompt", there.prompt_tokens_p50, here.prompt_tokens_p50),
        ("output", there.output_tokens_p50, here.output_tokens_p50),
    ];
    for (name, one, other) in lengths {
        if far(f64::from(one), f64::from(other)) {
            differences.push(format!("load: {name} tokens p50 of {one} there, of {other} now"));
        }
    }
    differences
}
