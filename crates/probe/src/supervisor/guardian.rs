//! The guardian: a process that owns the workloads, so that none outlives the measuring process.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Signal as Raw, WaitOptions, WaitStatus, getpid, kill_process_group, set_child_subreaper, wait,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::launch::{Exit, Launch, Signal, StopReport, Stream};
use super::launcher::{LauncherSettings, exec_main, pid_of};
use super::output::{LogFile, forward};
use super::protocol::{Answer, Frame, Request, RequestBody};
use super::spin::spin_main;
use super::tree::{Kin, MARK_VARIABLE, Owned, mark, owned, signal_exactly};
use crate::clock::monotonic_ns;
use crate::host::{Identity, ProcessTable, read_process};

/// Frames of output that may wait for the measuring process; beyond it the workload's writes block.
const OUTPUT_FRAMES_MAX: usize = 64;
/// Longest wait for the launcher to become the workload.
const LAUNCH_NS_MAX: u64 = 10_000_000_000;
/// Longest wait for killed processes to be gone, and pause between two looks.
const KILL_NS_MAX: u64 = 10_000_000_000;
const KILL_PAUSE: Duration = Duration::from_millis(5);
/// Longest wait for the end of a workload's output once its last process is gone.
const OUTPUT_END_MAX: Duration = Duration::from_secs(2);
/// Least pause between two looks at all processes; they also take at most 1/200 of one CPU.
const SCAN_PAUSE_NS_MIN: u64 = 1_000_000_000;
const SCAN_SHARE: u64 = 200;

/// What the guardian is told when it is started, as JSON in its first argument.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GuardianSettings {
    /// Names this supervisor among all that ever ran.
    pub(super) token: String,
    /// Arguments that lead this binary back to [`guardian_main`].
    pub(super) prefix: Vec<String>,
}

/// Runs the guardian, its launcher or its spinner, as the first argument says. The binary's hidden
/// command calls it with the arguments that follow the command. It must be called from the main
/// thread, outside any runtime: the workloads die with the thread that started them.
///
/// Returns the exit code: 0 where nothing is left behind, 1 where a killed process would not go,
/// 2 for arguments that are not the supervisor's own.
pub fn guardian_main(arguments: &[String]) -> ExitCode {
    match arguments.split_first() {
        Some((mode, rest)) if mode == "serve" => serve(rest),
        Some((mode, rest)) if mode == "exec" => exec_main(rest),
        Some((mode, rest)) if mode == "spin" => spin_main(rest),
        _ => ExitCode::from(2),
    }
}

