//! One node cannot serve longer than it is up, and planned maintenance counts too.

use super::amount::Range;
use super::changes;
use super::draft::{line_of, number, open, quoted};
use super::fault_domain::MINUTES_PER_MONTH;
use super::gpu_memory::outcome;
use crate::plan::model::{Check, Outcome};
use crate::site::{Inference, Site, Workload};

/// One check for each inference workload with an availability target.
pub(super) fn checks(site: &Site) -> Vec<Check> {
    site.inference().filter_map(|(workload, inference)| check(site, workload, inference)).collect()
}

fn check(site: &Site, workload: &Workload, inference: &Inference) -> Option<Check> {
    let of_classes = workload.classes.iter().filter_map(|class| class.objectives.as_ref());
    // The strictest of the workload's own target and those of its classes.
    let target = of_classes
        .chain([&inference.objectives])
        .filter_map(|objectives| objectives.availability)
        .reduce(|one, other| if other > one { other } else { one })?;
    let name = quoted(&workload.name);
    let title = format!("Can this place give {name} its availability?");
    let mut check = open("availability", title, vec![workload.name.clone()]);
    let budget = (1.0 - target.value()) * MINUTES_PER_MONTH;
    check
        .arithmetic
        .push(format!("allowed: (1 − {target}) × 30 d = {} min a month", number(budget, 1)));
    let down = if let Some(node) = site.operations.node_availability {
        let down = (1.0 - node.value()) * MINUTES_PER_MONTH;
        check.arithmetic.push(format!(
            "the node is down (1 − {node}) × 30 d = {} min a month",
            number(down, 1)
        ));
        Range::exactly(down)
    } else {
        check.missing.push("operations: { node_availability: … % }".to_owned());
        Range::UNKNOWN
    };
    let planned = planned(site, &mut check);
    let total = down.plus(planned);
    check.outcome = outcome(total, budget);
    let sum = match total.high {
        Some(high) if high > total.low => {
            format!("{} to {} min", number(total.low, 1), number(high, 1))
        }
        Some(high) => format!("{} min", number(high, 1)),
        None => format!("at least {} min", number(total.low, 1)),
    };
    check.arithmetic.push(format!("together: {sum} of {} min", number(budget, 1)));
    check.answer = match check.outcome {
        Outcome::Fails => {
            format!("no: {name} is down for {sum} a month, {} are allowed", number(budget, 1))
        }
        Outcome::Holds => {
            format!("{name} is down for {sum} a month of {} that are allowed", number(budget, 1))
        }
        Outcome::Open => format!(
            "cannot be decided: {name} is down for {sum} a month, {} are allowed",
            number(budget, 1)
        ),
    };
    if check.outcome != Outcome::Holds {
        let is_shorter = planned.high.is_some_and(|planned| planned > 0.0) && down.low <= budget;
        let shorter = is_shorter.then(|| {
            let minutes = number(budget - down.low, 1);
            format!(", or planned maintenance that stops it for at most {minutes} min a month")
        });
        check.would_be_conditional_on.push(format!(
            "a second node that serves {name} while this one is down or maintained{}",
            shorter.unwrap_or_default()
        ));
    }
    if check.missing.is_empty() && site.operations.maintenance.is_none() {
        check
            .arithmetic
            .push("planned maintenance: none is declared, so none is counted".to_owned());
    }
    Some(check)
}

/// Planned maintenance, minutes in 30 days: at most the longest window for each change of the tightest
/// cycle, or every window in full where no cycle is declared. At least nothing: a change may be short.
fn planned(site: &Site, check: &mut Check) -> Range {
    let Some(maintenance) = site.operations.maintenance.as_ref() else { return Range::ZERO };
    let longest = maintenance.windows.iter().map(|window| f64::from(window.wall_minutes()));
    let Some(longest) = longest.reduce(f64::max) else { return Range::ZERO };
    let per_week: f64 = maintenance
        .windows
        .iter()
        .map(|window| f64::from(window.wall_minutes()) * window.days.days().count() as f64)
        .sum();
    let every_window = per_week * 30.0 / 7.0;
    match changes::tightest(site) {
        Some((what, each, _)) if !each.is_zero() => {
            let number_of = 30.0 * 86_400.0 / each.as_secs_f64();
            let most = (number_of * longest).min(every_window);
            check.arithmetic.push(format!(
                "planned: a {what} change each {} × at most {} min of window = at most {} min a month",
                crate::units::format_duration(each),
                number(longest, 0),
                number(most, 1)
            ));
            Range { low: 0.0, high: Some(most) }
        }
        _ => {
            check.arithmetic.push(format!(
                "planned: every window in full = at most {} min a month",
                number(every_window, 1)
            ));
            check.missing.push(line_of(
                "…",
                "operations: { change_cycle: { …: { driver: … d, reboot: … d } } }",
            ));
            Range { low: 0.0, high: Some(every_window) }
        }
    }
}
