//! How the place is operated.

use cotenant_core::site::{
    CalendarShape, ChangeCycle, Cost, FailureDomain, IsolationNeed, IsolationProperty,
    LayoutChange, LayoutDriver, Maintenance, Operations, Postcondition, Transition, TransitionStep,
    TransitionStepKind, WeeklyWindow,
};
use cotenant_core::units::parse_duration;

use crate::site::scalar;
use crate::site::tree::{Node, NodeKind};
use crate::site::view::View;

pub(super) fn operations(view: View<'_>) -> Option<Operations> {
    Some(Operations {
        node_availability: view.share("node_availability"),
        failure_domain: match view.group("failure_domain") {
            Some(group) => Some(FailureDomain {
                accepted: group.flag("accepted")?,
                accepted_by: group.string("accepted_by"),
            }),
            None => None,
        },
        change_cycle: view.by_name("change_cycle").map(change_cycle).collect(),
        maintenance: view.group("maintenance").map(|group| Maintenance {
            windows: windows(group),
            accepted_by: group.string("accepted_by"),
        }),
        risk_tolerance: view.share("risk_tolerance"),
        reclaim_time: view.duration("reclaim_time"),
        calendar: view.group("calendar").map(|group| CalendarShape {
            window: group.parsed("window", scalar::calendar_window),
            begins: group.parsed("begins", scalar::date),
            weeks: group.whole("weeks"),
        }),
        transition: match view.group("transition") {
            Some(group) => Some(Transition {
                to_training: steps(group, "to_training")?,
                to_inference: steps(group, "to_inference")?,
                source: group.string("source"),
                layout_for_training: layout_change(group, "layout_for_training")?,
                layout_for_inference: layout_change(group, "layout_for_inference")?,
            }),
            None => None,
        },
        isolation: view.by_name("isolation").map(isolation).collect::<Option<_>>()?,
        cost: view
            .group("cost")
            .map(|group| Cost { gpu_hour: group.money("gpu_hour"), energy: group.money("energy") }),
    })
}

fn windows(view: View<'_>) -> Vec<WeeklyWindow> {
    view.list("windows").filter_map(|item| scalar::window(item.0.text()?).ok()).collect()
}

fn change_cycle((workload, view): (&str, View<'_>)) -> ChangeCycle {
    ChangeCycle {
        workload: workload.to_owned(),
        driver: view.duration("driver"),
        cuda: view.duration("cuda"),
        framework: view.duration("framework"),
        reboot: view.duration("reboot"),
        windows: windows(view),
    }
}

fn steps(view: View<'_>, key: &str) -> Option<Vec<TransitionStep>> {
    view.list(key).map(|item| step(item.0)).collect()
}

fn step(node: &Node) -> Option<TransitionStep> {
    let (name, duration) = match &node.kind {
        NodeKind::Scalar(name) => (name, None),
        NodeKind::Map(entries) => {
            let entry = entries.first()?;
            (&entry.key, entry.value.text().and_then(|text| parse_duration(text).ok()))
        }
        _ => return None,
    };
    let kind = TransitionStepKind::ALL.into_iter().find(|kind| kind.name() == name)?;
    Some(TransitionStep { kind, duration })
}

/// A change of the layout: absent where none is declared, and `None` outside where it cannot be built.
#[expect(clippy::option_option, reason = "an absent change and a broken one are not the same")]
fn layout_change(view: View<'_>, key: &str) -> Option<Option<LayoutChange>> {
    let Some(group) = view.group(key) else { return Some(None) };
    let by = match group.group("mig_manager") {
        Some(manager) => LayoutDriver::MigManager {
            node: manager.string("node")?,
            config: manager.string("config")?,
            kubectl: manager.string("kubectl"),
        },
        None => LayoutDriver::Command(group.texts("command")),
    };
    let postcondition = |item: View<'_>| Postcondition {
        command: item.texts("command"),
        contains: item.string("contains"),
    };
    Some(Some(LayoutChange {
        by,
        time_limit: group.duration("time_limit"),
        postconditions: group.list("postconditions").map(postcondition).collect(),
    }))
}

fn isolation((workload, view): (&str, View<'_>)) -> Option<IsolationNeed> {
    let mut properties: Vec<IsolationProperty> = Vec::new();
    for item in view.0.items() {
        let text = item.text()?;
        let property =
            IsolationProperty::ALL.into_iter().find(|property| property.name() == text)?;
        if !properties.contains(&property) {
            properties.push(property);
        }
    }
    Some(IsolationNeed { workload: workload.to_owned(), properties })
}
