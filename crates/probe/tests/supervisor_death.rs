//! Nothing is left behind, whoever dies and however: the measuring process or the guardian.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cotenant_probe::supervisor::{Event, SupervisorError};
use rustix::process::{Pid, Signal, kill_process};
use support::{
    Stranger, escaping, helper, is_alive, marked, marker, next, shell, spawn, until_line, wait_for,
};

const LIMIT: Duration = Duration::from_secs(15);

/// A measuring process with an escaping workload that is complete; returns it and its guardian.
fn measuring(manner: &str, marker: &str) -> (Child, u32) {
    let mut child = Command::new(helper())
        .args(["measure", manner, &escaping(marker)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    assert_eq!(words[2], "true", "{line}");
    (child, words[1].parse().unwrap())
}

fn nothing_is_left(marker: &str, guardian: u32) {
    wait_for("the guardian's end", LIMIT, || !is_alive(guardian));
    wait_for("the workload's end", LIMIT, || marked(marker).is_empty());
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// How many processes carry the marker once the script is complete: seven that sleep, the shells
/// around them, and whoever carries the script among its arguments.
const COMPLETE: usize = 9;

fn dies_by(signal: Signal) {
    let marker = marker();
    let (mut child, guardian) = measuring("wait", &marker);
    wait_for("the workload", LIMIT, || marked(&marker).len() >= COMPLETE);
    send(child.id(), signal);
    // Where whoever started the tests ignores a signal, so does every process below it.
    let ends = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= ends {
            child.kill().unwrap();
            panic!("{signal:?} did not end the measuring process: do these tests ignore it?");
        }
        sleep(Duration::from_millis(10));
    }
    nothing_is_left(&marker, guardian);
}

#[test]
fn the_measuring_process_is_killed() {
    dies_by(Signal::KILL);
}

#[test]
fn the_measuring_process_is_interrupted() {
    dies_by(Signal::INT);
}

#[test]
fn the_measuring_process_panics() {
    let marker = marker();
    let (mut child, guardian) = measuring("panic", &marker);
    assert_eq!(child.wait().unwrap().code(), Some(101));
    nothing_is_left(&marker, guardian);
}

#[test]
fn the_measuring_process_is_killed_at_once_many_times() {
    for round in 0..10_u64 {
        let marker = marker();
        let (mut child, guardian) = measuring("wait", &marker);
        std::thread::sleep(Duration::from_millis(round * 7));
        send(child.id(), Signal::KILL);
        child.wait().unwrap();
        nothing_is_left(&marker, guardian);
    }
}

async fn guardian_dies_by(signal: Signal) {
    let marker = marker();
    // A child of the measuring process, as adopted orphans are, but not of the workload.
    let mut stranger = Stranger::start(&support::marker());
    let (supervisor, mut events) = spawn();
    let workload = supervisor.start(shell(&escaping(&marker))).await.unwrap();
    until_line(&mut events, "ready").await;
    send(supervisor.guardian_pid(), signal);
    loop {
        if let Event::GuardianEnded { killed, .. } = next(&mut events).await {
            assert_eq!(killed.is_empty(), signal != Signal::KILL, "{killed:?}");
            break;
        }
    }
    assert!(!is_alive(workload.pid));
    // Of an ended guardian's workloads one orphan may be unknown: see the module's own words.
    wait_for("the workload's end", LIMIT, || marked(&marker).is_empty());
    assert!(stranger.runs());
    let after = supervisor.start(shell("true")).await;
    assert!(matches!(after, Err(SupervisorError::GuardianEnded)), "{after:?}");
    supervisor.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_guardian_is_killed() {
    guardian_dies_by(Signal::KILL).await;
}

#[tokio::test]
async fn the_guardian_is_terminated() {
    guardian_dies_by(Signal::TERM).await;
}

#[tokio::test]
async fn the_supervisor_is_dropped() {
    let marker = marker();
    let (supervisor, mut events) = spawn();
    supervisor.start(shell(&escaping(&marker))).await.unwrap();
    until_line(&mut events, "ready").await;
    let guardian = supervisor.guardian_pid();
    drop(supervisor);
    while !matches!(next(&mut events).await, Event::GuardianEnded { .. }) {}
    nothing_is_left(&marker, guardian);
}
