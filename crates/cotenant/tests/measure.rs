//! Real runs with the embedded engine and trainer: what they leave on disk and in the process table,
//! however they end, and what the offline verbs make of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![allow(clippy::print_stderr, reason = "a seed is told, so that a failure can be run again")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cotenant_core::evidence::{Condition, ResumeCheck};
use cotenant_records::evidence::{ReadWhat, RunStatus, Store, StoredRun};
use rustix::process::Signal;
use support::process::{Process, Told, run};
use support::{PATIENCE, RUN_PATIENCE, Random, copy_folder, sites, wait_for};
use tempfile::TempDir;

/// What `verdict` may end with where nothing is wrong.
const VERDICTS: [i32; 4] = [0, 10, 20, 30];
/// What a whole run may end with: a machine that others use makes an INVALID test, and no failure.
const MEASURED: [i32; 2] = [0, 40];

/// Runs share two cores with nobody: one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One whole run of A, B and C, which several tests look at.
struct Measured {
    folder: PathBuf,
    told: Told,
}

static MEASURED_ONCE: LazyLock<Measured> = LazyLock::new(|| {
    let _alone = alone();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measured-once");
    // Left by an earlier run of the tests; the first time there is none.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    sites::embedded(&folder);
    let mut process = sites::measure(&folder, &["--seed", "11"]);
    let told = process.end(RUN_PATIENCE);
    told.expect(&MEASURED);
    process.expect_no_family();
    Measured { folder, told }
});

/// The site file and the evidence of that run, to be spoiled.
fn measured_copy() -> TempDir {
    let copy = TempDir::new().unwrap();
    let from = &MEASURED_ONCE.folder;
    fs::copy(from.join("site.yaml"), copy.path().join("site.yaml")).unwrap();
    copy_folder(&from.join("evidence"), &copy.path().join("evidence"));
    copy
}

fn stored(folder: &Path) -> Vec<StoredRun> {
    let store = Store::open(&folder.join("evidence")).unwrap();
    store.read_all(ReadWhat { gaps: true }).unwrap().runs
}

