//! The running workloads: starting, readiness, stopping. How a neighbour gives way is in `drill`.

use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{CheckpointRecord, Remedy, ResumeCheck, StepRecord, Stressor};

use cotenant_core::site::HostCaps;

use crate::clock::monotonic_ns;
use crate::device::nvml::NvmlLibrary;
use crate::host::listeners;
use crate::http;
use crate::load::{Target, TargetError, TargetSpec};
use crate::progress_log::TrainerEvent;
use crate::supervisor::{
    Exit, GuardianCommand, Launch, Signal, Supervisor, SupervisorError, Workload,
};

use super::desk::Desk;
use super::engine_watch::WatchedEngine;
use super::memory::MemoryBefore;
use super::plan::{InferenceRig, NeighbourRig};
use super::slurm::SlurmRig;
use super::stack::EngineFacts;
use super::stress::{RunningStress, StressKit};

/// Patience with an engine that is told to stop.
const ENGINE_GRACE: Duration = Duration::from_secs(20);
/// Steps after a start from which a resume can be judged.
pub(super) const RESUME_STEPS: usize = 5;
/// Pause between two questions whether an engine is ready.
const READY_PAUSE: Duration = Duration::from_millis(50);

/// Why a workload does not do what a test needs.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// The supervisor.
    #[error(transparent)]
    Supervisor(#[from] SupervisorError),
    /// An endpoint that should run does not answer.
    #[error("`{name}` does not answer at {url}: {reason}")]
    NotRunning {
        /// The workload.
        name: String,
        /// What was asked.
        url: String,
        /// What was said.
        reason: String,
    },
    /// Somebody answers already where an engine is to be started.
    #[error(
        "something answers at {url} already, so `{name}` would not be what is measured: stop it, give \
         `{name}` another port, or leave out its `launch` and have what runs there measured"
    )]
    Occupied {
        /// The workload.
        name: String,
        /// What was asked.
        url: String,
    },
    /// Slurm.
    #[error("{0}")]
    Slurm(String),
    /// A workload ended by itself.
    #[error("`{name}` ended by itself ({}); {last_words}", how_it_ended(*exit))]
    Ended {
        /// The workload.
        name: String,
        /// How; `None` where that was not seen.
        exit: Option<Exit>,
        /// Its last lines.
        last_words: String,
    },
    /// It did not become ready in time.
    #[error("`{name}` was not ready within {patience:?} ({what}); {last_words}")]
    NotReady {
        /// The workload.
        name: String,
        /// How long was waited.
        patience: Duration,
        /// What was waited for.
        what: String,
        /// Its last lines.
        last_words: String,
    },
}

/// Code 0 is how a job ends that has nothing more to do.
fn how_it_ended(exit: Option<Exit>) -> String {
    match exit {
        Some(exit) if exit.is_success() => {
            format!("{exit}, as a finished job does: give it more to do than the test takes")
        }
        Some(exit) => exit.to_string(),
        None => "nobody saw how".to_owned(),
    }
}

impl RigError {
    /// One line, with the last of what was printed.
    pub(super) fn in_brief(&self) -> String {
        let text = self.to_string();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        match lines.rfind(|line| !line.trim().is_empty()) {
            Some(last) => {
                let first = first.trim_end_matches("its last lines:").trim_end_matches([' ', ';']);
                format!("{first}; its last line: {}", last.trim())
            }
            None => first.to_owned(),
        }
    }

    /// Whether a workload came to its own good end.
    fn is_finished(&self) -> bool {
        matches!(self, Self::Ended { exit: Some(exit), .. } if exit.is_success())
    }
}

/// A neighbour that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningNeighbour {
    pub(super) workload: Workload,
}

/// A stop whose resume has not been seen yet.
#[derive(Clone, Debug)]
pub(super) struct PendingResume {
    /// The block that the drill ended; `None` where the stop was no drill (test B, the pilot).
    pub(super) block: Option<u32>,
    pub(super) steps: Vec<StepRecord>,
    pub(super) checkpoint_step: Option<u64>,
}

