//! `--tests burst`: load rises far above the declared rate, the neighbour yields, and both come back.

use std::time::Duration;

use cotenant_core::burst::{bounds, factor};
use cotenant_core::evidence::{Condition, Phase, Pilot, PlannedBlock, Situation};
use cotenant_core::protocol::{BlockShape, FieldTest, Fit, Tests};
use cotenant_core::site::{Demand, Guard};
use cotenant_probe::measure::{BurstLoad, BurstRules, Loads};
use cotenant_records::evidence::{RunPlan, RunWriter, Store, StoredRun};

use super::super::{AROUND, new_seed};
use super::Place;
use crate::exit::Failure;
use crate::printer::minutes;
use crate::verbs::judged::evidence_failure;
use crate::verbs::session::{Course, Piloted, Session, Subject, begin, shape_of};

const TOGETHER: Tests = Tests { a: true, b: false, c: true };
/// Load before the clock of a block counts, and behind its end.
const WARM_UP: Duration = Duration::from_secs(2);
const TAIL: Duration = Duration::from_secs(1);
/// A block where no length is given: a sixth of it passes before the burst and a half behind it.
const JUDGED: Duration = Duration::from_mins(1);
/// Bursts beside the neighbour, and as many without it, where no time is given.
const ROUNDS: u32 = 3;
/// The option that keeps how far the load rises.
const FACTOR: &str = "burst_factor";

/// Runs a burst test from its start.
pub(super) async fn run(place: Place<'_>) -> Result<(), Failure> {
    let (file, options, printer) = (place.file, place.options, place.printer);
    let (inference, neighbour) = (options.inference.as_deref(), options.neighbour.as_deref());
    let subject = Subject::find(&file.site, inference, neighbour, TOGETHER)?;
    let (workload, inference) = subject.inference;
    let limits = check(subject)?;
    super::super::guard::may_overload(inference, &workload.name, options)?;
    let judged = options.block_seconds.map_or(JUDGED, Duration::from_secs_f64);
    let shape = BlockShape { warm_up: WARM_UP, judged, tail: TAIL };
    let rounds = rounds(options.minutes, shape)?;
    let seed = options.seed.unwrap_or_else(new_seed);
    let mut session = Session::open(file, subject, seed, place.interrupt.clone(), printer)?;
    let result = async {
        let declared_per_s = session.load(shape)?.rate_per_s().unwrap_or_default();
        let peak = inference.peak_rate.as_ref().map(|rate| rate.per_second);
        let factor = factor(peak, declared_per_s);
        session.engine_up().await?;
        let plan = plan(&session, shape, rounds, factor)?;
        let burst = rules(&plan, limits)?;
        // A trace that is too short for a burst is told before anything runs.
        load(&session, &plan, &burst)?.of_pair(0).map_err(Failure::input)?;
        let writer = begin(place.evidence, &plan, &[])?;
        printer.note(&format!(
            "run {}: {rounds} bursts to {factor:.1} times the declared rate for {} beside `{}`, and as \
             many without it; about {} in all",
            writer.id(),
            minutes(burst.ends.saturating_sub(burst.begins)),
            plan.neighbour,
            minutes((shape.load() + AROUND) * 2 * rounds)
        ));
        go(&mut session, writer, burst).await
    }
    .await;
    session.close().await;
    result
}

/// Goes on with a burst test that was interrupted.
pub(super) async fn resume(place: Place<'_>, run: &StoredRun) -> Result<(), Failure> {
    let (inference, neighbour) = (run.run.inference.as_str(), run.run.neighbour.as_str());
    let subject = Subject::find(&place.file.site, Some(inference), Some(neighbour), TOGETHER)?;
    let limits = check(subject)?;
    let mut session =
        Session::open(place.file, subject, run.run.seed, place.interrupt.clone(), place.printer)?;
    let result = async {
        session.engine_up().await?;
        let store = Store::open(place.evidence).map_err(|error| evidence_failure(&error))?;
        let now = cotenant_probe::clock::wall_clock();
        let (mut writer, finished) =
            store.resume_run(&run.run.id, now).map_err(|error| evidence_failure(&error))?;
        writer.add_fingerprint(&session.fingerprint()).map_err(|error| evidence_failure(&error))?;
        place.printer.note(&format!(
            "run {} goes on: {} of {} blocks are finished",
            run.run.id,
            finished.len(),
            writer.plan().schedule.len()
        ));
        let burst = rules(writer.plan(), limits)?;
        go(&mut session, writer, burst).await
    }
    .await;
    session.close().await;
    result
}

