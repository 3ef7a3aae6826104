//! `--tests audit`: whether each limit that the site relies on binds.

use std::time::Duration;

use cotenant_core::evidence::Pilot;
use cotenant_core::protocol::{BlockShape, Fit, Tests};
use cotenant_records::evidence::RunStatus;

use super::super::guard::may_stress;
use super::super::new_seed;
use super::Place;
use crate::exit::Failure;
use crate::verbs::judged::evidence_failure;
use crate::verbs::session::{Piloted, Session, Subject, audit_length, begin};

const BOTH: Tests = Tests { a: false, b: true, c: true };

/// Makes every audit and keeps them as a run without blocks.
pub(super) async fn run(place: Place<'_>) -> Result<(), Failure> {
    let options = place.options;
    let (inference, neighbour) = (options.inference.as_deref(), options.neighbour.as_deref());
    let subject = Subject::find(&place.file.site, inference, neighbour, BOTH)?;
    may_stress(subject.inference.1, &subject.inference.0.name, options)?;
    let seed = options.seed.unwrap_or_else(new_seed);
    let mut session =
        Session::open(place.file, subject, seed, place.interrupt.clone(), place.printer)?;
    let audited = audit(&mut session, place).await;
    session.close().await;
    audited
}

async fn audit(session: &mut Session<'_>, place: Place<'_>) -> Result<(), Failure> {
    let printer = place.printer;
    session.engine_up().await?;
    printer.note("audit: a load against each limit, in the place of the neighbour");
    let any = BlockShape {
        warm_up: Duration::ZERO,
        judged: Duration::from_secs(1),
        tail: Duration::ZERO,
    };
    let load = session.load(any)?;
    let length = audit_length(load.rate_per_s());
    let shape = BlockShape { judged: length, ..any };
    let rules = session.rules(shape);
    let load = load.schedule_of(u32::MAX, length).map_err(Failure::input)?;
    let mut audits = session.audits(&rules, &load, None).await?;
    if !session.rig.supervises_engine() {
        // Allowed by name, with a reason.
        audits.extend(session.audit_caps().await?);
    }
    for audit in &audits {
        let word = if audit.binds { "binds" } else { "does NOT bind" };
        printer.note(&format!("audit of «{}»: {word}: {}", audit.mechanism, audit.method));
    }
    let none = Pilot {
        requests: 0,
        ttft_p95_s: None,
        itl_p95_s: None,
        steps: 0,
        step_s: None,
        warm_up_s: 0.0,
    };
    let piloted = Piloted { record: none, warm_up: Duration::ZERO, audits, e2e_p95_s: None };
    let fit = Fit { pairs: 4, training_blocks: 0, shape };
    let mut plan = session.plan(BOTH, &fit, &piloted, None, 0.0)?;
    // Audits have no blocks.
    plan.schedule.clear();
    plan.options.insert("tests".to_owned(), "audit".to_owned());
    if let Some(reason) = &place.options.no_guard {
        plan.options.insert("no_guard".to_owned(), reason.clone());
    }
    let writer = begin(place.evidence, &plan, &piloted.audits)?;
    let now = cotenant_probe::clock::wall_clock();
    writer.finish(RunStatus::Complete, now).map_err(|error| evidence_failure(&error))
}
