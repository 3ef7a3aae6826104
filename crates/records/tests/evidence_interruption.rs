//! Stopped at any instant, a run leaves evidence that can be read and gone on with.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod evidence_samples;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cotenant_core::evidence::{Block, Condition, PlannedBlock};
use cotenant_records::evidence::{EvidenceError, RunPlan, RunStatus, RunWriter, Store, StoredRun};
use evidence_samples::{ALL, at, block, files, plan, read, resume};

const RUN: &str = "20261130T143207Z-abc";

/// A folder in which block 0 is finished and block 1 is stopped in the making: what is on disk is
/// made from a copy before block 1 and a copy after it.
struct Stopped {
    root: tempfile::TempDir,
    folder: PathBuf,
    record_before: Vec<u8>,
}

impl Stopped {
    fn after_block_1() -> Self {
        let root = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut writer = Store::open(root.path()).unwrap().create_run(&plan).unwrap();
        writer.write_block(&block(&plan, 0, 20)).unwrap();
        let folder = writer.folder().to_owned();
        let record_before = fs::read(folder.join("run.json")).unwrap();
        writer.write_block(&block(&plan, 1, 20)).unwrap();
        Self { root, folder, record_before }
    }

    fn forget_block_1(&self) {
        fs::write(self.folder.join("run.json"), &self.record_before).unwrap();
    }

    fn unname(&self, name: &str) {
        fs::rename(self.folder.join(name), self.folder.join(format!("{name}.tmp"))).unwrap();
    }

    /// Reads, goes on, and finishes; gives the run as it was read before going on.
    fn check(&self, finished: &[u32]) -> StoredRun {
        let stored = read(self.root.path()).runs.remove(0);
        let plan = plan();
        let expected: Vec<Block> = finished.iter().map(|index| block(&plan, *index, 20)).collect();
        assert_eq!(stored.run.blocks, expected);
        assert_eq!(stored.status, RunStatus::Running);
        let store = Store::open(self.root.path()).unwrap();
        let (mut writer, found) = store.resume_run(RUN, at("2026-11-30T15:00:00Z")).unwrap();
        assert_eq!(found, finished);
        for index in (0..4).filter(|index| !finished.contains(index)) {
            writer.write_block(&block(&plan, index, 20)).unwrap();
        }
        writer.finish(RunStatus::Complete, at("2026-11-30T15:10:00Z")).unwrap();
        let complete = read(self.root.path()).runs.remove(0);
        assert_eq!(complete.run.blocks.len(), 4);
        assert!(complete.remarks.is_empty(), "{:?}", complete.remarks);
        let left: Vec<PathBuf> = files(&self.folder)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "tmp" || end == "lock"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        stored
    }
}

#[test]
fn stopped_while_the_gaps_are_written() {
    let stopped = Stopped::after_block_1();
    stopped.forget_block_1();
    fs::remove_file(stopped.folder.join("block-0001-C.jsonl.zst")).unwrap();
    stopped.unname("block-0001-C.gaps.zst");
    let part = stopped.folder.join("block-0001-C.gaps.zst.tmp");
    let bytes = fs::read(&part).unwrap();
    fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let stored = stopped.check(&[0]);
    assert_eq!(stored.remarks, ["block-0001-C.gaps.zst.tmp is unfinished and is passed over"]);
}

#[test]
fn stopped_before_either_file_has_its_name() {
    let stopped = Stopped::after_block_1();
    stopped.forget_block_1();
    stopped.unname("block-0001-C.gaps.zst");
    stopped.unname("block-0001-C.jsonl.zst");
    let stored = stopped.check(&[0]);
    assert_eq!(stored.remarks.len(), 2);
}

#[test]
fn stopped_between_the_two_names() {
    let stopped = Stopped::after_block_1();
    stopped.forget_block_1();
    stopped.unname("block-0001-C.jsonl.zst");
    let stored = stopped.check(&[0]);
    assert!(stored.remarks[0].contains("never sealed"), "{:?}", stored.remarks);
}

#[test]
fn stopped_before_the_record_is_rewritten() {
    let stopped = Stopped::after_block_1();
    stopped.forget_block_1();
    let stored = stopped.check(&[0, 1]);
    assert!(stored.remarks[0].contains("taken in"), "{:?}", stored.remarks);
}

#[test]
fn stopped_before_the_record_is_renamed() {
    let stopped = Stopped::after_block_1();
    fs::copy(stopped.folder.join("run.json"), stopped.folder.join("run.json.tmp")).unwrap();
    stopped.forget_block_1();
    stopped.check(&[0, 1]);
}

