//! `cotenant measure`: runs tests A, B and C, and those of the field, and keeps the evidence.

mod field;
mod guard;

use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::{Block, BlockFault, Remedy};
use cotenant_core::protocol::{Budget, Campaign, FieldTest, Fit, Tests};
use cotenant_core::site::CheckpointInterval;
use cotenant_probe::measure::Interrupt;
use cotenant_records::evidence::{ReadWhat, RunStatus, RunWriter, Store};
use cotenant_report::{TerminalOptions, render_terminal};

use crate::cli::{MeasureOptions, RemedyName};
use crate::exit::{Code, Failure};
use crate::printer::{Printer, minutes};
use crate::site_file::{self, SiteFile};
use crate::verbs::judged::{Judging, evidence_failure, judged};
use crate::verbs::session::{Session, Subject, begin, with_interrupt};

/// Load that goes on while the neighbour is told to stop.
const TAIL: Duration = Duration::from_secs(2);
/// Rest, start and exit around a block, before any was seen.
const AROUND: Duration = Duration::from_secs(4);

pub(crate) fn run(options: &MeasureOptions, printer: &Printer) -> Result<Code, Failure> {
    let file = site_file::read(&options.site, printer)?;
    let evidence = options.evidence.clone().unwrap_or_else(|| file.evidence());
    let code = with_interrupt(async |interrupt| {
        if options.resume {
            Box::pin(resume(options, &file, &evidence, interrupt, *printer)).await
        } else {
            Box::pin(measure(options, &file, &evidence, interrupt, *printer)).await
        }
    })?;
    Ok(code)
}

async fn measure(
    options: &MeasureOptions,
    file: &SiteFile,
    evidence: &Path,
    interrupt: Interrupt,
    printer: Printer,
) -> Result<Code, Failure> {
    let campaign = Campaign::parse(&options.tests).map_err(Failure::input)?;
    for test in FieldTest::ALL.into_iter().filter(|test| campaign.field.contains(test)) {
        let place = field::Place { options, file, evidence, interrupt: &interrupt, printer };
        field::run(test, place).await?;
    }
    let Some(tests) = campaign.compare else { return conclude(file, evidence, printer) };
    let subject = subject(options, file, tests)?;
    let seed = options.seed.unwrap_or_else(new_seed);
    let remedy = options.remedy.map(|RemedyName::IdlePriority| Remedy::IdlePriority);
    let mut session = Session::open(file, subject, seed, interrupt, printer)?;
    let result = async {
        guard::may_disturb(subject, options)?;
        session.engine_up().await?;
        printer.note(match subject.neighbour {
            Some(_) => "pilot: inference alone, then the neighbour, then what enforces the sharing",
            None => "pilot: inference alone",
        });
        let pilot = Duration::from_secs_f64(options.pilot_seconds);
        let piloted = session.pilot(pilot, pilot / 2, remedy).await?;
        let fit = fit(options, &session, tests, piloted.warm_up)?;
        let mut plan =
            session.plan(tests, &fit, &piloted, remedy, checkpoint_share(subject, &fit))?;
        plan.options.extend(guard::unguarded(options));
        let writer = begin(evidence, &plan, &piloted.audits)?;
        announce(&printer, &writer, &fit);
        session.run(writer, &mut |_| true).await
    }
    .await;
    session.close().await;
    result?;
    conclude(file, evidence, printer)
}

async fn resume(
    options: &MeasureOptions,
    file: &SiteFile,
    evidence: &Path,
    interrupt: Interrupt,
    printer: Printer,
) -> Result<Code, Failure> {
    let store = Store::open(evidence).map_err(|error| evidence_failure(&error))?;
    let stored =
        store.read_all(ReadWhat { gaps: false }).map_err(|error| evidence_failure(&error))?;
    let last =
        stored.runs.iter().rfind(|run| run.status != RunStatus::Complete && run.excluded.is_none());
    let Some(last) = last else {
        return Err(Failure::input(format!(
            "no interrupted run lies in {}\n\nhint: `cotenant measure {}` begins one",
            evidence.display(),
            file.name()
        )));
    };
    let guarded = |block: &Block| {
        block.faults.iter().any(|fault| matches!(fault, BlockFault::Guarded { .. }))
    };
    if last.run.blocks.iter().any(guarded) {
        return Err(Failure::input(format!(
            "run {} was ended by the guard, and does not go on\n\nhint: begin another with `cotenant \
             measure {}`, with a remedy or a lighter neighbour",
            last.run.id,
            file.name()
        )));
    }
    let field = last.options.get("tests").and_then(|word| FieldTest::of_name(word));
    if last.site_digest != file.digest {
        return Err(Failure::input(format!(
            "{} has changed since run {} began, so its blocks cannot be joined by more\n\nhint: \
             begin a new run with `cotenant measure {}`; the finished blocks of the old one count \
             where the stack and load are the same",
            file.name(),
            last.run.id,
            file.name()
        )));
    }
    if options.minutes.is_some() || options.seed.is_some() || options.block_seconds.is_some() {
        return Err(Failure::input(
            "a run goes on as it was planned: --minutes, --seed and --block-seconds cannot be \
             changed\n\nhint: leave them out, or begin a new run without --resume",
        ));
    }
    if let Some(test) = field {
        let place = field::Place { options, file, evidence, interrupt: &interrupt, printer };
        field::resume(test, place, last).await?;
        return conclude(file, evidence, printer);
    }
    let tests = Tests::parse(&last.options.get("tests").map_or(String::new(), |letters| {
        letters.chars().map(String::from).collect::<Vec<_>>().join(",")
    }))
    .map_err(Failure::input)?;
    let subject = Subject::find(
        &file.site,
        Some(&last.run.inference),
        Some(last.run.neighbour.as_str()).filter(|name| !name.is_empty()),
        tests,
    )?;
    let mut session = Session::open(file, subject, last.run.seed, interrupt, printer)?;
    let id = last.run.id.clone();
    let result = async {
        session.engine_up().await?;
        let now = cotenant_probe::clock::wall_clock();
        let (mut writer, finished) =
            store.resume_run(&id, now).map_err(|error| evidence_failure(&error))?;
        // Another stack would be another run: the writer refuses what differs, by its name.
        writer.add_fingerprint(&session.fingerprint()).map_err(|error| evidence_failure(&error))?;
        printer.note(&format!(
            "run {id} goes on: {} of {} blocks are finished",
            finished.len(),
            writer.plan().schedule.len()
        ));
        session.run(writer, &mut |_| true).await
    }
    .await;
    session.close().await;
    result?;
    conclude(file, evidence, printer)
}

