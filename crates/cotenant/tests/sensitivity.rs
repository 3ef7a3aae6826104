//! `--tests sensitivity` with the embedded engine: killed in the middle of a stressed block, it leaves
//! no stressor and no file, goes on, and tells what it found without judging anything.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;
use std::path::Path;

use cotenant_core::evidence::{Block, Condition, Situation, Stress, Stressor};
use cotenant_records::evidence::{ReadWhat, RunStatus, Store, StoredRun};
use rustix::process::Signal;
use support::process::{Process, run};
use support::{PATIENCE, RUN_PATIENCE, sites, wait_for};
use tempfile::TempDir;

const SHORT: [&str; 16] = [
    "measure",
    "site.yaml",
    "--tests",
    "sensitivity",
    "--stressors",
    "cpu",
    "--minutes",
    "0.4",
    "--block-seconds",
    "0.6",
    "--pilot-seconds",
    "1",
    "--stress-memory",
    "32 MiB",
    "--seed",
    "3",
];

fn the_run(folder: &Path) -> StoredRun {
    let store = Store::open(&folder.join("evidence")).unwrap();
    let mut runs = store.read_all(ReadWhat { gaps: true }).unwrap().runs;
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn stress(block: &Block) -> Stress {
    match block.plan.situation {
        Situation::Stressed(stress) => stress,
        other => panic!("{other} is no stress"),
    }
}

fn stressor_runs(process: &Process) -> bool {
    process.family().iter().any(|(_, arguments)| arguments.contains(" guardian stress "))
}

#[test]
fn a_killed_run_leaves_no_stressor_goes_on_and_explains() {
    let folder = TempDir::new().unwrap();
    sites::embedded(folder.path());
    let mut process = Process::start(folder.path(), &SHORT);
    // The second block at least: something is finished, and the calibration is over.
    process.wait_for_stderr("[1/", RUN_PATIENCE);
    let stressed = wait_for(RUN_PATIENCE, || stressor_runs(&process).then_some(()));
    assert!(stressed.is_some(), "no stressor was seen; {}", process.stderr());
    process.signal(Signal::KILL);
    process.expect_no_family();
    assert_eq!(process.end(PATIENCE).signal, Some(9));
    let evidence = folder.path().join("evidence");
    let left: Vec<_> = fs::read_dir(&evidence)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("stress"))
        .collect();
    assert_eq!(left, Vec::<String>::new());

    let before = the_run(folder.path());
    assert_eq!(before.status, RunStatus::Running);
    let mut process = Process::start(folder.path(), &["measure", "site.yaml", "--resume"]);
    let told = process.end(RUN_PATIENCE);
    // A machine that others use makes an INVALID test, and no failure.
    told.expect(&[0, 40]);
    process.expect_no_family();
    told.complains("goes on");
    let text = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "Why: what inference is sensitive to",
        "cotenant measure site.yaml --tests b",
        "cotenant measure site.yaml --tests a,c",
    ] {
        assert!(text.contains(said), "`{said}` is not in\n{}", told.stdout);
    }
    expect_whole(&the_run(folder.path()), &before);

    // What was measured under stress is no evidence of any gate: nothing else was measured.
    let told = run(folder.path(), &["verdict", "site.yaml", "--format", "json"]);
    told.expect(&[30]);
    let report = told.json();
    assert!(report["why"]["outcomes"][0]["key"] == "ttft_p95", "{}", report["why"]);
    let gates = report["gates"].as_array().unwrap();
    let judged: Vec<_> = gates
        .iter()
        .flat_map(|gate| gate["findings"].as_array().unwrap())
        .filter(|finding| finding["sample_count"].as_u64().unwrap() > 0)
        .collect();
    assert!(judged.is_empty(), "{judged:#?}");
}

fn expect_whole(stored: &StoredRun, before: &StoredRun) {
    assert_eq!(stored.status, RunStatus::Complete);
    assert!(stored.run.id.ends_with("-sensitivity"), "{}", stored.run.id);
    let blocks = &stored.run.blocks;
    assert_eq!(blocks.len(), stored.run.schedule.len());
    assert!(blocks.len() >= 8 && blocks.len().is_multiple_of(4), "{}", blocks.len());
    // What was finished before the kill is there as it was.
    assert!(!before.run.blocks.is_empty() && before.run.blocks.len() < blocks.len());
    assert_eq!(before.run.blocks[..], blocks[..before.run.blocks.len()]);
    let mut calibrated = Vec::new();
    for block in blocks {
        let stress = stress(block);
        assert_eq!((stress.stressor, block.plan.condition), (Stressor::Cpu, Condition::A));
        assert!(!block.requests.is_empty() && block.steps.is_empty());
        let Some(record) = &block.observed.stress else {
            assert_eq!(stress.dose, 0, "block {} has no record", block.plan.index);
            continue;
        };
        assert!(stress.dose > 0 && record.unit == "cores" && !record.reached.is_empty());
        assert!(record.calibrated > 0.0);
        calibrated.push(record.calibrated.to_bits());
        let asked = (stress.dose < 3).then(|| record.calibrated * stress.share());
        assert_eq!(record.asked, asked);
        let used: Vec<f64> = block
            .host
            .iter()
            .flat_map(|sample| &sample.workload_cpu_cores)
            .filter(|(name, _)| name == Stressor::PROCESS)
            .filter_map(|(_, cores)| cores.clone().ok())
            .collect();
        assert!(used.iter().any(|cores| *cores > 0.0), "block {}: {used:?}", block.plan.index);
    }
    calibrated.dedup();
    assert_eq!(calibrated.len(), 1, "a resumed run has the doses that it began with");
    // The requests of one round are the same, whatever is stressed.
    let arrivals = |block: &Block| -> Vec<(u64, u32)> {
        block.requests.iter().map(|r| (r.intended_ns, r.prompt_tokens)).collect()
    };
    for block in blocks {
        let first = blocks.iter().find(|other| other.plan.pair == block.plan.pair).unwrap();
        assert_eq!(arrivals(block), arrivals(first));
    }
}

#[test]
fn what_cannot_be_stressed_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("site.yaml"), sites::PLAIN).unwrap();
    let refused = |stressors: &str| {
        let arguments =
            ["measure", "site.yaml", "--tests", "sensitivity", "--stressors", stressors];
        let told = run(folder.path(), &arguments);
        told.expect(&[2]);
        told
    };
    refused("cpu,gpu-memory").complains("`gpu-memory` cannot be stressed").complains("page-cache");
    refused("ram").complains("`ram` is no stressor").complains("cpu, memory, disk");
    refused("").complains("no stressor named");
    // Nobody started this endpoint for the test: somebody may depend on it.
    refused("cpu").complains("runs already at http://127.0.0.1:9").complains("--no-guard");
    assert!(!folder.path().join("evidence").exists());
}
