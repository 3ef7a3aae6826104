//! Makes `--threads` binding.
//!
//! candle takes its number of compute threads from the environment, once per process: `RAYON_NUM_THREADS` for matrix
//! products and row-wise kernels, `CANDLE_NUM_THREADS` for element-wise ones. Setting a variable of the own process is
//! unsafe while other threads may read it, so the process replaces itself by the same program with the same arguments
//! and the variables set. The process id, the standard streams and the parent stay as they are.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use crate::EngineError;

/// Number of threads for matrix products and row-wise kernels.
const RAYON_VARIABLE: &str = "RAYON_NUM_THREADS";
/// Number of threads for element-wise kernels.
const CANDLE_VARIABLE: &str = "CANDLE_NUM_THREADS";
/// How many times an idle element-wise worker polls before it sleeps.
const SPIN_VARIABLE: &str = "CANDLE_BARRIER_POOL_SPIN_LIMIT";
/// About 20 to 100 microseconds of polling: long enough to stay awake between neighbouring kernels, short enough that a
/// waiting worker does not look like load. A value that the user set is left alone.
const SPIN_LIMIT: &str = "2000";

/// The number of threads when none is asked for: what the scheduler's affinity mask and the cgroup quota allow.
pub(crate) fn default_threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Ensures that this process computes on `threads` threads, replacing the process image when it does not yet.
///
/// Returns only when the limit already holds. Call it before any thread, file or socket of the workload exists.
///
/// # Errors
/// [`EngineError::Io`] when the program cannot be started again.
pub(crate) fn bind(threads: NonZeroUsize) -> Result<(), EngineError> {
    let wanted = OsString::from(threads.to_string());
    let holds = |name: &str| std::env::var_os(name).as_ref() == Some(&wanted);
    if holds(RAYON_VARIABLE) && holds(CANDLE_VARIABLE) {
        return Ok(());
    }
    replace_process(&wanted)
}

#[cfg(unix)]
fn replace_process(threads: &OsString) -> Result<(), EngineError> {
    use std::os::unix::process::CommandExt as _;

    let program = std::env::current_exe().map_err(EngineError::io("find the running program"))?;
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(RAYON_VARIABLE, threads).env(CANDLE_VARIABLE, threads);
    if std::env::var_os(SPIN_VARIABLE).is_none() {
        command.env(SPIN_VARIABLE, SPIN_LIMIT);
    }
    // `exec` returns only when it failed.
    Err(EngineError::io("restart with the number of threads set")(command.exec()))
}

#[cfg(not(unix))]
fn replace_process(threads: &OsString) -> Result<(), EngineError> {
    Err(EngineError::Arguments(format!(
        "set {RAYON_VARIABLE} and {CANDLE_VARIABLE} to {} before the start: this system cannot replace a process",
        threads.display()
    )))
}

/// Runs `work` inside candle's thread pool, so that parallel kernels start on warm workers.
///
/// With one thread this is also what keeps the kernels from crossing to another thread and back for each operation.
pub(crate) fn inside_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    candle_core::utils::with_threadpool(work)
}
