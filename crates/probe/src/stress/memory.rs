//! Memory bandwidth: a triad over buffers that are larger than every cache.
//!
//! Each element is read from two arrays and written to a third, as STREAM's triad does (McCalpin,
//! IEEE TCCA 1995): 24 bytes are counted for each, and the read that a write to a cache line needs
//! first is not, since some processors avoid it.

use std::hint::black_box;

use super::cache_size::last_level_cache_bytes;
use super::cpu::spawn;
use super::run::{Work, count};
use crate::host::Root;

/// How often the buffers hold all caches.
const CACHES: u64 = 3;
/// Buffers where the kernel does not tell how large the caches are, bytes.
const BYTES_UNKNOWN: u64 = 256 << 20;
/// Fewest bytes of a thread's buffers.
const THREAD_BYTES_MIN: u64 = 1 << 20;
/// Elements between two looks at the clock: 768 KiB of traffic, a tenth of a millisecond.
const PART: usize = 32_768;
/// Bytes that one element moves.
const ELEMENT_BYTES: u64 = 24;

pub(super) fn start(work: &mut Work<'_>) -> Result<(), String> {
    let caches = last_level_cache_bytes(&Root::of_this_machine());
    let wanted = caches.map_or(BYTES_UNKNOWN, |bytes| bytes.saturating_mul(CACHES));
    let bytes = wanted.min(work.memory_bytes);
    match caches {
        Some(caches) if bytes < CACHES * caches => work.notes.push(format!(
            "its buffers are {} MiB and the caches {} MiB, so a part of its traffic may stay in \
             caches",
            bytes >> 20,
            caches >> 20
        )),
        Some(_) => {}
        None => work.notes.push(format!(
            "the size of the caches is not known; its buffers are {} MiB",
            bytes >> 20
        )),
    }
    let threads = work.threads();
    let each = (bytes / u64::from(threads)).max(THREAD_BYTES_MIN);
    let elements = (each / ELEMENT_BYTES) as usize;
    for _ in 0..threads {
        let done = work.done.clone();
        let mut pace = Work::pace(work.settings.rate, threads, 0.02);
        spawn("stream", move || {
            // Written here, so that the pages lie near the thread that uses them.
            let (mut a, b, c) = (vec![0.5; elements], vec![1.0; elements], vec![2.0; elements]);
            loop {
                let parts = a.chunks_mut(PART).zip(b.chunks(PART)).zip(c.chunks(PART));
                for ((a, b), c) in parts {
                    triad(a, b, c);
                    count(&done, &mut pace, a.len() as u64 * ELEMENT_BYTES, 1.0);
                }
                black_box(&mut a);
            }
        })?;
    }
    Ok(())
}

fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + 0.5 * c;
    }
}
