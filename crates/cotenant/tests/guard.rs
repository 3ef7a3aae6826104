//! The guard beside an endpoint that the test did not start: a mock server of known times.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{BlockFault, Condition};
use cotenant_probe::load::mock::{MockOptions, MockServer};
use cotenant_records::evidence::{ReadWhat, RunStatus, Store};
use support::process::{Process, run};
use support::{RUN_PATIENCE, sites};
use tempfile::TempDir;

/// The embedded trainer beside an endpoint that runs already.
fn site(folder: &Path, endpoint: &str, guard: &str) {
    let text = fs::read_to_string(sites::embedded(folder)).unwrap();
    let head = text.split("      launch:\n        argv: [").next().unwrap();
    let tail = text.split_once("      demand:").unwrap().1;
    let at = head.find("      endpoint:").unwrap();
    let text = format!("{}      endpoint: {endpoint}\n{guard}      demand:{tail}", &head[..at]);
    fs::write(folder.join("site.yaml"), text).unwrap();
}

#[test]
fn the_guard_stops_the_neighbour_and_the_verdict_says_so() {
    // Every answer begins after 300 ms, and the guard allows 100.
    let options = MockOptions { first_token: Duration::from_millis(300), ..MockOptions::default() };
    let mock = MockServer::start(options).unwrap();
    let folder = TempDir::new().unwrap();

    site(folder.path(), &mock.base_url(), "");
    let told = run(folder.path(), &["measure", "site.yaml", "--tests", "c"]);
    told.expect(&[2]).complains("guard: {").complains("--no-guard");
    assert!(!folder.path().join("evidence").exists());

    site(folder.path(), &mock.base_url(), "      guard: { ttft_p95: 100 ms, window: 5 s }\n");
    // Long blocks: the guard, and not their end, stops the neighbour.
    let arguments = [
        "measure",
        "site.yaml",
        "--tests",
        "c",
        "--minutes",
        "10",
        "--block-seconds",
        "60",
        "--pilot-seconds",
        "1",
    ];
    let mut process = Process::start(folder.path(), &arguments);
    let told = process.end(RUN_PATIENCE);
    told.expect(&[3]).complains("the guard stopped the neighbour").complains("ttft_p95");
    process.expect_no_family();

    let store = Store::open(&folder.path().join("evidence")).unwrap();
    let stored = store.read_all(ReadWhat { gaps: true }).unwrap().runs.remove(0);
    assert_eq!(stored.status, RunStatus::Interrupted);
    let [block] = &stored.run.blocks[..] else {
        panic!("one block: {:?}", stored.run.blocks.len())
    };
    assert_eq!(block.plan.condition, Condition::C);
    let [BlockFault::Guarded { objective, bound, seen }] = &block.faults[..] else {
        panic!("{:?}", block.faults)
    };
    assert_eq!((objective.as_str(), *bound), ("ttft_p95", 0.1));
    // What had no answer yet counted with its age, before the first answer came.
    assert!(*seen > 0.1, "{seen}");
    assert!(block.ended_ns < 50_000_000_000, "it did not live to its end: {}", block.ended_ns);

    let verdict = run(folder.path(), &["verdict", "site.yaml", "--format", "json"]);
    verdict.expect(&[20, 30]);
    let words = verdict.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the guard stopped the neighbour"), "{words}");
    let told = run(folder.path(), &["measure", "site.yaml", "--resume"]);
    told.expect(&[2]).complains("ended by the guard");
}
