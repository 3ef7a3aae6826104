//! `cotenant exclude`: leaves a run out of every verdict, for good, with a recorded reason.

use cotenant_records::evidence::{EvidenceError, Store};

use crate::cli::ExcludeOptions;
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;
use crate::verbs::judged::evidence_failure;

pub(crate) fn run(options: &ExcludeOptions, printer: &Printer) -> Result<Code, Failure> {
    let file = site_file::read(&options.site, printer)?;
    let root = options.evidence.clone().unwrap_or_else(|| file.evidence());
    let store = Store::open(&root).map_err(|error| evidence_failure(&error))?;
    let now = cotenant_probe::clock::wall_clock();
    store.exclude(&options.run, &options.reason, &options.by, now).map_err(
        |error| match error {
            // What was asked for makes no sense; nothing is wrong with the evidence.
            EvidenceError::UnknownRun { .. } | EvidenceError::Refused { .. } => {
                Failure::input(format!("{error}\n\nhint: {}", error.advice()))
            }
            error => evidence_failure(&error),
        },
    )?;
    printer.note(&format!(
        "run {} is left out from now on; every report shows it with the reason",
        options.run
    ));
    Ok(Code::Answered)
}
