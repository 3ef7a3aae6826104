//! Ctrl-C and SIGTERM, as a switch that is looked at.

use cotenant_probe::measure::Interrupt;
use tokio::sync::watch;

use crate::exit::Failure;

/// Runs an asynchronous verb with a switch that Ctrl-C and SIGTERM throw.
pub(crate) fn with_interrupt<T>(
    verb: impl AsyncFnOnce(Interrupt) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::world)?;
    let (throw, interrupt) = watch::channel(false);
    runtime.spawn(async move {
        let terminated = async {
            match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
                Ok(mut signal) => signal.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated => {}
        }
        let _ = throw.send(true);
        // Held until the program ends: a dropped sender would look like a thrown switch.
        std::future::pending::<()>().await;
    });
    runtime.block_on(verb(interrupt))
}

/// Waits for something, unless the user interrupts.
pub(super) async fn or_interrupted<T>(
    interrupt: &Interrupt,
    wanted: impl Future<Output = T>,
) -> Result<T, Failure> {
    let mut interrupt = interrupt.clone();
    tokio::select! {
        found = wanted => Ok(found),
        _ = interrupt.wait_for(|thrown| *thrown) => Err(Failure::Interrupted("interrupted".into())),
    }
}
