//! The tests beside A, B and C: each in a file of its own.

mod audit;
mod burst;
mod capacity;
mod faults;
mod reclaim;
mod sensitivity;

use std::path::Path;

use cotenant_core::protocol::FieldTest;
use cotenant_probe::measure::Interrupt;
use cotenant_records::evidence::StoredRun;

use crate::cli::MeasureOptions;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::site_file::SiteFile;

use reclaim::Extent;

/// What a test is made in.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) options: &'a MeasureOptions,
    pub(super) file: &'a SiteFile,
    pub(super) evidence: &'a Path,
    pub(super) interrupt: &'a Interrupt,
    pub(super) printer: Printer,
}

/// Runs one test and keeps its evidence.
pub(super) async fn run(test: FieldTest, place: Place<'_>) -> Result<(), Failure> {
    match test {
        FieldTest::Audit => audit::run(place).await,
        FieldTest::Burst => burst::run(place).await,
        FieldTest::Capacity => capacity::run(place).await,
        FieldTest::Faults => faults::run(place).await,
        FieldTest::Sensitivity => sensitivity::run(place).await,
        FieldTest::Reclaim => reclaim::run(Extent::Neighbour, place).await,
        FieldTest::Transition => reclaim::run(Extent::Whole, place).await,
    }
}

/// Goes on with an interrupted run of a test.
pub(super) async fn resume(
    test: FieldTest,
    place: Place<'_>,
    run: &StoredRun,
) -> Result<(), Failure> {
    match test {
        FieldTest::Burst => burst::resume(place, run).await,
        FieldTest::Capacity => capacity::resume(place, run).await,
        FieldTest::Faults => faults::resume(place, run).await,
        FieldTest::Sensitivity => sensitivity::resume(place, run).await,
        _ => Err(Failure::input(format!(
            "a run of `{}` cannot be resumed\n\nhint: begin a new one",
            test.name()
        ))),
    }
}
