//! The measuring process's end: starts the guardian, asks it, and receives what it tells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Signal as Raw, getpid, set_child_subreaper};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};

use super::events::{Event, EventSender, Events, event_queue};
use super::guardian::GuardianSettings;
use super::launch::{Launch, Signal, StopOrder, StopReport};
use super::protocol::{Answer, Frame, Request, RequestBody};
use super::saturate::Saturation;
use super::tree::{Kin, owned, reap, signal_exactly};
use crate::clock::monotonic_ns;
use crate::host::{Identity, ProcessTable, read_process};
use crate::stress::StressSettings;

/// Longest wait for the guardian to end what it must end.
const SHUTDOWN_MAX: Duration = Duration::from_secs(15);
/// How much longer than its grace a stop may take: killing is bounded in the guardian.
const STOP_MARGIN: Duration = Duration::from_secs(15);
/// Longest wait for the answer to a start or a signal.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Rounds of looking for what a dead guardian left, and the pause between two.
const SWEEP_ROUNDS_MAX: u32 = 400;
const SWEEP_PAUSE: Duration = Duration::from_millis(5);

/// How to start the guardian: a program and the arguments that lead it to
/// [`guardian_main`](super::guardian_main).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardianCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before those that the supervisor adds.
    pub arguments: Vec<String>,
}

impl GuardianCommand {
    /// This same program with a hidden command. `/proc/self/exe` names it even after its file has
    /// been replaced.
    pub fn this_program(command: &str) -> Self {
        Self { program: "/proc/self/exe".into(), arguments: vec![command.to_owned()] }
    }
}

/// A workload that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// Its number in this supervisor.
    pub id: u32,
    /// Process id of its first process, which is the number of its group too.
    pub pid: u32,
    /// When it was started, nanoseconds of the monotonic clock.
    pub started_ns: u64,
}

