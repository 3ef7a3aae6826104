//! One block, from the rest before it to the drill that ends it.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cotenant_core::evidence::{
    Block, BlockFault, ClientHealth, Condition, Disturbance, HandChange, HostSample, Observed,
    Phase, PlannedBlock, Reading, ReclaimDrill, Situation,
};
use cotenant_core::guard::Trip;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock::monotonic_ns;
use crate::engine_metrics::Quantity;
use crate::host::{SampledWorkload, Sampler};
use crate::load::{Cancel, Live, LoadResult, Schedule, run_on_thread_watched};

use super::burst;
use super::engine_watch::{EngineSeen, scrape, watch_engine};
use super::fault;
use super::first_token::{ask_for_token, first_token_after};
use super::gpu_watch::{GpusSeen, Tenants, watch_gpus};
use super::guard::Watch;
use super::hand_over::{self, HandOver};
use super::plan::Rules;
use super::rig::{Rig, RigError, checkpoints, steps};

/// Pause between two readings of the host.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// How long before the stop the last reading of a block is taken.
const LAST_LOOK: Duration = Duration::from_millis(60);
/// Pause between two looks at whether the engine is idle.
const IDLE_PAUSE: Duration = Duration::from_millis(250);
/// Longest rest for an engine that still works on old requests.
const IDLE_PATIENCE: Duration = Duration::from_secs(30);

/// Load that goes on after a drill.
const AFTER_DRILL: Duration = Duration::from_secs(1);

/// Why a block did not finish.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A workload.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A stressor ended, or used nothing.
    #[error("{0}")]
    Stressor(String),
    /// The load client could not work.
    #[error("the load client failed: {0}")]
    Client(String),
}

/// A switch that the user throws with Ctrl-C.
pub type Interrupt = watch::Receiver<bool>;

/// Runs one block.
pub(super) async fn run_block(
    rig: &mut Rig,
    rules: &Rules,
    plan: PlannedBlock,
    load: Option<&Schedule>,
    interrupt: &mut Interrupt,
) -> Result<Block, BlockError> {
    tokio::select! {
        prepared = prepare(rig, rules, plan) => prepared?,
        _ = interrupt.wait_for(|thrown| *thrown) => return Err(BlockError::Interrupted),
    }
    let started = crate::clock::wall_clock();
    let zero = Instant::now();
    let zero_ns = monotonic_ns();
    let judged_from_ns = rules.shape.warm_up.as_nanos() as u64;
    let judged_until_ns = (rules.shape.warm_up + rules.shape.judged).as_nanos() as u64;
    let watchers = Watchers::start(rig, zero_ns, judged_from_ns..judged_until_ns);
    let neighbour = rig.running.filter(|_| plan.condition == Condition::C);
    let burst = rules.burst.as_ref().filter(|_| plan.situation == Situation::Burst);
    // In a burst the neighbour yields as it would in production, and the run goes on.
    let guard = rules.guard.as_ref().filter(|_| neighbour.is_some() && burst.is_none());
    let watch = guard.map(|guard| Watch::new(guard, zero_ns));
    let burst = burst.map(|burst| (burst, Watch::new(&burst.bounds, zero_ns)));
    let client = match load.filter(|_| plan.condition != Condition::B) {
        Some(schedule) => {
            let live = watch.as_ref().or(burst.as_ref().map(|(_, watch)| watch)).map(Watch::live);
            Some(Client::start_watched(rig, rules, schedule, zero, live)?)
        }
        None => None,
    };
    let driven = tokio::select! {
        biased;
        trip = tripped(watch.as_ref()) => Err(trip),
        outcome = async {
            match &burst {
                Some((burst, watch)) => {
                    burst::drive(rig, rules, (burst, watch), plan, zero_ns, interrupt).await
                }
                None => live_through(rig, rules, plan, zero_ns, interrupt).await,
            }
        } => Ok(outcome),
    };
    let mut outcome = match (driven, neighbour) {
        (Err(trip), Some(neighbour)) => {
            // A block may have started it anew.
            let neighbour = rig.running.unwrap_or(neighbour);
            rig.stop_at_once(neighbour).await;
            // The load on an endpoint that others use ends with the test.
            if let Some(client) = &client {
                client.cancel.cancel();
            }
            Ok(Driven::guarded(rig, neighbour.workload.id, zero_ns, judged_from_ns, trip))
        }
        (Err(_), None) => Err(BlockError::Interrupted),
        (Ok(outcome), _) => outcome,
    };
    // A drill is over when the machine has changed hands, however much load was planned.
    let over = outcome.is_err() || plan.situation == Situation::Drill;
    if let Some(client) = client.as_ref().filter(|_| over) {
        client.cancel.cancel();
    }
    let result = match client {
        Some(client) => Some(client.finish().await?),
        None => None,
    };
    // Not before: the last requests must be answered under the same stress as the first.
    if let Ok(driven) = &mut outcome {
        driven.incomplete = driven.incomplete.take().or_else(|| rig.stress_fault());
    }
    let stress = rig.stress_down(zero_ns).await;
    let seen = watchers.finish().await;
    let mut driven = outcome?;
    if let (Some((burst, _)), Some(disturbance)) = (&burst, &mut driven.disturbance) {
        let requests = result.as_ref().map_or(&[][..], |result| &result.requests);
        burst::see_recovery(&burst.bounds, requests, disturbance);
    }
    if matches!(plan.situation, Situation::Drill | Situation::Burst) {
        see_first_token(rig, rules, load, zero_ns, &mut driven, result.as_ref()).await?;
    }
    let ended_ns = monotonic_ns() - zero_ns;
    let mut block = assemble(rules, plan, started, ended_ns, driven, result, seen);
    block.observed.stress = stress?;
    block.remarks.extend(rig.notes.iter().cloned());
    Ok(block)
}

