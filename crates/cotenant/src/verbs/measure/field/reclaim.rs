//! Drills: the machine is taken from the neighbour under load, and given back, as often as the declared
//! confidence needs. `reclaim` leaves the engine where it is; `transition` puts it away while the
//! neighbour works, lays GPUs out anew where the site says so, and brings it back.

use std::path::Path;
use std::time::{Duration, Instant};

use cotenant_core::evidence::Situation;
use cotenant_core::protocol::{BlockShape, Fit, Tests};
use cotenant_core::site::Preemption;
use cotenant_core::stats::drills_needed;
use cotenant_core::verdict::GateKind;
use cotenant_probe::measure::{NeighbourPilot, pilot_record};
use cotenant_records::evidence::{ReadWhat, RunStatus};

use super::Place;
use crate::cli::MeasureOptions;
use crate::exit::Failure;
use crate::printer::minutes;
use crate::site_file::SiteFile;
use crate::verbs::judged::{Judging, judged};
use crate::verbs::session::{HAND_OVER, Piloted, Session, Subject, begin};

/// Load before a drill is prepared, and the neighbour's undisturbed steps before the signal.
const WARM_UP: Duration = Duration::from_millis(500);
const BEFORE_SIGNAL: Duration = Duration::from_secs(4);
/// Load that is planned behind the longest reclaim that the notice allows. A drill ends when inference
/// answers, so that most of it is never sent.
const BEHIND_NOTICE: Duration = Duration::from_secs(5);
const NOTICE_PLANNED_MAX: Duration = Duration::from_mins(1);
/// Drills where the site does not say which share of reclaims may fail: a look, and no proof.
const DRILLS_FOR_A_LOOK: u64 = 3;
/// Most drills that one run plans; the next run goes on counting.
const DRILLS_MAX: u64 = 1_000;
/// Share of the drills in which the neighbour is asked for a checkpoint shortly before the signal: one
/// that is still being written must not spoil the next.
const CHECKPOINT_SHARE: f64 = 0.25;

/// What a drill contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The neighbour goes and comes back.
    Neighbour,
    /// Everything changes hands.
    Whole,
}

/// Drills a reclaim of the neighbour and the start that follows.
pub(super) async fn run(extent: Extent, place: Place<'_>) -> Result<(), Failure> {
    let Place { options, file, evidence, interrupt, printer } = place;
    let tests = Tests { a: false, b: false, c: true };
    let (inference, neighbour) = (options.inference.as_deref(), options.neighbour.as_deref());
    let subject = Subject::find(&file.site, inference, neighbour, tests)?;
    let Some((workload, training)) = subject.neighbour else {
        return Err(Failure::input("a drill needs a neighbour, and the site declares none"));
    };
    let preemption = training.preemption.as_ref();
    if preemption.is_some_and(|preemption| !preemption.allowed) {
        return Err(Failure::input(format!(
            "`{}` is declared as never preempted, so there is nothing to drill\n\nhint: declare \
             `preemption: {{ allowed: true, signal: TERM, notice: 30 s }}` if it may be stopped",
            workload.name
        )));
    }
    let drills = drills(extent, file, evidence, preemption)?;
    let notice = preemption.and_then(|preemption| preemption.notice).unwrap_or(NOTICE_PLANNED_MAX);
    let shape = BlockShape {
        warm_up: WARM_UP,
        judged: options.block_seconds.map_or(BEFORE_SIGNAL, Duration::from_secs_f64),
        tail: notice.min(NOTICE_PLANNED_MAX) + BEHIND_NOTICE,
    };
    let seed = options.seed.unwrap_or_else(super::super::new_seed);
    let mut session = Session::open(file, subject, seed, interrupt.clone(), printer)?;
    let fit = Fit { pairs: drills.planned as u32, training_blocks: 0, shape };
    let result = match (extent, session.hand_over()?) {
        (Extent::Whole, None) => Err(nothing_to_change(&subject.inference.0.name)),
        _ => drill(extent, &mut session, &fit, options, evidence, &drills).await,
    };
    session.close().await;
    result
}

fn nothing_to_change(inference: &str) -> Failure {
    Failure::input(format!(
        "nothing changes hands beside the neighbour: `{inference}` runs already and is never stopped \
         here\n\nhint: declare `sleep: {{ level: 1 }}` if it may sleep, a `launch` if it may be \
         started and stopped, or a layout in operations.transition; `--tests reclaim` drills the \
         neighbour alone"
    ))
}

