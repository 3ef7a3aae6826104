//! One session with the two workloads: what `measure` and `try` share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::evidence::{Block, EnforcementAudit, Fingerprint, Pilot, Remedy, ResumeCheck};
use cotenant_core::protocol::{BlockShape, Design, Fit, Tests, schedule};
use cotenant_core::site::{Inference, LatencyMetric, Site, Training, Workload, WorkloadKind};
use cotenant_probe::device::look;
use cotenant_probe::device::smi::DeviceReport;
use cotenant_probe::host::{HostFacts, facts};
use cotenant_probe::load::{Limits, TargetSpec};
use cotenant_probe::measure::{
    self, BlockError, BlockLimits, BurstRules, CapAudits, DeclaredLoad, EngineFacts, HandOver,
    Interrupt, Loads, NeighbourPilot, Places, Progress, Rig, Rules, RunError, Runner, Sink,
    declared_engine, declared_priority, inference_rig, neighbour_rig, target_of,
};
use cotenant_probe::supervisor::{
    AuditedPriorities, GuardianCommand, Priority, SupervisorError, audit_priority,
};
use cotenant_records::evidence::{RunPlan, RunStatus, RunWriter, Store};
use tokio::sync::watch;

use crate::exit::Failure;
use crate::printer::Printer;
use crate::site_file::SiteFile;
use crate::verbs::GUARDIAN;
use crate::verbs::judged::evidence_failure;

/// The option of a run whose drills change hands as a whole.
pub(crate) const HAND_OVER: &str = "hand_over";
/// Version of the load client, for the fingerprint.
const CLIENT: &str = concat!("cotenant ", env!("CARGO_PKG_VERSION"));
/// Rest between blocks.
const SETTLE: Duration = Duration::from_millis(300);
/// Steps of the neighbour before load begins.
const STEPS_BEFORE_LOAD: usize = 3;
/// Load around the kill of an audit: time for so many requests, between these bounds.
const AUDIT_REQUESTS: f64 = 10.0;
const AUDIT_RANGE_S: (f64, f64) = (2.0, 30.0);
/// The tightest objective that is assumed for the client's lateness where none is declared.
const OBJECTIVE_DEFAULT_S: f64 = 0.5;

/// The workloads that a run is about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) inference: (&'a Workload, &'a Inference),
    pub(crate) neighbour: Option<(&'a Workload, &'a Training)>,
}

