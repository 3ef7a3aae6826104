//! How a neighbour gives way: told to go, watched until its memory is really free, and looked at again
//! when it has started anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{CheckpointRecord, HeldMemory, ReclaimDrill, ResumeCheck};

use crate::clock::monotonic_ns;
use crate::host::ProcessTable;
use crate::progress_log::TrainerEvent;
use crate::supervisor::{Exit, Rest, StopOrder, StopReport};

use super::gpu_memory::GpuMemory;
use super::memory::Holder;
use super::plan::NeighbourRig;
use super::rig::{PendingResume, Rig, RigError, checkpoints, steps};
use super::slurm::{self, SlurmRig};

/// How long the last lines of a job may take into its output file.
const LAST_LINES: Duration = Duration::from_millis(500);
/// Pause between two looks at something that sends no event.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// How a neighbour was taken away.
struct Taken {
    driver: String,
    report: StopReport,
    /// What went wrong outside of the neighbour.
    failure: Option<String>,
}

/// What was seen of a neighbour's memory after its last process had gone.
#[derive(Clone, Debug, PartialEq)]
enum Memory {
    /// It was free at this moment, monotonic nanoseconds; what held it at the first look.
    Free { at_ns: u64, first: Vec<Holder> },
    /// It was not free when patience ended.
    Held(Vec<Holder>),
    /// It could not be looked at.
    Unknown,
}

impl Rig {
    /// Tells the neighbour to stop and watches it go. `zero_ns` is the start of the block. Where
    /// `block` is given the stop is a drill: processes that outlive the first one are left to go by
    /// themselves, so that one which stays is seen.
    ///
    /// # Errors
    /// The guardian has ended, or processes outlive SIGKILL.
    pub(super) async fn neighbour_down(
        &mut self,
        zero_ns: u64,
        block: Option<u32>,
    ) -> Result<Option<ReclaimDrill>, RigError> {
        let Some(neighbour) = self.neighbour.clone() else { return Ok(None) };
        self.see_resume();
        let Some(running) = self.running.take() else { return Ok(None) };
        let id = running.workload.id;
        let leader = running.workload.pid;
        let job = neighbour.slurm.as_ref().zip(self.slurm_job);
        let pids = match job {
            Some((_, (job, _))) => slurm::processes(job),
            None => family(leader),
        };
        let gpu_held = match neighbour.gpu.as_ref().filter(|_| block.is_some()) {
            Some(reader) => reader.read().await.ok(),
            None => None,
        };
        let rest = if block.is_some() { Rest::Awaited } else { Rest::Told };
        let order = StopOrder { signal: neighbour.stop_signal, grace: neighbour.notice, rest };
        let taken = match job {
            Some((slurm, (job, _))) => {
                self.requeued(slurm, job, &neighbour, block.is_some()).await?
            }
            None => Taken {
                driver: format!("signal {}", order.signal.name()),
                report: self.supervisor.stop_as(id, order).await?,
                failure: None,
            },
        };
        let report = taken.report;
        let memory = match (block, job) {
            (None, _) => Memory::Unknown,
            // Processes that were not seen before cannot be seen to go.
            (Some(_), Some(_)) if pids.is_empty() => Memory::Unknown,
            (Some(_), job) => {
                let job = job.map(|(_, (job, _))| job);
                self.memory_free(&neighbour, leader, job, &pids, gpu_held.as_ref()).await
            }
        };
        if job.is_some() {
            // Only what read the job's output, once it has read the last of it.
            tokio::time::sleep(LAST_LINES).await;
            self.supervisor.stop(id, Duration::ZERO).await?;
        }
        let (steps, checkpoints, stopping_ns) = self.desk.look(id, |watched| {
            let stopping = watched
                .events
                .iter()
                .find(|(_, event)| matches!(event, TrainerEvent::Stopping))
                .map(|(at_ns, _)| *at_ns);
            (steps(&watched.events, zero_ns), checkpoints(&watched.events, zero_ns), stopping)
        });
        let after_signal: Option<&CheckpointRecord> =
            checkpoints.iter().rfind(|checkpoint| checkpoint.at_ns + zero_ns >= report.signal_ns);
        let checkpoint_step = if neighbour.saves_each_step {
            steps.last().map(|step| step.step)
        } else {
            checkpoints.last().map(|checkpoint| checkpoint.step).filter(|step| *step > 0)
        };
        let since = |at_ns: u64| at_ns.saturating_sub(report.signal_ns) as f64 / 1e9;
        let drill = ReclaimDrill {
            driver: taken.driver,
            signal_ns: report.signal_ns.saturating_sub(zero_ns),
            // A line is stamped when it is read, which may be after the exit of whoever wrote it.
            step_boundary_s: stopping_ns
                .map(|at_ns| since(report.leader_exit_ns.map_or(at_ns, |exit| exit.min(at_ns)))),
            checkpoint_s: after_signal.map(|checkpoint| checkpoint.duration_s),
            exit_s: report.leader_exit_ns.map(since),
            memory_free_s: match &memory {
                Memory::Free { at_ns, .. } => Some(since(*at_ns)),
                Memory::Held(_) | Memory::Unknown => None,
            },
            held: held(&report, &memory, since),
            engine_ready_s: None,
            first_token_s: None,
            last_step: steps.last().map(|step| step.step),
            checkpoint_step,
            failure: taken.failure.or_else(|| {
                let silent = neighbour.log.says_checkpoints() && after_signal.is_none();
                failure(&report, order, &memory, silent && !neighbour.saves_each_step, &neighbour)
            }),
            resume: None,
        };
        self.pending = Some(PendingResume { block, steps, checkpoint_step });
        Ok(Some(drill))
    }

