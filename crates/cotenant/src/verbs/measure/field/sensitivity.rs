//! `--tests sensitivity`: inference alone with one resource stressed at a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{Origin, Stress, Stressor};
use cotenant_core::protocol::{
    BlockShape, FieldTest, ROUNDS_MIN, SensitivityBudget, SensitivityDesign, SensitivityFit, Tests,
    sensitivity_schedule,
};
use cotenant_core::site::Site;
use cotenant_probe::host::{Root, parse_memory};
use cotenant_probe::measure::{self, NeighbourPilot, StressKit};
use cotenant_probe::stress::stressable_gpus;
use cotenant_records::evidence::{RunPlan, Store, StoredRun};

use super::Place;
use crate::cli::MeasureOptions;
use crate::exit::Failure;
use crate::printer::minutes;
use crate::verbs::judged::evidence_failure;
use crate::verbs::measure::new_seed;
use crate::verbs::session::{Session, Subject, begin, block_failure};

/// Rest, start of the stressor and its end around a block.
const AROUND: Duration = Duration::from_millis(1_300);
/// Bounds of one calibration.
const CALIBRATION: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));
/// Share of the available memory that a stressor may use where nothing is said.
const MEMORY_SHARE: u64 = 4;
/// Bytes on disk at a time where nothing is said.
const DISK_BYTES: u64 = 1 << 30;
/// Names in the run's options, from which it is resumed.
const CALIBRATED: &str = "calibrated.";
const MEMORY: &str = "stress_memory_bytes";
const DISK: &str = "stress_disk_bytes";

/// Runs the test and keeps its evidence.
pub(super) async fn run(place: Place<'_>) -> Result<(), Failure> {
    let Place { options, file, evidence, interrupt, printer } = place;
    // The driver is loaded only where one of its stressors may be meant.
    let list = options.stressors.as_deref();
    let gpus = match list {
        Some(list) if !list.contains("gpu") => Err("none was asked for".to_owned()),
        _ => stressable_gpus(),
    };
    let stressors = stressors(list, &gpus)?;
    let subject = subject(&file.site, options.inference.as_deref(), options.neighbour.as_deref())?;
    let (workload, inference) = subject.inference;
    super::super::guard::may_stress(inference, &workload.name, options)?;
    let seed = options.seed.unwrap_or_else(new_seed);
    let mut session = Session::open(file, subject, seed, interrupt.clone(), printer)?;
    let result = async {
        let mut kit = kit(&session, evidence)?;
        kit.memory_bytes_max = options.stress_memory.map_or(kit.memory_bytes_max, |most| most.0);
        kit.disk_bytes_max = options.stress_disk.map_or(kit.disk_bytes_max, |most| most.0);
        session.engine_up().await?;
        let plan = plan(options, &mut session, &stressors, kit).await?;
        let writer = begin(evidence, &plan, &[])?;
        printer.note(&format!(
            "run {}: {} rounds of {} blocks, {:.1} s judged in each (warm-up {:.1} s)",
            writer.id(),
            plan.schedule.last().map_or(0, |block| block.pair + 1),
            stressors.len() * (usize::from(Stress::DOSE_MAX) + 1),
            plan.block_s,
            plan.warm_up_s,
        ));
        session.run(writer, &mut |_| true).await.map(drop)
    }
    .await;
    session.close().await;
    result
}

