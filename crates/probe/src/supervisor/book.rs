//! What the guardian keeps of one workload.

use std::time::Duration;

use rustix::process::{Signal as Raw, WaitStatus, kill_process_group};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::launch::{Exit, LeftProcess, Rest, StopReport, Stream};
use super::launcher::pid_of;
use super::output::LogFile;
use super::protocol::{Answer, Frame};
use super::tree::Kin;

/// Longest wait for the launcher to become the workload.
const LAUNCH_NS_MAX: u64 = 10_000_000_000;
/// Longest wait for the end of a workload's output once its last process is gone.
const OUTPUT_END_MAX: Duration = Duration::from_secs(2);

/// A workload from its launch until its last process is gone.
pub(super) struct Workload {
    pub(super) kin: Kin,
    /// The request that is answered when the program runs, or does not.
    pub(super) launch_seq: Option<u64>,
    pub(super) launch_until_ns: u64,
    pub(super) started_ns: u64,
    /// Why it never ran.
    pub(super) failure: Option<String>,
    pub(super) exit: Option<(Exit, u64)>,
    pub(super) exit_told: bool,
    pub(super) stop: Option<Stop>,
    pub(super) output: Vec<JoinHandle<()>>,
    /// Pipes that are read once the program runs.
    pub(super) pipes: Vec<(Stream, pipe::Receiver)>,
    pub(super) log: Option<LogFile>,
}

pub(super) struct Stop {
    pub(super) seqs: Vec<u64>,
    pub(super) signal_ns: u64,
    /// When patience ends.
    pub(super) kill_ns: u64,
    pub(super) killed: bool,
    /// What happens to what outlives the first process.
    pub(super) rest: Rest,
    /// Whether it was told to end.
    pub(super) rest_told: bool,
    /// What outlived it, where that is awaited.
    pub(super) left: Vec<LeftProcess>,
}

/// What a workload needs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Its launch hangs.
    GiveUp,
    /// Its first process ended at the signal; what outlives it is told to end, too.
    EndRest,
    /// Patience has ended.
    Kill,
}

impl Workload {
    /// A workload whose launcher was just started.
    pub(super) fn launched(
        kin: Kin,
        seq: u64,
        started_ns: u64,
        pipes: Vec<(Stream, pipe::Receiver)>,
        log: Option<LogFile>,
    ) -> Self {
        Self {
            kin,
            launch_seq: Some(seq),
            launch_until_ns: started_ns + LAUNCH_NS_MAX,
            started_ns,
            failure: None,
            exit: None,
            exit_told: false,
            stop: None,
            output: Vec::new(),
            pipes,
            log,
        }
    }

    /// What it needs now; it is taken as done.
    pub(super) fn due(&mut self, now: u64) -> Due {
        if self.launch_seq.is_some() && now >= self.launch_until_ns {
            return Due::GiveUp;
        }
        match &mut self.stop {
            Some(stop) if now >= stop.kill_ns => {
                stop.killed = true;
                Due::Kill
            }
            Some(stop) if self.exit.is_some() && !stop.rest_told && stop.rest == Rest::Told => {
                stop.rest_told = true;
                Due::EndRest
            }
            _ => Due::Nothing,
        }
    }

    /// When it will need something that no signal announces, nanoseconds of the monotonic clock.
    pub(super) fn due_ns(&self, now: u64, kill_pause: Duration) -> Option<u64> {
        let launch = self.launch_seq.map(|_| self.launch_until_ns);
        let next_look_ns = now + kill_pause.as_nanos() as u64;
        let stop = self.stop.as_ref();
        let stop = stop.map(|stop| if stop.killed { next_look_ns } else { stop.kill_ns });
        launch.into_iter().chain(stop).min()
    }
}

/// Signals a workload's group as long as its first process has not been reaped: until then the
/// number cannot pass to another group. Returns whether it could.
pub(super) fn signal_group(workload: &Workload, signal: Raw) -> bool {
    let group = pid_of(workload.kin.leader.pid);
    match group {
        Some(group) if workload.exit.is_none() => kill_process_group(group, signal).is_ok(),
        _ => false,
    }
}

/// Waits for the rest of a workload's output and tells that it is gone. The output can stay open
/// only where a process outside the workload was handed it.
pub(super) async fn finish(id: u32, workload: Workload, at_ns: u64, output: mpsc::Sender<Frame>) {
    let mut output_cut = false;
    for mut reader in workload.output {
        if tokio::time::timeout(OUTPUT_END_MAX, &mut reader).await.is_err() {
            reader.abort();
            output_cut = true;
        }
    }
    if workload.failure.is_none() {
        let _ = output.send(Frame::Gone { id, at_ns, output_cut }).await;
    }
    let Some(stop) = workload.stop else { return };
    let report = StopReport {
        signal_ns: stop.signal_ns,
        leader_exit_ns: workload.exit.map(|(_, exit_ns)| exit_ns),
        gone_ns: at_ns,
        exit: workload.exit.map(|(exit, _)| exit),
        killed: stop.killed,
        left: stop.left,
    };
    for seq in stop.seqs {
        let answer = Ok(Answer::Stopped(report.clone()));
        let _ = output.send(Frame::Answer { seq, answer }).await;
    }
}

pub(super) fn exit_of(status: WaitStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}
