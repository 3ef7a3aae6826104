//! Change of driver, CUDA and reboots: on one server the tightest cycle decides for all.

use std::time::Duration;

use super::draft::{line_of, listed, open, quoted};
use super::placement;
use crate::plan::grid::{MINUTES_PER_WEEK, contains_minute};
use crate::plan::model::{Check, Outcome};
use crate::site::{ChangeCycle, Site, WeeklyWindow};
use crate::units::format_duration;

/// One check, where anything about changes is declared and more than one workload lives with it.
pub(super) fn checks(site: &Site) -> Vec<Check> {
    let operations = &site.operations;
    let is_declared = !operations.change_cycle.is_empty() || operations.maintenance.is_some();
    if placement::with_processes(site).count() < 2 || !is_declared {
        return Vec::new();
    }
    vec![check(site)]
}

/// How often a workload needs one kind of change.
type CycleOf = fn(&ChangeCycle) -> Option<Duration>;

/// A change that meets every workload of the machine. A framework or an engine is each workload's
/// own.
const SHARED: [(&str, CycleOf); 3] = [
    ("driver", |cycle| cycle.driver),
    ("CUDA", |cycle| cycle.cuda),
    ("reboot", |cycle| cycle.reboot),
];

/// The tightest of all cycles that meet everybody: what, how often, and who asks for it.
pub(super) fn tightest(site: &Site) -> Option<(&'static str, Duration, &str)> {
    let cycles = site.operations.change_cycle.iter();
    cycles
        .flat_map(|cycle| {
            SHARED
                .iter()
                .filter_map(move |(what, of)| Some((*what, of(cycle)?, cycle.workload.as_str())))
        })
        .min_by_key(|(_, each, _)| *each)
}

fn check(site: &Site) -> Check {
    // A batch through somebody else's engine lives with the cycle of that engine.
    let names: Vec<String> =
        placement::with_processes(site).map(|workload| workload.name.clone()).collect();
    let title = "Can all workloads live with one driver, CUDA and reboot cycle?".to_owned();
    let mut check = open("changes", title, names.clone());
    for (what, of) in SHARED {
        let each: Vec<(Duration, &str)> = site
            .operations
            .change_cycle
            .iter()
            .filter_map(|cycle| Some((of(cycle)?, cycle.workload.as_str())))
            .collect();
        if let Some((shortest, who)) = each.iter().min() {
            let of_each: Vec<String> = each
                .iter()
                .map(|(cycle, who)| format!("{who} each {}", format_duration(*cycle)))
                .collect();
            check.arithmetic.push(format!(
                "{what}: {}; the tightest decides for all: each {}, by {who}",
                of_each.join(", "),
                format_duration(*shortest)
            ));
        }
    }
    for name in names.iter().filter(|name| site.operations.change_cycle_of(name).is_none()) {
        check.missing.push(line_of(
            name,
            &format!(
                "operations: {{ change_cycle: {{ {name}: {{ driver: … d, reboot: … d }} }} }}"
            ),
        ));
    }
    windows(site, &mut check);
    check
}

/// Changes can be made only in minutes that everybody accepts, and those must come often enough.
fn windows(site: &Site, check: &mut Check) {
    let of_place = site.operations.maintenance.as_ref().map(|it| it.windows.as_slice());
    let of_workloads = site
        .operations
        .change_cycle
        .iter()
        .map(|cycle| (quoted(&cycle.workload), cycle.windows.as_slice()));
    let sides: Vec<(String, &[WeeklyWindow])> = of_place
        .map(|windows| ("the place".to_owned(), windows))
        .into_iter()
        .chain(of_workloads)
        .filter(|(_, windows)| !windows.is_empty())
        .collect();
    if sides.is_empty() {
        check.answer = "when changes are made is not declared".into();
        check
            .missing
            .push("operations: { maintenance: { windows: [\"Sun 02:00-06:00\"] } }".to_owned());
        return;
    }
    let who: Vec<String> = sides.iter().map(|(who, _)| who.clone()).collect();
    let common = common_minutes(&sides);
    let minutes = common.iter().filter(|minute| **minute).count();
    check
        .arithmetic
        .push(format!("windows of {} have {minutes} minutes a week in common", listed(&who)));
    let Some(gap_minutes) = longest_gap(&common) else {
        check.outcome = Outcome::Fails;
        check.answer = format!("no: {} accept changes in no common minute", listed(&who));
        check.would_be_conditional_on.push("a window that everybody accepts".to_owned());
        return;
    };
    let gap = Duration::from_secs(u64::from(gap_minutes) * 60);
    check
        .arithmetic
        .push(format!("from one common window to the next: at most {}", format_duration(gap)));
    match tightest(site) {
        Some((what, each, who)) if each < gap => {
            check.outcome = Outcome::Fails;
            check.answer = format!(
                "no: `{who}` needs a {what} change each {}, and common windows are {} apart",
                format_duration(each),
                format_duration(gap)
            );
            check.would_be_conditional_on.push(format!(
                "a common window at least each {}, or a slower cycle of `{who}`",
                format_duration(each)
            ));
        }
        Some((what, each, who)) if check.missing.is_empty() => {
            check.outcome = Outcome::Holds;
            check.answer = format!(
                "the tightest cycle, {what} each {} by `{who}`, fits the common windows",
                format_duration(each)
            );
        }
        _ => check.answer = "not every workload's cycle is declared".into(),
    }
}

fn common_minutes(sides: &[(String, &[WeeklyWindow])]) -> Vec<bool> {
    (0..MINUTES_PER_WEEK)
        .map(|minute| {
            sides
                .iter()
                .all(|(_, windows)| windows.iter().any(|window| contains_minute(window, minute)))
        })
        .collect()
}

/// The longest time from the start of one common window to the start of the next, minutes around the
/// week. `None` where there is none.
fn longest_gap(common: &[bool]) -> Option<u32> {
    let length = common.len();
    let begins = |minute: usize| common[minute] && !common[(minute + length - 1) % length];
    let starts: Vec<usize> = (0..length).filter(|minute| begins(*minute)).collect();
    match starts.as_slice() {
        [] => common.first().copied().unwrap_or(false).then_some(0),
        [first, .., last] => {
            let around = length - last + first;
            let between = starts.windows(2).map(|pair| pair[1] - pair[0]);
            Some(between.chain([around]).max().unwrap_or(around) as u32)
        }
        [_] => Some(length as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_go_around_the_week() {
        let minutes = |text: &[&str]| {
            let windows: Vec<WeeklyWindow> =
                text.iter().map(|text| WeeklyWindow::parse(text).unwrap()).collect();
            common_minutes(&[("the place".to_owned(), windows.as_slice())])
        };
        assert_eq!(longest_gap(&minutes(&["Sun 02:00-06:00"])), Some(7 * 24 * 60));
        // From Monday to Saturday are five days, and from Saturday to Monday two.
        assert_eq!(longest_gap(&minutes(&["Mon,Sat 02:00-03:00"])), Some(5 * 24 * 60));
        assert_eq!(longest_gap(&minutes(&["daily 00:00-24:00"])), Some(0));
        assert_eq!(longest_gap(&[false; 10]), None);
    }
}