/// Goes on with a run that was interrupted: with the calibration that it began with, since another
/// one would be other doses.
pub(super) async fn resume(place: Place<'_>, last: &StoredRun) -> Result<(), Failure> {
    let Place { file, evidence, interrupt, printer, .. } = place;
    let neighbour = Some(last.run.neighbour.as_str()).filter(|name| !name.is_empty());
    let subject = subject(&file.site, Some(&last.run.inference), neighbour)?;
    let mut session = Session::open(file, subject, last.run.seed, interrupt.clone(), printer)?;
    let result = async {
        let mut kit = kit(&session, evidence)?;
        restore(&mut kit, &last.options)?;
        session.rig.set_stress(kit);
        session.engine_up().await?;
        let store = Store::open(evidence).map_err(|error| evidence_failure(&error))?;
        let now = cotenant_probe::clock::wall_clock();
        let (mut writer, finished) =
            store.resume_run(&last.run.id, now).map_err(|error| evidence_failure(&error))?;
        writer.add_fingerprint(&session.fingerprint()).map_err(|error| evidence_failure(&error))?;
        printer.note(&format!(
            "run {} goes on: {} of {} blocks are finished",
            last.run.id,
            finished.len(),
            writer.plan().schedule.len()
        ));
        session.run(writer, &mut |_| true).await.map(drop)
    }
    .await;
    session.close().await;
    result
}

/// The stressors that are asked for; every one that works here where nothing is said. `gpus` is how
/// many GPUs can be stressed.
fn stressors(list: Option<&str>, gpus: &Result<u32, String>) -> Result<Vec<Stressor>, Failure> {
    let has_gpu = gpus.is_ok();
    let here = || Stressor::ALL.into_iter().filter(move |it| has_gpu || !it.needs_gpu());
    let names = || here().map(Stressor::key).collect::<Vec<_>>().join(", ");
    let Some(list) = list else { return Ok(here().collect()) };
    let mut asked = Vec::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let found = Stressor::ALL.into_iter().find(|stressor| stressor.key() == word);
        let Some(stressor) = found else {
            return Err(Failure::input(format!(
                "`{word}` is no stressor: write a list of {}",
                names()
            )));
        };
        if let Err(why) = gpus
            && stressor.needs_gpu()
        {
            return Err(Failure::input(format!(
                "`{word}` cannot be stressed here: {why}\n\nhint: the others are {}",
                names()
            )));
        }
        asked.push(stressor);
    }
    asked.sort_unstable();
    asked.dedup();
    if asked.is_empty() {
        return Err(Failure::input(format!("no stressor named: write a list of {}", names())));
    }
    Ok(asked)
}

/// Inference, and beside it the neighbour that is to be explained, where there is one: what is
/// enforced on it is enforced on the stressors too.
fn subject<'a>(
    site: &'a Site,
    inference: Option<&str>,
    neighbour: Option<&str>,
) -> Result<Subject<'a>, Failure> {
    let first = site.training().next().map(|(workload, _)| workload.name.as_str());
    let neighbour = neighbour.or(first);
    Subject::find(site, inference, neighbour, Tests { a: true, b: false, c: neighbour.is_some() })
}

/// What stressors may use on this host, before any is calibrated.
fn kit(session: &Session<'_>, evidence: &Path) -> Result<StressKit, Failure> {
    let folder = std::path::absolute(evidence)
        .map_err(|error| Failure::world(format!("cannot find {}: {error}", evidence.display())))?;
    let available = Root::of_this_machine()
        .read("/proc/meminfo")
        .and_then(|text| parse_memory(&text, "MemAvailable"))
        .map_err(|missing| {
            Failure::world_hint(
                format!("it is not known how much memory is free: {}", missing.0),
                "no resource is stressed on a host whose memory cannot be watched",
            )
        })?;
    Ok(StressKit {
        folder,
        cores: session.host.cores_usable.as_ref().map_or(1, |cores| cores.count),
        memory_bytes_max: available / MEMORY_SHARE,
        disk_bytes_max: DISK_BYTES,
        calibrated: BTreeMap::new(),
    })
}

