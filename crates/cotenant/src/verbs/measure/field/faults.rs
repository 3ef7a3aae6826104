//! `--tests faults`: what inference loses when the neighbour fails.

use std::time::Duration;

use cotenant_core::evidence::{Condition, NeighbourFault, Phase, Pilot, PlannedBlock, Situation};
use cotenant_core::protocol::{BlockShape, Fit, Tests};
use cotenant_probe::measure::possible_faults;
use cotenant_records::evidence::{Store, StoredRun};

use super::super::new_seed;
use super::Place;
use crate::exit::Failure;
use crate::verbs::judged::evidence_failure;
use crate::verbs::session::{Piloted, Session, Subject, begin};

const BOTH: Tests = Tests { a: false, b: true, c: true };
/// Load before a fault and after it, and after the neighbour is gone.
const SHAPE: BlockShape = BlockShape {
    warm_up: Duration::from_secs(1),
    judged: Duration::from_secs(8),
    tail: Duration::from_secs(2),
};
/// Times that each fault is made, where no time is given.
const ROUNDS: u32 = 3;
/// Starts and rests around a block.
const AROUND: Duration = Duration::from_secs(4);

/// Runs a fault test from its start.
pub(super) async fn run(place: Place<'_>) -> Result<(), Failure> {
    let (file, options, printer) = (place.file, place.options, place.printer);
    let (inference, neighbour) = (options.inference.as_deref(), options.neighbour.as_deref());
    let subject = Subject::find(&file.site, inference, neighbour, BOTH)?;
    let Some((workload, _)) = subject.neighbour else {
        return Err(Failure::input("a fault test needs a neighbour"));
    };
    let caps = file.site.sharing.caps.get(&workload.name);
    let folder = std::path::absolute(file.folder()).map_err(Failure::world)?;
    let mut kinds = Vec::new();
    for (kind, possible) in possible_faults(caps, &folder) {
        match possible {
            Ok(()) => kinds.push(kind),
            Err(reason) => printer.note(&format!("fault «{}»: not made: {reason}", kind.name())),
        }
    }
    let seed = options.seed.unwrap_or_else(new_seed);
    let mut session = open(place, subject, seed)?;
    let tested = test(&mut session, place, &kinds).await;
    session.close().await;
    tested
}

/// Goes on with a fault test that was interrupted.
pub(super) async fn resume(place: Place<'_>, run: &StoredRun) -> Result<(), Failure> {
    let (inference, neighbour) = (run.run.inference.as_str(), run.run.neighbour.as_str());
    let subject = Subject::find(&place.file.site, Some(inference), Some(neighbour), BOTH)?;
    let mut session = open(place, subject, run.run.seed)?;
    let result = async {
        session.engine_up().await?;
        let store = Store::open(place.evidence).map_err(|error| evidence_failure(&error))?;
        let now = cotenant_probe::clock::wall_clock();
        let (mut writer, finished) =
            store.resume_run(&run.run.id, now).map_err(|error| evidence_failure(&error))?;
        writer.add_fingerprint(&session.fingerprint()).map_err(|error| evidence_failure(&error))?;
        place.printer.note(&format!(
            "run {} goes on: {} of {} faults are made",
            run.run.id,
            finished.len(),
            writer.plan().schedule.len()
        ));
        session.run(writer, &mut |_| true).await.map(|_| ())
    }
    .await;
    session.close().await;
    result
}

/// A session that may make faults.
fn open<'a>(place: Place<'a>, subject: Subject<'a>, seed: u64) -> Result<Session<'a>, Failure> {
    if subject.inference.1.launch.is_none() {
        return Err(Failure::input(
            "the neighbour is not made to fail beside an engine that Cotenant did not start: it may \
             serve somebody\n\nhint: declare `launch` of the inference workload, on a test machine",
        ));
    }
    let mut session =
        Session::open(place.file, subject, seed, place.interrupt.clone(), place.printer)?;
    let name = subject.neighbour.map(|(workload, _)| workload.name.as_str()).unwrap_or_default();
    session.rig.set_caps(place.file.site.sharing.caps.get(name).cloned().unwrap_or_default());
    Ok(session)
}

async fn test(
    session: &mut Session<'_>,
    place: Place<'_>,
    kinds: &[NeighbourFault],
) -> Result<(), Failure> {
    let options = place.options;
    session.engine_up().await?;
    let shape = match options.block_seconds {
        Some(seconds) => BlockShape { judged: Duration::from_secs_f64(seconds), ..SHAPE },
        None => SHAPE,
    };
    let each = (shape.load() + AROUND).as_secs_f64() * kinds.len() as f64;
    let rounds = options.minutes.map_or(ROUNDS, |minutes| (minutes * 60.0 / each) as u32);
    if rounds == 0 {
        return Err(Failure::input(format!(
            "one round of {} faults takes {:.1} min\n\nhint: give more with --minutes",
            kinds.len(),
            each / 60.0
        )));
    }
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
    let fit = Fit { pairs: 4, training_blocks: 0, shape };
    let mut plan = session.plan(BOTH, &fit, &piloted, None, 0.0)?;
    plan.schedule = schedule(kinds, rounds);
    plan.options.insert("tests".to_owned(), "faults".to_owned());
    let writer = begin(place.evidence, &plan, &[])?;
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    place.printer.note(&format!(
        "run {}: {rounds} rounds of {} under load",
        writer.id(),
        names.join(", ")
    ));
    session.run(writer, &mut |_| true).await.map(|_| ())
}

/// Each fault in turn, again and again: a drift of the machine weighs on all alike.
fn schedule(kinds: &[NeighbourFault], rounds: u32) -> Vec<PlannedBlock> {
    (0..rounds)
        .flat_map(|_| kinds.iter().copied())
        .zip(0_u32..)
        .map(|(kind, index)| PlannedBlock {
            index,
            condition: Condition::C,
            pair: index,
            remedy: None,
            phase: Phase::Steady,
            situation: Situation::Fault(kind),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_take_turns() {
        let blocks = schedule(&[NeighbourFault::Killed, NeighbourFault::DiskFull], 2);
        let kinds: Vec<_> = blocks.iter().map(|block| block.situation).collect();
        let (killed, full) = (NeighbourFault::Killed, NeighbourFault::DiskFull);
        assert_eq!(kinds, [killed, full, killed, full].map(Situation::Fault));
        assert!(blocks.iter().zip(0..).all(|(block, index)| block.index == index));
    }
}
