//! `measure --tests capacity` with the embedded engine: what a search leaves, how it goes on, and who
//! reads it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;

use cotenant_core::evidence::{Condition, Situation};
use cotenant_records::evidence::{ReadWhat, RunStatus, Store, StoredRun};
use rustix::process::Signal;
use support::process::{Process, run};
use support::{RUN_PATIENCE, sites};
use tempfile::TempDir;

/// Short looks: what they find is not the question here.
const SHORT: [&str; 10] = [
    "measure",
    "site.yaml",
    "--tests",
    "capacity",
    "--minutes",
    "1.2",
    "--block-seconds",
    "0.6",
    "--pilot-seconds",
    "1",
];

fn stored(folder: &std::path::Path) -> Vec<StoredRun> {
    let store = Store::open(&folder.join("evidence")).unwrap();
    store.read_all(ReadWhat { gaps: true }).unwrap().runs
}

#[test]
fn a_search_is_kept_goes_on_after_an_interruption_and_is_read_by_verdict_and_plan() {
    let folder = TempDir::new().unwrap();
    sites::embedded(folder.path());
    let mut process = Process::start(folder.path(), &SHORT);
    process.wait_for_stderr("[2/", RUN_PATIENCE);
    process.signal(Signal::INT);
    let told = process.end(RUN_PATIENCE);
    told.expect(&[130]).complains("--resume");
    process.expect_no_family();
    let run_before = stored(folder.path()).remove(0);
    assert_eq!(run_before.status, RunStatus::Interrupted);
    let made = run_before.run.blocks.len();
    assert!(made >= 2, "{made}");

    let mut process = Process::start(folder.path(), &["measure", "site.yaml", "--resume"]);
    let told = process.end(RUN_PATIENCE);
    told.expect(&[0, 40]).complains("looks are made");
    process.expect_no_family();
    let all = stored(folder.path());
    assert_eq!(all.len(), 1);
    let whole = &all[0];
    assert_eq!(whole.status, RunStatus::Complete);
    assert_eq!(whole.run.id, run_before.run.id);
    assert_eq!(whole.run.blocks[..made], run_before.run.blocks[..], "what was made stays");
    let planned = whole.run.schedule.len();
    assert_eq!(whole.decided.is_some(), whole.run.blocks.len() < planned);
    assert!(whole.options.contains_key("search_first_per_s"), "{:?}", whole.options);
    assert_eq!(whole.run.load.rate_per_s, 8.0, "that of factor 1");
    for (block, look) in whole.run.blocks.iter().zip(0..) {
        assert_eq!(block.plan.situation, Situation::Search(look));
        assert_eq!(block.plan.condition, Condition::A);
        assert!(block.load_factor > 0.0 && block.steps.is_empty());
    }
    assert_eq!(whole.run.blocks[0].load_factor, 1.0, "the declared rate comes first");
    let factors: Vec<f64> = whole.run.blocks.iter().map(|block| block.load_factor).collect();
    // Where a stranger on the machine spoils most looks, few are left to move the rate.
    let valid = whole.run.blocks.iter().filter(|block| block.is_valid()).count();
    if 2 * valid > factors.len() {
        assert!(factors.iter().any(|factor| *factor != 1.0), "{valid} valid: {factors:?}");
    }

    let json = run(folder.path(), &["verdict", "site.yaml", "--format", "json"]).json();
    assert_eq!(json["capacity"][0]["workload"], "chat");
    let schema = run(folder.path(), &["schema", "--of", "report"]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&json));
    let text = run(folder.path(), &["verdict", "site.yaml"]);
    assert!(text.stdout.contains("Capacity"), "{}", text.stdout);
    let wide: Vec<&str> = text.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let page = run(folder.path(), &["verdict", "site.yaml", "--format", "html"]).stdout;
    assert!(page.contains("id=\"capacity\""));
    // Looks at other rates are no test A.
    assert!(json["charts"]["timeline"]["lanes"].as_array().unwrap().is_empty());
    run(folder.path(), &["plan", "site.yaml"]).expect(&[0]);
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_starts() {
    let folder = TempDir::new().unwrap();
    let refused = |site: &str, words: &str| {
        fs::write(folder.path().join("site.yaml"), site).unwrap();
        let told = run(folder.path(), &["measure", "site.yaml", "--tests", "capacity"]);
        told.expect(&[2]).complains(words).complains("hint: ");
    };
    refused(sites::PLAIN, "--no-guard");
    refused(&sites::PLAIN.replace("ttft_p95: 500 ms", "throughput: 1 req/s"), "no objective");
    let closed = "demand: { closed: { users: 4, think_time: 1 s } }";
    refused(&sites::PLAIN.replace("demand: { poisson: { rate: 2 req/s } }", closed), "closed loop");
    assert!(!folder.path().join("evidence").exists());
}
