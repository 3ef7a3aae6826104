//! Stressors in the rig: calibrated before the test, up and down with their blocks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cotenant_core::evidence::{Stress, StressRecord, Stressor};
use cotenant_core::stats::quantile;

use crate::clock::monotonic_ns;
use crate::stress::{StressLine, StressSettings, unit};
use crate::supervisor::{Launch, Workload};

use super::block::{BlockError, Interrupt, sleep_until};
use super::desk::Watched;
use super::rig::{Rig, RigError};

/// Longest wait until a stressor works: its buffers are filled before.
const READY_PATIENCE: Duration = Duration::from_mins(1);
/// Patience with a stressor of a GPU, which waits for its launches and gives the GPU back.
const GPU_GRACE: Duration = Duration::from_secs(3);
/// Longest life of a stressor, seconds: longer than any block.
const SECONDS_MAX: u64 = 3600;
/// Most threads of a stressor that is no CPU stressor: memory and network are full before.
const THREADS_MAX: u32 = 32;
/// Most threads that read a file: more wait for its lock on the page tree.
const READERS_MAX: u32 = 4;

/// What stressors of a rig may use, and what their resources gave.
#[derive(Clone, Debug, PartialEq)]
pub struct StressKit {
    /// Folder whose file system is written to and cached.
    pub folder: PathBuf,
    /// Cores that a stressor may use.
    pub cores: u32,
    /// Most memory of a stressor, bytes.
    pub memory_bytes_max: u64,
    /// Most bytes on disk at a time.
    pub disk_bytes_max: u64,
    /// What each resource gave when it was calibrated, in the unit of its stressor.
    pub calibrated: BTreeMap<Stressor, f64>,
}

impl StressKit {
    fn settings(&self, stressor: Stressor, rate: Option<f64>) -> StressSettings {
        let cores = self.cores.max(1);
        let threads = match stressor {
            Stressor::Cpu => cores,
            Stressor::DiskSync => 1,
            Stressor::PageCache => cores.min(READERS_MAX),
            // A sender and a receiver are one pair.
            Stressor::Network => cores.div_ceil(2).min(THREADS_MAX),
            Stressor::MemoryBandwidth | Stressor::GpuCompute | Stressor::GpuMemory => {
                cores.min(THREADS_MAX)
            }
        };
        StressSettings {
            stressor: stressor.key().to_owned(),
            rate,
            threads,
            folder: self.folder.clone(),
            memory_bytes_max: self.memory_bytes_max,
            disk_bytes_max: self.disk_bytes_max,
            seconds_max: SECONDS_MAX,
        }
    }

    /// The rate that a dose asks for: its share of what the resource gave, and at the largest dose
    /// as much as goes.
    fn rate(&self, stress: Stress) -> Option<f64> {
        let all = self.calibrated.get(&stress.stressor)?;
        (stress.dose < Stress::DOSE_MAX).then(|| all * stress.share())
    }
}

/// A stressor that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningStress {
    pub(super) workload: Workload,
    stress: Stress,
}

impl Rig {
    /// Lets blocks under stress be run.
    pub fn set_stress(&mut self, kit: StressKit) {
        self.stress_kit = Some(kit);
    }

    /// Starts a stressor and waits until it has told that it works. At dose 0 nothing runs.
    pub(super) async fn stress_up(&mut self, stress: Stress) -> Result<(), RigError> {
        if stress.dose == 0 {
            return Ok(());
        }
        let rate = self.stress_kit.as_ref().and_then(|kit| kit.rate(stress));
        self.start_stress(stress, rate).await
    }

    async fn start_stress(&mut self, stress: Stress, rate: Option<f64>) -> Result<(), RigError> {
        let name = format!("stressor of {}", stress.stressor.name());
        let Some(kit) = &self.stress_kit else {
            return Err(RigError::NotReady {
                name,
                patience: Duration::ZERO,
                what: "its calibration".to_owned(),
                last_words: "nothing was started".to_owned(),
            });
        };
        let mut launch = self.supervisor.stressor(&name, &kit.settings(stress.stressor, rate))?;
        // What the site enforces on the neighbour is enforced on what stands in for it.
        if let Some(neighbour) = &self.neighbour {
            launch.priority = neighbour.launch.priority;
            launch.affinity.clone_from(&neighbour.launch.affinity);
        }
        // The same GPUs, and the same part of each, as the neighbour; else those of inference.
        let neighbours = self.neighbour.as_ref().map(|neighbour| &neighbour.launch);
        let engines = self.inference.as_ref().and_then(|inference| inference.launch.as_ref());
        launch.env.extend(gpu_variables(neighbours.or(engines)));
        let workload = self.supervisor.start(launch).await?;
        self.stressing = Some(RunningStress { workload, stress });
        let ready = self.desk.wait(workload.id, READY_PATIENCE, |watched| {
            let ended = watched.exit.is_some();
            // A rate of nothing is told while buffers are being filled.
            let works = watched.stress_rates.iter().any(|(_, rate)| *rate > 0.0);
            (ended || works).then_some(ended)
        });
        match ready.await {
            Some(false) => Ok(()),
            Some(true) => Err(self.stress_ended(workload.id)),
            None => Err(RigError::NotReady {
                name,
                patience: READY_PATIENCE,
                what: "a rate above nothing".to_owned(),
                last_words: self.desk.look(workload.id, Watched::last_words),
            }),
        }
    }