    /// Lets Slurm take the machine from a job: held, so that it starts again when a drill says so, or
    /// for good where the stop is no drill.
    async fn requeued(
        &mut self,
        slurm: &SlurmRig,
        job: u64,
        neighbour: &NeighbourRig,
        is_drill: bool,
    ) -> Result<Taken, RigError> {
        let signal_ns = monotonic_ns();
        let order = if is_drill { slurm.requeue(job).await } else { slurm.cancel(job).await };
        order.map_err(RigError::Slurm)?;
        self.slurm_job = is_drill.then_some((job, true));
        let gone = slurm.gone(job, neighbour.notice).await;
        let gone_ns = gone.clone().unwrap_or_else(|_| monotonic_ns());
        Ok(Taken {
            driver: "scontrol requeuehold".to_owned(),
            report: StopReport {
                signal_ns,
                leader_exit_ns: gone.is_ok().then_some(gone_ns),
                gone_ns,
                exit: Some(Exit::Code(0)),
                killed: false,
                left: Vec::new(),
            },
            failure: gone.err(),
        })
    }

    /// Waits until nothing holds the neighbour's memory any more: no process of its group, no file or
    /// segment in shared memory, and nothing on the GPUs.
    async fn memory_free(
        &self,
        neighbour: &NeighbourRig,
        leader: u32,
        job: Option<u64>,
        pids: &BTreeSet<u32>,
        gpu_held: Option<&GpuMemory>,
    ) -> Memory {
        let deadline_ns = monotonic_ns() + neighbour.memory_patience.as_nanos() as u64;
        let mut first: Option<Vec<Holder>> = None;
        loop {
            let Some(mut holders) = living(leader, job) else { return Memory::Unknown };
            holders.extend(self.memory_before.left_on_host());
            if let Some(reader) = &neighbour.gpu {
                let Some((before, held)) = self.memory_before.gpu.as_ref().zip(gpu_held) else {
                    return Memory::Unknown;
                };
                let Ok(now) = reader.read().await else { return Memory::Unknown };
                let on_gpus = now.still_held(before, held, pids).into_iter();
                holders.extend(on_gpus.map(|(name, bytes)| Holder { name, bytes }));
            }
            let at_ns = monotonic_ns();
            if holders.is_empty() {
                return Memory::Free { at_ns, first: first.unwrap_or_default() };
            }
            if at_ns > deadline_ns {
                return Memory::Held(holders);
            }
            first.get_or_insert(holders);
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Compares what the running neighbour has printed since its start with what it printed before
    /// the last stop, and keeps the result where that stop was a drill. Called before it is stopped
    /// again, when it has printed as much as it will.
    pub(super) fn see_resume(&mut self) {
        let (Some(running), Some(pending)) = (self.running, self.pending.take()) else { return };
        let started_ns = running.workload.started_ns;
        let (after, restore_s) = self.desk.look(running.workload.id, |watched| {
            let restore = watched.events.iter().find_map(|(at_ns, event)| match event {
                TrainerEvent::Resumed { .. } => Some(at_ns.saturating_sub(started_ns) as f64 / 1e9),
                _ => None,
            });
            (steps(&watched.events, started_ns), restore)
        });
        let check =
            ResumeCheck::compare(&pending.steps, &after, pending.checkpoint_step, restore_s);
        self.resumes.extend(pending.block.map(|block| (block, check)));
    }

    /// Keeps a start that did not come about as the resume of the drill that waits for one.
    pub(super) fn resume_failed(&mut self, why: &str) {
        let Some(pending) = self.pending.take_if(|pending| pending.block.is_some()) else { return };
        let why = format!("failed to start: {why}");
        let check = ResumeCheck::failed(&pending.steps, why);
        self.resumes.extend(pending.block.map(|block| (block, check)));
    }
}

/// The processes of a workload: its first one, what descends from that, and its group.
fn family(leader: u32) -> BTreeSet<u32> {
    let table = ProcessTable::scan(Path::new("/proc")).unwrap_or_default();
    let group = table.iter().filter(|process| process.group == leader);
    let below = table.descendants_of(leader).into_iter();
    group.chain(below).map(|process| process.pid).chain([leader]).collect()
}

/// Processes of a workload's group, or of a job, that are alive, though the guardian (or Slurm) has
/// said that none is. `None` where processes cannot be listed.
fn living(leader: u32, job: Option<u64>) -> Option<Vec<Holder>> {
    let members = job.map(slurm::processes);
    let belongs = |process: &crate::host::ProcessStat| match &members {
        Some(members) => members.contains(&process.pid),
        None => process.group == leader,
    };
    let table = ProcessTable::scan(Path::new("/proc")).ok()?;
    let alive = table.iter().filter(|process| belongs(process) && process.is_alive());
    let page_bytes = rustix::param::page_size() as u64;
    let holder = |process: &crate::host::ProcessStat| Holder {
        name: format!("process {}", process.pid),
        bytes: process.resident_pages * page_bytes,
    };
    Some(alive.map(holder).collect())
}

/// What outlived the first process, and until when.
fn held(report: &StopReport, memory: &Memory, since: impl Fn(u64) -> f64) -> Vec<HeldMemory> {
    let processes = report.left.iter().map(|process| HeldMemory {
        holder: format!("process {} ({})", process.pid, process.name),
        bytes: process.resident_bytes,
        until_s: Some(since(report.gone_ns)),
    });
    let (holders, until_s) = match memory {
        Memory::Free { at_ns, first } => (first.as_slice(), Some(since(*at_ns))),
        Memory::Held(holders) => (holders.as_slice(), None),
        Memory::Unknown => (&[][..], None),
    };
    let others = holders.iter().map(|holder| HeldMemory {
        holder: holder.name.clone(),
        bytes: holder.bytes,
        until_s,
    });
    processes.chain(others).collect()
}

/// Why a stop is no success, if it is none.
fn failure(
    report: &StopReport,
    order: StopOrder,
    memory: &Memory,
    checkpoint_missing: bool,
    neighbour: &NeighbourRig,
) -> Option<String> {
    let killed_ns = report.signal_ns.saturating_add(order.grace.as_nanos() as u64);
    let exit_ns = report.leader_exit_ns.filter(|at_ns| *at_ns < killed_ns);
    match (report.killed, exit_ns) {
        (true, None) => return Some("it did not go within its notice and was killed".to_owned()),
        (true, Some(exit_ns)) => {
            let exit_s = exit_ns.saturating_sub(report.signal_ns) as f64 / 1e9;
            let who = report.left.first().map_or_else(
                || "a process of it".to_owned(),
                |left| {
                    let mib = left.resident_bytes >> 20;
                    format!("process {} ({}) with {mib} MiB", left.pid, left.name)
                },
            );
            return Some(format!(
                "it exited after {exit_s:.2} s, but its memory was not free: {who} stayed until the \
                 notice ended, and was killed"
            ));
        }
        (false, _) => {}
    }
    // What saves each step by itself loses at most the one that it was at.
    let by_signal = Exit::Signal(order.signal.raw().as_raw());
    match report.exit {
        Some(Exit::Code(0)) => {}
        Some(exit) if neighbour.saves_each_step && exit == by_signal => {}
        Some(Exit::Code(code)) => return Some(format!("it ended with exit code {code}")),
        Some(Exit::Signal(signal)) => {
            return Some(format!("signal {signal} ended it: it did not act on what it was told"));
        }
        None => return Some("how it ended was not seen".to_owned()),
    }
    if checkpoint_missing {
        return Some("it left without a checkpoint".to_owned());
    }
    let Memory::Held(holders) = memory else { return None };
    let holders: Vec<String> = holders
        .iter()
        .map(|holder| format!("{} with {} MiB", holder.name, holder.bytes >> 20))
        .collect();
    Some(format!("its memory was not free after its exit: {}", holders.join(", ")))
}
