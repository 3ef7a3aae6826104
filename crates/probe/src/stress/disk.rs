//! The disk: bursts of writes at full speed with an fsync behind each, as a checkpoint is written,
//! and a rest between two that keeps the mean rate.

use std::io::{Seek as _, SeekFrom, Write as _};

use super::cpu::spawn;
use super::run::{Work, count, refuse_memory_folder};
use super::scratch::Scratch;

/// Bytes between two fsyncs: as long as a disk needs to work at its own speed, and short beside a
/// block.
const BURST_BYTES: u64 = 32 << 20;
/// Bytes of one write.
const WRITE_BYTES: usize = 1 << 20;
/// Bytes that must stay free on the file system.
const FREE_BYTES_MIN: u64 = 1 << 30;

pub(super) fn start(work: &mut Work<'_>) -> Result<(), String> {
    let folder = &work.settings.folder;
    let mut file = Scratch::make(folder).map_err(|error| error.to_string())?.file;
    refuse_memory_folder(folder, &file)?;
    let space = rustix::fs::fstatvfs(&file)
        .map_err(|error| format!("cannot tell the free space of {}: {error}", folder.display()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize).saturating_sub(FREE_BYTES_MIN);
    let most = work.settings.disk_bytes_max.min(free / 2);
    if most < WRITE_BYTES as u64 {
        return Err(format!("too little space is free in {}", folder.display()));
    }
    work.notes.push(format!(
        "its file is emptied at {} MiB; it has an fsync every {} MiB",
        most >> 20,
        BURST_BYTES.min(most) >> 20
    ));
    let content = incompressible(WRITE_BYTES);
    let burst = BURST_BYTES.min(most) / WRITE_BYTES as u64;
    let done = work.done.clone();
    // A burst takes a part of a second and more on a slow disk.
    let mut pace = Work::pace(work.settings.rate, 1, 2.0);
    spawn("write", move || {
        let mut write_burst = |at: u64| -> std::io::Result<u64> {
            if at.saturating_add(burst * WRITE_BYTES as u64) > most {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
            }
            for _ in 0..burst {
                file.write_all(&content)?;
            }
            file.sync_all()?;
            file.stream_position()
        };
        let mut at = 0;
        loop {
            match write_burst(at) {
                Ok(position) => at = position,
                Err(error) => {
                    let _ = writeln!(std::io::stderr(), "stressor: cannot write: {error}");
                    return;
                }
            }
            count(&done, &mut pace, burst * WRITE_BYTES as u64, 1.0);
        }
    })
}

/// Bytes that no file system makes smaller: xorshift (Marsaglia, 2003).
fn incompressible(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut content = Vec::with_capacity(length + 8);
    while content.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend(state.to_le_bytes());
    }
    content.truncate(length);
    content
}