fn serve(arguments: &[String]) -> ExitCode {
    let settings = arguments.first().map(|text| serde_json::from_str::<GuardianSettings>(text));
    let Some(Ok(settings)) = settings else { return ExitCode::from(2) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.and_then(|runtime| runtime.block_on(Guardian::run(settings)));
    match outcome {
        Ok(left) if left.is_empty() => ExitCode::SUCCESS,
        Ok(left) => complain(&format!("could not end processes {left:?}")),
        Err(error) => complain(&error.to_string()),
    }
}

fn complain(message: &str) -> ExitCode {
    // Standard error is the measuring process's own; if it is closed nobody can be told.
    let _ = writeln!(std::io::stderr(), "guardian: {message}");
    ExitCode::FAILURE
}

/// News from the guardian's own tasks.
enum News {
    /// A launcher became its workload, or said why it could not.
    Execed { id: u32, outcome: Result<(), String> },
    /// A look at all processes, and how long it took.
    Scanned { table: ProcessTable, cost_ns: u64 },
    /// The measuring process no longer listens.
    Deaf,
}

/// A workload from its launch until its last process is gone.
struct Workload {
    kin: Kin,
    /// The request that is answered when the program runs, or does not.
    launch_seq: Option<u64>,
    launch_until_ns: u64,
    started_ns: u64,
    /// Why it never ran.
    failure: Option<String>,
    exit: Option<(Exit, u64)>,
    exit_told: bool,
    stop: Option<Stop>,
    output: Vec<JoinHandle<()>>,
    /// Pipes that are read once the program runs.
    pipes: Vec<(Stream, pipe::Receiver)>,
    log: Option<LogFile>,
}

struct Stop {
    seqs: Vec<u64>,
    signal_ns: u64,
    /// When patience ends.
    kill_ns: u64,
    killed: bool,
    /// Whether what is left after the first process's exit was told to end, too.
    rest_told: bool,
}

struct Guardian {
    pid: u32,
    settings: GuardianSettings,
    workloads: BTreeMap<u32, Workload>,
    /// Few frames that must never wait for room: answers and changes of state.
    control: mpsc::UnboundedSender<Frame>,
    /// Output, with what must come after it.
    output: mpsc::Sender<Frame>,
    news: mpsc::UnboundedSender<News>,
    scan_at_ns: u64,
    scanning: bool,
}

impl Guardian {
    /// Serves until the measuring process is gone or asks for the end. Returns what it could not
    /// end.
    async fn run(settings: GuardianSettings) -> std::io::Result<Vec<u32>> {
        set_child_subreaper(Some(getpid()))?;
        let mut child = signal(SignalKind::child())?;
        let mut ends = Ends::listen()?;
        let (control, control_frames) = mpsc::unbounded_channel();
        let (output, output_frames) = mpsc::channel(OUTPUT_FRAMES_MAX);
        let (news, mut news_received) = mpsc::unbounded_channel();
        let stdout = pipe::Sender::from_owned_fd(std::io::stdout().as_fd().try_clone_to_owned()?)?;
        let mut requests = read_requests()?;
        tokio::spawn(write_frames(stdout, control_frames, output_frames, news.clone()));
        let mut guardian = Self {
            pid: std::process::id(),
            settings,
            workloads: BTreeMap::new(),
            control,
            output,
            news,
            scan_at_ns: 0,
            scanning: false,
        };
        loop {
            let nap = guardian.nap();
            tokio::select! {
                request = requests.recv() => match request {
                    Some(Request { seq, body }) => {
                        if !guardian.answer(seq, body) { break }
                    }
                    None => break,
                },
                _ = child.recv() => guardian.reap(),
                () = ends.end() => break,
                Some(news) = news_received.recv() => match news {
                    News::Execed { id, outcome } => {
                        guardian.execed(id, outcome);
                        guardian.find_gone();
                    }
                    News::Scanned { table, cost_ns } => guardian.scanned(&table, cost_ns),
                    News::Deaf => break,
                },
                () = tokio::time::sleep(nap) => {}
            }
            guardian.step();
        }
        Ok(guardian.end_all().await)
    }

    /// Does what a request asks. Returns whether to go on.
    fn answer(&mut self, seq: u64, body: RequestBody) -> bool {
        match body {
            RequestBody::Start { id, launch } => {
                if let Err(reason) = self.start(seq, id, &launch) {
                    self.tell(Frame::Answer { seq, answer: Err(reason) });
                }
            }
            RequestBody::Signal { id, signal } => {
                let answer = self.signal(id, signal);
                self.tell(Frame::Answer { seq, answer });
            }
            RequestBody::Stop { id, grace_ns } => {
                if let Err(reason) = self.stop(seq, id, grace_ns) {
                    self.tell(Frame::Answer { seq, answer: Err(reason) });
                }
            }
            RequestBody::Shutdown => return false,
        }
        true
    }

    fn tell(&self, frame: Frame) {
        // Fails only when the writer has ended, which says so itself.
        let _ = self.control.send(frame);
    }

    fn start(&mut self, seq: u64, id: u32, launch: &Launch) -> Result<(), String> {
        if self.workloads.contains_key(&id) {
            return Err(format!("workload {id} exists"));
        }
        let log = launch.log.as_deref().map(LogFile::create).transpose()?;
        let spawned = spawn(&self.settings, self.pid, id, launch)?;
        let leader = Identity { pid: spawned.pid, start_ticks: spawned.start_ticks };
        let now = monotonic_ns();
        self.workloads.insert(
            id,
            Workload {
                kin: Kin { id, leader, members: [leader].into() },
                launch_seq: Some(seq),
                launch_until_ns: now + LAUNCH_NS_MAX,
                started_ns: spawned.at_ns,
                failure: None,
                exit: None,
                exit_told: false,
                stop: None,
                output: Vec::new(),
                pipes: vec![(Stream::Stdout, spawned.stdout), (Stream::Stderr, spawned.stderr)],
                log,
            },
        );
        let news = self.news.clone();
        tokio::spawn(async move {
            let outcome = launch_outcome(spawned.status).await;
            let _ = news.send(News::Execed { id, outcome });
        });
        Ok(())
    }

    fn execed(&mut self, id: u32, outcome: Result<(), String>) {
        let Some(workload) = self.workloads.get_mut(&id) else { return };
        let Some(seq) = workload.launch_seq.take() else { return };
        let answer = match outcome {
            Ok(()) => {
                let (pid, at_ns) = (workload.kin.leader.pid, workload.started_ns);
                // Queued before the readers exist, so it precedes every line.
                let _ = self.control.send(Frame::Started { id, pid, at_ns });
                for (stream, pipe) in workload.pipes.drain(..) {
                    let log = workload.log.clone();
                    let task = forward(id, stream, pipe, self.output.clone(), log);
                    workload.output.push(tokio::spawn(task));
                }
                Ok(Answer::Started { pid, at_ns })
            }
            Err(reason) => {
                workload.failure = Some(reason.clone());
                Err(reason)
            }
        };
        self.tell(Frame::Answer { seq, answer });
    }

    fn signal(&mut self, id: u32, signal: Signal) -> Result<Answer, String> {
        let workload = self.workloads.get(&id).ok_or_else(|| format!("no workload {id} runs"))?;
        let at_ns = monotonic_ns();
        if signal_group(workload, signal.raw()) || self.signal_members(id, signal.raw()) > 0 {
            Ok(Answer::Signalled { at_ns })
        } else {
            Err(format!("no process of workload {id} is left"))
        }
    }

    fn stop(&mut self, seq: u64, id: u32, grace_ns: u64) -> Result<(), String> {
        let workload =
            self.workloads.get_mut(&id).ok_or_else(|| format!("no workload {id} runs"))?;
        let now = monotonic_ns();
        let kill_ns = now.saturating_add(grace_ns);
        match &mut workload.stop {
            // A second stop may shorten the patience of the first, never lengthen it.
            Some(stop) => {
                stop.seqs.push(seq);
                stop.kill_ns = stop.kill_ns.min(kill_ns);
            }
            None => {
                workload.stop = Some(Stop {
                    seqs: vec![seq],
                    signal_ns: now,
                    kill_ns,
                    killed: false,
                    rest_told: false,
                });
                // A stopped process does not see SIGTERM until it is continued.
                signal_group(workload, Raw::TERM);
                signal_group(workload, Raw::CONT);
            }
        }
        Ok(())
    }

    /// Takes the exit of every child that has ended: leaders, and orphans that were adopted.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let number = pid.as_raw_nonzero().get().unsigned_abs();
            let leader = self
                .workloads
                .values_mut()
                .find(|workload| workload.kin.leader.pid == number && workload.exit.is_none());
            if let (Some(workload), Some(exit)) = (leader, exit_of(status)) {
                workload.exit = Some((exit, monotonic_ns()));
            }
        }
        self.find_gone();
    }

    /// What is due now: exits to tell, patience that has ended, launches that hang, a look around.
    fn step(&mut self) {
        let now = monotonic_ns();
        self.tell_exits();
        let mut overdue = Vec::new();
        for (id, workload) in &mut self.workloads {
            if workload.launch_seq.is_some() && now >= workload.launch_until_ns {
                overdue.push((*id, true));
            } else if let Some(stop) = &mut workload.stop {
                if now >= stop.kill_ns {
                    stop.killed = true;
                    overdue.push((*id, false));
                } else if workload.exit.is_some() && !stop.rest_told {
                    stop.rest_told = true;
                    overdue.push((*id, true));
                }
            }
        }
        for (id, _) in overdue.iter().filter(|(_, gentle)| *gentle) {
            self.end_gently(*id);
        }
        let kill: Vec<u32> =
            overdue.iter().filter(|(_, gentle)| !gentle).map(|(id, _)| *id).collect();
        if !kill.is_empty() {
            self.kill(&kill, now);
            self.reap();
            self.tell_exits();
        }
        self.look_around(now);
    }

    /// A launch that hangs is given up; what outlives the first process of a workload that is being
    /// stopped is told to end as the group was.
    fn end_gently(&mut self, id: u32) {
        if self.workloads.get(&id).is_some_and(|workload| workload.launch_seq.is_some()) {
            let reason = "the launcher did not start the program in time".to_owned();
            self.execed(id, Err(reason));
            self.signal_members(id, Raw::KILL);
        } else {
            self.signal_members(id, Raw::TERM);
        }
    }

    fn tell_exits(&mut self) {
        for (id, workload) in &mut self.workloads {
            let ran = workload.launch_seq.is_none() && workload.failure.is_none();
            if let (Some((exit, at_ns)), true, false) = (workload.exit, ran, workload.exit_told) {
                workload.exit_told = true;
                let _ = self.control.send(Frame::LeaderExited { id: *id, at_ns, exit });
            }
        }
    }

    /// Kills everything that is left of these workloads; gives one up that will not go.
    fn kill(&mut self, ids: &[u32], now: u64) {
        for &id in ids {
            if let Some(workload) = self.workloads.get(&id) {
                signal_group(workload, Raw::KILL);
            }
            self.signal_members(id, Raw::KILL);
            let stuck = |stop: &Stop| now >= stop.kill_ns.saturating_add(KILL_NS_MAX);
            let workload = self.workloads.get_mut(&id);
            let Some(stop) = workload.and_then(|workload| workload.stop.as_mut()) else { continue };
            if stuck(stop) {
                for seq in stop.seqs.drain(..) {
                    let reason = "processes outlive SIGKILL (blocked in the kernel)".to_owned();
                    let _ = self.control.send(Frame::Answer { seq, answer: Err(reason) });
                }
            }
        }
    }

    /// Signals each process of a workload by itself. Returns how many were there.
    fn signal_members(&mut self, id: u32, signal: Raw) -> usize {
        let Some(owned) = self.look() else { return 0 };
        let members = owned.by_workload.get(&id).into_iter().flatten();
        members
            .filter(|process| process.is_alive() && signal_exactly(process.identity(), signal))
            .count()
    }

    /// Every process of every workload, now. `None` where `/proc` cannot be read.
    fn look(&mut self) -> Option<Owned> {
        let table = ProcessTable::scan(Path::new("/proc")).ok()?;
        Some(self.sort(&table))
    }

    fn sort(&mut self, table: &ProcessTable) -> Owned {
        let kin: Vec<Kin> = self.workloads.values().map(|workload| workload.kin.clone()).collect();
        let mut owned = owned(table, self.pid, &self.settings.token, &kin);
        // With one workload alone there is no doubt whose child an unmarked orphan is.
        if let [only] = kin.as_slice() {
            let orphans = std::mem::take(&mut owned.unknown);
            owned.by_workload.entry(only.id).or_default().extend(orphans);
        }
        for (id, workload) in &mut self.workloads {
            let members = owned.by_workload.get(id).into_iter().flatten();
            workload.kin.members = members.map(|process| process.identity()).collect();
            workload.kin.members.insert(workload.kin.leader);
        }
        owned
    }

    /// Ends the book of every workload that has no process left. Two looks must agree: a look is
    /// not of one instant, and a process could slip from one that was seen to one that was not.
    fn find_gone(&mut self) {
        if self.workloads.values().all(|workload| workload.exit.is_none()) {
            return;
        }
        let mut gone: Option<Vec<u32>> = None;
        for _ in 0..2 {
            let Some(owned) = self.look() else { return };
            let is_gone = |(id, workload): (&u32, &Workload)| {
                let members = owned.by_workload.get(id).into_iter().flatten();
                let left = members.filter(|process| process.is_alive()).count();
                (workload.exit.is_some() && workload.launch_seq.is_none() && left == 0)
                    .then_some(*id)
            };
            let now: Vec<u32> = self.workloads.iter().filter_map(is_gone).collect();
            gone = Some(match gone {
                Some(before) => before.into_iter().filter(|id| now.contains(id)).collect(),
                None => now,
            });
        }
        let at_ns = monotonic_ns();
        self.tell_exits();
        for id in gone.into_iter().flatten() {
            if let Some(workload) = self.workloads.remove(&id) {
                tokio::spawn(finish(id, workload, at_ns, self.output.clone()));
            }
        }
    }

    /// Remembers now and then which process belongs to which workload, so that one that loses its
    /// parents later is still known. The look is taken beside the loop, which stamps lines.
    fn look_around(&mut self, now: u64) {
        if self.workloads.is_empty() || self.scanning || now < self.scan_at_ns {
            return;
        }
        self.scanning = true;
        let news = self.news.clone();
        tokio::task::spawn_blocking(move || {
            let began = monotonic_ns();
            let table = ProcessTable::scan(Path::new("/proc")).unwrap_or_default();
            let _ = news.send(News::Scanned { table, cost_ns: monotonic_ns() - began });
        });
    }

    fn scanned(&mut self, table: &ProcessTable, cost_ns: u64) {
        self.scanning = false;
        let pause = SCAN_PAUSE_NS_MIN.max(cost_ns.saturating_mul(SCAN_SHARE));
        self.scan_at_ns = monotonic_ns() + pause;
        if table.get(self.pid).is_some() {
            self.sort(table);
        }
        // An exit whose launch was not yet known, or a signal that was missed.
        self.find_gone();
    }

    /// How long nothing needs to be done.
    fn nap(&self) -> Duration {
        let now = monotonic_ns();
        let mut due: VecDeque<u64> = VecDeque::new();
        for workload in self.workloads.values() {
            if workload.launch_seq.is_some() {
                due.push_back(workload.launch_until_ns);
            }
            match &workload.stop {
                Some(stop) if stop.killed => due.push_back(now + KILL_PAUSE.as_nanos() as u64),
                Some(stop) => due.push_back(stop.kill_ns),
                None => {}
            }
        }
        if !self.workloads.is_empty() && !self.scanning {
            due.push_back(self.scan_at_ns);
        }
        let next = due.into_iter().min().unwrap_or(now + 60_000_000_000);
        Duration::from_nanos(next.saturating_sub(now))
    }

    /// Kills and reaps everything below the guardian, of whichever workload. Returns what would not
    /// go.
    async fn end_all(mut self) -> Vec<u32> {
        let until_ns = monotonic_ns() + KILL_NS_MAX;
        let mut empty = 0;
        loop {
            let table = ProcessTable::scan(Path::new("/proc")).unwrap_or_default();
            let living: Vec<Identity> = table
                .descendants_of(self.pid)
                .into_iter()
                .filter(|process| process.is_alive())
                .map(|process| process.identity())
                .collect();
            // Without a table nothing can be found; what was known can still be signalled.
            for workload in self.workloads.values() {
                signal_group(workload, Raw::KILL);
            }
            for identity in &living {
                signal_exactly(*identity, Raw::KILL);
            }
            self.reap_quietly();
            empty = if living.is_empty() { empty + 1 } else { 0 };
            if empty == 2 {
                return Vec::new();
            }
            if monotonic_ns() > until_ns {
                return living.into_iter().map(|identity| identity.pid).collect();
            }
            if empty == 0 {
                tokio::time::sleep(KILL_PAUSE).await;
            }
        }
    }

    fn reap_quietly(&mut self) {
        while let Ok(Some((pid, _))) = wait(WaitOptions::NOHANG) {
            let number = pid.as_raw_nonzero().get().unsigned_abs();
            self.workloads.retain(|_, workload| workload.kin.leader.pid != number);
        }
    }
}

