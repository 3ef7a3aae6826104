//! What is written comes back, every bit of it.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod evidence_samples;

use cotenant_core::evidence::{Aspect, Condition, Fingerprint, Run, Situation};
use cotenant_records::evidence::{EvidenceError, ReadWhat, RunStatus, Store};
use evidence_samples::{ALL, at, audit, block, files, plan, read, resume, write_run};

#[test]
fn a_whole_run_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let folder = write_run(root.path());
    let evidence = read(root.path());
    assert!(evidence.lost.is_empty() && evidence.remarks.is_empty());
    let [stored] = &evidence.runs[..] else { panic!("one run") };
    let plan = plan();
    let mut blocks: Vec<_> = (0..4).map(|index| block(&plan, index, 60)).collect();
    for index in [1, 3] {
        blocks[index].drill.as_mut().unwrap().resume = Some(resume());
    }
    let expected = Run {
        id: "20261130T143207Z-abc".to_owned(),
        started: at("2026-11-30T14:32:07Z"),
        origin: plan.origin,
        inference: plan.inference,
        neighbour: plan.neighbour,
        seed: plan.seed,
        fingerprint: plan.fingerprint,
        load: plan.load,
        pilot: plan.pilot,
        audits: vec![audit()],
        remedies: plan.remedies,
        schedule: plan.schedule,
        blocks,
        engine_supervised: true,
    };
    assert_eq!(stored.run, expected);
    assert_eq!(stored.status, RunStatus::Complete);
    assert_eq!((stored.warm_up_s, stored.block_s, stored.tail_s), (2.5, 10.0, 4.0));
    assert_eq!((&stored.site_digest, &stored.options), (&plan.site_digest, &plan.options));
    assert_eq!((&stored.excluded, stored.digest.len()), (&None, 64));
    assert!(stored.remarks.is_empty(), "{:?}", stored.remarks);
    let names: Vec<_> =
        files(&folder).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "block-0000-A.gaps.zst",
            "block-0000-A.jsonl.zst",
            "block-0001-C.gaps.zst",
            "block-0001-C.jsonl.zst",
            "block-0001-C.resume.json",
            "block-0002-B.jsonl.zst",
            "block-0003-C.gaps.zst",
            "block-0003-C.jsonl.zst",
            "block-0003-C.resume.json",
            "run.json",
            "schedule.json",
        ]
    );
}

#[test]
fn gaps_may_be_left_unread() {
    let root = tempfile::tempdir().unwrap();
    write_run(root.path());
    let with = read(root.path()).runs.remove(0);
    let store = Store::open(root.path()).unwrap();
    let without = store.read_all(ReadWhat { gaps: false }).unwrap().runs.remove(0);
    assert!(with.run.blocks.iter().any(|block| !block.gaps.is_empty()));
    let mut expected = with.run;
    expected.blocks.iter_mut().for_each(|block| block.gaps.clear());
    assert_eq!(without.run, expected);
}

#[test]
fn an_evidence_folder_that_does_not_exist_is_empty() {
    let root = tempfile::tempdir().unwrap();
    let evidence = read(&root.path().join("none"));
    assert!(evidence.runs.is_empty() && evidence.remarks.is_empty());
    assert!(!root.path().join("none").exists(), "reading creates nothing");
}

#[test]
fn runs_stand_in_the_order_in_which_they_began() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let ids: Vec<String> =
        (0..3).map(|_| store.create_run(&plan()).unwrap().id().to_owned()).collect();
    assert_eq!(ids, ["20261130T143207Z-abc", "20261130T143207Z-abc-2", "20261130T143207Z-abc-3"]);
    let read: Vec<String> = read(root.path()).runs.into_iter().map(|run| run.run.id).collect();
    assert_eq!(read, ids);
}

#[test]
fn an_exclusion_is_kept_with_its_reason() {
    let root = tempfile::tempdir().unwrap();
    write_run(root.path());
    let store = Store::open(root.path()).unwrap();
    let (run, when) = ("20261130T143207Z-abc", at("2026-12-01T08:00:00Z"));
    store.exclude(run, "the disk was being rebuilt", "Ada", when).unwrap();
    let stored = read(root.path()).runs.remove(0);
    let exclusion = stored.excluded.unwrap();
    assert_eq!(
        (exclusion.reason.as_str(), exclusion.who.as_str(), exclusion.at),
        ("the disk was being rebuilt", "Ada", when)
    );
    let again = store.exclude(run, "another reason", "Ada", when);
    assert!(matches!(again, Err(EvidenceError::Refused { .. })), "{again:?}");
    let silent = store.exclude(run, " ", "Ada", when);
    assert!(matches!(silent, Err(EvidenceError::Refused { .. })), "{silent:?}");
    let unknown = store.exclude("../elsewhere", "x", "Ada", when);
    assert!(matches!(unknown, Err(EvidenceError::UnknownRun { .. })), "{unknown:?}");
}

