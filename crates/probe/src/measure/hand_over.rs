//! The whole change of hands in one block, under load: inference gives the machine away, the neighbour
//! works, is told to go, and inference is back.

use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{ChangeKind, ChangePart, Direction, HandChange, PlannedBlock};

use crate::clock::monotonic_ns;
use crate::host::ProcessTable;

use super::block::{BlockError, Driven, Interrupt, sleep_until};
use super::engine_sleep::EngineSwitch;
use super::layout::LayoutOrder;
use super::plan::Rules;
use super::rig::{Rig, checkpoints, steps};

/// What changes hands beside the neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// What the engine does meanwhile.
    pub engine: EngineRest,
    /// How the GPUs are laid out anew before the neighbour starts.
    pub for_neighbour: Option<LayoutOrder>,
    /// How they are laid out anew before inference is awake.
    pub for_inference: Option<LayoutOrder>,
}

/// What an engine does while the neighbour has the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineRest {
    /// It stays as it is.
    Stays,
    /// It sleeps.
    Sleeps(EngineSwitch),
    /// It ends, and is started again. Only an engine that was started here.
    Stops,
}

/// A change that is being made.
struct Begun {
    kind: ChangeKind,
    what: String,
    direction: Direction,
    at_ns: u64,
    parts: Vec<ChangePart>,
}

impl Begun {
    fn now(kind: ChangeKind, what: impl Into<String>, direction: Direction) -> Self {
        Self { kind, what: what.into(), direction, at_ns: monotonic_ns(), parts: Vec::new() }
    }

