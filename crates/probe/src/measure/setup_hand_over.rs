//! From what a site declares of a change of hands to what a block carries out.

use std::path::Path;
use std::time::Duration;

use cotenant_core::site::{Inference, LayoutChange, LayoutDriver, Transition};

use super::engine_sleep::EngineSwitch;
use super::hand_over::{EngineRest, HandOver};
use super::layout::{LayoutBy, LayoutCheck, LayoutOrder};
use super::mig_manager::MigManager;

/// Longest wait for one call of a sleep, and for what it should bring about.
const SLEEP_PATIENCE: Duration = Duration::from_mins(5);
/// Time limit of a change of the layout where the site declares none.
const LAYOUT_LIMIT: Duration = Duration::from_mins(10);
/// Pause between two looks at a node.
const NODE_PAUSE: Duration = Duration::from_secs(2);
/// How long an old answer of the MIG Manager must stand.
const NODE_SETTLE: Duration = Duration::from_secs(20);
/// The program that speaks to a cluster.
const KUBECTL: &str = "kubectl";

/// What changes hands beside the neighbour. An engine that was declared to sleep sleeps; one that is
/// started here is stopped and started; any other is left alone. `None` where nothing would change.
pub fn hand_over(
    inference: &Inference,
    transition: Option<&Transition>,
    folder: &Path,
) -> Option<HandOver> {
    let engine = match (inference.sleep, &inference.launch) {
        (Some(sleep), _) => EngineRest::Sleeps(EngineSwitch {
            endpoint: inference.endpoint.clone(),
            level: sleep.level,
            patience: SLEEP_PATIENCE,
        }),
        (None, Some(_)) => EngineRest::Stops,
        (None, None) => EngineRest::Stays,
    };
    let layout = |change: Option<&LayoutChange>| change.map(|change| layout(change, folder));
    let hand_over = HandOver {
        engine,
        for_neighbour: layout(transition.and_then(|t| t.layout_for_training.as_ref())),
        for_inference: layout(transition.and_then(|t| t.layout_for_inference.as_ref())),
    };
    let layouts = hand_over.for_neighbour.is_some() || hand_over.for_inference.is_some();
    (layouts || hand_over.engine != EngineRest::Stays).then_some(hand_over)
}

fn layout(change: &LayoutChange, folder: &Path) -> LayoutOrder {
    let (what, by) = match &change.by {
        LayoutDriver::Command(argv) => (argv.join(" "), LayoutBy::Command(argv.clone())),
        LayoutDriver::MigManager { node, config, kubectl } => {
            let manager = MigManager {
                kubectl: kubectl.clone().unwrap_or_else(|| KUBECTL.to_owned()),
                node: node.clone(),
                config: config.clone(),
                pause: NODE_PAUSE,
                settle: NODE_SETTLE,
            };
            (format!("MIG Manager: {config}"), LayoutBy::MigManager(manager))
        }
    };
    let check = |declared: &cotenant_core::site::Postcondition| LayoutCheck {
        argv: declared.command.clone(),
        contains: declared.contains.clone(),
    };
    LayoutOrder {
        what,
        by,
        limit: change.time_limit.unwrap_or(LAYOUT_LIMIT),
        checks: change.postconditions.iter().map(check).collect(),
        cwd: folder.to_owned(),
    }
}
