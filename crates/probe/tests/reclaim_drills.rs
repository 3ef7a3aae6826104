//! Drills with real processes: what a trainer must do to be taken for one that gives the machine back,
//! and each way in which one does not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod drill_support;
mod support;

use std::time::Duration;

use cotenant_probe::measure::RunError;
use drill_support::{CONTINUE, SAVE, drill, trainer};

const NOTICE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_trainer_that_saves_and_resumes_shows_every_part() {
    let drilled = drill(&trainer(CONTINUE, &format!("{SAVE}; exit 0"), ":"), NOTICE, 2).await;
    assert!(drilled.error.is_none(), "{:?}", drilled.error);
    assert_eq!((drilled.drills.len(), drilled.resumes.len()), (2, 2));
    for (drill, resume) in drilled.drills.iter().zip(&drilled.resumes) {
        assert_eq!((&drill.failure, &resume.failure), (&None, &None), "{drill:?} {resume:?}");
        assert_eq!(drill.driver, "signal TERM");
        let (boundary, exit) = (drill.step_boundary_s.unwrap(), drill.exit_s.unwrap());
        let (free, token) = (drill.memory_free_s.unwrap(), drill.first_token_s.unwrap());
        assert!(0.0 < boundary && boundary <= exit && exit <= free && free < token, "{drill:?}");
        assert!((drill.checkpoint_s.unwrap() - 0.02).abs() < 1e-9);
        assert!(drill.unexplained_s().is_some());
        assert_eq!(Some(resume.first_step), drill.checkpoint_step.map(|step| step + 1));
        assert_eq!(resume.lost_steps, 0);
        assert!(resume.first_step_s.unwrap() > 0.0 && resume.restore_s.is_some());
        assert!(resume.steady_s.unwrap() >= resume.first_step_s.unwrap(), "{resume:?}");
    }
}

#[tokio::test]
async fn a_trainer_that_restarts_from_step_0_is_caught() {
    let drilled = drill(&trainer("", &format!("{SAVE}; exit 0"), ":"), NOTICE, 1).await;
    assert_eq!(drilled.drills[0].failure, None, "the stop itself was right");
    let why = drilled.resumes[0].failure.clone().unwrap();
    assert!(why.contains("began at step 1, before its checkpoint"), "{why}");
    assert!(drilled.resumes[0].lost_steps > 3);

    // The same where the log shows no checkpoint, and with a counter that only pretends.
    let drilled = drill(&trainer("", "exit 0", ":"), NOTICE, 1).await;
    assert!(drilled.drills[0].failure.as_ref().unwrap().contains("without a checkpoint"));
    assert!(drilled.resumes[0].failure.as_ref().unwrap().contains("first step"));
    let pretending = trainer(CONTINUE, &format!("{SAVE}; exit 0"), ":")
        .replace("loss=3.0", "loss=$([ -f saved ] && echo 9 || echo 3).0");
    let drilled = drill(&pretending, NOTICE, 1).await;
    assert!(drilled.resumes[0].failure.as_ref().unwrap().contains("loss jumped"));
}

#[tokio::test]
async fn an_exit_before_the_memory_is_free_is_caught() {
    // The child holds 40 MB, takes no notice of the signal, and outlives its parent.
    let child = "[ -n \"$held\" ] || { (trap '' TERM; x=$(head -c 40000000 /dev/zero | tr '\\0' x); \
                 echo held; sleep 77; :) & held=$!; }";
    let on_term = format!("{SAVE}; exit 0");
    let drilled = drill(&trainer(CONTINUE, &on_term, child), Duration::from_secs(2), 1).await;
    let drill = &drilled.drills[0];
    let why = drill.failure.clone().unwrap();
    assert!(why.contains("memory was not free") && why.contains("MiB"), "{why}");
    assert!(drill.exit_s.unwrap() < 1.9, "the exit itself was in time: {drill:?}");
    assert!(drill.memory_free_s.unwrap() >= 2.0, "{drill:?}");
    assert!(drill.held.iter().any(|held| held.bytes > 30_000_000), "{:?}", drill.held);
}

#[tokio::test]
async fn memory_that_comes_back_later_counts_until_it_is_back() {
    // A worker that goes by itself a second after its parent: no failure, and no reclaim at the exit.
    let child = "[ -n \"$held\" ] || { (trap '' TERM; while kill -0 $$ 2>/dev/null; do sleep 0.05; done; sleep 1) & \
                 held=$!; }";
    let on_term = format!("{SAVE}; exit 0");
    let drilled = drill(&trainer(CONTINUE, &on_term, child), NOTICE, 1).await;
    let drill = &drilled.drills[0];
    assert_eq!(drill.failure, None, "{drill:?}");
    assert!(drill.memory_free_s.unwrap() - drill.exit_s.unwrap() > 0.8, "{drill:?}");
    assert!(!drill.held.is_empty());
}

#[tokio::test]
async fn shared_memory_that_is_left_behind_is_caught() {
    let file = format!("/dev/shm/cotenant-drill-{}", std::process::id());
    if std::fs::write(&file, b"x").is_err() {
        // A machine without shared memory has none to leave.
        return;
    }
    std::fs::remove_file(&file).unwrap();
    let on_term = format!("head -c 9000000 /dev/zero > {file}; {SAVE}; exit 0");
    let drilled = drill(&trainer(CONTINUE, &on_term, ":"), NOTICE, 1).await;
    std::fs::remove_file(&file).unwrap();
    let drill = &drilled.drills[0];
    let why = drill.failure.clone().unwrap();
    assert!(why.contains(&file) && drill.memory_free_s.is_none(), "{drill:?}");
}

#[tokio::test]
async fn a_signal_that_is_ignored_and_a_death_while_saving_are_failures() {
    let deaf = trainer(CONTINUE, ":", ":").replace("trap 'stop=yes' TERM", "trap '' TERM");
    let drilled = drill(&deaf, Duration::from_millis(500), 1).await;
    assert!(drilled.drills[0].failure.as_ref().unwrap().contains("within its notice"));

    // Half of a checkpoint, which the next start cannot read.
    let begin = "if [ -f saved ]; then step=$(cat saved); [ \"$step\" -ge 0 ] || exit 3; fi";
    let dying = trainer(begin, "echo half > saved; kill -9 $$", ":");
    let drilled = drill(&dying, NOTICE, 2).await;
    assert!(drilled.drills[0].failure.as_ref().unwrap().contains("signal 9"));
    let why = drilled.resumes[0].failure.clone().unwrap();
    assert!(why.contains("failed to start"), "{why}");
    assert!(matches!(drilled.error, Some(RunError::Block { .. })), "{:?}", drilled.error);
}