    fn ended(self, zero_ns: u64, outcome: Result<Vec<String>, String>) -> HandChange {
        let total_s = monotonic_ns().saturating_sub(self.at_ns) as f64 / 1e9;
        let (remarks, failure) = match outcome {
            Ok(remarks) => (remarks, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        HandChange {
            kind: self.kind,
            what: self.what,
            direction: self.direction,
            began_ns: self.at_ns.saturating_sub(zero_ns),
            total_s: failure.is_none().then_some(total_s),
            parts: self.parts,
            failure,
            remarks,
        }
    }
}

/// Lives through a block in which the machine changes hands and back.
pub(super) async fn drive(
    rig: &mut Rig,
    rules: &Rules,
    hand_over: &HandOver,
    plan: PlannedBlock,
    zero_ns: u64,
    interrupt: &mut Interrupt,
) -> Result<Driven, BlockError> {
    let shape = rules.shape;
    let nanos = |time: Duration| time.as_nanos() as u64;
    sleep_until(zero_ns + nanos(shape.warm_up), interrupt).await?;
    let mut driven = Driven::new(nanos(shape.warm_up), nanos(shape.warm_up + shape.judged));
    let given = rig.give_away(hand_over, zero_ns, &mut driven.changes).await?;
    let worked =
        if given { work(rig, rules, plan, zero_ns, interrupt, &mut driven).await } else { Ok(()) };
    // Whatever went wrong, the engine must not be left asleep, nor beside a neighbour.
    let down =
        if worked.is_err() { rig.neighbour_down(zero_ns, None).await.map(|_| ()) } else { Ok(()) };
    let back = rig.take_back(hand_over, zero_ns, &mut driven.changes).await?;
    if let Some(drill) = &mut driven.drill {
        let since_ns = monotonic_ns().saturating_sub(zero_ns + drill.signal_ns);
        match back {
            Ok(())
                if hand_over.engine != EngineRest::Stays || hand_over.for_inference.is_some() =>
            {
                drill.engine_ready_s = Some(since_ns as f64 / 1e9);
            }
            Err(why) if drill.failure.is_none() => {
                drill.failure = Some(format!("inference did not come back: {why}"));
            }
            Ok(()) | Err(_) => {}
        }
    }
    down?;
    worked.map(|()| driven)
}

/// The neighbour has the machine, and is told to go.
async fn work(
    rig: &mut Rig,
    rules: &Rules,
    plan: PlannedBlock,
    zero_ns: u64,
    interrupt: &mut Interrupt,
    driven: &mut Driven,
) -> Result<(), BlockError> {
    rig.neighbour_up(plan.remedy, rules.steps_before_load).await?;
    sleep_until(monotonic_ns() + rules.shape.judged.as_nanos() as u64, interrupt).await?;
    driven.judged_until_ns = monotonic_ns().saturating_sub(zero_ns);
    let id = rig.running.map_or(0, |running| running.workload.id);
    if rig.neighbour_has_ended() {
        let name = rig.neighbour.as_ref().map_or("", |neighbour| &neighbour.name).to_owned();
        driven.incomplete = Some(rig.neighbour_ended(&name, id).in_brief());
    } else {
        driven.drill = rig.neighbour_down(zero_ns, Some(plan.index)).await?;
    }
    (driven.steps, driven.checkpoints) = rig.desk.look(id, |watched| {
        (steps(&watched.events, zero_ns), checkpoints(&watched.events, zero_ns))
    });
    Ok(())
}

impl Rig {
    /// Wakes an engine that an earlier block left asleep.
    pub(super) async fn wake_if_asleep(&self, hand_over: &HandOver) {
        if let EngineRest::Sleeps(switch) = &hand_over.engine
            && switch.sleeps().await == Ok(true)
        {
            // Where it does not wake the block's own changes say so.
            let _ = switch.wake(&mut Vec::new()).await;
        }
    }

    /// Puts the engine away and lays the GPUs out for the neighbour. Returns whether all of it worked.
    async fn give_away(
        &mut self,
        hand_over: &HandOver,
        zero_ns: u64,
        changes: &mut Vec<HandChange>,
    ) -> Result<bool, BlockError> {
        let to = Direction::ToNeighbour;
        match &hand_over.engine {
            EngineRest::Stays => {}
            EngineRest::Sleeps(switch) => {
                let what = format!("sleep level {}", switch.level);
                let before = self.engine_memory().await;
                let mut begun = Begun::now(ChangeKind::EngineSleep, what, to);
                let outcome = switch.sleep(&mut begun.parts).await.map(|()| Vec::new());
                let mut change = begun.ended(zero_ns, outcome);
                if change.failure.is_none() {
                    self.compare_memory(&before, &mut change).await;
                }
                changes.push(change);
            }
            EngineRest::Stops => {
                let begun = Begun::now(ChangeKind::EngineStop, "by its own signal", to);
                let outcome = self.engine_down().await;
                changes.push(begun.ended(zero_ns, Ok(Vec::new())));
                outcome?;
            }
        }
        if changes.iter().all(|change| change.failure.is_none())
            && let Some(order) = &hand_over.for_neighbour
        {
            changes.push(lay_out(order, to, zero_ns).await);
        }
        Ok(changes.iter().all(|change| change.failure.is_none()))
    }

    /// Lays the GPUs out for inference and brings the engine back.
    async fn take_back(
        &mut self,
        hand_over: &HandOver,
        zero_ns: u64,
        changes: &mut Vec<HandChange>,
    ) -> Result<Result<(), String>, BlockError> {
        let to = Direction::ToInference;
        let first = changes.len();
        if let Some(order) = &hand_over.for_inference {
            changes.push(lay_out(order, to, zero_ns).await);
        }
        match &hand_over.engine {
            EngineRest::Stays => {}
            EngineRest::Sleeps(switch) => {
                let what = format!("wake from sleep level {}", switch.level);
                let mut begun = Begun::now(ChangeKind::EngineWake, what, to);
                let outcome = switch.wake(&mut begun.parts).await.map(|()| Vec::new());
                changes.push(begun.ended(zero_ns, outcome));
            }
            EngineRest::Stops => {
                let mut begun = Begun::now(ChangeKind::EngineStart, "until it is ready", to);
                let outcome = self.engine_up().await;
                let id = self.engine.map_or(0, |engine| engine.id);
                begun.parts = self.desk.look(id, |watched| watched.start_parts.clone());
                let told = outcome.as_ref().map(|_| Vec::new()).map_err(ToString::to_string);
                changes.push(begun.ended(zero_ns, told));
            }
        }
        let failure = changes[first..].iter().find_map(|change| change.failure.clone());
        Ok(failure.map_or(Ok(()), Err))
    }

    /// Memory of the engine on the host, and in use on the GPUs, bytes.
    async fn engine_memory(&self) -> (Option<u64>, Option<u64>) {
        let name = self.inference.as_ref().map(|inference| inference.name.clone());
        let workloads = self.workloads();
        let roots = workloads.iter().find(|(workload, _)| Some(workload) == name.as_ref());
        let table = ProcessTable::scan(Path::new("/proc")).unwrap_or_default();
        let host = roots.map(|(_, roots)| {
            let below = roots.iter().flat_map(|root| table.descendants_of(*root));
            let own = roots.iter().filter_map(|root| table.get(*root));
            let pages: u64 = own.chain(below).map(|process| process.resident_pages).sum();
            pages * rustix::param::page_size() as u64
        });
        let gpu = match self.neighbour.as_ref().and_then(|neighbour| neighbour.gpu.as_ref()) {
            Some(reader) => reader.read().await.ok().map(|memory| memory.used_bytes.values().sum()),
            None => None,
        };
        (host, gpu)
    }

    /// What a sleep did to memory: an engine that says it sleeps and gave nothing back does not.
    async fn compare_memory(&self, before: &(Option<u64>, Option<u64>), change: &mut HandChange) {
        let after = self.engine_memory().await;
        let mib = |bytes: u64| bytes >> 20;
        if let Some((before, after)) = before.0.zip(after.0) {
            let (before, after) = (mib(before), mib(after));
            change.remarks.push(format!("its host memory went from {before} to {after} MiB"));
        }
        if let Some((before, after)) = before.1.zip(after.1) {
            let (before_mib, after_mib) = (mib(before), mib(after));
            change.remarks.push(format!(
                "memory in use on the GPUs went from {before_mib} to {after_mib} MiB"
            ));
            if after_mib >= before_mib {
                change.failure = Some("it says that it sleeps, but no GPU memory came back".into());
                change.total_s = None;
            }
        }
    }
}

async fn lay_out(order: &LayoutOrder, direction: Direction, zero_ns: u64) -> HandChange {
    let mut begun = Begun::now(ChangeKind::Layout, order.what.clone(), direction);
    let outcome = order.carry_out(&mut begun.parts).await;
    begun.ended(zero_ns, outcome)
}
