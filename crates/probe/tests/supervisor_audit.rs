//! The audit of CPU priorities with real spinners. It needs one CPU mostly to itself, so each case
//! is tried a few times where other programs took too much of it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use cotenant_core::evidence::EnforcementAudit;
use cotenant_probe::supervisor::{
    AuditedPriorities, Launch, Priority, Supervisor, audit_launches, audit_priority,
};
use support::{helper, spawn};

/// One case at a time: they would weigh each other.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
const TRIES: usize = 5;
const IDLE: Priority = Priority { nice: None, idle: true };
const NICE_19: Priority = Priority { nice: Some(19), idle: false };

async fn audit(supervisor: &Supervisor, neighbour: Priority) -> EnforcementAudit {
    let priorities = AuditedPriorities { neighbour, inference: Priority::default() };
    audit_priority(supervisor, "test", priorities).await.unwrap()
}

async fn binds(neighbour: Priority) {
    let _alone = ALONE.lock().await;
    let (supervisor, _events) = spawn();
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let audit = audit(&supervisor, neighbour).await;
        if audit.binds {
            supervisor.shutdown().await.unwrap();
            return;
        }
        seen.push(audit.method);
    }
    panic!("never bound: {seen:#?}");
}

#[tokio::test]
async fn idle_priority_binds() {
    binds(IDLE).await;
}

#[tokio::test]
async fn nice_19_binds() {
    binds(NICE_19).await;
}

#[tokio::test]
async fn equal_priorities_share_in_halves() {
    binds(Priority::default()).await;
}

#[tokio::test]
async fn a_nice_value_does_not_bind_between_sessions_under_autogroup() {
    let enabled = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    if enabled.unwrap_or_default().trim() != "1" {
        println!(
            "skipped: the kernel does not group by session (sched_autogroup_enabled is not 1)"
        );
        return;
    }
    let has_setsid = std::process::Command::new("setsid").arg("true").status();
    if !has_setsid.is_ok_and(|status| status.success()) {
        println!("skipped: there is no setsid program");
        return;
    }
    let _alone = ALONE.lock().await;
    let (supervisor, _events) = spawn();
    let spin = |before: &[&str]| {
        let helper = helper().display().to_string();
        let argv = before.iter().copied().chain([helper.as_str(), "guardian", "spin", "10"]);
        argv.map(str::to_owned).collect::<Vec<String>>()
    };
    let neighbour = Launch {
        name: "neighbour in a session of its own".to_owned(),
        argv: spin(&["setsid", "--wait"]),
        priority: NICE_19,
        ..Launch::default()
    };
    let inference = Launch { name: "inference".to_owned(), argv: spin(&[]), ..Launch::default() };
    let audit = audit_launches(&supervisor, "nice 19 in another session", neighbour, inference)
        .await
        .unwrap();
    println!("{audit:?}");
    assert!(!audit.binds, "{audit:?}");
    assert!(audit.ratio_measured > 0.1, "the groups share, whatever the nice value: {audit:?}");
    tokio::time::timeout(Duration::from_secs(20), supervisor.shutdown()).await.unwrap().unwrap();
}