#[test]
fn stopped_after_the_record_is_rewritten() {
    assert!(Stopped::after_block_1().check(&[0, 1]).remarks.is_empty());
}

#[test]
fn a_resume_that_was_sealed_but_not_listed_is_taken_in() {
    let stopped = Stopped::after_block_1();
    let store = Store::open(stopped.root.path()).unwrap();
    let when = at("2026-11-30T15:00:00Z");
    let (mut writer, _) = store.resume_run(RUN, when).unwrap();
    let before = fs::read(stopped.folder.join("run.json")).unwrap();
    writer.write_resume(1, &resume()).unwrap();
    drop(writer);
    fs::write(stopped.folder.join("run.json"), before).unwrap();
    let stored = read(stopped.root.path()).runs.remove(0);
    assert_eq!(stored.run.blocks[1].drill.as_ref().unwrap().resume, Some(resume()));
    let (mut writer, _) = store.resume_run(RUN, when).unwrap();
    assert!(writer.remarks()[0].contains("resume.json"), "{:?}", writer.remarks());
    let again = writer.write_resume(1, &resume());
    assert!(matches!(again, Err(EvidenceError::Refused { .. })), "{again:?}");
}

#[test]
fn a_block_whose_gaps_vanished_is_not_taken_in() {
    let stopped = Stopped::after_block_1();
    stopped.forget_block_1();
    let gaps = stopped.folder.join("block-0001-C.gaps.zst");
    fs::remove_file(&gaps).unwrap();
    let store = Store::open(stopped.root.path()).unwrap();
    let error = store.read_all(ALL).unwrap_err();
    assert!(matches!(error, EvidenceError::MissingFile { path, .. } if path == gaps));
}

#[test]
fn stopped_before_the_run_was_announced() {
    let stopped = Stopped::after_block_1();
    let fresh = tempfile::tempdir().unwrap();
    // A schedule and a record without blocks, no ledger: a run that never began.
    let folder = fresh.path().join(RUN);
    fs::create_dir(&folder).unwrap();
    fs::copy(stopped.folder.join("schedule.json"), folder.join("schedule.json")).unwrap();
    let evidence = read(fresh.path());
    assert!(evidence.runs.is_empty());
    assert_eq!(evidence.remarks, [format!("{RUN} holds no evidence and is passed over")]);
    // The next run takes another name.
    let writer = Store::open(fresh.path()).unwrap().create_run(&plan()).unwrap();
    assert_eq!(writer.id(), "20261130T143207Z-abc-2");
}

#[test]
fn stopped_between_the_final_record_and_the_ledger() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let store = Store::open(root.path()).unwrap();
    let mut writer = store.create_run(&plan).unwrap();
    for index in 0..4 {
        writer.write_block(&block(&plan, index, 5)).unwrap();
    }
    let ledger = ["ledger.jsonl", "ledger.head.json"].map(|name| root.path().join(name));
    let before = ledger.clone().map(|path| fs::read(path).unwrap());
    writer.finish(RunStatus::Complete, at("2026-11-30T15:00:00Z")).unwrap();
    for (path, bytes) in ledger.iter().zip(&before) {
        fs::write(path, bytes).unwrap();
    }
    let stored = read(root.path()).runs.remove(0);
    assert_eq!(stored.status, RunStatus::Complete);
    assert!(stored.remarks[0].contains("before the ledger knew"), "{:?}", stored.remarks);
    // Going on with it finds nothing to do, and mends the ledger.
    let when = at("2026-11-30T15:30:00Z");
    assert!(matches!(store.resume_run(RUN, when), Err(EvidenceError::Refused { .. })));
    assert!(read(root.path()).runs[0].remarks.is_empty());
}

#[test]
fn stopped_while_a_line_is_added_to_the_ledger() {
    let stopped = Stopped::after_block_1();
    let ledger = stopped.root.path().join("ledger.jsonl");
    let mut bytes = fs::read(&ledger).unwrap();
    let whole = bytes.clone();
    bytes.extend(&whole[..whole.len() / 2]);
    fs::write(&ledger, &bytes).unwrap();
    let evidence = read(stopped.root.path());
    assert!(evidence.remarks[0].contains("counts for nothing"), "{:?}", evidence.remarks);
    stopped.check(&[0, 1]);
    assert!(read(stopped.root.path()).remarks.is_empty());
}

