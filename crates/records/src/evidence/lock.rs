//! Locks between processes. They are advisory locks of the kernel (`flock`): the kernel drops one
//! the moment its holder dies, however it dies, so a lock can never be stale and nobody has to
//! guess from a process id whether its owner still lives. The id in the file is for the message.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::EvidenceError;

/// How often a short lock is tried before giving up, and the pause between: two seconds in all,
/// thousands of times what an append to the ledger takes.
const TRIES_MAX: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that is held as long as this lives, for one writer of one run.
#[derive(Debug)]
pub(super) struct WriterLock {
    path: PathBuf,
    /// Kept open: closing it gives the lock up.
    _file: File,
}

impl WriterLock {
    /// Takes the lock, or says which process has it.
    pub(super) fn take(path: &Path) -> Result<Self, EvidenceError> {
        let failed = |source| EvidenceError::io(path, "lock", source);
        for _ in 0..TRIES_MAX {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let pid = holder(&mut file);
                    return Err(EvidenceError::Locked { path: path.to_owned(), pid });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The holder before may have removed the file between our open and our lock; then this
            // is the lock of a file that nobody else can see.
            if is_still_there(&file, path) {
                file.set_len(0).map_err(failed)?;
                writeln!(file, "{}", std::process::id()).map_err(failed)?;
                return Ok(Self { path: path.to_owned(), _file: file });
            }
        }
        Err(EvidenceError::Locked { path: path.to_owned(), pid: None })
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // The lock itself goes with the handle; a file that stays behind harms nobody.
        let _ = fs::remove_file(&self.path);
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Waits a bounded time for a lock that others hold only for an instant.
pub(super) fn wait_for(
    path: &Path,
    mut attempt: impl FnMut() -> Result<(), TryLockError>,
) -> Result<(), EvidenceError> {
    for _ in 0..TRIES_MAX {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            // A file system without locks has no second writer that could be told apart.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(());
            }
            Err(TryLockError::Error(error)) => {
                return Err(EvidenceError::io(path, "lock", error));
            }
        }
    }
    Err(EvidenceError::Locked { path: path.to_owned(), pid: None })
}