/// Signals a workload's group as long as its first process has not been reaped: until then the
/// number cannot pass to another group. Returns whether it could.
fn signal_group(workload: &Workload, signal: Raw) -> bool {
    let group = pid_of(workload.kin.leader.pid);
    match group {
        Some(group) if workload.exit.is_none() => kill_process_group(group, signal).is_ok(),
        _ => false,
    }
}

/// Waits for the rest of a workload's output and tells that it is gone. The output can stay open
/// only where a process outside the workload was handed it.
async fn finish(id: u32, workload: Workload, at_ns: u64, output: mpsc::Sender<Frame>) {
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
    };
    for seq in stop.seqs {
        let answer = Ok(Answer::Stopped(report.clone()));
        let _ = output.send(Frame::Answer { seq, answer }).await;
    }
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}

/// A launcher that was just started.
struct Spawned {
    pid: u32,
    start_ticks: u64,
    at_ns: u64,
    status: OwnedFd,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

/// Starts the launcher in a process group of its own and in the same session: `sched_autogroup`
/// gives each session one share of the CPU, and a nice value would bind only inside it.
fn spawn(
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
        pid: child.id(),
        start_ticks: process.start_ticks,
        at_ns,
        status,
        stdout: pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into()).map_err(failed)?,
    })
}