fn subject<'a>(
    options: &MeasureOptions,
    file: &'a SiteFile,
    tests: Tests,
) -> Result<Subject<'a>, Failure> {
    let (inference, neighbour) = (options.inference.as_deref(), options.neighbour.as_deref());
    Subject::find(&file.site, inference, neighbour, tests)
}

/// How many blocks of which length: from the time that is given, or the time that is needed.
fn fit(
    options: &MeasureOptions,
    session: &Session<'_>,
    tests: Tests,
    warm_up: Duration,
) -> Result<Fit, Failure> {
    let shape = cotenant_core::protocol::BlockShape {
        warm_up: Duration::ZERO,
        judged: Duration::from_secs(30),
        tail: Duration::ZERO,
    };
    let rate_per_s = session.load(shape)?.tested(4).map_err(Failure::input)?.rate_per_s;
    let mut budget = Budget {
        time: Duration::ZERO,
        tests,
        rate_per_s: rate_per_s.max(1e-3),
        warm_up,
        tail: TAIL,
        around: AROUND,
        judged: options.block_seconds.map(Duration::from_secs_f64),
    };
    budget.time = match options.minutes {
        Some(minutes) => Duration::from_secs_f64(minutes * 60.0),
        None => budget.needed(),
    };
    budget.fit().ok_or_else(|| {
        Failure::input(format!(
            "three pairs of blocks do not fit into {}\n\nhint: about {} are needed (`--minutes \
             {:.0}`)",
            minutes(budget.time),
            minutes(budget.needed()),
            (budget.needed().as_secs_f64() / 60.0).ceil()
        ))
    })
}

/// Share of C blocks that must contain a checkpoint: half, where the neighbour can be asked for one
/// and does not write one in every block anyway.
fn checkpoint_share(subject: Subject<'_>, fit: &Fit) -> f64 {
    let checkpoint = subject.neighbour.and_then(|(_, training)| training.checkpoint.as_ref());
    let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.signal.is_some()) else {
        return 0.0;
    };
    match checkpoint.interval {
        Some(CheckpointInterval::Time(time)) if time <= fit.shape.judged => 0.0,
        Some(_) => 0.5,
        None => 0.0,
    }
}

fn announce(printer: &Printer, writer: &RunWriter, fit: &Fit) {
    printer.note(&format!(
        "run {}: {} pairs of A and C, {} blocks of B, {} judged in each (warm-up {:.1} s)",
        writer.id(),
        fit.pairs,
        fit.training_blocks,
        minutes(fit.shape.judged),
        fit.shape.warm_up.as_secs_f64()
    ));
}

/// A new seed for each run, so that runs that pool are not the same arrivals twice.
pub(crate) fn new_seed() -> u64 {
    let now = cotenant_probe::clock::wall_clock().as_nanosecond();
    (now as u64) ^ u64::from(std::process::id()).rotate_left(32)
}

/// Tells what the evidence says now. Whether it passes is for `verdict`; whether the test can prove
/// anything is for `measure`.
fn conclude(file: &SiteFile, evidence: &Path, printer: Printer) -> Result<Code, Failure> {
    let judged = judged(&Judging { file, evidence, as_of: None, notes: &[], next_steps: &[] })?;
    let options = TerminalOptions { width: 80, color: printer.color() };
    printer.data(&render_terminal(&judged.report, &options))?;
    printer.note(&format!(
        "the page: cotenant verdict {} --format html --out report.html",
        file.name()
    ));
    Ok(Code::of_test(&judged.verdict).unwrap_or(Code::Answered))
}
