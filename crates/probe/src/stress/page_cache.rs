//! The page cache: reads of a file of holes.
//!
//! The kernel fills the page of a hole with zeros and keeps it like any other page of a file, so the
//! cache is filled and what was read before is pushed out, while the disk has nothing to do. Each
//! part is dropped just before it is read again: otherwise the second pass would find everything
//! there, and press on nothing. So the file takes no space on disk, and at most its own length of
//! the cache, which the kernel can take back at any time.

use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};

use super::cpu::spawn;
use super::run::{Work, count, refuse_memory_folder};
use super::scratch::Scratch;

/// Bytes of one read.
const PART: usize = 1 << 20;

pub(super) fn start(work: &mut Work<'_>) -> Result<(), String> {
    let folder = &work.settings.folder;
    let file = Scratch::make(folder).map_err(|error| error.to_string())?.file;
    refuse_memory_folder(folder, &file)?;
    let threads = u64::from(work.threads());
    let each = work.memory_bytes / threads / PART as u64;
    if each == 0 {
        return Err(format!("{} bytes of page cache are too few", work.memory_bytes));
    }
    let length = each * threads * PART as u64;
    file.set_len(length)
        .map_err(|error| format!("cannot make a file of {length} bytes: {error}"))?;
    work.notes.push(format!("it keeps at most {} MiB of page cache filled", length >> 20));
    let file = Arc::new(file);
    for thread in 0..threads {
        let (file, done) = (Arc::clone(&file), work.done.clone());
        let mut pace = Work::pace(work.settings.rate, work.threads(), 0.02);
        let first = thread * each;
        spawn("read", move || {
            let mut content = vec![0; PART];
            for part in (first..first + each).cycle() {
                let at = part * PART as u64;
                // Advice: where it is not taken the pages stay, and the pass only reads them.
                let length = std::num::NonZeroU64::new(PART as u64);
                let _ = fadvise(&*file, at, length, Advice::DontNeed);
                if file.read_exact_at(&mut content, at).is_err() {
                    return;
                }
                count(&done, &mut pace, PART as u64, 1.0);
            }
        })?;
    }
    Ok(())
}