/// Brings the workloads into the state that the condition names.
async fn prepare(rig: &mut Rig, rules: &Rules, plan: PlannedBlock) -> Result<(), BlockError> {
    if rig.running.is_some() {
        // Left over from a block that did not finish.
        rig.neighbour_down(monotonic_ns(), None).await?;
    }
    rig.stress_down(monotonic_ns()).await?;
    match plan.condition {
        Condition::A | Condition::C => {
            rig.engine_up().await?;
            engine_idle(rig).await;
        }
        Condition::B => rig.engine_down().await?,
    }
    if let Some(hand_over) = hand_over(rules, plan) {
        // The neighbour starts under load, once the engine is out of its way.
        rig.wake_if_asleep(hand_over).await;
    } else if plan.condition != Condition::A {
        rig.neighbour_up(plan.remedy, rules.steps_before_load).await?;
    }
    if let Situation::Stressed(stress) = plan.situation {
        rig.stress_up(stress).await?;
    }
    tokio::time::sleep(rules.settle).await;
    Ok(())
}

/// Waits until the engine has nothing left to do, as far as its metrics tell.
async fn engine_idle(rig: &Rig) {
    let Some(url) = rig.inference.as_ref().and_then(|rig| rig.metrics_url.clone()) else { return };
    let deadline = Instant::now() + IDLE_PATIENCE;
    while Instant::now() < deadline {
        let waiting = scrape(&url).await.and_then(|metrics| metrics.gauge(Quantity::Waiting));
        match waiting {
            Some(waiting) if waiting > 0.0 => tokio::time::sleep(IDLE_PAUSE).await,
            _ => return,
        }
    }
}

/// What driving a block gave.
pub(super) struct Driven {
    pub(super) judged_from_ns: u64,
    pub(super) judged_until_ns: u64,
    pub(super) steps: Vec<cotenant_core::evidence::StepRecord>,
    pub(super) checkpoints: Vec<cotenant_core::evidence::CheckpointRecord>,
    pub(super) drill: Option<ReclaimDrill>,
    pub(super) disturbance: Option<Disturbance>,
    pub(super) changes: Vec<HandChange>,
    pub(super) incomplete: Option<String>,
    pub(super) guarded: Option<Trip>,
}

