//! The tests beside A, B and C: each in a file of its own.

use std::path::Path;

use cotenant_core::protocol::FieldTest;
use cotenant_probe::measure::Interrupt;

use crate::cli::MeasureOptions;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::site_file::SiteFile;

/// Runs one test and keeps its evidence.
pub(super) async fn run(
    test: FieldTest,
    _options: &MeasureOptions,
    _file: &SiteFile,
    _evidence: &Path,
    _interrupt: &Interrupt,
    _printer: Printer,
) -> Result<(), Failure> {
    Err(Failure::input(format!("`{}` cannot be tested yet", test.name())))
}
