//! Which processes belong to which workload, and how they are signalled without ever hitting a
//! process that was not started here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{
    PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};

use super::launcher::pid_of;
use crate::host::{Identity, ProcessStat, ProcessTable, read_process};

/// Variable by which a workload's processes are known again after their parents have gone.
pub(super) const MARK_VARIABLE: &str = "COTENANT_WORKLOAD";

/// The variable's value: the supervisor's token and the workload's number.
pub(super) fn mark(token: &str, id: u32) -> String {
    format!("{token}:{id}")
}

/// What a workload's processes are known by.
#[derive(Clone, Debug)]
pub(super) struct Kin {
    pub(super) id: u32,
    /// Its first process, whose number is that of the group too.
    pub(super) leader: Identity,
    /// Processes that were seen to belong to it.
    pub(super) members: BTreeSet<Identity>,
}

/// All processes below one process, by the workload they belong to.
#[derive(Debug, Default)]
pub(super) struct Owned {
    pub(super) by_workload: BTreeMap<u32, Vec<ProcessStat>>,
    /// Below `root`, but of no workload that can be told.
    pub(super) unknown: Vec<ProcessStat>,
}

/// Sorts the descendants of `root`. A process belongs to the workload that it descends from; one
/// whose parents have gone is a child of the subreaper, and is known by having been seen before, by
/// its group, or by the mark in its environment.
pub(super) fn owned(table: &ProcessTable, root: u32, token: &str, kin: &[Kin]) -> Owned {
    let mut owned = Owned::default();
    let mut open: Vec<(u32, Option<u32>)> = vec![(root, None)];
    let mut seen = BTreeSet::from([root]);
    while let Some((parent, heir)) = open.pop() {
        for process in table.children_of(parent).filter(|process| seen.insert(process.pid)) {
            let owner = heir.or_else(|| owner_of(process, token, kin));
            open.push((process.pid, owner));
            match owner {
                Some(id) => owned.by_workload.entry(id).or_default().push(process.clone()),
                None => owned.unknown.push(process.clone()),
            }
        }
    }
    owned
}

fn owner_of(process: &ProcessStat, token: &str, kin: &[Kin]) -> Option<u32> {
    let identity = process.identity();
    let known = |kin: &&Kin| {
        kin.leader == identity || kin.members.contains(&identity) || kin.leader.pid == process.group
    };
    kin.iter().find(known).map(|kin| kin.id).or_else(|| marked(process.pid, token))
}

/// The workload whose mark a process's environment carries.
fn marked(pid: u32, token: &str) -> Option<u32> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{MARK_VARIABLE}={token}:");
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let id = entry.strip_prefix(prefix.as_bytes())?;
        std::str::from_utf8(id).ok()?.parse().ok()
    })
}

/// Signals exactly this process. Its number may have passed to another process at any time, so the
/// process is pinned by a file descriptor first and its start compared before the signal is sent.
/// Returns whether it was still there.
pub(super) fn signal_exactly(identity: Identity, signal: Signal) -> bool {
    let Some(pid) = pid_of(identity.pid) else { return false };
    let is_same = || {
        read_process(Path::new("/proc"), identity.pid)
            .is_ok_and(|process| process.identity() == identity)
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pinned) => is_same() && pidfd_send_signal(pinned, signal).is_ok(),
        // Before Linux 5.3 there is no such descriptor; the gap between look and signal remains.
        Err(Errno::NOSYS) => is_same() && kill_process(pid, signal).is_ok(),
        Err(_) => false,
    }
}

/// Takes the exit status of a child that has ended, so that it leaves no zombie.
pub(super) fn reap(pid: u32) {
    if let Some(pid) = pid_of(pid) {
        // It may be another's child, or reaped already: both are as good.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
