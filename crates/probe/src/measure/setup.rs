//! From what a site declares to the workloads that the runner drives.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::site::{
    self, HostCpu, Inference, LogFormat, NeighbourPriority, SharingMode, Site, Training, Workload,
    WorkloadKind,
};

use crate::load::{Target, TargetError, TargetSpec};
use crate::progress_log::formats::{Format, LogReader};
use crate::progress_log::{ProgressReader, Template, TemplateError, TrainerLog, TrainerPatterns};
use crate::supervisor::{Launch, Priority, Signal};

use super::engine_api::{declared_engine, ready_path};
use super::gpu_memory::GpuReader;
use super::plan::{InferenceRig, NeighbourRig};
use super::slurm::SlurmRig;

/// Patience between the stop signal and SIGKILL where the site declares no notice.
const NOTICE_DEFAULT: Duration = Duration::from_mins(1);

/// Longest wait for the memory of a neighbour whose last process is gone.
const MEMORY_PATIENCE: Duration = Duration::from_secs(10);
/// The driver's own tool, which counts memory in use on the GPUs.
const NVIDIA_SMI: &str = "nvidia-smi";

/// Why a declared workload cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The endpoint.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A template of the trainer's log.
    #[error("`{workload}`: the template of its {what} line cannot be used: {source}")]
    Template {
        /// The workload.
        workload: String,
        /// Which line.
        what: &'static str,
        /// Why.
        source: TemplateError,
    },
    /// Nothing to start.
    #[error("`{0}` declares no `launch`, so it cannot be started and stopped")]
    NoLaunch(String),
    /// No pattern to read progress with.
    #[error(
        "`{0}` declares no `log`, so its steps cannot be seen: declare `log: {{ format: auto }}`, or \
         a template such as `log: {{ step: \"step={{step}} loss={{loss}}\" }}`"
    )]
    NoLog(String),
}

/// Where the workloads run and write.
#[derive(Clone, Debug)]
pub struct Places {
    /// The site file's folder: relative paths start there.
    pub folder: PathBuf,
    /// Folder of the workloads' logs.
    pub logs: PathBuf,
}

/// Prepares inference. `model` is the name that the server gave, where the site names none.
///
/// # Errors
/// The endpoint cannot be used.
pub fn inference_rig(
    site: &Site,
    workload: &Workload,
    inference: &Inference,
    places: &Places,
    spec: impl FnOnce(TargetSpec) -> TargetSpec,
) -> Result<InferenceRig, SetupError> {
    let model = workload.model.as_ref().map(|model| model.name.clone()).unwrap_or_default();
    let target = Target::new(spec(TargetSpec::new(&inference.endpoint, model)))?;
    let ready = inference.launch.as_ref().map(|launch| launch.ready.clone()).unwrap_or_default();
    let ready_path = ready_path(declared_engine(inference), &ready);
    let launch = inference
        .launch
        .as_ref()
        .map(|declared| launch(site, &workload.name, declared, Priority::default(), places));
    Ok(InferenceRig {
        name: workload.name.clone(),
        launch,
        ready_url: format!("{}{ready_path}", inference.endpoint),
        ready_within: ready.time_limit,
        target,
        metrics_url: inference.metrics_endpoint.clone(),
    })
}

/// Prepares a neighbour that gets on in steps: training, or a renderer, whose steps are frames.
///
/// # Errors
/// It cannot be started, or its log cannot be read.
pub fn neighbour_rig(
    site: &Site,
    workload: &Workload,
    training: &Training,
    places: &Places,
) -> Result<NeighbourRig, SetupError> {
    let preemption = training.preemption.as_ref();
    let slurm = preemption.and_then(|preemption| preemption.slurm.as_ref());
    let (launch, ready) = match (&training.launch, slurm) {
        (Some(declared), _) => (
            launch(site, &workload.name, declared, declared_priority(site), places),
            declared.ready.clone(),
        ),
        // Slurm starts it; what is launched here only reads its output.
        (None, Some(_)) => {
            (Launch { name: workload.name.clone(), ..Launch::default() }, site::Ready::default())
        }
        (None, None) => return Err(SetupError::NoLaunch(workload.name.clone())),
    };
    Ok(NeighbourRig {
        name: workload.name.clone(),
        launch,
        idle: Priority { nice: None, idle: true },
        ready_within: ready.time_limit,
        log: progress_reader(workload, training)?,
        // A job of Slurm's is not signalled here: what runs here only reads its output.
        checkpoint_signal: training
            .checkpoint
            .as_ref()
            .filter(|_| slurm.is_none())
            .and_then(|checkpoint| checkpoint.signal)
            .and_then(signal),
        stop_signal: preemption
            .and_then(|preemption| preemption.signal)
            .map_or(Signal::Terminate, stop_signal),
        notice: preemption.and_then(|preemption| preemption.notice).unwrap_or(NOTICE_DEFAULT),
        saves_each_step: matches!(workload.kind, WorkloadKind::Render(_)),
        slurm: slurm.map(|job| SlurmRig {
            submit: job.submit.clone(),
            output: job.output.clone(),
            folder: places.folder.clone(),
        }),
        memory_patience: MEMORY_PATIENCE,
        gpu: (site.gpu_count() > 0).then(|| GpuReader { program: NVIDIA_SMI.into() }),
    })
}