/// The two workloads under one supervisor.
#[derive(Debug)]
pub struct Rig {
    pub(super) supervisor: Supervisor,
    pub(super) desk: Desk,
    pub(super) inference: Option<InferenceRig>,
    pub(super) neighbour: Option<NeighbourRig>,
    pub(super) engine: Option<Workload>,
    pub(super) running: Option<RunningNeighbour>,
    pub(super) pending: Option<PendingResume>,
    pub(super) resumes: Vec<(u32, ResumeCheck)>,
    /// The engine's name and version, where it was identified.
    engine_name: Option<String>,
    /// What every block is to note.
    pub(super) notes: Vec<String>,
    /// The driver's library, through which GPUs are read where there are any.
    pub(super) gpus: NvmlLibrary,
    pub(super) stress_kit: Option<StressKit>,
    pub(super) stressing: Option<RunningStress>,
    /// What holds the neighbour, for faults that fill it.
    pub(super) caps: HostCaps,
    /// The job of Slurm's that the neighbour is, and whether a drill holds it.
    pub(super) slurm_job: Option<(u64, bool)>,
    /// What held memory before the neighbour that runs was started.
    pub(super) memory_before: MemoryBefore,
}

impl Rig {
    /// Starts the guardian. No workload runs yet.
    ///
    /// # Errors
    /// The guardian cannot be started.
    pub fn new(
        guardian: GuardianCommand,
        inference: Option<InferenceRig>,
        neighbour: Option<NeighbourRig>,
    ) -> Result<Self, RigError> {
        let (supervisor, events) = Supervisor::spawn(guardian)?;
        let log = neighbour.as_ref().map(|n| n.log.clone());
        let desk = Desk::new(events, log);
        Ok(Self {
            supervisor,
            desk,
            inference,
            neighbour,
            engine: None,
            running: None,
            pending: None,
            resumes: Vec::new(),
            engine_name: None,
            notes: Vec::new(),
            gpus: NvmlLibrary::of_this_machine(),
            stress_kit: None,
            stressing: None,
            caps: HostCaps::default(),
            slurm_job: None,
            memory_before: MemoryBefore::default(),
        })
    }

    /// Says what holds the neighbour: a fault test fills it to that.
    pub fn set_caps(&mut self, caps: HostCaps) {
        self.caps = caps;
    }

    /// The supervisor, for audits.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Asks otherwise from now on: for the model that the engine says it serves, in the interface that
    /// it turned out to speak.
    ///
    /// # Errors
    /// The target cannot be used so.
    pub fn retarget(
        &mut self,
        change: impl FnOnce(TargetSpec) -> TargetSpec,
    ) -> Result<(), TargetError> {
        if let Some(inference) = &mut self.inference {
            inference.target = Target::new(change(inference.target.spec().clone()))?;
        }
        Ok(())
    }

    /// Takes over what the engine said of itself: its name, for what is observed of it, and where its
    /// metrics are, unless that was declared.
    pub fn set_engine(&mut self, facts: &EngineFacts) {
        self.engine_name = facts.name();
        if let Some(inference) = &mut self.inference
            && inference.metrics_url.is_none()
        {
            inference.metrics_url.clone_from(&facts.metrics_url);
        }
    }

    /// Has every block from now on note these sentences.
    pub fn set_notes(&mut self, notes: Vec<String>) {
        self.notes = notes;
    }

    /// The engine whose metrics can be asked for.
    pub(super) fn watched(&self) -> Option<WatchedEngine> {
        let url = self.inference.as_ref()?.metrics_url.clone()?;
        Some(WatchedEngine { url, name: self.engine_name.clone() })
    }

    /// Whether the runner may stop the engine.
    pub fn supervises_engine(&self) -> bool {
        self.inference.as_ref().is_some_and(|inference| inference.launch.is_some())
    }

    /// The workloads for the host's sampler, each with its first processes. An engine that was
    /// found running is seen through whoever listens on its port.
    pub(super) fn workloads(&self) -> Vec<(String, Vec<u32>)> {
        let engine = self.inference.as_ref().map(|rig| {
            let roots = match self.engine {
                Some(engine) => vec![engine.pid],
                None if rig.launch.is_none() => listeners(Path::new("/proc"), rig.target.port()),
                None => Vec::new(),
            };
            (rig.name.clone(), roots)
        });
        let neighbour = self.neighbour.as_ref().zip(self.running);
        let stressor = self
            .stressing
            .map(|running| (Stressor::PROCESS.to_owned(), vec![running.workload.pid]));
        engine
            .filter(|(_, roots)| !roots.is_empty())
            .into_iter()
            .chain(neighbour.map(|(rig, running)| (rig.name.clone(), vec![running.workload.pid])))
            .chain(stressor)
            .collect()
    }

