//! One session with the two workloads: what `measure` and `try` share.

mod audits;
mod course;
mod interrupt;
mod subject;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::evidence::{EnforcementAudit, Fingerprint, Pilot, Remedy};
use cotenant_core::protocol::BlockShape;
use cotenant_core::site::LatencyMetric;
use cotenant_probe::device::look;
use cotenant_probe::device::smi::DeviceReport;
use cotenant_probe::host::{HostFacts, facts};
use cotenant_probe::load::{Limits, TargetSpec};
use cotenant_probe::measure::{
    self, BlockError, BlockLimits, DeclaredLoad, EngineFacts, HandOver, Interrupt, NeighbourPilot,
    Places, Rig, Rules, declared_engine, inference_rig, neighbour_rig, target_of,
};
use cotenant_probe::supervisor::GuardianCommand;

use crate::exit::Failure;
use crate::printer::Printer;
use crate::site_file::SiteFile;
use crate::verbs::GUARDIAN;

pub(crate) use audits::audit_length;
pub(crate) use course::{Course, begin, shape_of};
pub(crate) use interrupt::with_interrupt;
pub(crate) use subject::Subject;

/// The option of a run whose drills change hands as a whole.
pub(crate) const HAND_OVER: &str = "hand_over";
/// Version of the load client, for the fingerprint.
const CLIENT: &str = concat!("cotenant ", env!("CARGO_PKG_VERSION"));
/// Rest between blocks.
const SETTLE: Duration = Duration::from_millis(300);
/// Steps of the neighbour before load begins.
const STEPS_BEFORE_LOAD: usize = 3;
/// The tightest objective that is assumed for the client's lateness where none is declared.
const OBJECTIVE_DEFAULT_S: f64 = 0.5;

/// What the pilot gave.
pub(crate) struct Piloted {
    pub(crate) record: Pilot,
    pub(crate) warm_up: Duration,
    pub(crate) audits: Vec<EnforcementAudit>,
    /// Whole request alone, 95th percentile, seconds.
    pub(crate) e2e_p95_s: Option<f64>,
}

/// A session.
pub(crate) struct Session<'a> {
    pub(crate) file: &'a SiteFile,
    pub(crate) subject: Subject<'a>,
    pub(crate) printer: Printer,
    pub(crate) host: HostFacts,
    /// The GPUs, where there are any.
    devices: Option<DeviceReport>,
    pub(crate) rig: Rig,
    pub(crate) interrupt: Interrupt,
    pub(crate) seed: u64,
    engine: EngineFacts,
}

impl<'a> Session<'a> {
    /// Starts the guardian; no workload runs yet.
    pub(crate) fn open(
        file: &'a SiteFile,
        subject: Subject<'a>,
        seed: u64,
        interrupt: Interrupt,
        printer: Printer,
    ) -> Result<Self, Failure> {
        let places = Places { folder: absolute(&file.folder())?, logs: file.folder().join("logs") };
        measure::make_logs(&places.logs).map_err(|error| {
            Failure::world(format!("cannot make {}: {error}", places.logs.display()))
        })?;
        let places = Places { logs: absolute(&places.logs)?, ..places };
        let (workload, inference) = subject.inference;
        // A trace that cannot be read is told before anything is started.
        let any = BlockShape {
            warm_up: Duration::ZERO,
            judged: Duration::from_secs(1),
            tail: Duration::ZERO,
        };
        DeclaredLoad::new(workload, inference, &file.folder(), any, seed)
            .map_err(Failure::input)?;
        let spec = |spec: TargetSpec| target_of(declared_engine(inference), spec);
        let engine = inference_rig(&file.site, workload, inference, &places, spec)
            .map_err(Failure::input)?;
        let neighbour = match subject.neighbour {
            Some((workload, training)) => Some(
                neighbour_rig(&file.site, workload, training, &places).map_err(Failure::input)?,
            ),
            None => None,
        };
        let guardian = GuardianCommand::this_program(GUARDIAN);
        let mut rig = Rig::new(guardian, Some(engine), neighbour).map_err(Failure::world)?;
        let host = facts();
        if let Ok(cores) = &host.cores_usable {
            let tested = subject.neighbour.map(|(workload, _)| workload);
            rig.set_notes(measure::thread_notes(tested.into_iter().chain([workload]), cores));
        }
        Ok(Self {
            file,
            subject,
            printer,
            host,
            devices: look().ok(),
            rig,
            interrupt,
            seed,
            engine: EngineFacts::default(),
        })
    }