#[test]
fn the_writer_refuses_what_was_not_planned() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut writer = Store::open(root.path()).unwrap().create_run(&plan).unwrap();
    let refused = |result: Result<(), EvidenceError>| {
        assert!(matches!(result, Err(EvidenceError::Refused { .. })), "{result:?}");
    };
    let mut other = block(&plan, 1, 5);
    other.plan.pair = 9;
    refused(writer.write_block(&other));
    refused(writer.write_resume(1, &resume()));
    writer.write_block(&block(&plan, 1, 5)).unwrap();
    refused(writer.write_block(&block(&plan, 1, 5)));
    writer.write_resume(1, &resume()).unwrap();
    refused(writer.write_resume(1, &resume()));
    writer.write_block(&block(&plan, 0, 5)).unwrap();
    refused(writer.write_resume(0, &resume()));
    assert_eq!(writer.finished(), [0, 1]);
    refused(writer.finish(RunStatus::Complete, at("2026-11-30T15:00:00Z")));
    let mut disordered = plan;
    disordered.schedule.swap(0, 1);
    refused(Store::open(root.path()).unwrap().create_run(&disordered).map(|_| ()));
}

#[test]
fn the_fingerprint_may_grow_but_not_change() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = Store::open(root.path()).unwrap().create_run(&plan()).unwrap();
    let one = |aspect, value: &str| Fingerprint([(aspect, value.to_owned())].into());
    writer.add_fingerprint(&one(Aspect::Engine, "1.0")).unwrap();
    writer.add_fingerprint(&one(Aspect::Engine, "1.0")).unwrap();
    let changed = writer.add_fingerprint(&one(Aspect::Engine, "1.1"));
    assert!(matches!(&changed, Err(EvidenceError::Refused { why, .. }) if why.contains("engine")));
    let stored = Store::open(root.path()).unwrap().read_run(writer.id(), ALL).unwrap();
    assert_eq!(stored.run.fingerprint.0.len(), 3);
    assert_eq!(stored.run.fingerprint.0[&Aspect::Engine], "1.0");
}

#[test]
fn an_interrupted_run_is_resumed_to_its_end() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let plan = plan();
    let mut writer = store.create_run(&plan).unwrap();
    writer.write_block(&block(&plan, 0, 5)).unwrap();
    let id = writer.id().to_owned();
    writer.finish(RunStatus::Interrupted, at("2026-11-30T14:35:00Z")).unwrap();
    assert_eq!(read(root.path()).runs[0].status, RunStatus::Interrupted);
    let (mut writer, finished) = store.resume_run(&id, at("2026-11-30T15:00:00Z")).unwrap();
    assert_eq!((&finished[..], writer.plan()), (&[0][..], &plan));
    assert_eq!(read(root.path()).runs[0].status, RunStatus::Running);
    for index in 1..4 {
        writer.write_block(&block(&plan, index, 5)).unwrap();
    }
    writer.finish(RunStatus::Complete, at("2026-11-30T15:10:00Z")).unwrap();
    let stored = read(root.path()).runs.remove(0);
    assert_eq!((stored.status, stored.run.blocks.len()), (RunStatus::Complete, 4));
    let again = store.resume_run(&id, at("2026-11-30T16:00:00Z"));
    assert!(matches!(again, Err(EvidenceError::Refused { .. })), "{again:?}");
}

#[test]
fn what_a_reader_would_refuse_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut writer = Store::open(root.path()).unwrap().create_run(&plan).unwrap();
    let mut long = block(&plan, 0, 5);
    long.remarks.push("x".repeat(5 << 20));
    let result = writer.write_block(&long);
    assert!(matches!(result, Err(EvidenceError::Refused { .. })), "{result:?}");
    let left: Vec<_> = files(writer.folder());
    assert_eq!(left.len(), 3, "the record, the schedule and the lock: {left:?}");
    long.remarks.pop();
    writer.write_block(&long).unwrap();
}

#[test]
fn a_search_may_end_before_its_last_look_and_says_why() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let now = at("2026-11-30T15:00:00Z");
    let refused = |result: Result<(), EvidenceError>| {
        assert!(matches!(result, Err(EvidenceError::Refused { .. })), "{result:?}");
    };
    let mut search = plan();
    for (look, planned) in search.schedule.iter_mut().enumerate() {
        planned.condition = Condition::A;
        planned.pair = look as u32;
        planned.remedy = None;
        planned.situation = Situation::Search(look as u32);
    }
    // Nothing was looked at yet.
    refused(store.create_run(&search).unwrap().finish_decided("enough", now));
    search.started = at("2026-11-30T14:40:00Z");
    let mut writer = store.create_run(&search).unwrap();
    let mut look = block(&plan(), 0, 5);
    look.plan = search.schedule[0];
    look.load_factor = 2.5;
    writer.write_block(&look).unwrap();
    writer.finish_decided("the interval is narrow", now).unwrap();
    let id = "20261130T144000Z-capacity";
    let stored = store.read_run(id, ReadWhat { gaps: true }).unwrap();
    assert_eq!(stored.status, RunStatus::Complete);
    assert_eq!(stored.decided.as_deref(), Some("the interval is narrow"));
    assert_eq!(stored.run.blocks[0].load_factor, 2.5);
    assert!(store.resume_run(id, now).is_err(), "it is complete");

    // A comparison must have all of its blocks.
    let mut compared = plan();
    compared.started = at("2026-11-30T14:50:00Z");
    let mut writer = store.create_run(&compared).unwrap();
    writer.write_block(&block(&compared, 0, 5)).unwrap();
    refused(writer.finish_decided("it pleases", now));
}
