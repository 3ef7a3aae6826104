//! What an engine is told on its command line, where the site file does not say it in a field.

use crate::site::{Launch, Workload, WorkloadKind};

/// How a workload is started, where it says so.
pub(super) fn launch_of(workload: &Workload) -> Option<&Launch> {
    match &workload.kind {
        WorkloadKind::Inference(inference) => inference.launch.as_ref(),
        WorkloadKind::Training(training) => training.launch.as_ref(),
        WorkloadKind::Render(render) => render.job.launch.as_ref(),
        WorkloadKind::Batch(batch) => match &batch.route {
            crate::site::BatchRoute::Job(launch) => Some(launch),
            crate::site::BatchRoute::Serving(_) => None,
        },
    }
}

/// Every word of a workload's command line: those of its engine and those of its launch.
fn words(workload: &Workload) -> impl Iterator<Item = &str> {
    let of_engine = match &workload.kind {
        WorkloadKind::Inference(inference) => inference.arguments.as_slice(),
        _ => &[],
    };
    let of_launch = launch_of(workload).map_or(&[][..], |launch| &launch.argv);
    of_engine.iter().chain(of_launch).map(String::as_str)
}

/// The value of an option: `--name value` or `--name=value`. The last one counts, as in most parsers
/// of command lines.
pub(super) fn option<'a>(workload: &'a Workload, names: &[&str]) -> Option<&'a str> {
    let mut found = None;
    let mut words = words(workload).peekable();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((name, value)) if names.contains(&name) => found = Some(value),
            _ if names.contains(&word) => found = words.peek().copied().or(found),
            _ => {}
        }
    }
    found
}

/// The value of an option as a number.
pub(super) fn number<T: std::str::FromStr>(workload: &Workload, names: &[&str]) -> Option<T> {
    option(workload, names)?.parse().ok()
}

/// Whether an option without a value is given.
pub(super) fn flag(workload: &Workload, name: &str) -> bool {
    words(workload).any(|word| word == name)
}
