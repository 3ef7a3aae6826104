//! The last moment before a workload: the process that the guardian starts, which sets what must be
//! set in the process itself, and then becomes the workload by `execvp(3)`.
//!
//! Setting it here rather than between fork and exec inside the guardian needs no `unsafe`. Standard
//! input is the write end of a pipe on which a failure is reported; the kernel closes it at the exec,
//! so the guardian reads either a reason or the end of the stream, and the end means that the program
//! runs.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{
    Pid, getppid, getpriority_process, set_parent_process_death_signal, setpriority_process,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};

use super::launch::Priority;

/// What the launcher is told, as JSON in its first argument; the workload's own arguments follow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LauncherSettings {
    /// The guardian. If it is no longer the parent, nothing may be started.
    pub(super) guardian: u32,
    pub(super) priority: Priority,
    pub(super) affinity: Option<Vec<usize>>,
}

/// Becomes the workload; returns only where that failed, with the reason sent.
pub(super) fn exec_main(arguments: &[String]) -> ExitCode {
    let Ok(status) = take_status() else { return ExitCode::from(127) };
    let Err(reason) = exec(arguments);
    // If the guardian is gone nobody is left to be told.
    let _ = File::from(status).write_all(reason.as_bytes());
    ExitCode::from(127)
}

/// Moves the report pipe off standard input, which the workload gets as `/dev/null`.
fn take_status() -> std::io::Result<OwnedFd> {
    let status = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(status)
}

fn exec(arguments: &[String]) -> Result<std::convert::Infallible, String> {
    let (settings, argv) = arguments.split_first().ok_or("the launcher got no settings")?;
    let settings: LauncherSettings =
        serde_json::from_str(settings).map_err(|error| format!("launcher settings: {error}"))?;
    let (program, rest) = argv.split_first().ok_or("the command is empty")?;
    die_with(settings.guardian)?;
    if let Some(cpus) = &settings.affinity {
        pin(cpus)?;
    }
    set_priority(settings.priority)?;
    let error = Command::new(program).args(rest).exec();
    Err(format!("cannot run {program}: {error}"))
}

/// Asks the kernel to kill this process when the guardian dies. The setting survives the exec of
/// any program that does not change user. If the guardian died before it was made, the parent is
/// another one by now.
fn die_with(guardian: u32) -> Result<(), String> {
    set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| format!("cannot set the parent-death signal: {error}"))?;
    let parent = getppid().map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent == guardian { Ok(()) } else { Err("the guardian is gone".to_owned()) }
}

fn pin(cpus: &[usize]) -> Result<(), String> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(format!("CPU {cpu} is beyond the {} that can be named", CpuSet::MAX_CPU));
        }
        set.set(cpu);
    }
    sched_setaffinity(None, &set).map_err(|error| format!("cannot bind to CPUs {cpus:?}: {error}"))
}

fn set_priority(priority: Priority) -> Result<(), String> {
    if priority.idle {
        set_idle()?;
    }
    if let Some(nice) = priority.nice {
        set_nice(nice)?;
    }
    Ok(())
}

/// `SCHED_IDLE` for this thread, the only one, hence for all that it starts.
fn set_idle() -> Result<(), String> {
    let nice = getpriority_process(None).unwrap_or(0);
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let outcome = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    // The call also sets nice 0, which may be refused after the policy has been set; so the policy
    // is read back, and the nice value (which `SCHED_IDLE` does not heed) is put back.
    if thread_schedule_policy() != Ok(idle) {
        return Err(format!("cannot set idle CPU priority: {outcome:?}"));
    }
    let _ = setpriority_process(None, nice);
    Ok(())
}

fn set_nice(nice: i32) -> Result<(), String> {
    if !(-20..=19).contains(&nice) {
        return Err(format!("a nice value lies between -20 and 19, not {nice}"));
    }
    setpriority_process(None, nice).map_err(|error| format!("cannot set nice {nice}: {error}"))
}

/// The process id of a number, which must be positive.
pub(super) fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}
