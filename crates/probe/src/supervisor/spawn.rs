//! Starting the launcher that becomes a workload.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use super::guardian::GuardianSettings;
use super::launch::Launch;
use super::launcher::LauncherSettings;
use super::tree::{MARK_VARIABLE, mark};
use crate::clock::monotonic_ns;
use crate::host::{Identity, read_process};

/// A launcher that was just started.
pub(super) struct Spawned {
    pub(super) leader: Identity,
    pub(super) at_ns: u64,
    /// Where its report is read.
    pub(super) status: OwnedFd,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

/// Starts the launcher in a process group of its own and in the same session: `sched_autogroup`
/// gives each session one share of the CPU, and a nice value would bind only inside it.
pub(super) fn spawn(
    settings: &GuardianSettings,
    guardian: u32,
    id: u32,
    launch: &Launch,
) -> Result<Spawned, String> {
    if let Some(cwd) = launch.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        return Err(format!("working directory {} is no folder", cwd.display()));
    }
    let own =
        LauncherSettings { guardian, priority: launch.priority, affinity: launch.affinity.clone() };
    let own = serde_json::to_string(&own).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("cannot start a process: {error}");
    let (status, status_end) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let mut command = Command::new("/proc/self/exe");
    command
        .args(&settings.prefix)
        .arg("exec")
        .arg(own)
        .args(&launch.argv)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .env(MARK_VARIABLE, mark(&settings.token, id))
        .stdin(Stdio::from(status_end))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    let at_ns = monotonic_ns();
    let mut child = command.spawn().map_err(failed)?;
    drop(command);
    let process = read_process(Path::new("/proc"), child.id()).map_err(|missing| missing.0)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        return Err("the new process has no output".to_owned());
    };
    Ok(Spawned {
        leader: process.identity(),
        at_ns,
        status,
        stdout: pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into()).map_err(failed)?,
    })
}

/// Reads the launcher's report to its end: nothing means that the program runs.
pub(super) async fn launch_outcome(status: OwnedFd) -> Result<(), String> {
    let mut reason = Vec::new();
    let mut pipe = pipe::Receiver::from_owned_fd(status).map_err(|error| error.to_string())?;
    pipe.read_to_end(&mut reason).await.map_err(|error| error.to_string())?;
    if reason.is_empty() { Ok(()) } else { Err(String::from_utf8_lossy(&reason).into_owned()) }
}
