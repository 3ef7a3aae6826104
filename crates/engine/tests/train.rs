//! The trainer as a supervisor sees it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use common::Engine;
use rustix::process::Signal;

#[test]
#[ignore = "not a test: the engine process of the tests"]
fn engine_process() {
    common::become_engine();
}

/// Arguments of a run of a model of about 60,000 parameters on one thread.
fn arguments<'a>(directory: Option<&'a Path>, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec![
        "train",
        "--layers",
        "2",
        "--width",
        "48",
        "--heads",
        "4",
        "--kv-heads",
        "2",
        "--threads",
        "1",
        "--batch",
        "2",
        "--sequence",
        "48",
    ];
    if let Some(directory) = directory {
        all.extend(["--checkpoint-dir", directory.to_str().unwrap()]);
    }
    all.extend(more);
    all
}

/// The value of `key=value` in a line.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    line.split(' ')
        .find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("no {key} in {line}"))
}

/// Runs to the end and returns all lines.
fn run(arguments: &[&str]) -> Vec<String> {
    let mut engine = Engine::start(arguments);
    let lines = engine.rest();
    assert_eq!(engine.wait().code(), Some(0), "{lines:?}");
    lines
}

/// Losses by step, as printed.
fn losses(lines: &[String]) -> BTreeMap<u64, String> {
    lines
        .iter()
        .filter(|line| line.starts_with("step="))
        .map(|line| (field(line, "step").parse().unwrap(), field(line, "loss").to_owned()))
        .collect()
}

fn checkpoints(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("step-"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn the_loss_falls_and_the_lines_are_consistent() {
    let lines = run(&arguments(None, &["--steps", "60"]));
    let losses = losses(&lines);
    assert_eq!(losses.keys().copied().collect::<Vec<_>>(), (1..=60).collect::<Vec<_>>());
    let mean = |from: u64, to: u64| -> f64 {
        (from..=to).map(|step| losses[&step].parse::<f64>().unwrap()).sum::<f64>()
            / (to - from + 1) as f64
    };
    // Untrained it knows nothing of 264 ids: ln 264 = 5.58 nats. Letter frequencies alone bring it to about 2.9.
    assert!(mean(1, 1) > 5.0);
    assert!(mean(51, 60) < 3.2, "{}", mean(51, 60));
    for line in lines.iter().filter(|line| line.starts_with("step=")) {
        let (seconds, rate): (f64, f64) =
            (field(line, "step_s").parse().unwrap(), field(line, "tokens_per_s").parse().unwrap());
        assert_eq!(field(line, "tokens"), "96");
        assert!((rate * seconds / 96.0 - 1.0).abs() < 0.01, "{line}");
        assert_eq!(line.split(' ').count(), 5);
    }
}

#[test]
fn a_resumed_run_prints_what_an_uninterrupted_one_does() {
    let directory = tempfile::tempdir().unwrap();
    let whole = losses(&run(&arguments(None, &["--steps", "12"])));
    let path = Some(directory.path());
    let first = run(&arguments(path, &["--steps", "7", "--resume"]));
    assert!(first.iter().any(|line| line == "starting step=0 reason=no_checkpoint"));
    let second = run(&arguments(path, &["--steps", "12", "--resume"]));
    assert!(second.iter().any(|line| line.starts_with("resumed step=7 seconds=")));
    let mut joined = losses(&first);
    let rest = losses(&second);
    assert_eq!(rest.keys().next(), Some(&8));
    joined.extend(rest);
    assert_eq!(joined, whole);
    // Nothing is left to do; the run says where it is and ends.
    let third = run(&arguments(path, &["--steps", "12", "--resume"]));
    assert!(losses(&third).is_empty());
    assert!(!third.iter().any(|line| line.starts_with("checkpoint ")));
}

#[test]
fn sigterm_stops_at_the_step_boundary_with_a_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path());
    let mut engine = Engine::start(&arguments(path, &["--resume"]));
    engine.line("step=3 ");
    engine.signal(Signal::TERM);
    let lines = engine.rest();
    assert_eq!(engine.wait().code(), Some(0));
    let last = losses(&lines).keys().next_back().copied().unwrap_or(3);
    let [.., stopping, checkpoint] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(*stopping, format!("stopping step={last} reason=SIGTERM"));
    assert!(checkpoint.starts_with(&format!("checkpoint step={last} seconds=")));
    let saved = &checkpoints(directory.path())[0];
    assert_eq!(Path::new(field(checkpoint, "path")), saved);
    let bytes: u64 = std::fs::read_dir(saved)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!(field(checkpoint, "bytes"), bytes.to_string());

    let mut engine = Engine::start(&arguments(path, &["--resume"]));
    engine.line(&format!("resumed step={last} "));
    engine.line(&format!("step={} ", last + 1));
    engine.signal(Signal::INT);
    assert!(engine.line("stopping ").ends_with("reason=SIGINT"));
    assert_eq!(engine.wait().code(), Some(0));
}

