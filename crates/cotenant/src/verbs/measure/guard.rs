//! What a test may do to an endpoint that others depend on.

use cotenant_core::site::{Guard, Inference};

use crate::cli::MeasureOptions;
use crate::exit::Failure;
use crate::verbs::session::Subject;

/// Refuses to stress the host of an endpoint that was not started here, unless somebody says why that
/// may be done.
pub(super) fn may_stress(
    inference: &Inference,
    name: &str,
    options: &MeasureOptions,
) -> Result<(), Failure> {
    if inference.launch.is_some() || options.no_guard.is_some() {
        return Ok(());
    }
    Err(Failure::input(format!(
        "`{name}` runs already at {}, and this test takes CPU, memory and disk of this host away \
         from it\n\nhint: give a `launch` so that an engine is started for the test, or say why this \
         one may be slowed down: `--no-guard \"a replica without users\"`",
        inference.endpoint
    )))
}

/// Refuses to overload an endpoint that was not started here, unless somebody says why it may be.
pub(super) fn may_overload(
    inference: &Inference,
    name: &str,
    options: &MeasureOptions,
) -> Result<(), Failure> {
    if inference.launch.is_some() || options.no_guard.is_some() {
        return Ok(());
    }
    Err(Failure::input(format!(
        "`{name}` runs already at {}, and this test raises its load until an objective breaks\n\n\
         hint: give a `launch` so that an engine is started for the test, or say why this one may be \
         overloaded: `--no-guard \"a replica without users\"`",
        inference.endpoint
    )))
}

/// Refuses to put a neighbour beside an endpoint that was not started here where nothing would stop it.
pub(super) fn may_disturb(subject: Subject<'_>, options: &MeasureOptions) -> Result<(), Failure> {
    let (workload, inference) = subject.inference;
    let is_ours = inference.launch.is_some() || subject.neighbour.is_none();
    let is_guarded = inference.guard.as_ref().is_some_and(Guard::bounds_something);
    if is_ours || is_guarded || options.no_guard.is_some() {
        return Ok(());
    }
    Err(Failure::input(format!(
        "`{}` runs already at {}, and nothing would stop the neighbour when its users suffer\n\nhint: \
         declare bounds that end the test, `guard: {{ ttft_p95: 3 s, error_rate: 5 %, window: 5 s }}` \
         under `inference` of `{}`, or say why none is needed: `--no-guard \"a replica without users\"`",
        workload.name, inference.endpoint, workload.name
    )))
}

/// What a run's plan keeps of a test without a guard.
pub(super) fn unguarded(options: &MeasureOptions) -> Option<(String, String)> {
    options.no_guard.clone().map(|reason| ("no_guard".to_owned(), reason))
}