async fn drill(
    extent: Extent,
    session: &mut Session<'_>,
    fit: &Fit,
    options: &MeasureOptions,
    evidence: &Path,
    drills: &Drills,
) -> Result<(), Failure> {
    let printer = session.printer;
    session.engine_up().await?;
    let asked = session.subject.neighbour.and_then(|(_, training)| training.checkpoint.as_ref());
    let may_ask = asked.is_some_and(|checkpoint| checkpoint.signal.is_some());
    let share = if may_ask { CHECKPOINT_SHARE } else { 0.0 };
    let piloted = Piloted {
        record: pilot_record(None, &NeighbourPilot::default()),
        warm_up: fit.shape.warm_up,
        audits: Vec::new(),
        e2e_p95_s: None,
    };
    let remedy = options
        .remedy
        .map(|crate::cli::RemedyName::IdlePriority| cotenant_core::evidence::Remedy::IdlePriority);
    let tests = Tests { a: false, b: false, c: true };
    let mut plan = session.plan(tests, fit, &piloted, remedy, share)?;
    for block in &mut plan.schedule {
        block.situation = Situation::Drill;
    }
    if extent == Extent::Whole {
        plan.options.insert(HAND_OVER.to_owned(), "yes".to_owned());
    }
    let writer = begin(evidence, &plan, &piloted.audits)?;
    let id = writer.id().to_owned();
    printer.note(&drills.announce(&id));
    let began = Instant::now();
    let limit = options.minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    let mut go_on = |_: usize| limit.is_none_or(|limit| began.elapsed() < limit);
    match session.run(writer, &mut go_on).await {
        Ok(RunStatus::Complete) => Ok(()),
        Ok(_) => {
            let limit = minutes(limit.unwrap_or_default());
            printer.note(&format!("run {id}: {limit} are over; `--resume` goes on with it"));
            Ok(())
        }
        // A neighbour that does not start again has answered the question: its drill says so.
        Err(Failure::World { message, hint }) if answered(evidence, &id) => {
            printer.note(&format!("run {id} ends here: {message}"));
            if let Some(hint) = hint {
                printer.note(&hint);
            }
            Ok(())
        }
        Err(failure) => Err(failure),
    }
}

/// Whether a run holds a drill whose resume was seen to fail.
fn answered(evidence: &Path, id: &str) -> bool {
    let Ok(runs) = crate::verbs::judged::runs(evidence, ReadWhat { gaps: false }) else {
        return false;
    };
    runs.iter().filter(|run| run.id == id).flat_map(|run| &run.blocks).any(|block| {
        let resume = block.drill.as_ref().and_then(|drill| drill.resume.as_ref());
        resume.is_some_and(|resume| resume.failure.is_some())
    })
}

/// How many drills are planned, and why.
struct Drills {
    planned: u64,
    /// The share of reclaims that may fail, and how many drills were seen before; `None` where the
    /// site declares no share.
    question: Option<(f64, u64)>,
}

impl Drills {
    fn announce(&self, id: &str) -> String {
        let drills = if self.planned == 1 { "drill" } else { "drills" };
        match self.question {
            Some((allowed, seen)) => format!(
                "run {id}: {} {drills}; {seen} were seen before, and {} without a failure show that \
                 at most {:.1} % of reclaims fail (95 %)",
                self.planned,
                drills_needed(allowed).unwrap_or(u64::MAX),
                allowed * 100.0
            ),
            None => format!(
                "run {id}: {} {drills} for a look; `preemption.failure_share_max` would say how many \
                 are needed",
                self.planned
            ),
        }
    }
}

/// As many drills as are still needed for the declared share of failures.
fn drills(
    extent: Extent,
    file: &SiteFile,
    evidence: &Path,
    preemption: Option<&Preemption>,
) -> Result<Drills, Failure> {
    let declared = preemption.and_then(|preemption| preemption.failure_share_max);
    let declared = declared.or(file.site.operations.risk_tolerance);
    let needed = declared.and_then(|share| Some((share.value(), drills_needed(share.value())?)));
    let Some((allowed, needed)) = needed else {
        return Ok(Drills { planned: DRILLS_FOR_A_LOOK, question: None });
    };
    let before =
        judged(&Judging { file, evidence, as_of: None, notes: &[], next_steps: &[] })?.verdict;
    let gate = before.gates.iter().find(|gate| gate.kind == GateKind::Preemption);
    let finding = gate.and_then(|gate| {
        let subject = match extent {
            Extent::Neighbour => "reclaim and resume",
            Extent::Whole => "change of hands",
        };
        gate.findings.iter().find(|finding| finding.subject.ends_with(subject))
    });
    let seen = finding.map_or(0, |finding| finding.sample.count);
    let planned = needed.saturating_sub(seen).clamp(1, DRILLS_MAX);
    Ok(Drills { planned, question: Some((allowed, seen)) })
}