    /// Makes sure that the engine runs and answers. Returns the seconds from start to ready, where
    /// it was started now.
    ///
    /// # Errors
    /// It cannot be started, ends, or is not ready in time.
    pub async fn engine_up(&mut self) -> Result<Option<f64>, RigError> {
        let Some(inference) = self.inference.clone() else { return Ok(None) };
        let began_ns = monotonic_ns();
        let started = match (&inference.launch, self.engine) {
            (Some(launch), None) => {
                if is_ready(&inference.ready_url).await.is_ok() {
                    return Err(RigError::Occupied {
                        name: inference.name,
                        url: inference.ready_url,
                    });
                }
                self.engine = Some(self.supervisor.start(launch.clone()).await?);
                true
            }
            _ => false,
        };
        let deadline_ns = began_ns + inference.ready_within.as_nanos() as u64;
        loop {
            if let Some(engine) = self.engine {
                let ended = self.desk.look(engine.id, |watched| {
                    watched.exit.map(|(_, exit)| (Some(exit), watched.last_words()))
                });
                if let Some((exit, last_words)) = ended {
                    self.engine = None;
                    return Err(RigError::Ended { name: inference.name, exit, last_words });
                }
            }
            let reason = match is_ready(&inference.ready_url).await {
                Ok(()) => {
                    let took_s = (monotonic_ns() - began_ns) as f64 / 1e9;
                    return Ok(started.then_some(took_s));
                }
                Err(reason) => reason,
            };
            if self.engine.is_none() {
                return Err(RigError::NotRunning {
                    name: inference.name,
                    url: inference.ready_url,
                    reason,
                });
            }
            if monotonic_ns() > deadline_ns {
                let id = self.engine.map_or(0, |engine| engine.id);
                return Err(RigError::NotReady {
                    name: inference.name,
                    patience: inference.ready_within,
                    what: reason,
                    last_words: self.desk.look(id, super::desk::Watched::last_words),
                });
            }
            tokio::time::sleep(READY_PAUSE).await;
        }
    }

    /// Makes sure that no engine process of ours exists. An endpoint that we did not start is left
    /// alone.
    ///
    /// # Errors
    /// The guardian has ended.
    pub async fn engine_down(&mut self) -> Result<(), RigError> {
        if let Some(engine) = self.engine.take() {
            self.supervisor.stop(engine.id, ENGINE_GRACE).await?;
        }
        Ok(())
    }

    /// Starts the neighbour and waits for its first steps. A start that fails after a drill is kept
    /// as that drill's resume, unless the job was at its end.
    ///
    /// # Errors
    /// It cannot be started, ends, or prints no step in time.
    pub async fn neighbour_up(
        &mut self,
        remedy: Option<Remedy>,
        steps: usize,
    ) -> Result<(), RigError> {
        let result = self.start_neighbour(remedy, steps).await;
        match &result {
            // Nothing was left to go on with: that says nothing of whether it would.
            Err(error) if error.is_finished() => self.pending = None,
            Err(error) => self.resume_failed(&error.in_brief()),
            Ok(()) => {}
        }
        result
    }

    async fn start_neighbour(
        &mut self,
        remedy: Option<Remedy>,
        steps: usize,
    ) -> Result<(), RigError> {
        let Some(neighbour) = self.neighbour.clone() else { return Ok(()) };
        self.memory_before = MemoryBefore::look(neighbour.gpu.as_ref()).await;
        let launch = match &neighbour.slurm {
            Some(slurm) => self.slurm_reader(&neighbour.name, slurm).await?,
            None => neighbour.launch_under(remedy),
        };
        let workload = self.supervisor.start(launch).await?;
        if let (Some(slurm), Some((job, true))) = (&neighbour.slurm, self.slurm_job) {
            slurm.release(job).await.map_err(RigError::Slurm)?;
            self.slurm_job = Some((job, false));
        }
        self.running = Some(RunningNeighbour { workload });
        let ready = self
            .desk
            .wait(workload.id, neighbour.ready_within, |watched| {
                let ended = watched.exit.is_some();
                (ended || watched.step_count() >= steps).then_some(ended)
            })
            .await;
        match ready {
            Some(false) => Ok(()),
            Some(true) => Err(self.neighbour_ended(&neighbour.name, workload.id)),
            None => Err(RigError::NotReady {
                name: neighbour.name,
                patience: neighbour.ready_within,
                what: format!("{steps} step lines {}", neighbour.log.describe()),
                last_words: self.desk.look(workload.id, super::desk::Watched::last_words),
            }),
        }
    }

    /// What reads the output of a job of Slurm's: of the one that is held, else of a new one.
    async fn slurm_reader(&mut self, name: &str, slurm: &SlurmRig) -> Result<Launch, RigError> {
        if let Some((job, _)) = self.slurm_job {
            return Ok(slurm.reader(name, job, false));
        }
        let job = slurm.submit().await.map_err(RigError::Slurm)?;
        self.slurm_job = Some((job, false));
        Ok(slurm.reader(name, job, true))
    }