/// Reads the launcher's report to its end: nothing means that the program runs.
async fn launch_outcome(status: OwnedFd) -> Result<(), String> {
    let mut reason = Vec::new();
    let mut pipe = pipe::Receiver::from_owned_fd(status).map_err(|error| error.to_string())?;
    pipe.read_to_end(&mut reason).await.map_err(|error| error.to_string())?;
    if reason.is_empty() { Ok(()) } else { Err(String::from_utf8_lossy(&reason).into_owned()) }
}

/// The signals that end a guardian.
struct Ends {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Ends {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that ends the guardian.
    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Reads requests from standard input. The channel ends with the stream: the measuring process has
/// gone, however it went.
fn read_requests() -> std::io::Result<mpsc::Receiver<Request>> {
    let stdin = pipe::Receiver::from_owned_fd(std::io::stdin().as_fd().try_clone_to_owned()?)?;
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(async move {
        let mut lines = BufReader::new(stdin).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // A line that is no request means that the other end is not ours: end.
            let Ok(request) = serde_json::from_str(&line) else { return };
            if sender.send(request).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Writes frames, those of control first, until nobody listens.
async fn write_frames(
    mut stdout: pipe::Sender,
    mut control: mpsc::UnboundedReceiver<Frame>,
    mut output: mpsc::Receiver<Frame>,
    news: mpsc::UnboundedSender<News>,
) {
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::select! {
            biased;
            Some(frame) = control.recv() => frame,
            Some(frame) = output.recv() => frame,
            else => return,
        };
        bytes.clear();
        let written = serde_json::to_writer(&mut bytes, &frame).is_ok();
        bytes.push(b'\n');
        if !written || stdout.write_all(&bytes).await.is_err() {
            let _ = news.send(News::Deaf);
            return;
        }
    }
}
