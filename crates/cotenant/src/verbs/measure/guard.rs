//! What a test may do to an endpoint that others depend on.

use cotenant_core::site::Inference;

use crate::cli::MeasureOptions;
use crate::exit::Failure;

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
