//! The two gates that rest on declarations: maintenance lifecycle and common failure domain. No
//! measurement can make them, so they say «declared» and by whom.

use crate::evidence::Origin;
use crate::site::{ChangeCycle, WeeklyWindow};

use super::faults;
use super::findings::{Case, Percent, gate, open};
use super::{Finding, Gate, GateKind, Ruling, Strategy, Target, Unit};

pub(super) fn maintenance(case: &Case<'_>) -> Gate {
    gate(GateKind::Maintenance, vec![lifecycle(case)])
}

pub(super) fn failure_domain(case: &Case<'_>) -> Gate {
    let mut findings = vec![accepted(case)];
    let target = availability_target(case);
    findings.extend(availability(case));
    findings.extend(faults::finding(case, target));
    gate(GateKind::FailureDomain, findings)
}

/// Can both live with one driver, kernel and reboot cycle?
fn lifecycle(case: &Case<'_>) -> Finding {
    let operations = &case.site.operations;
    let mut finding = open("one driver, kernel and reboot cycle", Strategy::AsDeclared);
    finding.origin = Some(Origin::Declared);
    let names = [case.inference.map(|(workload, _)| workload), case.neighbour];
    let names: Vec<&str> = names.into_iter().flatten().map(|w| w.name.as_str()).collect();
    let undeclared: Vec<&str> =
        names.iter().copied().filter(|name| operations.change_cycle_of(name).is_none()).collect();
    if let Some(conflict) = window_conflict(case, &names) {
        finding.ruling = Ruling::Fail;
        finding.explanation = conflict;
        return finding;
    }
    for name in &undeclared {
        finding.missing.push(case.declare(
            &format!("how often `{name}` needs a new driver, framework or reboot"),
            &format!("operations.change_cycle.{name}: {{ driver: 90 d, reboot: 30 d }}"),
        ));
    }
    let accepted_by =
        operations.maintenance.as_ref().and_then(|m| m.accepted_by.as_deref()).filter(is_somebody);
    if accepted_by.is_none() {
        finding.missing.push(case.declare(
            "who accepted that both live with one driver, kernel and reboot cycle",
            "operations.maintenance: { accepted_by: … }",
        ));
    }
    match accepted_by {
        Some(who) if undeclared.is_empty() => {
            finding.ruling = Ruling::Pass;
            finding.explanation = format!("declared: accepted by {who}; {}", cycles(case, &names));
        }
        _ => finding.explanation = "the site file does not declare it in full".into(),
    }
    finding
}

/// Whether a name is one: nobody stands for an empty one.
fn is_somebody(name: &&str) -> bool {
    !name.trim().is_empty()
}