/// Calibrates, and lays the run out.
async fn plan(
    options: &MeasureOptions,
    session: &mut Session<'_>,
    stressors: &[Stressor],
    mut kit: StressKit,
) -> Result<RunPlan, Failure> {
    session.printer.note("pilot: inference alone, then each stressor beside an idle engine");
    let alone = Duration::from_secs_f64(options.pilot_seconds);
    let shape = BlockShape { warm_up: Duration::ZERO, judged: alone, tail: Duration::ZERO };
    let rules = session.rules(shape);
    // A number far from those of the rounds: the pilot must not rehearse them.
    let first = session.load(shape)?.schedule_of(u32::MAX, alone).map_err(Failure::input)?;
    let mut interrupt = session.interrupt.clone();
    let pilot = measure::pilot_inference(&mut session.rig, &rules, &first, &mut interrupt)
        .await
        .map_err(block_failure)?;
    session.rig.set_stress(kit.clone());
    let length = (alone / 4).clamp(CALIBRATION.0, CALIBRATION.1);
    for stressor in stressors {
        let gave = measure::calibrate(&mut session.rig, *stressor, length, &mut interrupt)
            .await
            .map_err(|error| match block_failure(error) {
                Failure::Interrupted(text) => Failure::Interrupted(text),
                other => hinted(other, *stressor, stressors),
            })?;
        session.printer.note(&format!("  {} gave {}", stressor.name(), amount(*stressor, gave)));
        kit.calibrated.insert(*stressor, gave);
    }
    let fit = fit(options, session, stressors.len() as u32, pilot.warm_up)?;
    let stored = store(&kit);
    session.rig.set_stress(kit);
    let design =
        SensitivityDesign { stressors: stressors.to_vec(), rounds: fit.rounds, seed: session.seed };
    Ok(RunPlan {
        started: cotenant_probe::clock::wall_clock(),
        origin: Origin::Measured,
        inference: session.subject.inference.0.name.clone(),
        neighbour: session.subject.neighbour.map_or_else(String::new, |(w, _)| w.name.clone()),
        seed: session.seed,
        fingerprint: session.fingerprint(),
        load: session.load(fit.shape)?.tested(fit.rounds).map_err(Failure::input)?,
        pilot: measure::pilot_record(Some(&pilot), &NeighbourPilot::default()),
        remedies: Vec::new(),
        engine_supervised: session.rig.supervises_engine(),
        site_digest: session.file.digest.clone(),
        warm_up_s: fit.shape.warm_up.as_secs_f64(),
        block_s: fit.shape.judged.as_secs_f64(),
        tail_s: fit.shape.tail.as_secs_f64(),
        options: stored,
        schedule: sensitivity_schedule(&design),
    })
}

/// A stressor that cannot run here, with the way around it.
fn hinted(failure: Failure, stressor: Stressor, asked: &[Stressor]) -> Failure {
    let others: Vec<&str> =
        asked.iter().filter(|other| **other != stressor).map(|other| other.key()).collect();
    let Failure::World { message, .. } = &failure else { return failure };
    if others.is_empty() {
        return failure;
    }
    Failure::world_hint(
        format!("{} cannot be stressed here: {message}", stressor.name()),
        format!("leave it out with `--stressors {}`", others.join(",")),
    )
}

fn amount(stressor: Stressor, value: f64) -> String {
    match stressor {
        Stressor::Cpu => format!("{value:.2} cores"),
        Stressor::GpuCompute => format!("{:.2} TFLOP/s", value / 1e12),
        _ => format!("{:.0} MB/s", value / 1e6),
    }
}