    fn stress_ended(&mut self, id: u32) -> RigError {
        let stressing = self.stressing.take();
        let name = stressing.map_or("resource", |running| running.stress.stressor.name());
        self.desk.look(id, |watched| RigError::Ended {
            name: format!("stressor of {name}"),
            exit: watched.exit.map(|(_, exit)| exit),
            last_words: watched.last_words(),
        })
    }

    /// Why the stressor that should run does not, if it does not.
    pub(super) fn stress_fault(&mut self) -> Option<String> {
        let id = self.stressing?.workload.id;
        let ended = self.desk.look(id, |watched| watched.exit.is_some());
        ended.then(|| self.stress_ended(id).to_string())
    }

    /// Ends the stressor, if one runs, and gives what it reached since the block's start.
    pub(super) async fn stress_down(
        &mut self,
        zero_ns: u64,
    ) -> Result<Option<StressRecord>, RigError> {
        let Some(running) = self.stressing.take() else { return Ok(None) };
        let id = running.workload.id;
        if self.desk.look(id, |watched| watched.exit.is_none()) {
            // A kernel that is cut off may harm who shares the GPU.
            let needs_gpu = running.stress.stressor.needs_gpu();
            let grace = if needs_gpu { GPU_GRACE } else { Duration::ZERO };
            self.supervisor.stop(id, grace).await?;
        }
        let stressor = running.stress.stressor;
        let kit = self.stress_kit.as_ref();
        let record = self.desk.look(id, |watched| StressRecord {
            unit: unit(stressor).to_owned(),
            calibrated: kit
                .and_then(|kit| kit.calibrated.get(&stressor).copied())
                .unwrap_or(f64::NAN),
            asked: kit.and_then(|kit| kit.rate(running.stress)),
            reached: watched
                .stress_rates
                .iter()
                .filter_map(|(at_ns, rate)| Some((at_ns.checked_sub(zero_ns)?, *rate)))
                .collect(),
            remarks: watched.stress_notes.clone(),
        });
        Ok(Some(record))
    }
}

/// The variables of a launch that say which part of a GPU it gets.
fn gpu_variables(launch: Option<&Launch>) -> Vec<(String, String)> {
    let of_gpus =
        |(name, _): &&(String, String)| name.starts_with("CUDA_") || name.starts_with("NVIDIA_");
    launch.map_or_else(Vec::new, |launch| launch.env.iter().filter(of_gpus).cloned().collect())
}

impl Watched {
    /// Takes in what a stressor told.
    pub(super) fn receive_stress(&mut self, line: StressLine) {
        match line {
            StressLine::Note(note) => self.stress_notes.push(note),
            StressLine::Rate { at_ns, rate } => self.stress_rates.push((at_ns, rate)),
        }
    }
}

/// What a resource gives: a stressor runs for a while with nothing but an idle engine beside it, and
/// the median of its rates is taken, so that one slow interval does not shrink every dose.
///
/// # Errors
/// The stressor cannot be run, by its own words.
pub async fn calibrate(
    rig: &mut Rig,
    stressor: Stressor,
    length: Duration,
    interrupt: &mut Interrupt,
) -> Result<f64, BlockError> {
    let began_ns = monotonic_ns();
    let all = Stress { stressor, dose: Stress::DOSE_MAX };
    let run = async {
        tokio::select! {
            up = rig.start_stress(all, None) => up?,
            _ = interrupt.wait_for(|thrown| *thrown) => return Err(BlockError::Interrupted),
        }
        sleep_until(monotonic_ns() + length.as_nanos() as u64, interrupt).await?;
        match rig.stress_fault() {
            Some(fault) => Err(BlockError::Stressor(fault)),
            None => Ok(()),
        }
    };
    let ran = run.await;
    let record = rig.stress_down(began_ns).await?;
    ran?;
    let rates: Vec<f64> =
        record.iter().flat_map(|record| &record.reached).map(|(_, rate)| *rate).collect();
    match quantile(&rates, 0.5) {
        Ok(rate) if rate > 0.0 => Ok(rate),
        _ => Err(BlockError::Stressor(format!(
            "the stressor of {} reached nothing in {length:?}",
            stressor.name()
        ))),
    }
}