impl<'a> Subject<'a> {
    /// Finds them in a site, by name or as the first of their kind.
    pub(crate) fn find(
        site: &'a Site,
        inference: Option<&str>,
        neighbour: Option<&str>,
        tests: Tests,
    ) -> Result<Self, Failure> {
        let names = || {
            let names: Vec<&str> = site.workloads.iter().map(|w| w.name.as_str()).collect();
            names.join(", ")
        };
        let found = site.inference().find(|(w, _)| inference.is_none_or(|name| w.name == name));
        let Some(inference) = found else {
            return Err(Failure::input(match inference {
                Some(name) => {
                    format!("no inference workload is called `{name}`; the site has {}", names())
                }
                None => "the site declares no inference workload".to_owned(),
            }));
        };
        let is_neighbour =
            |w: &&Workload| !matches!(w.kind, WorkloadKind::Inference(_)) && (tests.b || tests.c);
        let mut others = site.workloads.iter().filter(is_neighbour);
        let other = others.find(|w| neighbour.is_none_or(|name| w.name == name));
        let neighbour = match (other, neighbour) {
            (None, Some(name)) if tests.b || tests.c => {
                let has = names();
                return Err(Failure::input(format!(
                    "no neighbour is called `{name}`; the site has {has}"
                )));
            }
            (None, _) if tests.b || tests.c => {
                return Err(Failure::input(
                    "tests b and c need a workload beside inference, and the site declares none\n\n\
                     hint: `--tests a` measures inference alone",
                ));
            }
            (None, _) => None,
            (Some(workload), _) => match workload.job() {
                Some(job) => Some((workload, job)),
                None => {
                    return Err(Failure::input(format!(
                        "`{}` is of kind {}, and what it does is not read from a log so far\n\nhint: \
                         name a training or a render workload with --neighbour",
                        workload.name,
                        workload.kind.name()
                    )));
                }
            },
        };
        Ok(Self { inference, neighbour })
    }
}

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

    /// What the test is going to rely on, shown to bind before it does.
    pub(crate) async fn audits(
        &mut self,
        rules: &Rules,
        load: &cotenant_probe::load::Schedule,
        remedy: Option<Remedy>,
    ) -> Result<Vec<EnforcementAudit>, Failure> {
        let mut interrupt = self.interrupt.clone();
        let mut audits = Vec::new();
        if self.rig.supervises_engine() {
            // Killing the neighbour beside a production endpoint is not ours to do.
            let audit = measure::audit_faults(&mut self.rig, rules, load, &mut interrupt)
                .await
                .map_err(block_failure)?;
            if audit.is_none() {
                self.printer.note(
                    "audit of «a fault of the neighbour does not reach inference»: not decided: no \
                     request was in flight or came after it",
                );
            }
            audits.extend(audit);
        }
        let mut priority = declared_priority(&self.file.site);
        if remedy == Some(Remedy::IdlePriority) {
            priority = Priority { nice: None, idle: true };
        }
        if priority != Priority::default() {
            audits.push(self.audit_priority(priority).await?);
        }
        if self.rig.supervises_engine() {
            audits.extend(self.audit_caps().await?);
        } else if self.declares_limits() {
            self.printer.note(
                "audit of the declared limits: not made beside an engine that was not started here, \
                 for it takes CPU, memory and disk of this host; `--tests audit --no-guard WHY` makes it",
            );
        }
        Ok(audits)
    }

    /// Whether the site relies on limits that an audit would meet with a load.
    fn declares_limits(&self) -> bool {
        let sharing = &self.file.site.sharing;
        let of_neighbour =
            self.subject.neighbour.is_some_and(|(w, _)| sharing.caps.contains_key(&w.name));
        of_neighbour || sharing.saturating_load.is_some()
    }

    /// Shows whether what the site declares to hold the neighbour, or to divide a GPU, binds. What
    /// could not be decided is told, and is no audit.
    pub(crate) async fn audit_caps(&mut self) -> Result<Vec<EnforcementAudit>, Failure> {
        let Some((workload, _)) = self.subject.neighbour else { return Ok(Vec::new()) };
        let sharing = &self.file.site.sharing;
        let folder = absolute(&self.file.folder())?;
        let mut found = CapAudits::default();
        if let Some(caps) = sharing.caps.get(&workload.name) {
            let caps = measure::audit_caps(&mut self.rig, caps, &folder);
            found = or_interrupted(&self.interrupt, caps).await?.map_err(Failure::world)?;
        }
        if let Some(load) = &sharing.saturating_load {
            let environments = environments(&self.file.site);
            let mode = &sharing.mode;
            let gpu = measure::audit_gpu_shares(&self.rig, mode, load, &environments, &folder);
            let gpu = or_interrupted(&self.interrupt, gpu).await?;
            found.audits.extend(gpu.audits);
            found.undecided.extend(gpu.undecided);
        }
        for (mechanism, reason) in &found.undecided {
            self.printer.note(&format!("audit of «{mechanism}»: not decided: {reason}"));
        }
        Ok(found.audits)
    }

    /// Shows whether a priority of the neighbour binds.
    pub(crate) async fn audit_priority(
        &self,
        priority: Priority,
    ) -> Result<EnforcementAudit, Failure> {
        let mechanism = if priority.idle {
            Remedy::IdlePriority.name().to_owned()
        } else {
            format!("trainer at nice {}", priority.nice.unwrap_or(0))
        };
        let priorities = AuditedPriorities { neighbour: priority, inference: Priority::default() };
        audit_priority(self.rig.supervisor(), &mechanism, priorities)
            .await
            .map_err(|error: SupervisorError| Failure::world(error))
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

    /// The plan of a run, ready to be written down.
    pub(crate) fn plan(
        &self,
        tests: Tests,
        fit: &Fit,
        piloted: &Piloted,
        remedy: Option<Remedy>,
        checkpoint_share: f64,
    ) -> Result<RunPlan, Failure> {
        let design = Design {
            tests,
            pairs: fit.pairs,
            training_blocks: fit.training_blocks,
            remedy,
            checkpoint_share,
            seed: self.seed,
        };
        let load = self.load(fit.shape)?.tested(fit.pairs).map_err(Failure::input)?;
        let neighbour = self.subject.neighbour.map(|(workload, _)| workload.name.clone());
        let mut options = BTreeMap::new();
        options.insert("tests".to_owned(), tests.letters());
        Ok(RunPlan {
            started: cotenant_probe::clock::wall_clock(),
            origin: cotenant_core::evidence::Origin::Measured,
            inference: self.subject.inference.0.name.clone(),
            neighbour: neighbour.unwrap_or_default(),
            seed: self.seed,
            fingerprint: self.fingerprint(),
            load,
            pilot: piloted.record.clone(),
            remedies: remedy.into_iter().collect(),
            engine_supervised: self.rig.supervises_engine(),
            site_digest: self.file.digest.clone(),
            warm_up_s: fit.shape.warm_up.as_secs_f64(),
            block_s: fit.shape.judged.as_secs_f64(),
            tail_s: fit.shape.tail.as_secs_f64(),
            options,
            schedule: schedule(&design),
        })
    }

    /// Runs what a writer still lacks. `go_on` is asked after each block, with the number of finished
    /// ones.
    pub(crate) async fn run(
        &mut self,
        writer: RunWriter,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<RunStatus, Failure> {
        let loads = self.load(shape_of(writer.plan()))?;
        let course =
            Course { loads: &loads, burst: None, seen: &mut |_| {}, go_on, decided: &|| None };
        self.run_along(writer, course).await
    }

    /// Runs what a writer still lacks, with loads that may follow from the blocks before them.
    pub(crate) async fn run_along(
        &mut self,
        mut writer: RunWriter,
        course: Course<'_>,
    ) -> Result<RunStatus, Failure> {
        let plan = writer.plan().clone();
        let mut rules = self.rules(shape_of(&plan));
        if plan.options.contains_key(HAND_OVER) {
            rules.hand_over = self.hand_over()?;
        }
        let Course { loads, burst, seen, go_on, decided } = course;
        rules.burst = burst;
        let finished = writer.finished().into_iter().collect();
        let work = self.printer.work(plan.schedule.len() as u64);
        let mut sink = Folder { writer: &mut writer, seen };
        let result = Runner {
            rig: &mut self.rig,
            rules: &rules,
            schedule: &plan.schedule,
            finished,
            loads,
            sink: &mut sink,
            progress: &mut |progress| match progress {
                Progress::Begun { plan, finished, left, .. } => {
                    work.step(finished as u64, &doing(&plan), left);
                }
                Progress::Finished { plan, faults } => {
                    for fault in faults {
                        work.say(&format!("  block {}: left out: {fault}", plan.index));
                    }
                }
                Progress::Again { plan, reason } => {
                    work.say(&format!("  block {}: again, because {reason}", plan.index));
                }
            },
            go_on,
            interrupt: self.interrupt.clone(),
        }
        .run()
        .await;
        work.done();
        let now = cotenant_probe::clock::wall_clock();
        let finish = |writer: RunWriter, status| {
            writer.finish(status, now).map_err(|error| evidence_failure(&error))
        };
        match result {
            Ok(()) => {
                finish(writer, RunStatus::Complete)?;
                Ok(RunStatus::Complete)
            }
            Err(RunError::Stopped) => {
                if let Some(reason) = decided() {
                    let ended = writer.finish_decided(&reason, now);
                    ended.map_err(|error| evidence_failure(&error))?;
                    return Ok(RunStatus::Complete);
                }
                finish(writer, RunStatus::Interrupted)?;
                Ok(RunStatus::Interrupted)
            }
            Err(RunError::Interrupted) => {
                finish(writer, RunStatus::Interrupted)?;
                Err(Failure::Interrupted(format!(
                    "interrupted: the finished blocks are kept\n\nhint: `cotenant measure {} \
                     --resume` goes on",
                    self.file.name()
                )))
            }
            Err(error) => {
                finish(writer, RunStatus::Interrupted)?;
                Err(Failure::world_hint(
                    error,
                    format!(
                        "the finished blocks are kept; the workloads' output lies in {}",
                        self.file.folder().join("logs").display()
                    ),
                ))
            }
        }
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

/// How long the neighbour and inference run beside each other in an audit. A closed loop has no rate of
/// its own, and is always busy.
pub(crate) fn audit_length(rate_per_s: Option<f64>) -> Duration {
    let wanted_s = rate_per_s.map_or(0.0, |rate| AUDIT_REQUESTS / rate.max(1e-3));
    Duration::from_secs_f64(wanted_s.clamp(AUDIT_RANGE_S.0, AUDIT_RANGE_S.1))
}

/// How a run goes along: what its blocks are loaded with, and who looks at them.
pub(crate) struct Course<'a> {
    /// The load of each pair.
    pub(crate) loads: &'a dyn Loads,
    /// The burst that is in each of them, if one is.
    pub(crate) burst: Option<BurstRules>,
    /// Shown each block once it is safe on disk.
    pub(crate) seen: &'a mut dyn FnMut(&Block),
    /// Asked after each block, with the number of finished ones, whether to go on.
    pub(crate) go_on: &'a mut dyn FnMut(usize) -> bool,
    /// Why a search that was told not to go on is complete; `None` where it is not.
    pub(crate) decided: &'a dyn Fn() -> Option<String>,
}

/// The lengths inside the blocks of a run.
pub(crate) fn shape_of(plan: &RunPlan) -> BlockShape {
    let seconds = Duration::from_secs_f64;
    BlockShape {
        warm_up: seconds(plan.warm_up_s),
        judged: seconds(plan.block_s),
        tail: seconds(plan.tail_s),
    }
}

/// Writes blocks into a run's folder, and shows them.
struct Folder<'a> {
    writer: &'a mut RunWriter,
    seen: &'a mut dyn FnMut(&Block),
}

impl Sink for Folder<'_> {
    fn block(&mut self, block: &Block) -> Result<(), String> {
        self.writer.write_block(block).map_err(|error| error.to_string())?;
        (self.seen)(block);
        Ok(())
    }

    fn resume(&mut self, index: u32, resume: &ResumeCheck) -> Result<(), String> {
        self.writer.write_resume(index, resume).map_err(|error| error.to_string())
    }
}

