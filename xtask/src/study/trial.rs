//! One cell of the study: many trials of one procedure on one truth.

use cotenant_core::stats::{
    BlockMisses, LookPlan, Refusal, ShareBounds, Stratum, StratumBounds, bound_misses,
    student_bounds,
};
use rand_pcg::Pcg64;

use super::cells::{Cell, Procedure};
use super::truth::{BAD_WEIGHT, LIMIT, Truth, latencies};

/// Share of misses that the objective of the study allows: p95.
pub(super) const ALLOWED: f64 = 0.05;

/// Error probability that each bound is made for.
pub(super) const ALPHA: f64 = 0.05;

/// Divisors of α that looks are tried with.
pub(super) const DIVISORS: [f64; 3] = [1.0, 2.0, 4.0];

/// How often a cell's trials passed and failed, as shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    /// Passed by the plain t bound over block shares; not followed over several looks.
    pub(super) pass_student: f64,
    /// Passed by the larger of Cox's bound as published and Clopper–Pearson's, strata by Bonferroni.
    pub(super) pass_cox: f64,
    /// Passed by the sum of the product's bounds of the strata at α/S (Bonferroni).
    pub(super) pass_sum: f64,
    /// Passed by the product's rule.
    pub(super) pass: f64,
    /// Failed by the product's rule.
    pub(super) fail: f64,
    /// Blocks used on average.
    pub(super) blocks: f64,
}

impl Rates {
    fn decided_nothing(&self) -> bool {
        self.pass_student + self.pass_cox + self.pass_sum + self.pass + self.fail == 0.0
    }
}

/// The rates of a cell: one entry for a single look, one per divisor of α for several.
pub(super) fn run_cell(cell: &Cell, trials: u32, seed: u64) -> Result<Vec<Rates>, Refusal> {
    // Each cell has its own stream, so that its result depends neither on the other cells nor on
    // the number of threads.
    let mut random = Pcg64::new(u128::from(seed), u128::from(cell.stream()));
    let plan = match cell.procedure {
        Procedure::OneLook => LookPlan::fixed(cell.blocks),
        Procedure::Looks => LookPlan::STUDIED,
    };
    let divisors = match cell.procedure {
        Procedure::OneLook => &DIVISORS[..1],
        Procedure::Looks => &DIVISORS[..],
    };
    let mut totals = vec![Rates::default(); divisors.len()];
    let mut series = Vec::new();
    for _ in 0..trials {
        let blocks = draw_blocks(cell, plan.last_blocks, &mut random, &mut series)?;
        let mut looser: Option<Rates> = None;
        for (total, divisor) in totals.iter_mut().zip(divisors) {
            // Bounds only widen as α shrinks: where nothing was decided at a looser level nothing
            // is at a stricter one.
            let rates = match looser {
                Some(rates) if rates.decided_nothing() => rates,
                _ => outcome(cell, plan, &blocks, ALPHA / divisor)?,
            };
            add(total, rates);
            looser = Some(rates);
        }
    }
    for total in &mut totals {
        divide(total, f64::from(trials));
    }
    Ok(totals)
}

/// The blocks of one trial, with whether each contains the bad phase.
fn draw_blocks(
    cell: &Cell,
    count: usize,
    random: &mut Pcg64,
    series: &mut Vec<f64>,
) -> Result<Vec<(bool, BlockMisses)>, Refusal> {
    (0..count)
        .map(|index| {
            // A declared phase is put into every other block.
            let bad = index % 2 == 1;
            let share = cell.truth.draw(cell.mean, bad, random);
            latencies(share, cell.requests, cell.persistence, random, series);
            Ok((bad, BlockMisses::from_latencies(series, LIMIT)?))
        })
        .collect()
}

/// One trial as rates of 0 or 1: the first look that passes or fails ends it. Each estimator runs
/// its own procedure; the blocks are those of the product's rule.
fn outcome(
    cell: &Cell,
    plan: LookPlan,
    blocks: &[(bool, BlockMisses)],
    alpha: f64,
) -> Result<Rates, Refusal> {
    let mut rates = Rates { blocks: plan.last_blocks as f64, ..Rates::default() };
    let mut ended = false;
    for look in plan.looks() {
        let seen = &blocks[..look];
        let bounds = bound_misses(&strata(cell.truth, seen), alpha)?;
        let summed = if cell.truth.has_strata() {
            // Bonferroni: every stratum at its share of α.
            bound_misses(&strata(cell.truth, seen), alpha / bounds.strata.len() as f64)?
        } else {
            bounds.clone()
        };
        rates.pass_sum = rates.pass_sum.max(flag(weighted_sum(&summed, |s| s.upper) <= ALLOWED));
        let cox = weighted_sum(&summed, |s| s.cox_upper.max(s.clopper_pearson_upper));
        rates.pass_cox = rates.pass_cox.max(flag(cox <= ALLOWED));
        if cell.procedure == Procedure::OneLook {
            rates.pass_student = flag(student_upper(seen, alpha)? <= ALLOWED);
        }
        if !ended && (bounds.upper <= ALLOWED || bounds.lower > ALLOWED) {
            ended = true;
            rates.blocks = look as f64;
            rates.pass = flag(bounds.upper <= ALLOWED);
            rates.fail = flag(bounds.lower > ALLOWED);
        }
        if ended && rates.pass_cox + rates.pass_sum >= 2.0 {
            break;
        }
    }
    Ok(rates)
}

fn strata(truth: Truth, blocks: &[(bool, BlockMisses)]) -> Vec<Stratum> {
    let of = |name: &str, weight, wanted: Option<bool>| Stratum {
        name: name.into(),
        weight,
        blocks: blocks
            .iter()
            .filter(|(bad, _)| wanted.is_none_or(|wanted| wanted == *bad))
            .map(|(_, block)| *block)
            .collect(),
    };
    if truth.has_strata() {
        vec![of("one", 1.0 - BAD_WEIGHT, Some(false)), of("other", BAD_WEIGHT, Some(true))]
    } else {
        vec![of("all", 1.0, None)]
    }
}

fn weighted_sum(bounds: &ShareBounds, upper: fn(&StratumBounds) -> f64) -> f64 {
    bounds.strata.iter().map(|stratum| stratum.weight * upper(stratum)).sum()
}

fn student_upper(blocks: &[(bool, BlockMisses)], alpha: f64) -> Result<f64, Refusal> {
    let shares: Vec<f64> =
        blocks.iter().map(|(_, block)| block.misses as f64 / block.requests as f64).collect();
    Ok(student_bounds(&shares, alpha)?.upper)
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn add(total: &mut Rates, one: Rates) {
    total.pass_student += one.pass_student;
    total.pass_cox += one.pass_cox;
    total.pass_sum += one.pass_sum;
    total.pass += one.pass;
    total.fail += one.fail;
    total.blocks += one.blocks;
}

fn divide(total: &mut Rates, trials: f64) {
    total.pass_student /= trials;
    total.pass_cox /= trials;
    total.pass_sum /= trials;
    total.pass /= trials;
    total.fail /= trials;
    total.blocks /= trials;
}