    /// Makes sure that the engine answers, and learns what it is.
    pub(crate) async fn engine_up(&mut self) -> Result<(), Failure> {
        let mut interrupt = self.interrupt.clone();
        tokio::select! {
            up = self.rig.engine_up() => { up.map_err(Failure::world)?; }
            _ = interrupt.wait_for(|thrown| *thrown) => {
                return Err(Failure::Interrupted("interrupted before any block began".into()));
            }
        }
        let (workload, inference) = self.subject.inference;
        self.engine = measure::engine_facts(&inference.endpoint).await;
        self.rig.set_engine(&self.engine);
        for surprise in self.engine.surprises(inference) {
            self.printer.note(&format!("note: {surprise}"));
        }
        let model = self.engine.model.clone().filter(|_| workload.model.is_none());
        let seen = self.engine.engine.filter(|_| inference.runtime.is_none());
        let change = |mut spec: TargetSpec| {
            if let Some(model) = model {
                spec.model = model;
            }
            if seen.is_some() { target_of(seen, spec) } else { spec }
        };
        self.rig.retarget(change).map_err(Failure::input)
    }

    /// Rules with this shape.
    pub(crate) fn rules(&self, shape: BlockShape) -> Rules {
        let (workload, inference) = self.subject.inference;
        let classes = workload.classes.iter().filter_map(|class| class.objectives.as_ref());
        // A late send moves a time to first token by as much; a late read moves a gap between
        // tokens by about half of what one send in a hundred is late.
        let tightest_s = classes
            .chain([&inference.objectives])
            .flat_map(cotenant_core::site::InferenceObjectives::latency)
            .map(|objective| {
                let target_s = objective.target.as_secs_f64();
                match objective.metric {
                    LatencyMetric::Ttft | LatencyMetric::E2e => target_s,
                    LatencyMetric::Itl | LatencyMetric::Tpot => 2.0 * target_s,
                }
            })
            .fold(f64::INFINITY, f64::min);
        let tightest_s = if tightest_s.is_finite() { tightest_s } else { OBJECTIVE_DEFAULT_S };
        let cores = self.host.cores_usable.as_ref().map_or(1.0, |cores| f64::from(cores.count));
        Rules {
            shape,
            limits: BlockLimits::new(cores, tightest_s),
            request_limits: Limits { connections_warm: 4, ..Limits::default() },
            settle: SETTLE,
            steps_before_load: STEPS_BEFORE_LOAD,
            guard: inference.guard.clone().filter(cotenant_core::site::Guard::bounds_something),
            hand_over: None,
            burst: None,
        }
    }

    /// The declared load with this shape.
    pub(crate) fn load(&self, shape: BlockShape) -> Result<DeclaredLoad, Failure> {
        let (workload, inference) = self.subject.inference;
        DeclaredLoad::new(workload, inference, &self.file.folder(), shape, self.seed)
            .map_err(Failure::input)
    }

    /// The pilot: inference alone, then the neighbour beside an idle engine, then the audits.
    pub(crate) async fn pilot(
        &mut self,
        alone: Duration,
        neighbour: Duration,
        remedy: Option<Remedy>,
    ) -> Result<Piloted, Failure> {
        let shape = BlockShape { warm_up: Duration::ZERO, judged: alone, tail: Duration::ZERO };
        let rules = self.rules(shape);
        let load = self.load(shape)?;
        let pair = |number: u32, length: Duration| {
            load.schedule_of(number, length).map_err(Failure::input)
        };
        // Numbers far from those of the test's own pairs: the pilot must not rehearse them.
        let first = pair(u32::MAX, alone)?;
        let mut interrupt = self.interrupt.clone();
        let inference = measure::pilot_inference(&mut self.rig, &rules, &first, &mut interrupt)
            .await
            .map_err(block_failure)?;
        let mut audits = Vec::new();
        let mut seen = NeighbourPilot::default();
        if self.subject.neighbour.is_some() {
            seen = measure::pilot_neighbour(&mut self.rig, &rules, neighbour, &mut interrupt)
                .await
                .map_err(block_failure)?;
            let length = audit_length(load.rate_per_s());
            audits = self.audits(&rules, &pair(u32::MAX - 1, length)?, remedy).await?;
        }
        let record = measure::pilot_record(Some(&inference), &seen);
        Ok(Piloted { record, warm_up: inference.warm_up, audits, e2e_p95_s: inference.e2e_p95_s })
    }

    /// The stack under test.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let (workload, inference) = self.subject.inference;
        measure::fingerprint(
            &self.file.site,
            &self.host,
            self.devices.as_ref(),
            Some((workload, inference, &self.engine)),
            self.subject.neighbour,
            CLIENT,
        )
    }

    /// What changes hands in a drill beside the neighbour.
    pub(crate) fn hand_over(&self) -> Result<Option<HandOver>, Failure> {
        let (_, inference) = self.subject.inference;
        let transition = self.file.site.operations.transition.as_ref();
        Ok(measure::hand_over(inference, transition, &absolute(&self.file.folder())?))
    }

    /// Stops everything that was started.
    pub(crate) async fn close(self) {
        self.rig.shutdown().await;
    }
}

pub(crate) fn block_failure(error: BlockError) -> Failure {
    match error {
        BlockError::Interrupted => Failure::Interrupted("interrupted".into()),
        other => Failure::world(other),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::world(format!("cannot find {}: {error}", path.display())))
}