#[test]
fn sigusr1_writes_a_checkpoint_and_training_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut engine = Engine::start(&arguments(Some(directory.path()), &[]));
    engine.line("step=2 ");
    engine.signal(Signal::USR1);
    let line = engine.line("checkpoint ");
    let step: u64 = field(&line, "step").parse().unwrap();
    engine.line(&format!("step={} ", step + 1));
    assert_eq!(checkpoints(directory.path()).len(), 1);
}

#[test]
fn kill_at_any_instant_leaves_a_run_that_resumes() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path());
    let whole = losses(&run(&arguments(None, &["--steps", "60"])));
    let mut last = 0;
    for round in 0..6 {
        let mut engine = Engine::start(&arguments(path, &["--checkpoint-every", "1", "--resume"]));
        if last > 0 {
            let resumed: u64 = field(&engine.line("resumed "), "step").parse().unwrap();
            // At most the step whose checkpoint line was not seen is ahead of what was seen.
            assert!(resumed >= last, "resumed at {resumed} after a checkpoint at {last}");
        }
        // A checkpoint a step, killed a different while after a different line each time: many fall inside a write.
        for _ in 0..2 {
            let line = engine.line("step=");
            let step: u64 = field(&line, "step").parse().unwrap();
            assert_eq!(field(&line, "loss"), whole[&step]);
            last = field(&engine.line("checkpoint "), "step").parse().unwrap();
        }
        if round % 2 == 0 {
            engine.line("step=");
        }
        std::thread::sleep(std::time::Duration::from_millis(round));
        engine.signal(Signal::KILL);
        assert_eq!(engine.wait().code(), None);
    }
}

/// A directory with checkpoints of steps 2 and 4.
fn two_checkpoints() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    run(&arguments(Some(directory.path()), &["--steps", "4", "--checkpoint-every", "2"]));
    assert_eq!(checkpoints(directory.path()).len(), 2);
    directory
}