impl Driven {
    /// A block of which nothing but its judged interval is known.
    pub(super) fn new(judged_from_ns: u64, judged_until_ns: u64) -> Self {
        Self {
            judged_from_ns,
            judged_until_ns,
            steps: Vec::new(),
            checkpoints: Vec::new(),
            drill: None,
            disturbance: None,
            changes: Vec::new(),
            incomplete: None,
            guarded: None,
        }
    }

    /// What is left of a block that the guard ended.
    fn guarded(rig: &Rig, id: u32, zero_ns: u64, judged_from_ns: u64, trip: Trip) -> Self {
        let (steps, checkpoints) = rig.desk.look(id, |watched| {
            (steps(&watched.events, zero_ns), checkpoints(&watched.events, zero_ns))
        });
        let now_ns = monotonic_ns().saturating_sub(zero_ns);
        Self {
            steps,
            checkpoints,
            guarded: Some(trip),
            ..Self::new(judged_from_ns, now_ns.max(judged_from_ns))
        }
    }
}

/// Returns when the guard trips; without one never.
async fn tripped(watch: Option<&Watch>) -> Trip {
    match watch {
        Some(watch) => watch.trip().await,
        None => std::future::pending().await,
    }
}

/// Lives through a block: one in which everything changes hands, or any other.
async fn live_through(
    rig: &mut Rig,
    rules: &Rules,
    plan: PlannedBlock,
    zero_ns: u64,
    interrupt: &mut Interrupt,
) -> Result<Driven, BlockError> {
    let driven = match hand_over(rules, plan) {
        Some(change) => hand_over::drive(rig, rules, change, plan, zero_ns, interrupt).await?,
        None => drive(rig, rules, plan, zero_ns, interrupt).await?,
    };
    if plan.situation == Situation::Drill {
        sleep_until(monotonic_ns() + AFTER_DRILL.as_nanos() as u64, interrupt).await?;
    }
    Ok(driven)
}

/// What changes hands in a block beside the neighbour, if anything does.
fn hand_over(rules: &Rules, plan: PlannedBlock) -> Option<&HandOver> {
    rules.hand_over.as_ref().filter(|_| plan.situation == Situation::Drill)
}

/// Lives through the block: waits for the judged interval to end, asks for the checkpoint that the
/// plan wants, and tells the neighbour to stop while the load goes on.
async fn drive(
    rig: &mut Rig,
    rules: &Rules,
    plan: PlannedBlock,
    zero_ns: u64,
    interrupt: &mut Interrupt,
) -> Result<Driven, BlockError> {
    let shape = rules.shape;
    let at = |time: Duration| zero_ns + time.as_nanos() as u64;
    let judged_until = shape.warm_up + shape.judged;
    if plan.phase == Phase::Checkpoint {
        sleep_until(at(shape.warm_up + shape.judged / 2), interrupt).await?;
        rig.ask_checkpoint().await?;
    }
    let mut failing = None;
    if let Situation::Fault(kind) = plan.situation {
        sleep_until(at(shape.warm_up + shape.judged / 2), interrupt).await?;
        failing = Some(fault::make(rig, kind, zero_ns).await?);
    }
    sleep_until(at(judged_until), interrupt).await?;
    let (from, until) = (shape.warm_up.as_nanos() as u64, judged_until.as_nanos() as u64);
    let mut driven = Driven::new(from, until);
    if let Some(running) = rig.running {
        let id = running.workload.id;
        if let Some(failing) = failing {
            driven.disturbance = Some(fault::end(rig, failing, zero_ns).await?);
        } else if rig.neighbour_has_ended() {
            let name = rig.neighbour.as_ref().map_or("", |neighbour| &neighbour.name).to_owned();
            driven.incomplete = Some(rig.neighbour_ended(&name, id).in_brief());
        } else {
            let block = (plan.condition == Condition::C).then_some(plan.index);
            let drill = rig.neighbour_down(zero_ns, block).await?;
            driven.drill = drill.filter(|_| plan.condition == Condition::C);
        }
        (driven.steps, driven.checkpoints) = rig.desk.look(id, |watched| {
            (steps(&watched.events, zero_ns), checkpoints(&watched.events, zero_ns))
        });
    }
    if plan.situation != Situation::Drill {
        sleep_until(at(shape.load()), interrupt).await?;
    }
    Ok(driven)
}