/// Why the supervisor could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The guardian could not be started.
    #[error("cannot start the guardian {program}: {source}")]
    Guardian {
        /// The program that was tried.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A workload could not be started.
    #[error("cannot start {name}: {reason}")]
    Start {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A signal or a stop was not possible.
    #[error("{0}")]
    Refused(String),
    /// The guardian has ended (it was killed, or shut down), so nothing can be asked of it.
    #[error("the guardian has ended")]
    GuardianEnded,
    /// The guardian did not answer.
    #[error("the guardian did not answer within {0:?}")]
    NoAnswer(Duration),
}

/// Starts, signals and stops workloads through a guardian. When it is dropped, or its process ends
/// in whatever way, the guardian kills every workload.
#[derive(Debug)]
pub struct Supervisor {
    requests: mpsc::Sender<Request>,
    shared: Arc<Shared>,
    command: GuardianCommand,
    guardian: u32,
    next_seq: AtomicU64,
    ended: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Shared {
    token: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<u64, oneshot::Sender<Result<Answer, String>>>,
    leaders: BTreeMap<u32, Identity>,
    next_id: u32,
    ended: bool,
}

impl Shared {
    /// The lock is never held over a call that can panic, so a poisoned state is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Supervisor {
    /// Starts a guardian and makes this process the reaper of what it may leave behind.
    ///
    /// The events should be read by a task of its own for as long as workloads run: what is left
    /// unread first holds the workloads' output up, and then loses lines (see [`Events`]).
    pub fn spawn(command: GuardianCommand) -> Result<(Self, Events), SupervisorError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let failed = |source| SupervisorError::Guardian {
            program: command.program.display().to_string(),
            source,
        };
        set_child_subreaper(Some(getpid())).map_err(|error| failed(error.into()))?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let token = format!("{}-{}-{count}", std::process::id(), monotonic_ns());
        let settings = GuardianSettings { token: token.clone(), prefix: command.arguments.clone() };
        let settings = serde_json::to_string(&settings).map_err(|error| failed(error.into()))?;
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .arg("serve")
            .arg(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The terminal's Ctrl-C goes to the group in front: this process decides, not the
            // guardian.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let gone = || failed(std::io::Error::other("it ended at once"));
        let guardian = child.id().ok_or_else(gone)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(gone()) };

        let shared = Arc::new(Shared { token, state: Mutex::default() });
        let (requests, requests_received) = mpsc::channel(16);
        let (events, events_received) = event_queue();
        let (ended_sender, ended) = watch::channel(false);
        tokio::spawn(write_requests(stdin, requests_received));
        tokio::spawn(receive(stdout, child, Arc::clone(&shared), events, ended_sender));
        let next_seq = AtomicU64::new(0);
        let supervisor = Self { requests, shared, command, guardian, next_seq, ended };
        Ok((supervisor, events_received))
    }

    /// Process id of the guardian, whose CPU is Cotenant's own.
    pub fn guardian_pid(&self) -> u32 {
        self.guardian
    }

    /// A launch of the spinner that keeps one CPU busy for `seconds`.
    pub(super) fn spinner(&self, name: &str, seconds: u64) -> Launch {
        self.own_program(name, ["spin".to_owned(), seconds.to_string()])
    }

    /// A launch of a stressor.
    ///
    /// # Errors
    /// The settings cannot be written as JSON: a path that is no text.
    pub fn stressor(
        &self,
        name: &str,
        settings: &StressSettings,
    ) -> Result<Launch, SupervisorError> {
        let text = serde_json::to_string(settings)
            .map_err(|error| SupervisorError::Refused(format!("cannot start {name}: {error}")))?;
        Ok(self.own_program(name, ["stress".to_owned(), text]))
    }

    /// A launch of a load that takes as much of a resource as it gets.
    pub(crate) fn saturation(&self, name: &str, saturation: &Saturation) -> Launch {
        self.own_program(name, saturation.part())
    }

    /// A launch of this same program in another part.
    fn own_program(&self, name: &str, part: [String; 2]) -> Launch {
        let mut argv = vec![self.command.program.display().to_string()];
        argv.extend(self.command.arguments.iter().cloned());
        argv.extend(part);
        Launch { name: name.to_owned(), argv, ..Launch::default() }
    }

    /// Starts a workload and waits until its program runs. A program that cannot be run, a working
    /// directory that does not exist, or a priority that may not be set is an error: nothing runs
    /// then, and nothing runs otherwise than asked.
    pub async fn start(&self, launch: Launch) -> Result<Workload, SupervisorError> {
        let id = {
            let mut state = self.shared.lock();
            state.next_id += 1;
            state.next_id
        };
        let name = launch.name.clone();
        match self.ask(RequestBody::Start { id, launch }, ANSWER_MAX).await {
            Ok(Answer::Started { pid, at_ns }) => Ok(Workload { id, pid, started_ns: at_ns }),
            Ok(_) => Err(SupervisorError::Refused("the guardian mixed up its answers".to_owned())),
            Err(SupervisorError::Refused(reason)) => Err(SupervisorError::Start { name, reason }),
            Err(error) => Err(error),
        }
    }

    /// Sends a signal to a workload's whole group. Returns when it was sent, nanoseconds of the
    /// monotonic clock.
    pub async fn signal(&self, id: u32, signal: Signal) -> Result<u64, SupervisorError> {
        match self.ask(RequestBody::Signal { id, signal }, ANSWER_MAX).await? {
            Answer::Signalled { at_ns } => Ok(at_ns),
            _ => Err(SupervisorError::Refused("the guardian mixed up its answers".to_owned())),
        }
    }

    /// Stops a workload: SIGTERM to its group, up to `grace` of patience, SIGKILL to everything of
    /// it that is left. Returns when its last process is gone. A workload that is gone already is
    /// an error that says so.
    pub async fn stop(&self, id: u32, grace: Duration) -> Result<StopReport, SupervisorError> {
        self.stop_as(id, StopOrder::term(grace)).await
    }

    /// As [`Self::stop`], with the signal and the treatment of what outlives the first process
    /// chosen. A second order for a workload can only shorten the patience of the first.
    pub async fn stop_as(&self, id: u32, order: StopOrder) -> Result<StopReport, SupervisorError> {
        let patience = order.grace.saturating_add(STOP_MARGIN);
        match self.ask(RequestBody::Stop { id, order }, patience).await? {
            Answer::Stopped(report) => Ok(report),
            _ => Err(SupervisorError::Refused("the guardian mixed up its answers".to_owned())),
        }
    }

    /// Kills every workload and ends the guardian. Returns when nothing is left.
    pub async fn shutdown(self) -> Result<(), SupervisorError> {
        let Self { requests, mut ended, guardian, .. } = self;
        let request = Request { seq: 0, body: RequestBody::Shutdown };
        // If it cannot be sent the guardian has ended; dropping the sender asks the same.
        let _ = requests.send(request).await;
        drop(requests);
        if tokio::time::timeout(SHUTDOWN_MAX, ended.wait_for(|ended| *ended)).await.is_ok() {
            return Ok(());
        }
        // It hangs. What it leaves is found by the sweep that follows its end.
        if let Ok(process) = read_process(Path::new("/proc"), guardian) {
            signal_exactly(process.identity(), Raw::KILL);
        }
        match tokio::time::timeout(SHUTDOWN_MAX, ended.wait_for(|ended| *ended)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(SupervisorError::NoAnswer(SHUTDOWN_MAX)),
        }
    }

    async fn ask(&self, body: RequestBody, patience: Duration) -> Result<Answer, SupervisorError> {
        let seq = self.next_seq.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.ended {
                return Err(SupervisorError::GuardianEnded);
            }
            state.waiting.insert(seq, sender);
        }
        let exchange = async {
            self.requests
                .send(Request { seq, body })
                .await
                .map_err(|_| SupervisorError::GuardianEnded)?;
            receiver
                .await
                .map_err(|_| SupervisorError::GuardianEnded)?
                .map_err(SupervisorError::Refused)
        };
        let outcome = tokio::time::timeout(patience, exchange).await;
        self.shared.lock().waiting.remove(&seq);
        outcome.map_err(|_| SupervisorError::NoAnswer(patience))?
    }
}