/// Each way of damaging a checkpoint.
fn damage(checkpoint: &Path, way: usize) {
    let weights = checkpoint.join("weights.safetensors");
    let meta = checkpoint.join("meta.json");
    match way {
        0 => {
            let mut bytes = std::fs::read(&weights).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(weights, bytes).unwrap();
        }
        1 => {
            let bytes = std::fs::read(&weights).unwrap();
            std::fs::write(weights, &bytes[..bytes.len() - 1024]).unwrap();
        }
        2 => std::fs::remove_file(checkpoint.join("optimiser.safetensors")).unwrap(),
        3 => std::fs::write(meta, "{").unwrap(),
        _ => std::fs::remove_file(meta).unwrap(),
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_said_so() {
    for way in 0..5 {
        let directory = two_checkpoints();
        damage(&checkpoints(directory.path())[1], way);
        let lines = run(&arguments(Some(directory.path()), &["--steps", "5", "--resume"]));
        let skipped = lines.iter().find(|line| line.starts_with("skipped path=")).unwrap();
        assert!(skipped.contains("step-000000000004 reason="), "{skipped}");
        assert!(lines.iter().any(|line| line.starts_with("resumed step=2 ")), "{lines:?}");
        assert_eq!(losses(&lines).keys().copied().collect::<Vec<_>>(), [3, 4, 5]);
    }
}

#[test]
fn a_damaged_checkpoint_is_replaced_when_its_step_comes_again() {
    let directory = two_checkpoints();
    damage(&checkpoints(directory.path())[1], 0);
    run(&arguments(Some(directory.path()), &["--steps", "4", "--resume"]));
    let lines = run(&arguments(Some(directory.path()), &["--steps", "5", "--resume"]));
    assert!(lines.iter().any(|line| line.starts_with("resumed step=4 ")), "{lines:?}");
}

#[test]
fn a_writer_killed_between_its_two_renames_loses_nothing() {
    let directory = two_checkpoints();
    let newest = &checkpoints(directory.path())[1];
    let name = newest.file_name().unwrap().to_str().unwrap();
    // The old checkpoint of the step has made way, and the new one is not in place yet.
    std::fs::create_dir(directory.path().join(format!(".unfinished-{name}"))).unwrap();
    std::fs::rename(newest, directory.path().join(format!(".replaced-{name}"))).unwrap();
    let lines = run(&arguments(Some(directory.path()), &["--steps", "5", "--resume"]));
    assert!(lines.iter().any(|line| line.starts_with("resumed step=4 ")), "{lines:?}");
    let hidden = std::fs::read_dir(directory.path()).unwrap();
    let hidden = hidden.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir());
    assert_eq!(hidden.count(), 2);
}

#[test]
fn a_run_without_any_whole_checkpoint_does_not_start_over_silently() {
    let directory = two_checkpoints();
    for checkpoint in checkpoints(directory.path()) {
        damage(&checkpoint, 0);
    }
    let (code, errors) = Engine::start(&arguments(Some(directory.path()), &["--resume"])).outcome();
    assert_eq!(code, Some(3));
    assert!(errors.contains("no checkpoint in") && errors.contains("digest"), "{errors}");
}

#[test]
fn what_does_not_fit_the_checkpoint_is_named() {
    let directory = two_checkpoints();
    for (option, value) in [("--seed", "9"), ("--batch", "3"), ("--learning-rate", "0.1")] {
        let options = [option, value, "--resume"];
        let mut arguments = arguments(Some(directory.path()), &options);
        // The last of two equal options would be an error of clap.
        if option == "--batch" {
            let place = arguments.iter().position(|part| *part == "--batch").unwrap();
            arguments.drain(place..place + 2);
        }
        let (code, errors) = Engine::start(&arguments).outcome();
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(&format!("{} was ", option.trim_start_matches('-'))), "{errors}");
    }
    let other = ["train", "--model-size", "tiny", "--threads", "1", "--resume", "--checkpoint-dir"];
    let path = directory.path().to_str().unwrap();
    let (code, errors) = Engine::start(&[&other[..], &[path]].concat()).outcome();
    assert_eq!(code, Some(2));
    assert!(errors.contains("layers was 2 and is now 6"), "{errors}");
    // Without --resume the older run would be picked up later by mistake.
    let (code, errors) = Engine::start(&arguments(Some(directory.path()), &[])).outcome();
    assert_eq!(code, Some(2));
    assert!(errors.contains("--resume"), "{errors}");
}

#[test]
fn only_so_many_checkpoints_are_kept_and_one_trainer_owns_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = Some(directory.path());
    let mut engine = Engine::start(&arguments(path, &["--checkpoint-every", "1", "--keep", "3"]));
    engine.line("checkpoint step=6 ");
    let (code, errors) = Engine::start(&arguments(path, &["--resume"])).outcome();
    assert_eq!(code, Some(3));
    assert!(errors.contains("another trainer is using"), "{errors}");
    engine.signal(Signal::TERM);
    engine.wait();
    let kept = checkpoints(directory.path());
    assert_eq!(kept.len(), 3, "{kept:?}");
}

#[test]
fn one_thread_uses_one_core() {
    let mut engine =
        Engine::start(&["train", "--model-size", "tiny", "--threads", "1", "--batch", "8"]);
    engine.line("step=1 ");
    let (before, started) = (engine.cpu_s(), Instant::now());
    while started.elapsed() < std::time::Duration::from_secs(2) {
        engine.line("step=");
    }
    let cores = (engine.cpu_s() - before) / started.elapsed().as_secs_f64();
    assert!(cores <= 1.2, "{cores} cores were used");
    assert!(cores > 0.02, "{cores} cores: nothing was computed");
}