/// Finds the first token that inference gave after a drill: in the load that went on, else by asking.
async fn see_first_token(
    rig: &Rig,
    rules: &Rules,
    load: Option<&Schedule>,
    zero_ns: u64,
    driven: &mut Driven,
    result: Option<&LoadResult>,
) -> Result<(), BlockError> {
    let Some(drill) = &mut driven.drill else { return Ok(()) };
    let Some(back_s) = drill.engine_ready_s.or(drill.memory_free_s) else { return Ok(()) };
    let requests = result.map_or(&[][..], |result| &result.requests);
    let back_ns = drill.signal_ns + (back_s * 1e9) as u64;
    let seen = first_token_after(requests, back_ns, drill.engine_ready_s.is_some());
    let first_ns = match (seen, load.and_then(|load| load.requests.first())) {
        (Some(at_ns), _) => Some(at_ns),
        (None, Some(request)) => ask_for_token(rig, rules, *request, zero_ns).await?,
        (None, None) => None,
    };
    drill.first_token_s = first_ns.map(|at_ns| at_ns.saturating_sub(drill.signal_ns) as f64 / 1e9);
    Ok(())
}

/// Sleeps until an instant of the monotonic clock, or until the user interrupts.
pub(super) async fn sleep_until(at_ns: u64, interrupt: &mut Interrupt) -> Result<(), BlockError> {
    let left = Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
    tokio::select! {
        () = tokio::time::sleep(left) => Ok(()),
        _ = interrupt.wait_for(|thrown| *thrown) => Err(BlockError::Interrupted),
    }
}

/// The load client in its thread.
pub(super) struct Client {
    pub(super) cancel: Cancel,
    thread: std::thread::JoinHandle<std::io::Result<LoadResult>>,
}

impl Client {
    pub(super) fn start(
        rig: &Rig,
        rules: &Rules,
        schedule: &Schedule,
        zero: Instant,
    ) -> Result<Self, BlockError> {
        Self::start_watched(rig, rules, schedule, zero, None)
    }

    /// As [`Client::start`], with a view of the load for the guard.
    fn start_watched(
        rig: &Rig,
        rules: &Rules,
        schedule: &Schedule,
        zero: Instant,
        live: Option<Live>,
    ) -> Result<Self, BlockError> {
        let Some(inference) = &rig.inference else {
            return Err(BlockError::Client("there is no endpoint".into()));
        };
        let cancel = Cancel::new();
        let thread = run_on_thread_watched(
            inference.target.clone(),
            Arc::new(schedule.clone()),
            rules.request_limits,
            zero,
            cancel.clone(),
            None,
            live,
        )
        .map_err(|error| BlockError::Client(error.to_string()))?;
        Ok(Self { cancel, thread })
    }

    pub(super) async fn finish(self) -> Result<LoadResult, BlockError> {
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        match joined {
            Ok(Ok(result)) => result.map_err(|error| BlockError::Client(error.to_string())),
            Ok(Err(_)) => Err(BlockError::Client("its thread panicked".into())),
            Err(error) => Err(BlockError::Client(error.to_string())),
        }
    }
}

/// What was seen beside the load.
struct Seen {
    host: Vec<HostSample>,
    engine: EngineSeen,
    gpus: GpusSeen,
}