    /// The error for a neighbour that is gone without having been told to go.
    pub(super) fn neighbour_ended(&mut self, name: &str, id: u32) -> RigError {
        self.running = None;
        self.desk.look(id, |watched| RigError::Ended {
            name: name.to_owned(),
            exit: watched.exit.map(|(_, exit)| exit),
            last_words: watched.last_words(),
        })
    }

    /// Whether the neighbour that should run has ended.
    pub(super) fn neighbour_has_ended(&self) -> bool {
        self.running.is_some_and(|running| {
            self.desk.look(running.workload.id, |watched| watched.exit.is_some())
        })
    }

    /// Asks the neighbour for a checkpoint, where it can be asked.
    pub(super) async fn ask_checkpoint(&self) -> Result<(), RigError> {
        let signal = self.neighbour.as_ref().and_then(|neighbour| neighbour.checkpoint_signal);
        if let Some((running, signal)) = self.running.zip(signal) {
            self.supervisor.signal(running.workload.id, signal).await?;
        }
        Ok(())
    }

    /// Stops a neighbour without any notice, whatever was under way with it. That it is gone already is
    /// no error.
    pub(super) async fn stop_at_once(&mut self, neighbour: RunningNeighbour) {
        self.running = None;
        let id = neighbour.workload.id;
        let _ = self.supervisor.signal(id, Signal::Kill).await;
        let _ = self.supervisor.stop(id, Duration::ZERO).await;
    }

    /// Kills the neighbour at once, as a fault would.
    ///
    /// # Errors
    /// The guardian has ended.
    pub async fn neighbour_killed(&mut self) -> Result<(), RigError> {
        if let Some(running) = self.running.take() {
            self.supervisor.signal(running.workload.id, Signal::Kill).await?;
            // What is left of the group, if anything; a workload that is gone already is no error.
            let _ = self.supervisor.stop(running.workload.id, Duration::ZERO).await;
        }
        Ok(())
    }

    /// Forgets every stop whose resume was not seen.
    pub(super) fn forget_stops(&mut self) {
        self.pending = None;
        self.resumes.clear();
    }

    /// Whether a drill waits for the start after it.
    pub(super) fn awaits_resume(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.block.is_some())
    }

    /// Resumes that were seen, by the block whose drill they follow. Each is given once.
    pub(super) fn take_resumes(&mut self) -> Vec<(u32, ResumeCheck)> {
        std::mem::take(&mut self.resumes)
    }

    /// Stops everything that was started.
    pub async fn shutdown(mut self) {
        let slurm = self.neighbour.as_ref().and_then(|neighbour| neighbour.slurm.clone());
        if let (Some(slurm), Some((job, _))) = (slurm, self.slurm_job.take()) {
            // A job that Slurm has forgotten needs no end.
            let _ = slurm.cancel(job).await;
        }
        // What the guardian cannot do any more, its end does.
        let _ = self.supervisor.shutdown().await;
    }
}

/// Whether an engine answers that it is ready, or what was said instead.
async fn is_ready(url: &str) -> Result<(), String> {
    match http::get(url, Duration::from_secs(2)).await {
        Ok((status, _)) if (200..300).contains(&status) => Ok(()),
        Ok((status, _)) => Err(format!("status {status}")),
        Err(error) => Err(error.reason),
    }
}

/// The steps among a trainer's events, counted from `zero_ns`; those before it are left out.
pub(super) fn steps(events: &[(u64, TrainerEvent)], zero_ns: u64) -> Vec<StepRecord> {
    events
        .iter()
        .filter_map(|(at_ns, event)| match event {
            TrainerEvent::Step { step, duration_s, loss, tokens } => Some(StepRecord {
                step: *step,
                at_ns: at_ns.checked_sub(zero_ns)?,
                duration_s: *duration_s,
                loss: *loss,
                tokens: *tokens,
            }),
            _ => None,
        })
        .collect()
}

/// The checkpoints among a trainer's events, counted from `zero_ns`.
pub(super) fn checkpoints(events: &[(u64, TrainerEvent)], zero_ns: u64) -> Vec<CheckpointRecord> {
    events
        .iter()
        .filter_map(|(at_ns, event)| match event {
            TrainerEvent::Checkpoint { step, duration_s, bytes } => Some(CheckpointRecord {
                step: step.unwrap_or(0),
                at_ns: at_ns.checked_sub(zero_ns)?,
                duration_s: duration_s.unwrap_or(0.0),
                bytes: *bytes,
            }),
            _ => None,
        })
        .collect()
}
