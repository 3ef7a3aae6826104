//! The cheapest way in which a task does all of its work, at prices for GPUs.
//!
//! A price on work lets a mixture of ways count, one that does too much and one that does too
//! little. Here each way must do all of it: labels of cost and work are carried over the boundaries
//! between slots, and one that costs no less and has done no more than another is dropped. Where
//! there are too many, two neighbours become one that costs as little as the cheaper and has done as
//! much as the busier: so the answer can only become smaller, and bounds stay bounds.

use super::price::{Item, Prices};
use super::task::Clock;

/// Labels at one boundary at the most.
const LABELS_MAX: usize = 40;

/// A way so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Label {
    cost: f64,
    work: f64,
}

/// The least cost of doing all of an item's work before its end, whatever the price of work; `None`
/// where it cannot be done at all.
pub(super) fn least_cost(item: &Item, prices: &Prices<'_>, clock: &Clock) -> Option<f64> {
    let rows = item.until.saturating_sub(item.from) + 1;
    let mut waiting: Vec<Vec<Label>> = vec![Vec::new(); rows];
    let mut labels = vec![Label { cost: 0.0, work: 0.0 }];
    let mut best = f64::INFINITY;
    for row in 0..rows {
        labels.append(&mut waiting[row]);
        thin(&mut labels);
        if row + 1 < rows {
            start(item, prices, clock, item.from + row, &labels, &mut waiting, &mut best);
        }
    }
    best.is_finite().then_some(best)
}

/// Every run that starts at a boundary.
fn start(
    item: &Item,
    prices: &Prices<'_>,
    clock: &Clock,
    from: usize,
    labels: &[Label],
    waiting: &mut [Vec<Label>],
    best: &mut f64,
) {
    for mode in 0..item.modes() {
        let Some(ends) = item.ends_of(from, mode) else { continue };
        let fixed = item.fixed_cost(mode, prices);
        let mut held = 0.0;
        let mut slot = from;
        for until in ends {
            while slot < until.min(item.until) {
                held += prices.slot[slot] * item.gpus_of(mode);
                slot += 1;
            }
            let crosses = until > item.until;
            let crossing = if crosses { item.crossing_cost(mode, prices) } else { 0.0 };
            let cost = fixed + held + crossing;
            let gain = item.gain(from, until, mode, clock);
            for label in labels {
                let next = Label { cost: label.cost + cost, work: label.work + gain };
                if next.cost >= *best {
                    continue;
                }
                if next.work >= item.need - 1e-9 {
                    *best = next.cost;
                } else if !crosses {
                    waiting[until - item.from].push(next);
                }
            }
        }
    }
}

/// Drops labels that others make useless, and joins neighbours where there are too many.
fn thin(labels: &mut Vec<Label>) {
    labels.sort_by(|one, other| {
        one.cost.total_cmp(&other.cost).then_with(|| other.work.total_cmp(&one.work))
    });
    let mut busiest = f64::NEG_INFINITY;
    labels.retain(|label| {
        let keeps = label.work > busiest + 1e-12;
        busiest = busiest.max(label.work);
        keeps
    });
    while labels.len() > LABELS_MAX {
        // Cheap ones are to be told apart best: join pairs from the dear end.
        let mut joined = Vec::with_capacity(labels.len());
        let excess = labels.len() - LABELS_MAX;
        let first_pair = labels.len().saturating_sub(2 * excess);
        joined.extend_from_slice(&labels[..first_pair]);
        for pair in labels[first_pair..].chunks(2) {
            let work = pair.iter().map(|label| label.work).fold(0.0, f64::max);
            joined.push(Label { cost: pair[0].cost, work });
        }
        *labels = joined;
    }
}
