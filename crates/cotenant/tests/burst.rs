//! `measure --tests burst` with the embedded engine and trainer: one that must yield at once and comes
//! back, one that never has to, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;
use std::path::Path;

use cotenant_core::evidence::{Block, Condition, Situation};
use cotenant_records::evidence::{ReadWhat, RunStatus, Store, StoredRun};
use support::process::{Process, Told, run};
use support::{RUN_PATIENCE, sites};
use tempfile::TempDir;

/// One burst with the neighbour and one without, of 3 s in blocks of 9.
const SHORT: [&str; 10] = [
    "measure",
    "site.yaml",
    "--tests",
    "burst",
    "--block-seconds",
    "9",
    "--minutes",
    "0.6",
    "--seed",
    "3",
];

fn measured(folder: &Path) -> Told {
    let mut process = Process::start(folder, &SHORT);
    let told = process.end(RUN_PATIENCE);
    process.expect_no_family();
    told
}

fn with_objective(folder: &Path, ttft: &str) {
    let path = sites::embedded(folder);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("notice: 30 s }", "notice: 30 s, failure_share_max: 0.65 }");
    fs::write(&path, text.replace("ttft_p95: 2 s", &format!("ttft_p95: {ttft}"))).unwrap();
}

fn the_run(folder: &Path) -> StoredRun {
    let store = Store::open(&folder.join("evidence")).unwrap();
    let mut runs = store.read_all(ReadWhat { gaps: false }).unwrap().runs;
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// Requests due in a part of a block, a second.
fn rate(block: &Block, from_s: f64, until_s: f64) -> f64 {
    let (from_ns, until_ns) = ((from_s * 1e9) as u64, (until_s * 1e9) as u64);
    let due = block.requests.iter().filter(|r| (from_ns..until_ns).contains(&r.intended_ns));
    due.count() as f64 / (until_s - from_s)
}

#[test]
fn a_neighbour_that_must_yield_goes_and_comes_back() {
    let folder = TempDir::new().unwrap();
    // No engine gives its first token within that: it is late from the first request on.
    with_objective(folder.path(), "10 us");
    measured(folder.path()).expect(&[0, 40]);
    let stored = the_run(folder.path());
    assert_eq!(stored.status, RunStatus::Complete);
    assert!(stored.run.id.ends_with("-burst"), "{}", stored.run.id);
    let blocks = &stored.run.blocks;
    assert_eq!(blocks.len(), 2, "{:?}", stored.options);
    let (alone, together) = (&blocks[0], &blocks[1]);
    assert_eq!((alone.plan.condition, together.plan.condition), (Condition::A, Condition::C));
    assert!(blocks.iter().all(|block| block.plan.situation == Situation::Burst));
    let due = |block: &Block| block.requests.iter().map(|r| r.intended_ns).collect::<Vec<_>>();
    assert_eq!(due(alone), due(together), "the same burst with and without the neighbour");
    // Warm-up 2 s, then 1.5 s before the burst, which lasts 3 s at three times the rate.
    let (before, during) = (rate(alone, 0.0, 3.5), rate(alone, 3.5, 6.5));
    assert!(during > 1.5 * before, "{before} and {during} requests a second");

    let burst = together.observed.disturbance.as_ref().unwrap();
    let drill = together.drill.as_ref().unwrap();
    assert_eq!(burst.began_ns, 3_500_000_000);
    assert!(drill.signal_ns >= burst.began_ns, "not before the burst");
    assert_eq!(drill.failure, None);
    let gone_ns = burst.yielded_ns.unwrap();
    assert!(gone_ns > drill.signal_ns);
    let (late, all) = burst.requests_late.unwrap();
    assert!(all > 0 && late == all, "{late} of {all}");
    assert_eq!(burst.inference_recovered_ns, None, "it cannot be well");
    let resume = drill.resume.as_ref().unwrap();
    assert_eq!(resume.failure, None, "it goes on where it stopped");
    assert!(together.steps.iter().all(|step| step.at_ns <= gone_ns + 100_000_000));
    assert!(alone.drill.is_none() && alone.steps.is_empty());

    // What the neighbour did is a reclaim like any other, and the bursts judge nothing else.
    let told = run(folder.path(), &["verdict", "site.yaml", "--format", "json"]).json();
    let gates = told["gates"].as_array().unwrap();
    let findings = gates.iter().flat_map(|gate| gate["findings"].as_array().unwrap());
    let counted: Vec<_> = findings
        .filter(|finding| finding["sample_count"].as_u64().unwrap() > 0)
        .map(|finding| finding["subject"].as_str().unwrap().to_owned())
        .collect();
    let of_neighbour = |subject: &String| subject.starts_with("tune");
    assert!(!counted.is_empty() && counted.iter().all(of_neighbour), "{counted:?}");
    let text = run(folder.path(), &["verdict", "site.yaml"]).stdout;
    assert!(text.contains("time to yield, time to recover"), "{text}");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
}

#[test]
fn a_neighbour_beside_which_nothing_is_late_stays() {
    let folder = TempDir::new().unwrap();
    with_objective(folder.path(), "10 min");
    measured(folder.path()).expect(&[0, 40]);
    let stored = the_run(folder.path());
    for block in &stored.run.blocks {
        let burst = block.observed.disturbance.as_ref().unwrap();
        assert_eq!(burst.yielded_ns, None);
        assert!(block.drill.is_none(), "{:?}", block.drill);
        assert_eq!(burst.inference_recovered_ns, Some(burst.began_ns), "{burst:?}");
        assert_eq!(burst.requests_late.unwrap().0, 0);
    }
    let text = run(folder.path(), &["verdict", "site.yaml"]).stdout;
    assert!(text.contains("never late"), "{text}");
}

#[test]
fn a_burst_that_cannot_come_is_refused_with_the_way_out() {
    let folder = TempDir::new().unwrap();
    let path = sites::embedded(folder.path());
    let text = fs::read_to_string(&path).unwrap();
    let refused = |changed: String, words: &str| {
        assert_ne!(changed, text);
        fs::write(&path, changed).unwrap();
        measured(folder.path()).expect(&[2]).complains(words);
    };
    let closed = "closed: { users: 2, think_time: 1 s }";
    refused(text.replace("poisson: { rate: 8 req/s }", closed), "closed loop");
    refused(text.replace("ttft_p95: 2 s", "queue_length: 4"), "nothing that a burst could break");
    refused(text.replace("allowed: true", "allowed: false"), "never preempted");
    // An endpoint that was found running serves somebody.
    let (launch, demand) =
        (text.find("      launch:").unwrap(), text.find("      demand:").unwrap());
    let mut found = text.clone();
    found.replace_range(launch..demand, "");
    refused(found, "--no-guard");
}