fn cycles(case: &Case<'_>, names: &[&str]) -> String {
    let describe = |cycle: &ChangeCycle| {
        let parts = [
            ("driver", cycle.driver),
            ("CUDA", cycle.cuda),
            ("framework", cycle.framework),
            ("reboot", cycle.reboot),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter_map(|(what, each)| {
                each.map(|each| format!("{what} each {}", crate::units::format_duration(each)))
            })
            .collect();
        let parts = if parts.is_empty() { "no change".to_owned() } else { parts.join(", ") };
        format!("`{}` needs {parts}", cycle.workload)
    };
    names
        .iter()
        .filter_map(|name| case.site.operations.change_cycle_of(name))
        .map(describe)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Windows that have no minute in common: a change of driver, kernel or a reboot meets both
/// workloads and the place at once, so it can then never be made.
fn window_conflict(case: &Case<'_>, names: &[&str]) -> Option<String> {
    let operations = &case.site.operations;
    let of_place = operations.maintenance.as_ref().map(|m| m.windows.as_slice());
    let of_workload = |name: &&str| {
        let windows = operations.change_cycle_of(name).map(|cycle| cycle.windows.as_slice());
        windows.map(|windows| (format!("`{name}`"), windows))
    };
    let sides: Vec<(String, &[WeeklyWindow])> = of_place
        .map(|windows| ("the place".to_owned(), windows))
        .into_iter()
        .chain(names.iter().filter_map(of_workload))
        .filter(|(_, windows)| !windows.is_empty())
        .collect();
    let (first, rest) = sides.split_first()?;
    let mut common = minutes(first.1);
    for (_, windows) in rest {
        let other = minutes(windows);
        common.iter_mut().zip(other).for_each(|(one, other)| *one &= other);
    }
    if common.contains(&true) {
        return None;
    }
    let who: Vec<&str> = sides.iter().map(|(who, _)| who.as_str()).collect();
    Some(format!(
        "{} accept changes in windows that have no minute in common, so none can ever be made",
        who.join(" and ")
    ))
}

const WEEK_MINUTES: usize = 7 * 24 * 60;

/// The minutes of a week that some windows hold. A window of Sunday night reaches into Monday.
fn minutes(windows: &[WeeklyWindow]) -> Vec<bool> {
    let mut held = vec![false; WEEK_MINUTES];
    for window in windows {
        for day in window.days.days() {
            let start =
                day.to_monday_zero_offset() as usize * 24 * 60 + usize::from(window.start_minute);
            for minute in start..start + usize::from(window.wall_minutes()) {
                held[minute % WEEK_MINUTES] = true;
            }
        }
    }
    held
}

fn accepted(case: &Case<'_>) -> Finding {
    let mut finding = open("one board, power, OS, driver and NIC for both", Strategy::AsDeclared);
    finding.origin = Some(Origin::Declared);
    match &case.site.operations.failure_domain {
        Some(domain) if !domain.accepted => {
            finding.ruling = Ruling::Fail;
            finding.explanation = "declared: the common failure domain is not accepted".into();
        }
        Some(domain) => {
            if let Some(who) = domain.accepted_by.as_deref().filter(is_somebody) {
                finding.ruling = Ruling::Pass;
                finding.explanation =
                    format!("declared: accepted by {who} that one fault stops both");
            } else {
                finding.explanation = "accepted, but nobody stands for it".into();
                finding.missing.push(case.declare(
                    "who accepted the common failure domain",
                    "operations.failure_domain: { accepted: true, accepted_by: … }",
                ));
            }
        }
        None => {
            finding.explanation = "the site does not say whether one fault may stop both".into();
            finding.missing.push(case.declare(
                "whether it is accepted that one fault stops both",
                "operations.failure_domain: { accepted: true, accepted_by: … }",
            ));
        }
    }
    finding
}

/// The strictest target of the workload's own and those of its classes.
fn availability_target(case: &Case<'_>) -> Option<f64> {
    let (workload, inference) = case.inference?;
    let of_classes = workload.classes.iter().filter_map(|class| class.objectives.as_ref());
    of_classes
        .chain([&inference.objectives])
        .filter_map(|objectives| objectives.availability)
        .map(crate::units::Share::value)
        .reduce(f64::max)
}

/// The availability target stands with the inference workload; one node cannot give more than the
/// node has.
fn availability(case: &Case<'_>) -> Option<Finding> {
    let (workload, _) = case.inference?;
    let target = availability_target(case)?;
    let mut finding = open(format!("{}: availability", workload.name), Strategy::AsDeclared);
    finding.origin = Some(Origin::Declared);
    finding.target = Some(Target {
        metric: "availability".into(),
        value: target,
        unit: Unit::Share,
        misses_allowed: None,
    });
    match case.site.operations.node_availability.map(crate::units::Share::value) {
        None => {
            finding.explanation =
                "a target is declared, but not the share of time in which the node is up".into();
            finding.missing.push(
                case.declare("the node's availability", "operations.node_availability: 99.9 %"),
            );
        }
        Some(node) => {
            finding.observed = Some(node);
            let minutes_a_month = |share: f64| (1.0 - share) * 30.0 * 24.0 * 60.0;
            let arithmetic = format!(
                "declared: the node is up {:.3} % of the time ({:.0} min a month down), the target \
                 allows {:.0} min",
                node * 100.0,
                minutes_a_month(node),
                minutes_a_month(target)
            );
            finding.ruling = if node >= target { Ruling::Pass } else { Ruling::Fail };
            finding.explanation = if node >= target {
                arithmetic
            } else {
                format!("{arithmetic}: one node alone cannot give it ({} wanted)", Percent(target))
            };
        }
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_across_midnight_and_the_end_of_the_week() {
        let held = |text| minutes(&[WeeklyWindow::parse(text).unwrap()]);
        for (one, other, expected) in [
            ("Mon 08:00-10:00", "Mon 09:00-11:00", true),
            ("Mon 08:00-10:00", "Mon 10:00-11:00", false),
            ("Sun 23:00-02:00", "Mon 01:00-03:00", true),
            ("Sun 23:00-02:00", "Mon 02:00-03:00", false),
            ("daily 00:00-24:00", "Wed 12:00-13:00", true),
        ] {
            let common = held(one).into_iter().zip(held(other)).any(|(one, other)| one && other);
            assert_eq!(common, expected, "{one} {other}");
        }
    }
}
