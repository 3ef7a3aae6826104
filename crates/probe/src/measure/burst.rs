//! A burst: load rises far above the declared rate, the neighbour yields when inference is late, and
//! comes back when the burst is over.

use std::time::Duration;

use cotenant_core::burst::{Recovery, inference_recovery, is_late};
use cotenant_core::evidence::{
    Condition, Disturbance, PlannedBlock, RequestRecord, ResumeCheck, StepRecord,
};
use cotenant_core::site::Guard;

use crate::clock::monotonic_ns;
use crate::load::Schedule;

use super::block::{BlockError, Driven, Interrupt, sleep_until};
use super::demand::DeclaredLoad;
use super::guard::Watch;
use super::plan::{BurstRules, Loads, Rules};
use super::rig::{Rig, checkpoints, steps};

/// Pairs of blocks have numbers far below this one: the burst has arrivals of its own.
const PAIR_OFFSET: u32 = 1 << 24;

/// The declared load, and above it what a burst adds.
#[derive(Clone, Debug)]
pub struct BurstLoad {
    declared: DeclaredLoad,
    rules: BurstRules,
    warm_up: Duration,
}

impl BurstLoad {
    /// A burst over the declared load, whose shape has this warm-up.
    pub fn new(declared: DeclaredLoad, rules: BurstRules, warm_up: Duration) -> Self {
        Self { declared, rules, warm_up }
    }
}

impl Loads for BurstLoad {
    fn of_pair(&self, pair: u32) -> Result<Schedule, String> {
        let BurstRules { factor, begins, ends, .. } = self.rules;
        let declared = self.declared.of_pair(pair)?;
        let mut above = self
            .declared
            .schedule_over(PAIR_OFFSET + pair, ends.saturating_sub(begins), factor - 1.0)
            .map_err(|error| error.to_string())?;
        for request in &mut above.requests {
            request.intended += self.warm_up + begins;
        }
        Schedule::merge(vec![declared, above]).map_err(|error| error.to_string())
    }

    fn factor_of(&self, _pair: u32) -> f64 {
        self.rules.factor
    }
}

/// Lives through a block with a burst in it.
pub(super) async fn drive(
    rig: &mut Rig,
    rules: &Rules,
    (burst, watch): (&BurstRules, &Watch),
    plan: PlannedBlock,
    zero_ns: u64,
    interrupt: &mut Interrupt,
) -> Result<Driven, BlockError> {
    let shape = rules.shape;
    let nanos = |time: Duration| time.as_nanos() as u64;
    let began_ns = nanos(shape.warm_up + burst.begins);
    let until_ns = nanos(shape.warm_up + shape.judged);
    let mut driven = Driven::new(nanos(shape.warm_up), until_ns);
    let mut disturbance = Disturbance {
        what: format!("load at {:.1} times the declared rate", burst.factor),
        began_ns,
        ended_ns: Some(nanos(shape.warm_up + burst.ends)),
        yielded_ns: None,
        inference_recovered_ns: None,
        neighbour_recovered_ns: None,
        requests_late: None,
        remarks: Vec::new(),
    };
    let over_ns = zero_ns + nanos(shape.warm_up + burst.ends);
    sleep_until(zero_ns + began_ns, interrupt).await?;
    let trip = tokio::select! {
        trip = watch.trip() => Some(trip),
        slept = sleep_until(over_ns, interrupt) => { slept?; None }
    };
    if let Some(trip) = &trip {
        let after_s = monotonic_ns().saturating_sub(zero_ns + began_ns) as f64 / 1e9;
        disturbance.remarks.push(format!(
            "{} was {:.3} after {after_s:.1} s, beyond {:.3}",
            trip.objective, trip.seen, trip.bound
        ));
    }
    let with_neighbour = plan.condition == Condition::C;
    if with_neighbour && rig.neighbour_has_ended() {
        let id = rig.running.map_or(0, |running| running.workload.id);
        let name = rig.neighbour.as_ref().map_or("", |neighbour| &neighbour.name).to_owned();
        driven.incomplete = Some(rig.neighbour_ended(&name, id).in_brief());
    } else if with_neighbour && trip.is_some() {
        yield_and_return(rig, plan, (zero_ns, over_ns), interrupt, &mut driven, &mut disturbance)
            .await?;
    } else if with_neighbour {
        disturbance.remarks.push("inference kept its bounds beside the neighbour".to_owned());
    }
    sleep_until(zero_ns + until_ns, interrupt).await?;
    if let Some(running) = rig.running.filter(|_| with_neighbour) {
        if trip.is_some() {
            let after = rig.desk.look(running.workload.id, |seen| steps(&seen.events, zero_ns));
            let before = before(&driven.steps, began_ns);
            // Both count from the block's start, and so does the pace that is found.
            let pace_s = ResumeCheck::compare(before, &after, None, None).steady_s;
            disturbance.neighbour_recovered_ns = pace_s.map(|pace_s| (pace_s * 1e9) as u64);
        } else {
            take_steps(rig, running.workload.id, zero_ns, &mut driven);
        }
        rig.neighbour_down(zero_ns, None).await?;
    }
    sleep_until(zero_ns + nanos(shape.load()), interrupt).await?;
    driven.disturbance = Some(disturbance);
    Ok(driven)
}

