//! A short look before the test: it fixes the warm-up cut, says how long steps take, and audits
//! what is going to be relied on.

use std::time::{Duration, Instant};

use cotenant_core::evidence::{EnforcementAudit, Pilot, RequestRecord};
use cotenant_core::stats;
use cotenant_core::verdict::AUDIT_FAULTS;

use crate::clock::monotonic_ns;
use crate::load::Schedule;

use super::block::{BlockError, Client, Interrupt, sleep_until};
use super::plan::Rules;
use super::rig::{Rig, steps};

/// Least warm-up: a load that starts on an empty engine needs a moment to fill it.
const WARM_UP_MIN: Duration = Duration::from_millis(500);
/// Steps of the neighbour without which nothing is known of their length.
const PILOT_STEPS_MIN: usize = 2;

/// What the pilot saw of inference alone.
#[derive(Clone, Debug, PartialEq)]
pub struct InferencePilot {
    /// Every request.
    pub requests: Vec<RequestRecord>,
    /// Time to first token, 95th percentile, seconds.
    pub ttft_p95_s: Option<f64>,
    /// Inter-token latency, 95th percentile, seconds.
    pub itl_p95_s: Option<f64>,
    /// Whole request, 95th percentile, seconds.
    pub e2e_p95_s: Option<f64>,
    /// Warm-up to cut: MSER-5 over the times to first token.
    pub warm_up: Duration,
}

/// Puts a load on inference alone.
///
/// # Errors
/// The engine or the client.
pub async fn pilot_inference(
    rig: &mut Rig,
    rules: &Rules,
    load: &Schedule,
    interrupt: &mut Interrupt,
) -> Result<InferencePilot, BlockError> {
    rig.engine_up().await?;
    let client = Client::start(rig, rules, load, Instant::now())?;
    let last = load.requests.last().map_or(Duration::ZERO, |request| request.intended);
    let waited = sleep_until(monotonic_ns() + last.as_nanos() as u64, interrupt).await;
    if waited.is_err() {
        client.cancel.cancel();
    }
    let result = client.finish().await?;
    waited?;
    let warm_up = warm_up(&result.requests);
    let steady = |request: &&RequestRecord| request.intended_ns >= warm_up.as_nanos() as u64;
    let ttft_s: Vec<f64> =
        result.requests.iter().filter(steady).map(RequestRecord::ttft_s).collect();
    let e2e_s: Vec<f64> = result.requests.iter().filter(steady).map(RequestRecord::e2e_s).collect();
    let from = result.requests.iter().find(steady).map_or(0, |request| request.index);
    let gaps_s: Vec<f64> = result
        .gaps
        .iter()
        .filter(|gaps| gaps.single_token && gaps.request >= from)
        .flat_map(|gaps| gaps.gaps_us.iter().map(|gap_us| f64::from(*gap_us) / 1e6))
        .collect();
    let quantile = |values: &[f64]| stats::quantile(values, 0.95).ok().filter(|v| v.is_finite());
    Ok(InferencePilot {
        ttft_p95_s: quantile(&ttft_s),
        itl_p95_s: quantile(&gaps_s),
        e2e_p95_s: quantile(&e2e_s),
        warm_up,
        requests: result.requests,
    })
}

/// The intended time of the first request that MSER-5 keeps; what never answered is no warm-up.
fn warm_up(requests: &[RequestRecord]) -> Duration {
    let complete: Vec<&RequestRecord> =
        requests.iter().filter(|request| request.outcome.is_complete()).collect();
    let series: Vec<f64> = complete.iter().map(|request| request.ttft_s()).collect();
    let cut = stats::mser5(&series).map_or(0, |truncation| truncation.drop);
    let at_ns = complete.get(cut).map_or(0, |request| request.intended_ns);
    Duration::from_nanos(at_ns).max(WARM_UP_MIN)
}

/// What the pilot saw of the neighbour beside an idle engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeighbourPilot {
    /// Steps seen.
    pub steps: u32,
    /// Their mean duration, seconds.
    pub step_s: Option<f64>,
}

