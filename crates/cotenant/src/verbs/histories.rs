//! The demand of a site's inference workloads, read from where the site file says.

use std::path::Path;
use std::slice::from_ref;
use std::time::Duration;

use cotenant_core::demand::History;
use cotenant_core::site::Site;
use cotenant_probe::clock;
use cotenant_probe::demand::{DemandError, Progress, ProgressUnit, ReadOptions, Source, read_all};

use crate::exit::Failure;
use crate::printer::Printer;

/// Longest wait for one answer of a metrics server.
const PATIENCE: Duration = Duration::from_secs(30);

/// The histories that a site file declares, and what is to be said about them.
pub(crate) struct Histories {
    /// By the name of the workload.
    pub(crate) list: Vec<(String, History)>,
    pub(crate) notes: Vec<String>,
}

/// Reads the demand of every inference workload that has been observed; what is only declared needs
/// no reading.
pub(crate) fn of_site(site: &Site, folder: &Path, printer: Printer) -> Result<Histories, Failure> {
    let mut histories = Histories { list: Vec::new(), notes: Vec::new() };
    for (workload, inference) in site.inference() {
        let name = &workload.name;
        if let Some(source) = Source::of(&inference.demand, folder) {
            let found = read_sources(from_ref(&source), inference.service_time, printer)?;
            histories.notes.extend(found.notes.iter().map(|note| format!("{name}: {note}")));
            histories.list.push((name.clone(), found.history));
        }
    }
    Ok(histories)
}

/// Reads sources as one history, with progress where it takes long.
pub(crate) fn read_sources(
    sources: &[Source],
    service: Option<Duration>,
    printer: Printer,
) -> Result<cotenant_probe::demand::Read, Failure> {
    let options = ReadOptions { service, now: clock::wall_clock(), patience: PATIENCE };
    let name = match sources {
        [one] => one.name(),
        several => format!("{} sources", several.len()),
    };
    let work = printer.work(100);
    let began = std::time::Instant::now();
    let mut told = 0;
    let mut progress = |progress: Progress| {
        let Some(percent) = (100 * progress.done).checked_div(progress.total) else { return };
        // A small file is read before anybody could read a line about it.
        if percent <= told || began.elapsed() < Duration::from_secs(1) {
            return;
        }
        told = percent;
        let left = began.elapsed().mul_f64((100 - percent.min(100)) as f64 / percent.max(1) as f64);
        let what = match progress.unit {
            ProgressUnit::Bytes => "read",
            ProgressUnit::Requests => "asked",
        };
        work.step(percent, &format!("% {what} of {name}"), left);
    };
    let found = read_all(sources, &options, &mut progress).map_err(|error| match error {
        DemandError::Server { .. } => Failure::world(error.to_string()),
        DemandError::File(_) | DemandError::Apart { .. } | DemandError::Refused { .. } => {
            Failure::input(error.to_string())
        }
    });
    work.done();
    found
}
