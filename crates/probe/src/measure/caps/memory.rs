//! The cap of host memory.

use std::time::Duration;

use super::{Audited, Bench};
use crate::clock::monotonic_ns;
use crate::host::{ControlGroup, parse_memory};
use crate::supervisor::{HAS_HIT_THE_LIMIT, Resource};

/// What the load asks for above the limit, at least, bytes.
const ABOVE_BYTES: u64 = 64 << 20;
/// What must stay free on the host beside the whole load, bytes.
const SPARE_BYTES: u64 = 1 << 30;
/// How far above its limit a group may be seen: pages that the kernel charges in batches.
const TOLERANCE: f64 = 1.02;
/// Memory that a load touches in a second at least, bytes, on a machine that is busy.
const TOUCHED_PER_S_MIN: u64 = 256 << 20;
/// Longest wait for the load to have touched its memory or to be gone.
const PATIENCE_MIN: Duration = Duration::from_mins(1);
const PATIENCE_MAX: Duration = Duration::from_mins(9);
/// Exit code of a process that SIGKILL ended, as the kernel does where memory is full.
const KILLED: i32 = 128 + 9;
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A load in the neighbour's group that touches more than the limit leaves.
pub(super) async fn audit(bench: &Bench<'_>, limit_bytes: u64) -> Audited {
    let group = bench.group("memory")?;
    // All of the cap and more, whatever the group holds already: page cache gives way to a load, so
    // what the group uses now says nothing of what is left.
    let wanted = limit_bytes + ABOVE_BYTES.max(limit_bytes / 20);
    let available =
        bench.root.read("/proc/meminfo").and_then(|text| parse_memory(&text, "MemAvailable"));
    let available = available.map_err(|missing| missing.0)?;
    if available < wanted + SPARE_BYTES {
        return Err(format!(
            "to see the cap bind {} have to be touched, and the host has {} free: the cap would be \
             tried on inference's memory",
            mebibytes(wanted),
            mebibytes(available)
        ));
    }
    let patience =
        Duration::from_secs(wanted / TOUCHED_PER_S_MIN).clamp(PATIENCE_MIN, PATIENCE_MAX);
    let resource = Resource::Memory { bytes: wanted, goes_first: true };
    let load = bench.start(&[&group], patience.as_secs() + 30, resource).await?;
    let watched = watch(bench, &group, load, wanted, patience).await;
    bench.stop(load).await?;
    let (most, refused) = watched?;
    let binds = refused && most as f64 <= limit_bytes as f64 * TOLERANCE;
    let how = if refused { "was refused more" } else { "got it all" };
    let method = format!(
        "a load beside the neighbour in {} asked for {} where {} are allowed, and {how}; the group was \
         seen with {} at most",
        group.folder,
        mebibytes(wanted),
        mebibytes(limit_bytes),
        mebibytes(most)
    );
    let free = wanted as f64;
    // Without a refusal the group had it all, whatever the readings between caught of it.
    let got = if refused { most as f64 } else { free };
    Ok(bench.concluded(limit_bytes as f64, got, free, binds, method))
}

/// The most that the group was seen with, and whether the load was refused.
///
/// # Errors
/// It was neither refused nor had it all in time: a group that is only slowed down (`memory.high`), or
/// a machine that is slow. Nothing is concluded then.
async fn watch(
    bench: &Bench<'_>,
    group: &ControlGroup,
    load: crate::supervisor::Workload,
    wanted: u64,
    patience: Duration,
) -> Result<(u64, bool), String> {
    let deadline_ns = monotonic_ns() + patience.as_nanos() as u64;
    let mut most = 0;
    loop {
        most = most.max(usage(bench, group).unwrap_or(0));
        match bench.ended(load, LOOK_PAUSE).await {
            Some(KILLED | HAS_HIT_THE_LIMIT) => return Ok((most, true)),
            Some(code) => {
                let said = bench.last_line(load);
                return Err(format!("the load ended by itself (code {code}): {said}"));
            }
            None => {}
        }
        let resident = resident_bytes(load.pid).unwrap_or(0);
        if resident as f64 >= 0.98 * wanted as f64 {
            return Ok((most.max(usage(bench, group).unwrap_or(0)), false));
        }
        if monotonic_ns() > deadline_ns {
            return Err(format!(
                "within {} s the load was neither refused nor had its {}; it got {}",
                patience.as_secs(),
                mebibytes(wanted),
                mebibytes(resident)
            ));
        }
    }
}

fn usage(bench: &Bench<'_>, group: &ControlGroup) -> Result<u64, String> {
    let file = if group.is_unified { "memory.current" } else { "memory.usage_in_bytes" };
    let path = format!("{}/{file}", group.folder);
    let text = bench.root.read(&path).map_err(|missing| missing.0)?;
    text.trim().parse().map_err(|_| format!("{path}: {:?} is no size", text.trim()))
}

/// Memory of a process that is in RAM, bytes: the second number of `statm`, pages.
fn resident_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20))
}