/// Runs the neighbour for a while, with no load on the engine.
///
/// # Errors
/// The neighbour does not start.
pub async fn pilot_neighbour(
    rig: &mut Rig,
    rules: &Rules,
    length: Duration,
    interrupt: &mut Interrupt,
) -> Result<NeighbourPilot, BlockError> {
    rig.neighbour_up(None, rules.steps_before_load).await?;
    let began_ns = monotonic_ns();
    sleep_until(began_ns + length.as_nanos() as u64, interrupt).await?;
    let Some(running) = rig.running else { return Ok(NeighbourPilot::default()) };
    // A neighbour whose steps are long beside the look is watched until it has shown some.
    let patience = rig.neighbour.as_ref().map_or(Duration::ZERO, |rig| rig.ready_within);
    let shown = rig.desk.wait(running.workload.id, patience, |watched| {
        let enough = steps(&watched.events, began_ns).len() >= PILOT_STEPS_MIN;
        (enough || watched.exit.is_some()).then_some(())
    });
    tokio::select! {
        _ = shown => {}
        _ = interrupt.wait_for(|thrown| *thrown) => return Err(BlockError::Interrupted),
    }
    let seen = rig.desk.look(running.workload.id, |watched| steps(&watched.events, began_ns));
    let durations: Vec<f64> = seen.iter().filter_map(|step| step.duration_s).collect();
    let step_s = if durations.is_empty() {
        let span = seen.first().zip(seen.last()).map(|(first, last)| last.at_ns - first.at_ns);
        span.filter(|_| seen.len() > 1)
            .map(|span_ns| span_ns as f64 / 1e9 / (seen.len() - 1) as f64)
    } else {
        Some(durations.iter().sum::<f64>() / durations.len() as f64)
    };
    rig.neighbour_down(began_ns, None).await?;
    Ok(NeighbourPilot { steps: seen.len() as u32, step_s })
}

/// Puts load on both and kills the neighbour in the middle: inference must not lose a request. `None`
/// where no request was in flight then or came after it, so that nothing was seen.
///
/// # Errors
/// A workload does not start.
pub async fn audit_faults(
    rig: &mut Rig,
    rules: &Rules,
    load: &Schedule,
    interrupt: &mut Interrupt,
) -> Result<Option<EnforcementAudit>, BlockError> {
    rig.engine_up().await?;
    rig.neighbour_up(None, rules.steps_before_load).await?;
    let zero_ns = monotonic_ns();
    let client = Client::start(rig, rules, load, Instant::now())?;
    let last = load.requests.last().map_or(Duration::ZERO, |request| request.intended);
    let middle_ns = zero_ns + (last / 2).as_nanos() as u64;
    let waited = sleep_until(middle_ns, interrupt).await;
    let killed_ns = monotonic_ns().saturating_sub(zero_ns);
    rig.neighbour_killed().await?;
    if waited.is_err() {
        client.cancel.cancel();
    }
    let result = client.finish().await?;
    waited?;
    let touched = result.requests.iter().filter(|request| request.end_ns >= killed_ns);
    let (count, lost) = touched.fold((0_u32, 0_u32), |(count, lost), request| {
        (count + 1, lost + u32::from(!request.outcome.is_complete()))
    });
    Ok((count > 0).then(|| EnforcementAudit {
        mechanism: AUDIT_FAULTS.to_owned(),
        ratio_expected: 0.0,
        ratio_measured: f64::from(lost) / f64::from(count),
        binds: lost == 0,
        method: format!(
            "the neighbour was killed under load, and {lost} of {count} requests were lost"
        ),
    }))
}

/// The two looks in the form in which a run keeps them.
pub fn pilot_record(inference: Option<&InferencePilot>, neighbour: &NeighbourPilot) -> Pilot {
    let complete = |pilot: &InferencePilot| {
        pilot.requests.iter().filter(|request| request.outcome.is_complete()).count() as u32
    };
    Pilot {
        requests: inference.map_or(0, complete),
        ttft_p95_s: inference.and_then(|pilot| pilot.ttft_p95_s),
        itl_p95_s: inference.and_then(|pilot| pilot.itl_p95_s),
        steps: neighbour.steps,
        step_s: neighbour.step_s,
        warm_up_s: inference.map_or(0.0, |pilot| pilot.warm_up.as_secs_f64()),
    }
}
