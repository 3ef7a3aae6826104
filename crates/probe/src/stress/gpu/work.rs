//! One thread for each GPU that is visible, each with a context of its own.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, mpsc};
use std::time::{Duration, Instant};

use cotenant_core::evidence::Stressor;
use tokio::signal::unix::{SignalKind, signal};

use super::super::cpu::spawn;
use super::super::pace::Pace;
use super::super::run::{Done, Leave, Work, count};
use super::driver::{Argument, Buffer, Context, CudaLibrary, Kernel};
use super::kernels::{ARITHMETIC, COPY, ELEMENT_BYTES, MODULE, OPERATIONS_PER_ROUND, THREADS};

/// Blocks for each multiprocessor: enough that none waits for work.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// Launches between two waits take at least so long: then the wait costs little, and is still short
/// beside a rest.
const BETWEEN_WAITS_MIN: Duration = Duration::from_millis(3);
/// Most launches between two waits.
const LAUNCHES_MAX: u32 = 4096;
/// Rounds of arithmetic in a launch: about a third of a millisecond on an H100.
const ROUNDS: u32 = 2048;
/// How often the buffers of a copy hold the second-level cache.
const CACHES: u64 = 4;
/// Bounds of one of the two buffers of a copy, bytes.
const BUFFER_BYTES: (u64, u64) = (32 << 20, 1 << 30);
/// The part of a GPU's free memory that the two may take: the rest is for who works there.
const FREE_SHARE: u64 = 8;
/// How far behind a pace may fall, seconds: a launch takes some milliseconds.
const DEBT_S: f64 = 0.05;

/// Starts a thread for each visible GPU, and waits until each works or says why not.
///
/// At SIGTERM each thread waits for what it launched and gives its GPU back: under MPS a client that is
/// cut off in the middle of a kernel may take the server and its other clients with it.
pub(in super::super) fn start(work: &mut Work<'_>, stressor: Stressor) -> Result<(), String> {
    let library = CudaLibrary::of_this_machine();
    let gpus = library.gpus().map_err(|error| error.to_string())?;
    leave_at_sigterm(Arc::clone(&work.leave))?;
    work.leave.working.store(gpus, Ordering::Relaxed);
    let (told, ready) = mpsc::channel();
    for number in 0..gpus {
        let (library, done, told) = (library.clone(), work.done.clone(), told.clone());
        let leave = Arc::clone(&work.leave);
        let pace = Work::pace(work.settings.rate, gpus, DEBT_S);
        spawn("gpu", move || {
            let ended = stress(&library, number, stressor, (&done, pace, &leave), &told);
            if let Err(why) = ended {
                let why = format!("GPU {number}: {why}");
                let _ = told.send(Err(why.clone()));
                *leave.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            }
            leave.working.fetch_sub(1, Ordering::Relaxed);
        })?;
    }
    for _ in 0..gpus {
        let note = ready.recv().map_err(|_| "a thread ended before it worked".to_owned())??;
        work.notes.push(note);
    }
    Ok(())
}

/// Turns SIGTERM into an end that the threads are asked for.
fn leave_at_sigterm(leave: Arc<Leave>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot wait for SIGTERM: {error}");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut terminate = {
        let _inside = runtime.enter();
        signal(SignalKind::terminate()).map_err(failed)?
    };
    spawn("leave", move || {
        runtime.block_on(terminate.recv());
        leave.asked.store(true, Ordering::Relaxed);
    })
}

/// Works on one GPU until it is asked to leave.
fn stress(
    library: &CudaLibrary,
    number: u32,
    stressor: Stressor,
    (done, mut pace, leave): (&Done, Pace, &Leave),
    told: &mpsc::Sender<Result<String, String>>,
) -> Result<(), String> {
    let driver = library.open().map_err(|error| error.to_string())?;
    let context = driver.context(number, MODULE)?;
    let load = match stressor {
        Stressor::GpuCompute => Load::arithmetic(&context)?,
        _ => Load::copies(&context)?,
    };
    // A receiver that is gone has heard that another GPU cannot be used.
    let _ = told.send(Ok(format!("GPU {number} ({}): {}", context.name()?, load.told)));
    while !leave.asked.load(Ordering::Relaxed) {
        load.run(&context)?;
        count(done, &mut pace, load.amount, 1.0);
    }
    Ok(())
}

/// What is launched between two waits.
struct Load {
    kernel: Kernel,
    blocks: u32,
    arguments: Vec<Argument>,
    launches: u32,
    /// Operations, or bytes, of all launches.
    amount: u64,
    told: String,
}

impl Load {
    fn run(&self, context: &Context<'_>) -> Result<(), String> {
        for _ in 0..self.launches {
            context.launch(self.kernel, self.blocks, THREADS, &self.arguments)?;
        }
        context.wait()
    }

    /// So many launches that the wait behind them costs little. The first one is not timed: the driver
    /// may load the kernel only then.
    fn long_enough(mut self, context: &Context<'_>) -> Result<Self, String> {
        self.run(context)?;
        loop {
            let began = Instant::now();
            self.run(context)?;
            if began.elapsed() >= BETWEEN_WAITS_MIN || self.launches >= LAUNCHES_MAX {
                return Ok(self);
            }
            self.launches *= 2;
            self.amount *= 2;
        }
    }

    fn arithmetic(context: &Context<'_>) -> Result<Self, String> {
        let blocks = context.multiprocessors()?.saturating_mul(BLOCKS_PER_MULTIPROCESSOR);
        let threads = u64::from(blocks) * u64::from(THREADS);
        let out = context.allocate(threads * 4)?;
        let load = Self {
            kernel: context.kernel(ARITHMETIC)?,
            blocks,
            arguments: vec![Argument::Buffer(out), Argument::Count(ROUNDS)],
            launches: 1,
            amount: threads * u64::from(ROUNDS) * OPERATIONS_PER_ROUND,
            told: format!("{blocks} blocks of {THREADS} threads, {ROUNDS} rounds a launch"),
        };
        load.long_enough(context)
    }

    fn copies(context: &Context<'_>) -> Result<Self, String> {
        let (l2_bytes, free_bytes) = (context.l2_bytes()?, context.free_bytes()?);
        let wanted = (CACHES * l2_bytes).clamp(BUFFER_BYTES.0, BUFFER_BYTES.1);
        let bytes = wanted.min(free_bytes / (2 * FREE_SHARE)) / ELEMENT_BYTES * ELEMENT_BYTES;
        if bytes < l2_bytes.max(ELEMENT_BYTES) {
            return Err(format!(
                "only {} MiB of its memory are free, of which {} MiB might be used: less than its \
                 cache of {} MiB",
                free_bytes >> 20,
                (2 * bytes) >> 20,
                l2_bytes >> 20
            ));
        }
        let (from, to): (Buffer, Buffer) = (context.allocate(bytes)?, context.allocate(bytes)?);
        let elements = u32::try_from(bytes / ELEMENT_BYTES).unwrap_or(u32::MAX);
        let load = Self {
            kernel: context.kernel(COPY)?,
            blocks: context.multiprocessors()?.saturating_mul(BLOCKS_PER_MULTIPROCESSOR),
            arguments: vec![
                Argument::Buffer(from),
                Argument::Buffer(to),
                Argument::Count(elements),
            ],
            launches: 1,
            // Each element is read and written.
            amount: 2 * u64::from(elements) * ELEMENT_BYTES,
            told: format!(
                "two buffers of {} MiB, its cache has {} MiB",
                bytes >> 20,
                l2_bytes >> 20
            ),
        };
        load.long_enough(context)
    }
}