fn fit(
    options: &MeasureOptions,
    session: &Session<'_>,
    stressors: u32,
    warm_up: Duration,
) -> Result<SensitivityFit, Failure> {
    let shape = BlockShape {
        warm_up: Duration::ZERO,
        judged: Duration::from_secs(30),
        tail: Duration::ZERO,
    };
    let rate_per_s = session.load(shape)?.tested(ROUNDS_MIN).map_err(Failure::input)?.rate_per_s;
    let mut budget = SensitivityBudget {
        time: Duration::ZERO,
        stressors,
        rate_per_s: rate_per_s.max(1e-3),
        warm_up,
        around: AROUND,
        judged: options.block_seconds.map(Duration::from_secs_f64),
    };
    budget.time = options
        .minutes
        .map_or_else(|| budget.needed(), |minutes| Duration::from_secs_f64(minutes * 60.0));
    budget.fit().ok_or_else(|| {
        Failure::input(format!(
            "{ROUNDS_MIN} rounds of {} blocks do not fit into {}\n\nhint: about {} are needed \
             (`--minutes {:.0}`), or fewer stressors (`--stressors cpu,disk`)",
            stressors * (u32::from(Stress::DOSE_MAX) + 1),
            minutes(budget.time),
            minutes(budget.needed()),
            (budget.needed().as_secs_f64() / 60.0).ceil()
        ))
    })
}

/// A kit as a run keeps it.
fn store(kit: &StressKit) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    options.insert("tests".to_owned(), FieldTest::Sensitivity.name().to_owned());
    options.insert(MEMORY.to_owned(), kit.memory_bytes_max.to_string());
    options.insert(DISK.to_owned(), kit.disk_bytes_max.to_string());
    for (stressor, gave) in &kit.calibrated {
        options.insert(format!("{CALIBRATED}{}", stressor.key()), gave.to_string());
    }
    options
}

/// The kit that a run began with.
fn restore(kit: &mut StressKit, options: &BTreeMap<String, String>) -> Result<(), Failure> {
    let number = |name: &str| {
        options.get(name).and_then(|text| text.parse::<u64>().ok()).ok_or_else(|| {
            Failure::world(format!("the run does not tell its `{name}`, so it cannot go on"))
        })
    };
    kit.memory_bytes_max = number(MEMORY)?;
    kit.disk_bytes_max = number(DISK)?;
    for stressor in Stressor::ALL {
        let gave = options.get(&format!("{CALIBRATED}{}", stressor.key()));
        if let Some(gave) = gave.and_then(|text| text.parse::<f64>().ok()) {
            kit.calibrated.insert(stressor, gave);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_stressors_is_read_and_a_wrong_one_named() {
        let read_with = |list, gpus: Result<u32, String>| {
            stressors(list, &gpus).map_err(|failure| match failure {
                Failure::Input(text) => text,
                _ => "no wrong input".to_owned(),
            })
        };
        let read = |list| read_with(list, Err("no driver is loaded on a GPU".to_owned()));
        assert_eq!(read(None).map(|all| all.len()), Ok(5));
        assert_eq!(read_with(None, Ok(1)).map(|all| all.len()), Ok(7));
        assert_eq!(read_with(Some("gpu-memory"), Ok(1)), Ok(vec![Stressor::GpuMemory]));
        let two = Ok(vec![Stressor::Cpu, Stressor::PageCache]);
        assert_eq!(read(Some("page-cache, cpu,cpu")), two);
        assert!(read(Some("cpu,gpu")).is_err_and(|why| why.contains("`gpu`")));
        assert!(read(Some("gpu-compute")).is_err_and(|why| why.contains("on a GPU")));
        assert!(read(Some(" , ")).is_err_and(|why| why.contains("no stressor named")));
    }

    #[test]
    fn a_kit_comes_back_as_it_was() {
        let kit = StressKit {
            folder: "/somewhere".into(),
            cores: 2,
            memory_bytes_max: 1 << 30,
            disk_bytes_max: 1 << 20,
            calibrated: BTreeMap::from([(Stressor::Cpu, 1.93), (Stressor::DiskSync, 1.0 / 3.0e-9)]),
        };
        let mut back = StressKit {
            memory_bytes_max: 0,
            disk_bytes_max: 0,
            calibrated: BTreeMap::new(),
            ..kit.clone()
        };
        restore(&mut back, &store(&kit)).unwrap();
        assert_eq!(back, kit);
        assert!(restore(&mut back, &BTreeMap::new()).is_err());
    }
}