/// The tasks that look at the host, the engine and the GPUs while a block runs.
struct Watchers {
    stop: watch::Sender<bool>,
    host: JoinHandle<Vec<HostSample>>,
    engine: JoinHandle<EngineSeen>,
    gpus: JoinHandle<GpusSeen>,
}

impl Watchers {
    fn start(rig: &Rig, zero_ns: u64, judged_ns: Range<u64>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let workloads = rig.workloads();
        let guardian = rig.supervisor.guardian_pid();
        let tenants = Tenants {
            roots: workloads.iter().flat_map(|(_, roots)| roots).copied().collect(),
            own: vec![std::process::id(), guardian],
        };
        let library = rig.gpus.clone();
        let gpus = watch_gpus(library, tenants, zero_ns, judged_ns.clone(), stopped.clone());
        let gpus = tokio::spawn(gpus);
        let host =
            tokio::spawn(watch_host(workloads, guardian, zero_ns, judged_ns.end, stopped.clone()));
        let engine = tokio::spawn(watch_engine(rig.watched(), zero_ns, judged_ns, stopped));
        Self { stop, host, engine, gpus }
    }

    async fn finish(self) -> Seen {
        let _ = self.stop.send(true);
        Seen {
            host: self.host.await.unwrap_or_default(),
            engine: self.engine.await.unwrap_or_default(),
            gpus: self.gpus.await.unwrap_or_default(),
        }
    }
}

/// Reads the host each second, and once more just before the neighbour is told to stop: a block of
/// less than a second has a reading too.
async fn watch_host(
    workloads: Vec<(String, Vec<u32>)>,
    guardian: u32,
    zero_ns: u64,
    judged_until_ns: u64,
    mut stopped: watch::Receiver<bool>,
) -> Vec<HostSample> {
    let mut sampler = Sampler::new(&[std::process::id(), guardian]);
    let workloads: Vec<SampledWorkload<'_>> =
        workloads.iter().map(|(name, roots)| SampledWorkload { name, roots }).collect();
    // The first reading has nothing to compare with; it only sets the counters.
    sampler.sample(0, &workloads);
    let mut samples = Vec::new();
    let last_look_ns = judged_until_ns.saturating_sub(LAST_LOOK.as_nanos() as u64);
    let now_ns = || monotonic_ns().saturating_sub(zero_ns);
    loop {
        let now = now_ns();
        let next = now + SAMPLE_EVERY.as_nanos() as u64;
        let next = if now < last_look_ns { next.min(last_look_ns) } else { next };
        let ended = tokio::select! {
            () = tokio::time::sleep(Duration::from_nanos(next - now)) => false,
            _ = stopped.wait_for(|stopped| *stopped) => true,
        };
        if ended {
            return samples;
        }
        samples.push(sampler.sample(now_ns(), &workloads));
    }
}