/// Has the neighbour yield now, and starts it anew when the burst is over at `over_ns`.
async fn yield_and_return(
    rig: &mut Rig,
    plan: PlannedBlock,
    (zero_ns, over_ns): (u64, u64),
    interrupt: &mut Interrupt,
    driven: &mut Driven,
    disturbance: &mut Disturbance,
) -> Result<(), BlockError> {
    let Some(running) = rig.running else { return Ok(()) };
    let drill = rig.neighbour_down(zero_ns, Some(plan.index)).await?;
    take_steps(rig, running.workload.id, zero_ns, driven);
    disturbance.yielded_ns = drill.as_ref().and_then(|drill| {
        let gone_s = drill.memory_free_s.or(drill.exit_s)?;
        Some(drill.signal_ns + (gone_s * 1e9) as u64)
    });
    driven.drill = drill;
    sleep_until(over_ns, interrupt).await?;
    let started = tokio::select! {
        started = rig.neighbour_up(plan.remedy, 1) => started,
        _ = interrupt.wait_for(|thrown| *thrown) => return Err(BlockError::Interrupted),
    };
    // A neighbour that does not come back is what the test is there to show: the drill says why.
    if let Err(error) = started {
        disturbance.remarks.push(format!("the neighbour did not come back: {error}"));
        rig.neighbour_killed().await?;
    }
    Ok(())
}

/// Keeps what the neighbour did until it yielded.
fn take_steps(rig: &Rig, id: u32, zero_ns: u64, driven: &mut Driven) {
    (driven.steps, driven.checkpoints) = rig
        .desk
        .look(id, |seen| (steps(&seen.events, zero_ns), checkpoints(&seen.events, zero_ns)));
}

/// The steps that were finished before the burst.
fn before(steps: &[StepRecord], began_ns: u64) -> &[StepRecord] {
    &steps[..steps.partition_point(|step| step.at_ns < began_ns)]
}

/// Adds what the requests of the block say.
pub(super) fn see_recovery(
    bounds: &Guard,
    requests: &[RequestRecord],
    disturbance: &mut Disturbance,
) {
    let began_ns = disturbance.began_ns;
    disturbance.inference_recovered_ns = match inference_recovery(bounds, requests, began_ns) {
        Recovery::NeverLeft => Some(began_ns),
        Recovery::At(at_ns) => Some(at_ns),
        Recovery::NotSeen => None,
    };
    let during = began_ns..disturbance.ended_ns.unwrap_or(u64::MAX);
    let due = || requests.iter().filter(|request| during.contains(&request.intended_ns));
    let late = due().filter(|request| is_late(bounds, request)).count();
    disturbance.requests_late = Some((late as u64, due().count() as u64));
}
