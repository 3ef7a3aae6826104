//! `measure --tests reclaim,transition` with the embedded engine, and trainers that do and do not give
//! the machine back: what is kept, and what the verdict makes of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use std::fs;
use std::path::Path;

use cotenant_core::evidence::{ChangeKind, Situation};
use cotenant_records::evidence::{ReadWhat, Store, StoredRun};
use support::process::{Process, Told, run};
use support::{RUN_PATIENCE, sites};
use tempfile::TempDir;

/// A site with the embedded engine and a trainer that the test says, of which two in three reclaims
/// may fail: three drills without a failure are enough.
fn site(folder: &Path, trainer: Option<&str>) {
    let path = sites::embedded(folder);
    let text = fs::read_to_string(&path).unwrap();
    let mut text = text.replace("notice: 30 s }", "notice: 30 s, failure_share_max: 0.65 }");
    if let Some(script) = trainer {
        fs::write(folder.join("train.sh"), script).unwrap();
        let begin = text.find("  - name: tune").unwrap();
        let launch = begin + text[begin..].find("        argv:").unwrap();
        let ready = launch + text[launch..].find("        ready:").unwrap();
        text.replace_range(launch..ready, "        argv: [sh, train.sh]\n");
        text = text.replace("interval: 100 steps, signal: USR1", "interval: 100 steps");
    }
    fs::write(&path, text).unwrap();
}

fn measure(folder: &Path, tests: &str) -> Told {
    let arguments =
        ["measure", "site.yaml", "--tests", tests, "--block-seconds", "1", "--seed", "3"];
    let mut process = Process::start(folder, &arguments);
    let told = process.end(RUN_PATIENCE);
    process.expect_no_family();
    told
}

fn stored(folder: &Path) -> Vec<StoredRun> {
    let store = Store::open(&folder.join("evidence")).unwrap();
    store.read_all(ReadWhat { gaps: false }).unwrap().runs
}

/// The finding of the preemption gate whose subject ends like this.
fn finding(folder: &Path, ends: &str) -> (String, String) {
    let report = run(folder, &["verdict", "site.yaml", "--format", "json"]).json();
    let gates = report["gates"].as_array().unwrap();
    let findings = gates.iter().flat_map(|gate| gate["findings"].as_array().unwrap());
    let found = findings
        .into_iter()
        .find(|finding| finding["subject"].as_str().unwrap().ends_with(ends))
        .unwrap_or_else(|| panic!("no finding ends with {ends}: {report:#}"));
    (
        found["ruling"].as_str().unwrap().to_owned(),
        found["explanation"].as_str().unwrap().to_owned(),
    )
}

#[test]
fn everything_changes_hands_and_the_report_says_what_it_cost() {
    let folder = TempDir::new().unwrap();
    site(folder.path(), None);
    // One run of each: the neighbour alone, and the engine put away and started again.
    measure(folder.path(), "reclaim,transition").expect(&[0, 40]);
    let runs = stored(folder.path());
    assert_eq!(runs.len(), 2, "{:?}", runs.iter().map(|run| &run.run.id).collect::<Vec<_>>());
    assert!(runs.iter().all(|run| run.run.id.ends_with("reclaim")), "{:?}", runs[0].run.id);
    let blocks: Vec<_> = runs.iter().flat_map(|run| &run.run.blocks).collect();
    assert_eq!(runs[0].run.blocks.len(), 3, "as many as the declared share needs");
    for block in &blocks {
        assert_eq!(block.plan.situation, Situation::Drill);
        let drill = block.drill.as_ref().unwrap();
        assert_eq!(drill.failure, None);
        assert!(drill.memory_free_s.is_some() && drill.first_token_s.is_some(), "{drill:?}");
        assert_eq!(drill.resume.as_ref().unwrap().failure, None);
    }
    let kinds: Vec<ChangeKind> =
        runs[1].run.blocks[0].observed.changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::EngineStop, ChangeKind::EngineStart]);

    for ends in ["reclaim and resume", "goes on where it stopped", "change of hands"] {
        let (ruling, why) = finding(folder.path(), ends);
        assert_eq!(ruling, "PASS", "{ends}: {why}");
    }
    let text = run(folder.path(), &["verdict", "site.yaml"]).stdout;
    for said in ["What reclaim and transitions cost", "signal → first token", "engine start"] {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
    let status = run(folder.path(), &["status", "site.yaml"]).stdout;
    assert!(status.contains("drills, 0 failed") && status.contains("changes of hands, 0 failed"));
}

/// A trainer that saves at SIGTERM, and always begins anew.
const RESTARTS: &str = "step=0
trap 'stop=yes' TERM
while :; do
  sleep 0.05; step=$((step + 1))
  echo \"step=$step loss=3.0$((step % 2)) step_s=0.05 tokens=8\"
  if [ \"$stop\" = yes ]; then
    echo \"stopping step=$step\"; echo \"checkpoint step=$step seconds=0.02 bytes=64\"; exit 0
  fi
done
";

#[test]
fn a_trainer_that_restarts_from_step_0_fails_the_gate() {
    let folder = TempDir::new().unwrap();
    site(folder.path(), Some(RESTARTS));
    measure(folder.path(), "reclaim").expect(&[0, 40]);
    let (ruling, why) = finding(folder.path(), "goes on where it stopped");
    assert_eq!(ruling, "FAIL", "{why}");
    assert!(why.contains("not preemptible") && why.contains("began at step 1"), "{why}");
    run(folder.path(), &["verdict", "site.yaml"]).expect(&[20]);
}

#[test]
fn what_cannot_be_drilled_is_refused_in_words() {
    let folder = TempDir::new().unwrap();
    let path = sites::embedded(folder.path());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("allowed: true", "allowed: false")).unwrap();
    measure(folder.path(), "reclaim").expect(&[2]).complains("never preempted");
    // An engine that was found running is never stopped, and nothing else would change.
    let launch = text.find("      launch:").unwrap();
    let demand = text.find("      demand:").unwrap();
    let mut found = text.clone();
    found.replace_range(launch..demand, "");
    fs::write(&path, found).unwrap();
    measure(folder.path(), "transition").expect(&[2]).complains("sleep: { level: 1 }");
}
