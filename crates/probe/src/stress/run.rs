//! A stressor's process: its workers, and the thread that tells what they reached.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cotenant_core::evidence::Stressor;
use rustix::process::getppid;

use super::line::StressLine;
use super::pace::Pace;
use super::settings::StressSettings;
use super::{cpu, disk, memory, network, page_cache};
use crate::clock::monotonic_ns;
use crate::host::{Root, parse_memory};

/// Pause between two lines.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// Available memory below which a stressor ends, as a share of all and in bytes.
const AVAILABLE_SHARE_MIN: f64 = 0.03;
const AVAILABLE_BYTES_MIN: u64 = 128 << 20;

/// What workers count, in parts of the unit: nanoseconds of CPU, bytes, or operations.
pub(super) type Done = Arc<AtomicU64>;

/// What a stressor needs to work.
pub(super) struct Work<'a> {
    pub(super) settings: &'a StressSettings,
    pub(super) done: Done,
    /// Memory that may be used, bytes: the bound, or half of what is available.
    pub(super) memory_bytes: u64,
    /// What the reader should know, in sentences.
    pub(super) notes: Vec<String>,
    /// How its threads end, where they may not be cut off.
    pub(super) leave: Arc<Leave>,
}

/// An end that threads are asked for, and what they say of it. Threads that may be killed know nothing
/// of it.
#[derive(Debug, Default)]
pub(super) struct Leave {
    /// They shall end.
    pub(super) asked: AtomicBool,
    /// How many have not ended.
    pub(super) working: AtomicU32,
    /// Why one ended by itself.
    pub(super) failure: Mutex<Option<String>>,
}

impl Leave {
    /// How the process ends, if it does: with the reason of a thread that failed, or because all have
    /// left that were asked to.
    fn ending(&self) -> Option<Result<(), String>> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        let left = self.asked.load(Ordering::Relaxed) && self.working.load(Ordering::Relaxed) == 0;
        failure.map(Err).or(left.then_some(Ok(())))
    }
}

impl Work<'_> {
    /// Adds to what was done, and rests for as long as the pace says.
    pub(super) fn pace(rate: Option<f64>, threads: u32, debt_s_max: f64) -> Pace {
        Pace::new(rate.map(|rate| rate / f64::from(threads.max(1))), debt_s_max)
    }

    /// Threads, at least one.
    pub(super) fn threads(&self) -> u32 {
        self.settings.threads.max(1)
    }
}

/// Counts a part of the work, and rests where it came early.
pub(super) fn count(done: &Done, pace: &mut Pace, amount: u64, scale: f64) {
    done.fetch_add(amount, Ordering::Relaxed);
    let rest = pace.rest(monotonic_ns() as f64 / 1e9, amount as f64 * scale);
    if !rest.is_zero() {
        std::thread::sleep(rest);
    }
}

/// Runs a stressor until its time is over or its parent is gone.
pub(crate) fn stress_main(arguments: &[String]) -> ExitCode {
    let settings = arguments.first().map(|text| serde_json::from_str::<StressSettings>(text));
    let Some(Ok(settings)) = settings else { return ExitCode::from(2) };
    match run(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // If standard error is closed nobody can be told.
            let _ = writeln!(std::io::stderr(), "stressor: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &StressSettings) -> Result<(), String> {
    let parent = getppid();
    let stressor = settings.resource()?;
    // The kernel may refuse in a sandbox; the look at available memory stays.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let root = Root::of_this_machine();
    let available = available_bytes(&root)?;
    let mut work = Work {
        settings,
        done: Done::default(),
        memory_bytes: settings.memory_bytes_max.min(available / 2),
        notes: Vec::new(),
        leave: Arc::default(),
    };
    if work.memory_bytes < settings.memory_bytes_max {
        work.notes.push(format!(
            "half of the {} MiB of memory that are available bound it",
            available >> 20
        ));
    }
    match stressor {
        Stressor::Cpu => cpu::start(&mut work)?,
        Stressor::MemoryBandwidth => memory::start(&mut work)?,
        Stressor::DiskSync => disk::start(&mut work)?,
        Stressor::PageCache => page_cache::start(&mut work)?,
        Stressor::Network => network::start(&mut work)?,
        #[cfg(feature = "gpu-stress")]
        Stressor::GpuCompute | Stressor::GpuMemory => super::gpu::start(&mut work, stressor)?,
        #[cfg(not(feature = "gpu-stress"))]
        Stressor::GpuCompute | Stressor::GpuMemory => {
            return Err(super::settings::stressable_gpus().err().unwrap_or_default());
        }
    }
    let scale = if stressor == Stressor::Cpu { 1e-9 } else { 1.0 };
    tell(&work, scale, parent, &root)
}

/// Tells what was reached, until the time is over, nobody reads, or the machine needs its memory.
fn tell(
    work: &Work<'_>,
    scale: f64,
    parent: Option<rustix::process::Pid>,
    root: &Root,
) -> Result<(), String> {
    let mut out = std::io::stdout();
    let mut say = |line: &StressLine| {
        out.write_all(line.print().as_bytes()).and_then(|()| out.flush()).is_ok()
    };
    for note in &work.notes {
        if !say(&StressLine::Note(note.clone())) {
            return Ok(());
        }
    }
    let began_ns = monotonic_ns();
    let end_ns = began_ns.saturating_add(work.settings.seconds_max.saturating_mul(1_000_000_000));
    let (mut then_ns, mut before) = (began_ns, work.done.load(Ordering::Relaxed));
    loop {
        std::thread::sleep(TELL_EVERY);
        if let Some(ending) = work.leave.ending() {
            return ending;
        }
        let (at_ns, after) = (monotonic_ns(), work.done.load(Ordering::Relaxed));
        let rate = (after - before) as f64 * scale / ((at_ns - then_ns) as f64 / 1e9);
        let told = say(&StressLine::Rate { at_ns, rate });
        (then_ns, before) = (at_ns, after);
        if !told || getppid() != parent || at_ns >= end_ns {
            return Ok(());
        }
        let (available, floor) = (available_bytes(root)?, memory_floor_bytes(root)?);
        if available < floor {
            return Err(format!(
                "ended, because only {} MiB of memory were available (at least {} MiB must be)",
                available >> 20,
                floor >> 20
            ));
        }
    }
}

fn meminfo(root: &Root, name: &str) -> Result<u64, String> {
    let text = root.read("/proc/meminfo");
    text.and_then(|text| parse_memory(&text, name))
        .map_err(|missing| format!("memory cannot be kept free: {}", missing.0))
}

/// Memory that is available on this machine, bytes.
pub(super) fn available_bytes(root: &Root) -> Result<u64, String> {
    meminfo(root, "MemAvailable")
}

fn memory_floor_bytes(root: &Root) -> Result<u64, String> {
    let total = meminfo(root, "MemTotal")?;
    Ok(((total as f64 * AVAILABLE_SHARE_MIN) as u64).max(AVAILABLE_BYTES_MIN))
}

/// Refuses a folder that lies in memory: what is written there reaches no disk, and it is no cache.
pub(super) fn refuse_memory_folder(folder: &Path, file: &std::fs::File) -> Result<(), String> {
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC` of `linux/magic.h`.
    const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
    let found = rustix::fs::fstatfs(file)
        .map_err(|error| format!("cannot tell the file system of {}: {error}", folder.display()))?;
    if IN_MEMORY.contains(&found.f_type) {
        return Err(format!(
            "{} lies in memory (tmpfs), so neither disk nor page cache can be stressed there",
            folder.display()
        ));
    }
    Ok(())
}
