//! The guardian: a process that owns the workloads, so that none outlives the measuring process.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Signal as Raw, WaitOptions, getpid, set_child_subreaper, wait};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::book::{Due, Stop, Workload, exit_of, finish, signal_group};
use super::launch::{Launch, LeftProcess, Rest, Signal, StopOrder, Stream};
use super::launcher::exec_main;
use super::output::{LogFile, forward};
use super::protocol::{Answer, Frame, Request, RequestBody};
use super::saturate::saturate_main;
use super::spawn::{launch_outcome, spawn};
use super::spin::spin_main;
use super::tree::{Kin, Owned, owned, signal_exactly};
use super::wire::{Ends, read_requests, write_frames};
use crate::clock::monotonic_ns;
use crate::host::{Identity, ProcessStat, ProcessTable};
use crate::stress::stress_main;

/// Frames of output that may wait for the measuring process; beyond it the workload's writes block.
const OUTPUT_FRAMES_MAX: usize = 8;
/// Longest wait for killed processes to be gone, and pause between two looks.
const KILL_NS_MAX: u64 = 10_000_000_000;
const KILL_PAUSE: Duration = Duration::from_millis(5);
/// Longest wait for the last output and for the logs when the guardian ends.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
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

/// Runs the guardian, its launcher or one of its loads, as the first argument says. The binary's hidden
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
        Some((mode, rest)) if mode == "stress" => stress_main(rest),
        Some((mode, rest)) if mode == "saturate" => saturate_main(rest),
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
        let mut requests = read_requests()?;
        let mut deaf = write_frames(control_frames, output_frames)?;
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
                _ = &mut deaf => break,
                Some(news) = news_received.recv() => match news {
                    News::Execed { id, outcome } => {
                        guardian.execed(id, outcome);
                        guardian.find_gone();
                    }
                    News::Scanned { table, cost_ns } => guardian.scanned(&table, cost_ns),
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
            RequestBody::Stop { id, order } => {
                if let Err(reason) = self.stop(seq, id, order) {
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
        let kin = Kin { id, leader: spawned.leader, members: [spawned.leader].into() };
        let pipes = vec![(Stream::Stdout, spawned.stdout), (Stream::Stderr, spawned.stderr)];
        let workload = Workload::launched(kin, seq, spawned.at_ns, pipes, log);
        self.workloads.insert(id, workload);
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
                    let log = workload.log.as_ref().map(LogFile::writer);
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

    fn stop(&mut self, seq: u64, id: u32, order: StopOrder) -> Result<(), String> {
        let workload =
            self.workloads.get_mut(&id).ok_or_else(|| format!("no workload {id} runs"))?;
        let now = monotonic_ns();
        let grace_ns = u64::try_from(order.grace.as_nanos()).unwrap_or(u64::MAX);
        let kill_ns = now.saturating_add(grace_ns);
        if let Some(stop) = &mut workload.stop {
            // A second stop may shorten the patience of the first, never lengthen it.
            stop.seqs.push(seq);
            stop.kill_ns = stop.kill_ns.min(kill_ns);
            return Ok(());
        }
        workload.stop = Some(Stop {
            seqs: vec![seq],
            signal_ns: now,
            kill_ns,
            killed: false,
            rest: order.rest,
            rest_told: false,
            left: Vec::new(),
        });
        // A stopped process does not see the signal until it is continued.
        signal_group(workload, order.signal.raw());
        signal_group(workload, Raw::CONT);
        Ok(())
    }

    /// Takes the exit of every child that has ended: leaders, and orphans that were adopted.
    fn reap(&mut self) {
        let mut exited = Vec::new();
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let number = pid.as_raw_nonzero().get().unsigned_abs();
            let leader = self
                .workloads
                .values_mut()
                .find(|workload| workload.kin.leader.pid == number && workload.exit.is_none());
            if let (Some(workload), Some(exit)) = (leader, exit_of(status)) {
                workload.exit = Some((exit, monotonic_ns()));
                exited.push(workload.kin.id);
            }
        }
        // Before anybody is taken for gone: what goes a moment later did outlive the first process.
        for id in exited {
            self.see_rest(id);
        }
        self.find_gone();
    }

    /// What is due now: exits to tell, launches that hang, patience that has ended, a look around.
    fn step(&mut self) {
        let now = monotonic_ns();
        self.tell_exits();
        let due: Vec<(u32, Due)> =
            self.workloads.iter_mut().map(|(id, workload)| (*id, workload.due(now))).collect();
        for (id, due) in due {
            match due {
                Due::Nothing => {}
                Due::GiveUp => {
                    let reason = "the launcher did not start the program in time";
                    self.execed(id, Err(reason.to_owned()));
                    self.signal_members(id, Raw::KILL);
                }
                Due::EndRest => {
                    self.signal_members(id, Raw::TERM);
                }
                Due::Kill => self.kill(id, now),
            }
        }
        self.look_around(now);
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

    /// Notes what of a workload outlives its first process, where that is awaited.
    fn see_rest(&mut self, id: u32) {
        let stop = self.workloads.get(&id).and_then(|workload| workload.stop.as_ref());
        if stop.is_none_or(|stop| stop.rest != Rest::Awaited) {
            return;
        }
        let Some(owned) = self.look() else { return };
        let members = owned.by_workload.get(&id).into_iter().flatten();
        let left = members.filter(|process| process.is_alive()).map(LeftProcess::of).collect();
        if let Some(stop) = self.workloads.get_mut(&id).and_then(|w| w.stop.as_mut()) {
            stop.left = left;
        }
    }

    /// Kills everything that is left of a workload; gives one up that will not go.
    fn kill(&mut self, id: u32, now: u64) {
        if let Some(workload) = self.workloads.get(&id) {
            signal_group(workload, Raw::KILL);
        }
        self.signal_members(id, Raw::KILL);
        let workload = self.workloads.get_mut(&id);
        if let Some(stop) = workload.and_then(|workload| workload.stop.as_mut())
            && now >= stop.kill_ns.saturating_add(KILL_NS_MAX)
        {
            for seq in stop.seqs.drain(..) {
                let reason = "processes outlive SIGKILL (blocked in the kernel)".to_owned();
                let _ = self.control.send(Frame::Answer { seq, answer: Err(reason) });
            }
        }
        self.reap();
        self.tell_exits();
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
            workload.kin.members = members.map(ProcessStat::identity).collect();
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
        let scan = (!self.workloads.is_empty() && !self.scanning).then_some(self.scan_at_ns);
        let due = self.workloads.values().filter_map(|workload| workload.due_ns(now, KILL_PAUSE));
        let next = due.chain(scan).min().unwrap_or(now + 60_000_000_000);
        Duration::from_nanos(next.saturating_sub(now))
    }

    /// Kills and reaps everything below the guardian, of whichever workload. Returns what would not
    /// go.
    async fn end_all(mut self) -> Vec<u32> {
        let readers: Vec<JoinHandle<()>> = self
            .workloads
            .values_mut()
            .flat_map(|workload| std::mem::take(&mut workload.output))
            .collect();
        let logs: Vec<oneshot::Receiver<()>> =
            self.workloads.values_mut().filter_map(|workload| workload.log.take()?.end()).collect();
        let left = self.kill_all().await;
        let last_words = async {
            for reader in readers {
                let _ = reader.await;
            }
            for log in logs {
                let _ = log.await;
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS_MAX, last_words).await;
        left
    }

    async fn kill_all(&mut self) -> Vec<u32> {
        let until_ns = monotonic_ns() + KILL_NS_MAX;
        let mut empty = 0;
        loop {
            let table = ProcessTable::scan(Path::new("/proc")).unwrap_or_default();
            let living: Vec<Identity> = table
                .descendants_of(self.pid)
                .into_iter()
                .filter(|process| process.is_alive())
                .map(ProcessStat::identity)
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