fn the_run(folder: &Path) -> StoredRun {
    let mut runs = stored(folder);
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// Fails unless the run is whole and says what a whole run says.
fn expect_whole(run: &StoredRun) {
    assert_eq!(run.status, RunStatus::Complete);
    let planned: Vec<u32> = run.run.schedule.iter().map(|plan| plan.index).collect();
    let finished: Vec<u32> = run.run.blocks.iter().map(|block| block.plan.index).collect();
    assert_eq!(planned, finished);
    for block in &run.run.blocks {
        let index = block.plan.index;
        let (requests, steps) = (block.requests.len(), block.steps.len());
        match block.plan.condition {
            Condition::A => assert!(requests > 0 && steps == 0, "block {index}"),
            Condition::B => assert!(requests == 0 && steps > 0, "block {index}"),
            Condition::C => assert!(requests > 0 && steps > 0, "block {index}"),
        }
        let Some(drill) = &block.drill else {
            assert_ne!(block.plan.condition, Condition::C, "block {index} has no drill");
            continue;
        };
        assert_eq!(block.plan.condition, Condition::C, "block {index} has a drill");
        let resume = drill.resume.as_ref().unwrap_or_else(|| panic!("block {index}: no resume"));
        assert_continues(resume, drill.checkpoint_step, index);
    }
}

/// The steps go on where the checkpoint of the drill left them.
fn assert_continues(resume: &ResumeCheck, checkpoint: Option<u64>, index: u32) {
    let saved = checkpoint.unwrap_or_else(|| panic!("block {index}: no checkpoint was seen"));
    assert_eq!(resume.first_step, saved + 1, "block {index}: {resume:?}");
}

#[test]
fn a_run_leaves_what_it_planned() {
    let measured = &*MEASURED_ONCE;
    let run = the_run(&measured.folder);
    expect_whole(&run);
    let conditions: BTreeSet<char> =
        run.run.schedule.iter().map(|plan| plan.condition.letter()).collect();
    assert_eq!(conditions, BTreeSet::from(['A', 'B', 'C']));
    let (a, c): (Vec<_>, Vec<_>) = run
        .run
        .blocks
        .iter()
        .filter(|block| block.plan.condition != Condition::B)
        .partition(|block| block.plan.condition == Condition::A);
    assert_eq!(a.len(), c.len());
    for block in a {
        let partner = c.iter().find(|other| other.plan.pair == block.plan.pair).unwrap();
        let arrivals = |block: &cotenant_core::evidence::Block| -> Vec<(u64, u32)> {
            block.requests.iter().map(|r| (r.intended_ns, r.prompt_tokens)).collect()
        };
        assert_eq!(arrivals(block), arrivals(partner), "A and C of a pair replay the same");
    }
    let folder = measured.folder.join("evidence").join(&run.run.id);
    for name in ["run.json", "schedule.json"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    assert!(measured.folder.join("evidence/ledger.jsonl").is_file());
    for log in ["chat.log", "tune.log"] {
        assert!(measured.folder.join("logs").join(log).is_file(), "{log}");
    }
    measured.told.complains(&format!("run {}", run.run.id)).complains("about");
}

#[test]
fn a_verdict_is_the_same_bytes_each_time_and_its_word_is_its_code() {
    let copy = measured_copy();
    let first = run(copy.path(), &["verdict", "site.yaml", "--format", "json"]);
    first.expect(&VERDICTS);
    let second = run(copy.path(), &["verdict", "site.yaml", "--format", "json"]);
    assert_eq!((first.code, &first.stdout), (second.code, &second.stdout));
    assert_eq!(first.code, Some(code_of(&first.json())));
    let schema = run(copy.path(), &["schema", "--of", "report"]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&first.json()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");

    let text = run(copy.path(), &["verdict", "site.yaml"]);
    assert_eq!(text.code, first.code);
    let word = first.json()["verdict"]["word"].as_str().unwrap().to_owned();
    assert!(text.stdout.contains(&word), "{word} is not in\n{}", text.stdout);
    let wide: Vec<&str> = text.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
    assert!(!text.stdout.contains('\u{1b}'), "colour where no terminal is");

    let page = ["verdict", "site.yaml", "--format", "html", "--out", "page.html"];
    let told = run(copy.path(), &page);
    assert_eq!((told.code, told.stdout.as_str()), (first.code, ""));
    let page = fs::read_to_string(copy.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(&word) && page.contains("<svg"));
    for fetched in ["src=\"http", "<link", "@import", "url(http"] {
        assert!(!page.contains(fetched), "the page needs the network: {fetched}");
    }
}

fn code_of(report: &serde_json::Value) -> i32 {
    match report["verdict"]["word"].as_str() {
        Some("PASS") => 0,
        Some("CONDITIONAL") => 10,
        Some("FAIL") => 20,
        Some("NOT PROVEN" | "INVALID") => 30,
        other => panic!("{other:?} is no word of a verdict"),
    }
}

#[test]
fn status_lists_the_seventeen_steps() {
    let copy = measured_copy();
    let told = run(copy.path(), &["status", "site.yaml", "--format", "json"]);
    told.expect(&[0]);
    let answer = told.json();
    let steps = answer["steps"].as_array().unwrap();
    let numbers: Vec<u64> = steps.iter().map(|step| step["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=17).collect::<Vec<u64>>());
    let done = steps.iter().filter(|step| step["state"] == "done").count();
    assert!(done >= 3, "after a run of A, B and C: {answer:#}");
    let text = run(copy.path(), &["status", "site.yaml"]);
    text.expect(&[0]);
    for step in steps {
        assert!(text.stdout.contains(step["title"].as_str().unwrap()));
    }
}

#[test]
fn a_site_that_changed_makes_no_old_evidence_new() {
    let copy = measured_copy();
    let before = run(copy.path(), &["verdict", "site.yaml", "--format", "json"]).json();
    let site = copy.path().join("site.yaml");
    let text = fs::read_to_string(&site).unwrap();
    fs::write(&site, text.replace("--batch, \"1\"", "--batch, \"2\"")).unwrap();
    let after = run(copy.path(), &["verdict", "site.yaml", "--format", "json"]);
    after.expect(&VERDICTS);
    assert_ne!(before["gates"], after.json()["gates"], "another trainer, the same gates");
    let told = run(copy.path(), &["measure", "site.yaml", "--resume"]);
    told.expect(&[2]);
}

/// What is done to a file of evidence.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Gone,
    DigitChanged,
    EndLost,
}

fn damage(path: &Path, damage: Damage) {
    let mut bytes = fs::read(path).unwrap();
    match damage {
        Damage::Gone => return fs::remove_file(path).unwrap(),
        Damage::DigitChanged => {
            // In a document the first digit behind a digest's name; in a packed file any byte.
            let at = bytes.windows(6).position(|part| part == b"sha256");
            let from = at.unwrap_or(bytes.len() / 2);
            let digit = bytes[from + 6..].iter().position(u8::is_ascii_digit);
            let at = from + digit.map_or(0, |digit| digit + 6);
            bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        }
        Damage::EndLost => {
            let lost = 1024.min(bytes.len() / 2);
            bytes.truncate(bytes.len() - lost);
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_evidence_is_refused_by_the_name_of_the_file() {
    let run_id = the_run(&MEASURED_ONCE.folder).run.id;
    let source = MEASURED_ONCE.folder.join("evidence").join(&run_id);
    let mut names: Vec<String> = fs::read_dir(&source)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let first = |ending: &str| names.iter().find(|name| name.ends_with(ending)).unwrap().as_str();
    for name in [
        "run.json",
        "schedule.json",
        first(".jsonl.zst"),
        first(".gaps.zst"),
        first(".resume.json"),
    ] {
        for kind in [Damage::Gone, Damage::DigitChanged, Damage::EndLost] {
            let copy = measured_copy();
            damage(&copy.path().join("evidence").join(&run_id).join(name), kind);
            let told = run(copy.path(), &["verdict", "site.yaml", "--format", "json"]);
            assert_eq!(told.code, Some(3), "{name} {kind:?}: {told:#?}");
            assert_eq!(told.stdout, "", "{name} {kind:?}");
            told.complains(name).complains("hint: ");
        }
    }
    for kind in [Damage::Gone, Damage::DigitChanged, Damage::EndLost] {
        let copy = measured_copy();
        damage(&copy.path().join("evidence/ledger.jsonl"), kind);
        let told = run(copy.path(), &["verdict", "site.yaml"]);
        assert_eq!(told.code, Some(3), "the ledger {kind:?}: {told:#?}");
        assert_eq!(told.stdout, "");
        told.complains("evidence/");
    }
}

#[test]
fn an_excluded_run_is_left_out_and_shown() {
    let copy = measured_copy();
    let id = the_run(copy.path()).run.id;
    let exclude = |run_id: &str, reason: &str| {
        run(
            copy.path(),
            &["exclude", "site.yaml", run_id, "--reason", reason, "--by", "the tester"],
        )
    };
    exclude("20200101T000000Z-abc", "never was").expect(&[2]).complains("20200101T000000Z-abc");
    exclude(&id, "   ").expect(&[2]).complains("reason");
    exclude(&id, "the door was open").expect(&[0]);
    exclude(&id, "the door was shut").expect(&[2]).complains("the door was open");

    let json = run(copy.path(), &["verdict", "site.yaml", "--format", "json"]);
    // Nothing else was measured, so nothing is proven.
    json.expect(&[30]);
    for format in ["text", "json", "html"] {
        let told = run(copy.path(), &["verdict", "site.yaml", "--format", format]);
        let text = words(&told.stdout);
        assert!(text.contains("the door was open"), "{format}: {text}");
        assert!(text.contains("the tester"), "{format}");
        assert!(!text.contains("the door was shut"), "{format}");
    }
    let told = run(copy.path(), &["measure", "site.yaml", "--resume"]);
    told.expect(&[2]).complains("no interrupted run");
    // What is left out may be damaged, and still everything else can be judged.
    fs::remove_file(copy.path().join("evidence").join(&id).join("run.json")).unwrap();
    let told = run(copy.path(), &["verdict", "site.yaml"]);
    told.expect(&[30]);
    assert!(words(&told.stdout).contains("can no longer be read"), "{}", told.stdout);
}

/// A text without its line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the process that is found by these words of its command line runs.
fn runs(process: &Process, words: &str) -> bool {
    process.family().iter().any(|(_, arguments)| arguments.contains(words))
}

#[test]
fn an_interrupted_run_keeps_its_blocks_and_goes_on() {
    let _alone = alone();
    let folder = TempDir::new().unwrap();
    sites::embedded(folder.path());
    let mut process = sites::measure(folder.path(), &["--seed", "5"]);
    process.wait_for_stderr("[2/", RUN_PATIENCE);
    // In the middle of a block in which both run; a block of A alone has no trainer.
    let both = wait_for(RUN_PATIENCE, || {
        (runs(&process, " engine serve ") && runs(&process, " engine train ")).then_some(())
    });
    assert!(both.is_some(), "no block with both; {}", process.stderr());
    // Evidence can be judged while it is being written.
    run(folder.path(), &["verdict", "site.yaml"]).expect(&VERDICTS);
    process.signal(Signal::INT);
    let told = process.end(PATIENCE);
    told.expect(&[130]).complains("interrupted").complains("--resume");
    process.expect_no_family();

    let before = the_run(folder.path());
    assert_eq!(before.status, RunStatus::Interrupted);
    let kept = before.run.blocks.len();
    assert!((2..before.run.schedule.len()).contains(&kept), "{kept} blocks");
    let verdict = run(folder.path(), &["verdict", "site.yaml"]);
    verdict.expect(&VERDICTS).complains("interrupted");

    let mut process = Process::start(folder.path(), &["measure", "site.yaml", "--resume"]);
    let told = process.end(RUN_PATIENCE);
    told.expect(&MEASURED).complains(&format!("{kept} of {} blocks", before.run.schedule.len()));
    process.expect_no_family();
    let after = the_run(folder.path());
    assert_eq!(after.status, RunStatus::Complete);
    assert_eq!(after.run.blocks[..kept], before.run.blocks[..], "a finished block was touched");
    assert_eq!(after.run.blocks.len(), after.run.schedule.len());
    let told = run(folder.path(), &["measure", "site.yaml", "--resume"]);
    told.expect(&[2]).complains("no interrupted run");
}

/// Chosen once: the moments of the kills are random, and the same in every run of the tests.
const SEED: u64 = 20_261_130;

/// When a run is killed: a moment after something was seen.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// The process was started.
    Start,
    /// It says this.
    Said(&'static str),
    /// The trainer was told to stop: a drill, or the end of the pilot.
    Stopping,
}

#[test]
fn a_run_killed_at_any_point_leaves_readable_evidence_and_no_process() {
    let _alone = alone();
    eprintln!("seed {SEED}");
    let mut random = Random(SEED);
    let points = [
        (Seen::Start, 200),
        (Seen::Start, 1_500),
        (Seen::Said("pilot"), 2_500),
        (Seen::Said("pilot"), 6_000),
        (Seen::Said("pairs of A and C"), 300),
        (Seen::Said("[0/"), 4_000),
        (Seen::Said("[1/"), 4_000),
        (Seen::Said("[2/"), 4_000),
        (Seen::Stopping, 200),
        (Seen::Said("[3/"), 4_000),
    ];
    let (mut most, mut last) = (0, None);
    for (number, (seen, within_ms)) in points.into_iter().enumerate() {
        let after = Duration::from_millis(random.below(within_ms));
        let seed = random.below(1_000).to_string();
        let point = format!("kill {number}: {after:?} after {seen:?}, --seed {seed}");
        eprintln!("{point}");
        let folder = TempDir::new().unwrap();
        sites::embedded(folder.path());
        let mut process = sites::measure(folder.path(), &["--seed", &seed]);
        match seen {
            Seen::Start => {}
            Seen::Said(text) => process.wait_for_stderr(text, RUN_PATIENCE),
            Seen::Stopping => {
                process.wait_for_stderr("[1/", RUN_PATIENCE);
                wait_for_stopping(&process, folder.path());
            }
        }
        std::thread::sleep(after);
        most = most.max(process.family().len());
        process.signal(Signal::KILL);
        let told = process.end(PATIENCE);
        assert_eq!(told.signal, Some(9), "{point}: it ended before it was killed; {told:#?}");
        process.expect_no_family();
        let verdict = run(folder.path(), &["verdict", "site.yaml"]);
        let right = verdict.code.is_some_and(|code| VERDICTS.contains(&code));
        assert!(right, "{point}: {verdict:#?}");
        last = Some(folder);
    }
    // Measure, guardian, engine and trainer: the look for processes does find them.
    assert!(most >= 4, "never more than {most} processes were seen");

    let folder = last.unwrap();
    let finished = the_run(folder.path()).run.blocks.len();
    assert!(finished >= 3, "{finished} blocks are finished");
    let mut process = Process::start(folder.path(), &["measure", "site.yaml", "--resume"]);
    process.end(RUN_PATIENCE).expect(&MEASURED);
    process.expect_no_family();
    let run = the_run(folder.path());
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(run.run.blocks.len(), run.run.schedule.len());
}

fn wait_for_stopping(process: &Process, folder: &Path) {
    // Its log is made anew at each start, so this is the stop of the block that runs now.
    let log = folder.join("logs/tune.log");
    let stopping = wait_for(RUN_PATIENCE, || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        (text.contains("stopping step=") && runs(process, " engine train ")).then_some(())
    });
    assert!(stopping.is_some(), "no trainer was told to stop; {}", process.stderr());
}
