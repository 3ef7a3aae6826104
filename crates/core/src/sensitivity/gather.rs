//! Which blocks are looked at together.

use std::collections::BTreeMap;

use crate::evidence::{Block, Condition, Run, Situation, Stress};

use super::Question;

/// Relative difference of two rates below which two loads of one description are the same load.
const LOAD_TOLERANCE: f64 = 0.25;

/// Blocks that replayed the same arrivals.
#[derive(Debug, Default)]
pub(super) struct Round<'a> {
    /// With nothing stressed.
    pub(super) references: Vec<&'a Block>,
    /// By stressor and dose.
    pub(super) doses: BTreeMap<Stress, &'a Block>,
}

/// Everything that an explanation rests on.
#[derive(Debug, Default)]
pub(super) struct Gathered<'a> {
    pub(super) runs: Vec<&'a Run>,
    pub(super) rounds: Vec<Round<'a>>,
    /// Valid blocks of test B.
    pub(super) neighbour: Vec<&'a Block>,
    /// Valid A and C of the same pair.
    pub(super) pairs: Vec<(&'a Block, &'a Block)>,
    pub(super) left_out: u32,
    pub(super) remarks: Vec<String>,
}

impl<'a> Gathered<'a> {
    /// Every reference block.
    pub(super) fn references(&self) -> Vec<&'a Block> {
        self.rounds.iter().flat_map(|round| round.references.iter().copied()).collect()
    }

    /// Valid blocks under stress, references among them.
    pub(super) fn block_count(&self) -> u32 {
        self.rounds.iter().map(|round| (round.references.len() + round.doses.len()) as u32).sum()
    }
}

fn stress(block: &Block) -> Option<Stress> {
    match block.plan.situation {
        Situation::Stressed(stress) => Some(stress),
        _ => None,
    }
}

/// Gathers; `None` where nothing was ever stressed. The newest run under stress says which stack and
/// load the explanation is about.
pub(super) fn gather<'a>(question: &Question<'a>) -> Option<Gathered<'a>> {
    let mut runs: Vec<&Run> =
        question.runs.iter().filter(|run| run.inference == question.inference).collect();
    runs.sort_by_key(|run| (run.started, &run.id));
    let newest =
        runs.iter().rev().find(|run| run.blocks.iter().any(|block| stress(block).is_some()))?;
    let mut gathered = Gathered::default();
    for run in &runs {
        let different = differences(run, newest);
        let is_about = run.blocks.iter().any(|block| {
            stress(block).is_some()
                || (block.plan.situation.is_ordinary() && block.plan.condition != Condition::A)
        });
        if !is_about {
            continue;
        }
        if !different.is_empty() {
            let why = different.join(", ");
            gathered.remarks.push(format!("run {} is left out: {why}", run.id));
            continue;
        }
        add_stressed(&mut gathered, run);
        if question.neighbour == Some(run.neighbour.as_str()) {
            add_ordinary(&mut gathered, run);
        }
    }
    Some(gathered)
}

fn add_stressed<'a>(gathered: &mut Gathered<'a>, run: &'a Run) {
    let mut rounds: BTreeMap<u32, Round<'a>> = BTreeMap::new();
    let mut any = false;
    for block in &run.blocks {
        let Some(stress) = stress(block) else { continue };
        any = true;
        if !block.is_valid() {
            gathered.left_out += 1;
            continue;
        }
        let round = rounds.entry(block.plan.pair).or_default();
        if stress.dose == 0 {
            round.references.push(block);
        } else {
            round.doses.insert(stress, block);
        }
    }
    if any {
        gathered.runs.push(run);
        gathered.rounds.extend(rounds.into_values().filter(|round| !round.references.is_empty()));
    }
}

fn add_ordinary<'a>(gathered: &mut Gathered<'a>, run: &'a Run) {
    let of = |condition: Condition| {
        run.blocks.iter().filter(move |block| {
            block.plan.situation.is_ordinary()
                && block.plan.condition == condition
                && block.plan.remedy.is_none()
                && block.is_valid()
        })
    };
    gathered.neighbour.extend(of(Condition::B));
    for together in of(Condition::C) {
        let alone = of(Condition::A).find(|alone| alone.plan.pair == together.plan.pair);
        gathered.pairs.extend(alone.map(|alone| (alone, together)));
    }
}

/// In what a run differs from the one that the explanation is about, as far as inference feels it.
fn differences(run: &Run, newest: &Run) -> Vec<String> {
    let value = |value: Option<&str>| value.unwrap_or("not observed").to_owned();
    let mut differences: Vec<String> = run
        .fingerprint
        .differences(&newest.fingerprint)
        .into_iter()
        .filter(|(aspect, ..)| aspect.stales_inference())
        .map(|(aspect, there, now)| format!("{aspect}: {} there, {} now", value(there), value(now)))
        .collect();
    let only_neighbour = run.blocks.iter().all(|block| block.plan.condition == Condition::B);
    let (there, now) = (run.load.rate_per_s, newest.load.rate_per_s);
    let far = (there - now).abs() > LOAD_TOLERANCE * there.abs().max(now.abs());
    if !only_neighbour && (far || run.load.description != newest.load.description) {
        differences.push(format!(
            "load: {} at {there:.3} req/s there, {} at {now:.3} req/s now",
            run.load.description, newest.load.description
        ));
    }
    differences
}