/// Writes requests until the supervisor is dropped; closing the pipe then ends the guardian.
async fn write_requests(mut stdin: ChildStdin, mut requests: mpsc::Receiver<Request>) {
    while let Some(request) = requests.recv().await {
        let Ok(mut line) = serde_json::to_vec(&request) else { continue };
        line.push(b'\n');
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Receives frames until the guardian has ended, then ends what it left.
async fn receive(
    stdout: ChildStdout,
    mut child: Child,
    shared: Arc<Shared>,
    events: EventSender,
    ended: watch::Sender<bool>,
) {
    let mut reader = BufReader::with_capacity(256 * 1024, stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let Ok(frame) = serde_json::from_slice::<Frame>(&line) else { break };
        receive_frame(frame, &shared, &events).await;
    }
    // Its children are handed to this process when it has ended, not when its output closes.
    if let Some(pid) = child.id()
        && tokio::time::timeout(SHUTDOWN_MAX, child.wait()).await.is_err()
        && let Ok(process) = read_process(Path::new("/proc"), pid)
    {
        signal_exactly(process.identity(), Raw::KILL);
        let _ = child.wait().await;
    }
    let sweeper = Arc::clone(&shared);
    let killed = tokio::task::spawn_blocking(move || sweep(&sweeper)).await.unwrap_or_default();
    {
        let mut state = shared.lock();
        state.ended = true;
        state.waiting.clear();
    }
    let _ = ended.send(true);
    events.send(Event::GuardianEnded { at_ns: monotonic_ns(), killed });
}

async fn receive_frame(frame: Frame, shared: &Shared, events: &EventSender) {
    match frame {
        Frame::Answer { seq, answer } => {
            if let Some(waiting) = shared.lock().waiting.remove(&seq) {
                // Whoever asked may have lost patience.
                let _ = waiting.send(answer);
            }
        }
        Frame::Started { id, pid, at_ns } => {
            if let Ok(process) = read_process(Path::new("/proc"), pid) {
                shared.lock().leaders.insert(id, process.identity());
            }
            events.send(Event::Started { id, pid, at_ns });
        }
        Frame::Lines { id, stream, at_ns, lines } => {
            for line in lines {
                let (text, cut_bytes) = (line.text, line.cut_bytes);
                events.send_line(Event::Line { id, stream, at_ns, text, cut_bytes }).await;
            }
        }
        Frame::LeaderExited { id, at_ns, exit } => {
            events.send(Event::LeaderExited { id, at_ns, exit });
        }
        Frame::Gone { id, at_ns, output_cut } => {
            shared.lock().leaders.remove(&id);
            events.send(Event::Gone { id, at_ns, output_cut });
        }
    }
}

/// Kills and reaps what an ended guardian left to this process. Only what is known to be of this
/// supervisor's workloads is touched: this process may have other children.
fn sweep(shared: &Shared) -> Vec<u32> {
    let leaders = shared.lock().leaders.clone();
    let mut kin: Vec<Kin> = leaders
        .into_iter()
        .map(|(id, leader)| Kin { id, leader, members: BTreeSet::new() })
        .collect();
    let mut killed = BTreeSet::new();
    let mut empty = 0;
    for _ in 0..SWEEP_ROUNDS_MAX {
        let table = ProcessTable::scan(Path::new("/proc")).unwrap_or_default();
        let found = owned(&table, std::process::id(), &shared.token, &kin);
        let mut living = 0;
        for (id, processes) in found.by_workload {
            for process in processes {
                let identity = process.identity();
                if process.is_alive() {
                    living += 1;
                    if signal_exactly(identity, Raw::KILL) {
                        killed.insert(identity.pid);
                    }
                }
                reap(identity.pid);
                if let Some(kin) = kin.iter_mut().find(|kin| kin.id == id) {
                    kin.members.insert(identity);
                }
            }
        }
        empty = if living == 0 { empty + 1 } else { 0 };
        if empty == 2 {
            break;
        }
        std::thread::sleep(SWEEP_PAUSE);
    }
    killed.into_iter().collect()
}
