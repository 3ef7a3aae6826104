//! Loads that take as much of one resource as they get, in the place of another process: what an
//! audit of a limit needs. Each joins the control groups that it is told, works for a bounded time,
//! and leaves no file behind, however it ends.

use std::fs::File;
use std::hint::black_box;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

/// Longest that a load works, seconds.
const SECONDS_MAX: u64 = 600;
/// Memory that is touched in one step, bytes.
const MEMORY_STEP_BYTES: usize = 4 << 20;
/// Bytes that are written between two calls of fdatasync.
const WRITE_STEP_BYTES: usize = 1 << 20;
/// The longest that the file of the writer becomes, bytes; it then begins again.
const WRITE_FILE_BYTES_MAX: u64 = 64 << 20;
/// Disk space that is taken in one step, bytes.
const SPACE_STEP_BYTES: u64 = 8 << 20;
/// Exit code of a load that was refused more of its resource.
pub(crate) const HAS_HIT_THE_LIMIT: i32 = 3;

/// A load and where it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saturation {
    /// Files (`cgroup.procs`) of the control groups to join.
    pub(crate) join: Vec<PathBuf>,
    /// How long it works, seconds.
    pub(crate) seconds: u64,
    /// What it takes.
    pub(crate) resource: Resource,
}

/// What a load takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Resource {
    /// CPU time, in so many threads, each on any CPU that it can get.
    Cpu {
        /// How many.
        threads: u32,
    },
    /// Memory, up to so many bytes, which it then holds.
    Memory {
        /// How many.
        bytes: u64,
        /// Whether the kernel is asked to take this process first where it must kill for memory.
        goes_first: bool,
    },
    /// Writing, each mebibyte followed by fdatasync.
    DiskWrite {
        /// Where.
        folder: PathBuf,
    },
    /// Disk space, up to so many bytes.
    DiskSpace {
        /// Where.
        folder: PathBuf,
        /// How many.
        bytes: u64,
        /// Whether it holds the space until its time is over, rather than end when it has it or is
        /// refused more.
        hold: bool,
    },
}

impl Saturation {
    /// The hidden arguments that start it.
    pub(super) fn part(&self) -> [String; 2] {
        // A path that is no text gives no JSON, and the load then ends at once with a complaint.
        ["saturate".to_owned(), serde_json::to_string(self).unwrap_or_default()]
    }
}

/// Runs a load.
pub(super) fn saturate_main(arguments: &[String]) -> ExitCode {
    let parsed = arguments.first().map(|text| serde_json::from_str::<Saturation>(text));
    let Some(Ok(load)) = parsed else { return ExitCode::from(2) };
    for file in &load.join {
        // Zero stands for whoever writes it.
        if let Err(error) = std::fs::write(file, "0") {
            return complain(&format!("cannot join {}: {error}", file.display()));
        }
    }
    let end = Instant::now() + Duration::from_secs(load.seconds.min(SECONDS_MAX));
    let worked = match &load.resource {
        Resource::Cpu { threads } => {
            spin(*threads, end);
            Ok(false)
        }
        Resource::Memory { bytes, goes_first } => {
            if *goes_first {
                let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
            }
            Ok(fill_memory(*bytes, end))
        }
        Resource::DiskWrite { folder } => write_disk(folder, end).map(|()| false),
        Resource::DiskSpace { folder, bytes, hold } => {
            take_space(folder, *bytes, hold.then_some(end))
        }
    };
    match worked {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(HAS_HIT_THE_LIMIT as u8),
        Err(error) => complain(&error.to_string()),
    }
}

fn complain(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{message}");
    ExitCode::FAILURE
}

/// Computes in every thread until the time is over. An affinity that was inherited is widened first:
/// what holds a process only as long as it agrees is no limit.
fn spin(threads: u32, end: Instant) {
    let mut all = rustix::thread::CpuSet::new();
    (0..rustix::thread::CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    // Refused where no CPU of the set may be used; the inherited one then stays.
    let _ = rustix::thread::sched_setaffinity(None, &all);
    let work = || {
        let mut state = 1_u64;
        while Instant::now() < end {
            // Knuth's multiplier for MMIX; any arithmetic that the compiler keeps would do.
            for _ in 0..100_000 {
                state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(work);
        }
        work();
    });
}

/// Touches memory step by step and holds it. Returns whether more was refused.
fn fill_memory(bytes: u64, end: Instant) -> bool {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut taken = 0;
    while taken < bytes && Instant::now() < end {
        let mut step: Vec<u8> = Vec::new();
        if step.try_reserve_exact(MEMORY_STEP_BYTES).is_err() {
            return true;
        }
        // Not zero, and not the same: pages that are alike may be merged.
        step.resize(MEMORY_STEP_BYTES, (taken >> 22) as u8 | 1);
        held.push(step);
        taken += MEMORY_STEP_BYTES as u64;
    }
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    black_box(&held);
    false
}

/// A file that has no name from the beginning, or none as soon as it is open.
fn nameless_file(folder: &Path) -> std::io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => {
            let path = folder.join(format!(".cotenant-audit-{}", std::process::id()));
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        Err(error) => Err(error.into()),
    }
}

fn write_disk(folder: &Path, end: Instant) -> std::io::Result<()> {
    let mut file = nameless_file(folder)?;
    let block = vec![0xA5_u8; WRITE_STEP_BYTES];
    let mut length = 0;
    while Instant::now() < end {
        if length >= WRITE_FILE_BYTES_MAX {
            file.seek(SeekFrom::Start(0))?;
            length = 0;
        }
        file.write_all(&block)?;
        file.sync_data()?;
        length += WRITE_STEP_BYTES as u64;
    }
    Ok(())
}

/// Takes space until it is refused or has it all. Returns whether it was refused.
fn take_space(folder: &Path, bytes: u64, hold_until: Option<Instant>) -> std::io::Result<bool> {
    let mut file = nameless_file(folder)?;
    let mut taken = 0;
    let refused = loop {
        if taken >= bytes {
            break false;
        }
        let step = SPACE_STEP_BYTES.min(bytes - taken);
        match take_step(&mut file, taken, step) {
            Ok(()) => taken += step,
            Err(error) if is_full(&error) => break true,
            Err(error) => return Err(error),
        }
    };
    let word = if refused { "refused after" } else { "took" };
    let _ = writeln!(std::io::stdout(), "{word} {taken} bytes");
    if let Some(end) = hold_until {
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
    }
    Ok(refused)
}

/// Reserves space where the file system can, and writes it where it cannot.
fn take_step(file: &mut File, offset: u64, step: u64) -> std::io::Result<()> {
    match rustix::fs::fallocate(&*file, FallocateFlags::empty(), offset, step) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            file.seek(SeekFrom::Start(offset))?;
            let mut left = step;
            let block = vec![0_u8; WRITE_STEP_BYTES];
            while left > 0 {
                let part = left.min(WRITE_STEP_BYTES as u64);
                file.write_all(&block[..part as usize])?;
                left -= part;
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}