/// What makes inference late, or why no burst can be made.
fn check(subject: Subject<'_>) -> Result<Guard, Failure> {
    let (workload, inference) = subject.inference;
    if let Demand::Closed { .. } = inference.demand {
        return Err(Failure::input(format!(
            "the demand of `{}` is a closed loop, whose rate follows from the answers: no burst can \
             come\n\nhint: declare an open one, such as `demand: {{ poisson: {{ rate: 8 req/s }} }}`",
            workload.name
        )));
    }
    let allowed = subject.neighbour.and_then(|(_, job)| job.preemption.as_ref());
    if let Some((neighbour, _)) = subject.neighbour
        && allowed.is_some_and(|preemption| !preemption.allowed)
    {
        return Err(Failure::input(format!(
            "`{}` is declared as never preempted, so it cannot yield\n\nhint: declare `preemption: {{ \
             allowed: true, signal: TERM, notice: 30 s }}` if it may be stopped",
            neighbour.name
        )));
    }
    bounds(inference.guard.as_ref(), &inference.objectives).ok_or_else(|| {
        Failure::input(format!(
            "`{}` declares nothing that a burst could break\n\nhint: declare an objective such as \
             `ttft_p95: 500 ms` or `e2e_p95: 4 s`, or a guard",
            workload.name
        ))
    })
}

fn rounds(given_min: Option<f64>, shape: BlockShape) -> Result<u32, Failure> {
    let each = 2 * (shape.load() + AROUND);
    let Some(given_min) = given_min else { return Ok(ROUNDS) };
    match (given_min * 60.0 / each.as_secs_f64()) as u32 {
        0 => Err(Failure::input(format!(
            "one burst with the neighbour and one without take {}\n\nhint: give more with --minutes, \
             or shorter blocks with --block-seconds",
            minutes(each)
        ))),
        rounds => Ok(rounds),
    }
}

fn plan(
    session: &Session<'_>,
    shape: BlockShape,
    rounds: u32,
    factor: f64,
) -> Result<RunPlan, Failure> {
    let none = Pilot {
        requests: 0,
        ttft_p95_s: None,
        itl_p95_s: None,
        steps: 0,
        step_s: None,
        warm_up_s: shape.warm_up.as_secs_f64(),
    };
    let piloted =
        Piloted { record: none, warm_up: shape.warm_up, audits: Vec::new(), e2e_p95_s: None };
    let fit = Fit { pairs: rounds, training_blocks: 0, shape };
    let mut plan = session.plan(TOGETHER, &fit, &piloted, None, 0.0)?;
    plan.schedule = schedule(rounds);
    plan.options.insert("tests".to_owned(), FieldTest::Burst.name().to_owned());
    plan.options.insert(FACTOR.to_owned(), factor.to_string());
    Ok(plan)
}

/// The burst of a run: as high as the run began with.
fn rules(plan: &RunPlan, bounds: Guard) -> Result<BurstRules, Failure> {
    let factor = plan.options.get(FACTOR).and_then(|text| text.parse().ok()).ok_or_else(|| {
        Failure::world(format!("the run does not tell its `{FACTOR}`, so it cannot go on"))
    })?;
    let judged = shape_of(plan).judged;
    Ok(BurstRules { factor, begins: judged / 6, ends: judged / 2, bounds })
}

fn load(session: &Session<'_>, plan: &RunPlan, burst: &BurstRules) -> Result<BurstLoad, Failure> {
    let shape = shape_of(plan);
    Ok(BurstLoad::new(session.load(shape)?, burst.clone(), shape.warm_up))
}

async fn go(
    session: &mut Session<'_>,
    writer: RunWriter,
    burst: BurstRules,
) -> Result<(), Failure> {
    let loads = load(session, writer.plan(), &burst)?;
    let course = Course {
        loads: &loads,
        burst: Some(burst),
        seen: &mut |_| {},
        go_on: &mut |_| true,
        decided: &|| None,
    };
    session.run_along(writer, course).await.map(|_| ())
}

/// The same burst without the neighbour and with it, in mirrored order: what a drift of the machine
/// does weighs on both alike.
fn schedule(rounds: u32) -> Vec<PlannedBlock> {
    (0..rounds)
        .flat_map(|round| {
            let two = [Condition::A, Condition::C];
            let two = if round % 2 == 0 { two } else { [two[1], two[0]] };
            two.map(|condition| (round, condition))
        })
        .zip(0_u32..)
        .map(|((pair, condition), index)| PlannedBlock {
            index,
            condition,
            pair,
            remedy: None,
            phase: Phase::Steady,
            situation: Situation::Burst,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_burst_comes_with_the_neighbour_and_without_it_in_mirrored_order() {
        let blocks = schedule(3);
        let order: String = blocks.iter().map(|block| block.condition.letter()).collect();
        assert_eq!(order, "ACCAAC");
        assert_eq!(blocks.iter().map(|block| block.pair).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
        assert!(blocks.iter().zip(0..).all(|(block, index)| block.index == index));
        assert!(blocks.iter().all(|block| block.situation == Situation::Burst));
    }
}