/// Begins a run in the evidence folder, with its audits.
pub(crate) fn begin(
    evidence: &Path,
    plan: &RunPlan,
    audits: &[EnforcementAudit],
) -> Result<RunWriter, Failure> {
    let store = Store::open(evidence).map_err(|error| evidence_failure(&error))?;
    let mut writer = store.create_run(plan).map_err(|error| evidence_failure(&error))?;
    for audit in audits {
        writer.add_audit(audit).map_err(|error| evidence_failure(&error))?;
    }
    Ok(writer)
}

/// Runs an asynchronous verb with a switch that Ctrl-C and SIGTERM throw.
pub(crate) fn with_interrupt<T>(
    verb: impl AsyncFnOnce(Interrupt) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::world)?;
    let (throw, interrupt) = watch::channel(false);
    runtime.spawn(async move {
        let terminated = async {
            match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
                Ok(mut signal) => signal.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated => {}
        }
        let _ = throw.send(true);
        // Held until the program ends: a dropped sender would look like a thrown switch.
        std::future::pending::<()>().await;
    });
    runtime.block_on(verb(interrupt))
}

/// Waits for something, unless the user interrupts.
async fn or_interrupted<T>(
    interrupt: &Interrupt,
    wanted: impl Future<Output = T>,
) -> Result<T, Failure> {
    let mut interrupt = interrupt.clone();
    tokio::select! {
        found = wanted => Ok(found),
        _ = interrupt.wait_for(|thrown| *thrown) => Err(Failure::Interrupted("interrupted".into())),
    }
}

/// The variables that each workload is started with: they say which part of a GPU it gets.
fn environments(site: &Site) -> BTreeMap<String, Vec<(String, String)>> {
    let launch = |workload: &Workload| match &workload.kind {
        WorkloadKind::Inference(inference) => inference.launch.clone(),
        _ => workload.job().and_then(|job| job.launch.clone()),
    };
    let variables = |workload| launch(workload).map(|launch| launch.env.into_iter().collect());
    site.workloads
        .iter()
        .map(|workload| (workload.name.clone(), variables(workload).unwrap_or_default()))
        .collect()
}

fn doing(plan: &cotenant_core::evidence::PlannedBlock) -> String {
    use cotenant_core::evidence::Condition;
    if !plan.situation.is_ordinary() {
        return plan.situation.to_string();
    }
    let what = match plan.condition {
        Condition::A => "A: inference alone",
        Condition::B => "B: the neighbour alone",
        Condition::C => "C: both",
    };
    match plan.remedy {
        Some(remedy) => format!("{what}, {}", remedy.name()),
        None => what.to_owned(),
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