fn assemble(
    rules: &Rules,
    plan: PlannedBlock,
    started: jiff::Timestamp,
    ended_ns: u64,
    driven: Driven,
    result: Option<LoadResult>,
    seen: Seen,
) -> Block {
    let (requests, gaps, client) = match result {
        Some(mut result) if plan.situation == Situation::Drill => {
            // What was planned behind the end of the drill was never asked.
            result.requests.retain(|request| request.sent_ns.is_some());
            (result.requests, result.gaps, Some(result.health))
        }
        Some(result) => (result.requests, result.gaps, Some(result.health)),
        None => (Vec::new(), Vec::new(), None),
    };
    let mut block = Block {
        plan,
        started,
        judged_from_ns: driven.judged_from_ns,
        judged_until_ns: driven.judged_until_ns,
        ended_ns,
        requests,
        gaps,
        steps: driven.steps,
        checkpoints: driven.checkpoints,
        drill: driven.drill,
        host: seen.host,
        engine_waiting: seen.engine.waiting,
        client,
        faults: driven
            .incomplete
            .map(BlockFault::Incomplete)
            .into_iter()
            .chain(driven.guarded.map(|trip| BlockFault::Guarded {
                objective: trip.objective.to_owned(),
                bound: trip.bound,
                seen: trip.seen,
            }))
            .collect(),
        remarks: Vec::new(),
        load_factor: 1.0,
        observed: Observed {
            engine: seen.engine.observation,
            disturbance: driven.disturbance,
            gpus: seen.gpus.samples,
            changes: driven.changes,
            ..Observed::default()
        },
    };
    // The last readings of a process that exits are lost to the kernel's accounts and would look
    // like a stranger's: only readings from before the stop are looked at, and from before a fault.
    let disturbance = block.observed.disturbance.as_ref();
    let last_ns = match (plan.situation, &block.drill) {
        (Situation::Burst, Some(drill)) => drill.signal_ns,
        (Situation::Burst, None) => u64::MAX,
        _ => disturbance.map_or(u64::MAX, |disturbance| disturbance.began_ns),
    };
    let last_ns = last_ns.min(block.judged_until_ns);
    let before_stop: Vec<HostSample> =
        block.host.iter().filter(|sample| sample.at_ns <= last_ns).cloned().collect();
    let (faults, remarks) = outside_causes(rules, &before_stop, block.client.as_ref());
    block.remarks = remarks;
    block.remarks.extend(seen.gpus.remarks);
    // A neighbour that a burst's end starts anew was not known when the block began.
    let strangers = (!seen.gpus.strangers.is_empty() && plan.situation != Situation::Burst)
        .then(|| BlockFault::ForeignGpu(seen.gpus.strangers.join("; ")));
    let faults: Vec<BlockFault> = faults.into_iter().chain(strangers).collect();
    if plan.situation == Situation::Drill {
        // A reclaim does not become faster because the machine was noisy: it is told, and counts.
        block.remarks.extend(faults.iter().map(BlockFault::sentence));
    } else {
        block.faults.extend(faults);
    }
    block
}

/// Causes outside both tenants, from the host's readings and the client's own health alone.
fn outside_causes(
    rules: &Rules,
    host: &[HostSample],
    client: Option<&ClientHealth>,
) -> (Vec<BlockFault>, Vec<String>) {
    let limits = rules.limits;
    let (mut faults, mut remarks) = (Vec::new(), Vec::new());
    match mean(host, |sample| sample.steal_cores.clone()) {
        Some(cores) if cores > limits.steal_cores_max => {
            faults.push(BlockFault::Steal { cores, cores_max: limits.steal_cores_max });
        }
        Some(cores) if cores > 0.5 * limits.steal_cores_max => {
            remarks.push(format!("the hypervisor took {cores:.2} cores away"));
        }
        Some(_) => {}
        None => remarks.push("CPU taken by a hypervisor was not seen".to_owned()),
    }
    match mean(host, HostSample::foreign_cpu_cores) {
        Some(cores) if cores > limits.foreign_cores_max => {
            faults.push(BlockFault::ForeignCpu { cores, cores_max: limits.foreign_cores_max });
        }
        Some(cores) if cores > 0.5 * limits.foreign_cores_max => {
            remarks.push(format!("processes of neither tenant used {cores:.2} cores"));
        }
        Some(_) => {}
        None => remarks.push("CPU of other processes was not seen".to_owned()),
    }
    if let Some(client) = client {
        let (late, most) = (client.lateness_p99_s, limits.lateness_p99_s_max);
        if late > most {
            faults.push(BlockFault::ClientLate { lateness_p99_s: late, lateness_max_s: most });
        } else if late > 0.5 * most {
            remarks.push(format!("the load client was up to {:.1} ms late (p99)", late * 1e3));
        }
    }
    (faults, remarks)
}

fn mean(host: &[HostSample], reading: impl Fn(&HostSample) -> Reading<f64>) -> Option<f64> {
    let values: Vec<f64> = host.iter().filter_map(|sample| reading(sample).ok()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
