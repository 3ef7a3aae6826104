//! `measure --tests audit,faults` with the embedded engine and trainer, whole: a cap that is declared
//! and not set, and a neighbour that is killed under load.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;

use cotenant_core::evidence::{NeighbourFault, Outcome, Situation};
use cotenant_records::evidence::{ReadWhat, RunStatus, Store};
use support::process::Process;
use support::{RUN_PATIENCE, sites};
use tempfile::TempDir;

#[test]
fn a_cap_that_is_only_declared_is_caught_and_a_killed_neighbour_is_measured() {
    let folder = TempDir::new().unwrap();
    let site = sites::embedded(folder.path());
    let text = fs::read_to_string(&site).unwrap();
    let space = folder.path().join("scratch");
    fs::create_dir(&space).unwrap();
    let caps = format!(
        "sharing:\n  mode: host_cpu\n  caps:\n    tune:\n      disk_space: {{ size: 8 MiB, folder: {} }}\n",
        serde_json::Value::from(space.display().to_string())
    );
    let text = text.replace("sharing: { mode: host_cpu }\n", &caps);
    fs::write(&site, text).unwrap();
    let arguments =
        ["measure", "site.yaml", "--tests", "audit,faults", "--block-seconds", "3", "--seed", "5"];
    let mut process = Process::start(folder.path(), &arguments);
    let told = process.end(RUN_PATIENCE);
    told.expect(&[0, 40]);
    process.expect_no_family();
    told.complains("does NOT bind").complains("no cap of host memory holds the neighbour");

    let store = Store::open(&folder.path().join("evidence")).unwrap();
    let runs = store.read_all(ReadWhat { gaps: false }).unwrap().runs;
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.status == RunStatus::Complete));
    let audit = runs.iter().find(|run| run.run.id.ends_with("-audit")).unwrap();
    let space = "cap of disk space of `tune`";
    let found = audit.run.audits.iter().find(|audit| audit.mechanism == space).unwrap();
    assert!(!found.binds, "{}", found.method);

    let faults = runs.iter().find(|run| run.run.id.ends_with("-faults")).unwrap();
    let killed = |situation| situation == Situation::Fault(NeighbourFault::Killed);
    let blocks: Vec<_> =
        faults.run.blocks.iter().filter(|block| killed(block.plan.situation)).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let disturbance = block.observed.disturbance.as_ref().unwrap();
        assert!(disturbance.began_ns > block.judged_from_ns, "{disturbance:?}");
        let gone_ns = disturbance.yielded_ns.unwrap();
        assert!(gone_ns + 1_000_000 >= disturbance.began_ns && gone_ns < block.ended_ns);
        // The embedded engine is a process of its own, and goes on.
        let after = block.requests.iter().filter(|r| r.intended_ns > gone_ns);
        assert!(after.clone().count() > 0);
        assert!(after.clone().all(|r| r.outcome == Outcome::Completed), "{:?}", block.requests);
        assert!(block.steps.iter().all(|step| step.at_ns <= gone_ns + 100_000_000));
    }
}