/// The priority of the neighbour that the site declares.
pub fn declared_priority(site: &Site) -> Priority {
    match &site.sharing.mode {
        SharingMode::HostCpu(HostCpu { neighbour_priority, .. }) => match neighbour_priority {
            NeighbourPriority::Normal => Priority::default(),
            NeighbourPriority::Idle => Priority { nice: None, idle: true },
            NeighbourPriority::Nice(nice) => Priority { nice: Some(i32::from(*nice)), idle: false },
        },
        _ => Priority::default(),
    }
}

fn launch(
    site: &Site,
    name: &str,
    declared: &site::Launch,
    priority: Priority,
    places: &Places,
) -> Launch {
    let affinity = match &site.sharing.mode {
        SharingMode::HostCpu(host) => {
            host.affinity.get(name).map(|cores| cores.iter().map(|core| *core as usize).collect())
        }
        _ => None,
    };
    let cwd =
        declared.cwd.as_ref().map_or_else(|| places.folder.clone(), |c| places.folder.join(c));
    Launch {
        name: name.to_owned(),
        argv: declared.argv.clone(),
        cwd: Some(cwd),
        env: declared.env.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        priority,
        affinity,
        log: Some(places.logs.join(format!("{name}.log"))),
    }
}

fn progress_reader(workload: &Workload, training: &Training) -> Result<ProgressReader, SetupError> {
    let name = || workload.name.clone();
    let parse = |what: &'static str, text: &str| {
        Template::parse(text).map_err(|source| SetupError::Template {
            workload: name(),
            what,
            source,
        })
    };
    let log = training.log.as_ref().ok_or_else(|| SetupError::NoLog(name()))?;
    let checkpoint = log.checkpoint.as_ref().map(|t| parse("checkpoint", t)).transpose()?;
    let resumed = log.resumed.as_ref().map(|text| parse("resumed", text)).transpose()?;
    let mut patterns = match &log.format {
        LogFormat::Named(producer) => {
            let reader = Format::of_site(*producer).map_or_else(LogReader::auto, LogReader::new);
            return Ok(ProgressReader::Known { reader: Box::new(reader), checkpoint, resumed });
        }
        LogFormat::Cotenant => TrainerPatterns::embedded()
            .map_err(|source| SetupError::Template { workload: name(), what: "step", source })?,
        LogFormat::Template(text) => TrainerPatterns {
            step: parse("step", text)?,
            checkpoint: None,
            resumed: None,
            stopping: None,
        },
    };
    patterns.checkpoint = checkpoint.or(patterns.checkpoint);
    patterns.resumed = resumed.or(patterns.resumed);
    Ok(ProgressReader::Templates(TrainerLog::new(patterns)))
}

fn signal(declared: site::Signal) -> Option<Signal> {
    Some(match declared {
        site::Signal::Term => Signal::Terminate,
        site::Signal::Int => Signal::Interrupt,
        site::Signal::Hup => Signal::Hangup,
        site::Signal::Usr1 => Signal::User1,
        site::Signal::Usr2 => Signal::User2,
        site::Signal::Kill => Signal::Kill,
        // A trainer that dumps core on it is not asked for a checkpoint with it.
        site::Signal::Quit => return None,
    })
}

/// The signal that a stop is announced with.
fn stop_signal(declared: site::Signal) -> Signal {
    match declared {
        site::Signal::Quit => Signal::Quit,
        other => signal(other).unwrap_or(Signal::Terminate),
    }
}

/// Makes the folder of the logs.
///
/// # Errors
/// The system's.
pub fn make_logs(logs: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(logs)
}