#[test]
fn stopped_between_the_ledger_and_its_head() {
    let stopped = Stopped::after_block_1();
    let head = stopped.root.path().join("ledger.head.json");
    let before = fs::read(&head).unwrap();
    let store = Store::open(stopped.root.path()).unwrap();
    let when = at("2026-11-30T15:00:00Z");
    store.exclude(RUN, "a reason", "Ada", when).unwrap();
    fs::write(&head, before).unwrap();
    assert!(read(stopped.root.path()).runs[0].excluded.is_some());
    // The very first head.
    let fresh = tempfile::tempdir().unwrap();
    drop(Store::open(fresh.path()).unwrap().create_run(&plan()).unwrap());
    fs::remove_file(fresh.path().join("ledger.head.json")).unwrap();
    assert_eq!(read(fresh.path()).runs.len(), 1);
}

#[test]
fn a_second_writer_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let writer = store.create_run(&plan()).unwrap();
    let when = at("2026-11-30T15:00:00Z");
    let second = store.resume_run(RUN, when).unwrap_err();
    assert!(matches!(&second, EvidenceError::Locked { pid: Some(pid), .. }
        if *pid == std::process::id()));
    assert!(second.to_string().contains(&std::process::id().to_string()));
    let lock = writer.folder().join("writer.lock");
    drop(writer);
    // A lock file that a dead process left is no lock, whatever process has its number now.
    fs::write(&lock, "1\n").unwrap();
    let (writer, _) = store.resume_run(RUN, when).unwrap();
    assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()));
    drop(writer);
    assert!(!lock.exists());
}

#[test]
fn many_writers_share_one_ledger() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let writer = store.create_run(&plan()).unwrap();
                writer.finish(RunStatus::Interrupted, at("2026-11-30T15:00:00Z")).unwrap();
                store.read_all(ALL).unwrap();
            });
        }
    });
    assert_eq!(read(root.path()).runs.len(), 8);
}

const KILLED_BLOCKS: u32 = 400;

fn long_plan() -> RunPlan {
    let planned = |index| PlannedBlock {
        index,
        condition: if index % 2 == 0 { Condition::A } else { Condition::C },
        ..plan().schedule[0]
    };
    RunPlan { schedule: (0..KILLED_BLOCKS).map(planned).collect(), ..plan() }
}

/// Goes on with the run in this folder, or begins one.
fn go_on(root: &Path) -> RunWriter {
    let store = Store::open(root).unwrap();
    match store.read_all(ALL).unwrap().runs.first() {
        Some(run) => store.resume_run(&run.run.id, at("2026-11-30T15:00:00Z")).unwrap().0,
        None => store.create_run(&long_plan()).unwrap(),
    }
}

/// Not a test of its own: the process that the next one kills.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn a_process_that_writes_until_it_is_killed() {
    let Ok(root) = std::env::var("COTENANT_TEST_EVIDENCE") else { return };
    let plan = long_plan();
    let mut writer = go_on(Path::new(&root));
    for index in 0..KILLED_BLOCKS {
        if !writer.finished().contains(&index) {
            writer.write_block(&block(&plan, index, 30)).unwrap();
            if plan.schedule[index as usize].condition == Condition::C {
                writer.write_resume(index, &resume()).unwrap();
            }
        }
    }
}

#[test]
fn killed_at_any_instant_it_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let plan = long_plan();
    let (mut finished_before, mut pause_ms) = (0, 15);
    for round in 0..10_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_that_writes_until_it_is_killed", "--ignored"])
            .env("COTENANT_TEST_EVIDENCE", root.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause_ms + round * round * 7 % 90));
        child.kill().unwrap();
        child.wait().unwrap();
        let evidence = read(root.path());
        let Some(stored) = evidence.runs.first() else {
            // On a busy machine the process may need longer to begin at all.
            pause_ms *= 2;
            continue;
        };
        for found in &stored.run.blocks {
            let mut expected = block(&plan, found.plan.index, 30);
            if let (Some(drill), Some(found)) = (&mut expected.drill, &found.drill) {
                drill.resume.clone_from(&found.resume);
            }
            assert_eq!(*found, expected);
        }
        assert!(stored.run.blocks.len() >= finished_before, "a finished block was lost");
        if stored.run.blocks.len() == finished_before {
            pause_ms *= 2;
        }
        finished_before = stored.run.blocks.len();
    }
    assert!(finished_before > 0, "no block was ever finished");
    let writer = go_on(root.path());
    assert!(writer.finished().len() >= finished_before);
}
