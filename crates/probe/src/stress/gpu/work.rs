//! One thread for each GPU that is visible, each with a context of its own.

use std::io::Write as _;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cotenant_core::evidence::Stressor;

use super::super::cpu::spawn;
use super::super::pace::Pace;
use super::super::run::{Done, Work, count};
use super::driver::{Argument, Buffer, Context, CudaLibrary, Kernel};
use super::kernels::{ARITHMETIC, COPY, ELEMENT_BYTES, MODULE, OPERATIONS_PER_ROUND, THREADS};

/// Blocks for each multiprocessor: enough that none waits for work.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// A launch takes at least so long, so that its start costs little, and is short beside a rest.
const LAUNCH_MIN: Duration = Duration::from_millis(1);
/// Most rounds of arithmetic in a launch.
const ROUNDS_MAX: u32 = 1 << 22;
/// How often the buffers of a copy hold the second-level cache.
const CACHES: u64 = 4;
/// Bounds of one of the two buffers of a copy, bytes.
const BUFFER_BYTES: (u64, u64) = (32 << 20, 1 << 30);
/// The part of a GPU's free memory that the two may take: the rest is for who works there.
const FREE_SHARE: u64 = 8;
/// How far behind a pace may fall, seconds: a launch takes some milliseconds.
const DEBT_S: f64 = 0.05;

/// Starts a thread for each visible GPU, and waits until each works or says why not.
pub(in super::super) fn start(work: &mut Work<'_>, stressor: Stressor) -> Result<(), String> {
    let library = CudaLibrary::of_this_machine();
    let gpus = library.gpus().map_err(|error| error.to_string())?;
    let (told, ready) = mpsc::channel();
    for number in 0..gpus {
        let (library, done, told) = (library.clone(), work.done.clone(), told.clone());
        let pace = Work::pace(work.settings.rate, gpus, DEBT_S);
        spawn("gpu", move || {
            if let Err(why) = stress(&library, number, stressor, (&done, pace), &told) {
                let _ = told.send(Err(format!("GPU {number}: {why}")));
                let _ = writeln!(std::io::stderr(), "stressor: GPU {number}: {why}");
            }
        })?;
    }
    for _ in 0..gpus {
        let note = ready.recv().map_err(|_| "a thread ended before it worked".to_owned())??;
        work.notes.push(note);
    }
    Ok(())
}

/// Works on one GPU until the process ends.
fn stress(
    library: &CudaLibrary,
    number: u32,
    stressor: Stressor,
    (done, mut pace): (&Done, Pace),
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
    loop {
        load.run(&context)?;
        count(done, &mut pace, load.amount, 1.0);
    }
}

/// What one launch does.
struct Load {
    kernel: Kernel,
    blocks: u32,
    arguments: Vec<Argument>,
    /// Operations, or bytes.
    amount: u64,
    told: String,
}

impl Load {
    fn run(&self, context: &Context<'_>) -> Result<(), String> {
        context.run(self.kernel, self.blocks, THREADS, &self.arguments)
    }

    /// As many rounds as make a launch long enough.
    fn arithmetic(context: &Context<'_>) -> Result<Self, String> {
        let blocks = context.multiprocessors()?.saturating_mul(BLOCKS_PER_MULTIPROCESSOR);
        let threads = u64::from(blocks) * u64::from(THREADS);
        let out = context.allocate(threads * 4)?;
        let kernel = context.kernel(ARITHMETIC)?;
        let mut rounds = 256;
        loop {
            let load = Self {
                kernel,
                blocks,
                arguments: vec![Argument::Buffer(out), Argument::Count(rounds)],
                amount: threads * u64::from(rounds) * OPERATIONS_PER_ROUND,
                told: format!("{blocks} blocks of {THREADS} threads, {rounds} rounds a launch"),
            };
            let began = Instant::now();
            load.run(context)?;
            if began.elapsed() >= LAUNCH_MIN || rounds >= ROUNDS_MAX {
                return Ok(load);
            }
            rounds *= 2;
        }
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
        Ok(Self {
            kernel: context.kernel(COPY)?,
            blocks: context.multiprocessors()?.saturating_mul(BLOCKS_PER_MULTIPROCESSOR),
            arguments: vec![
                Argument::Buffer(from),
                Argument::Buffer(to),
                Argument::Count(elements),
            ],
            // Each element is read and written.
            amount: 2 * u64::from(elements) * ELEMENT_BYTES,
            told: format!(
                "two buffers of {} MiB, its cache has {} MiB",
                bytes >> 20,
                l2_bytes >> 20
            ),
        })
    }
}
