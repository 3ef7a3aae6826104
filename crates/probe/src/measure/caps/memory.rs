//! The cap of host memory.

use std::time::Duration;

use super::{Audited, Bench};
use crate::clock::monotonic_ns;
use crate::host::{ControlGroup, parse_memory};
use crate::supervisor::Resource;

/// What the load asks for above the limit, at least, bytes.
const ABOVE_BYTES: u64 = 64 << 20;
/// What must stay free on the host beside the whole load, bytes.
const SPARE_BYTES: u64 = 1 << 30;
/// How far above its limit a group may be seen: pages that the kernel charges in batches.
const TOLERANCE: f64 = 1.02;
/// Longest wait for the load to have touched its memory or to be gone.
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A load in the neighbour's group that touches more than the limit leaves.
pub(super) async fn audit(bench: &Bench<'_>, limit_bytes: u64) -> Audited {
    let group = bench.group("memory")?;
    let used = usage(bench, &group)?;
    let above = ABOVE_BYTES.max(limit_bytes / 20);
    let wanted = limit_bytes.saturating_sub(used) + above;
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
    let load =
        bench.start(&[&group], 300, Resource::Memory { bytes: wanted, goes_first: true }).await?;
    let (most, refused) = watch(bench, &group, load, wanted).await?;
    bench.stop(load).await?;
    let binds = refused && most as f64 <= limit_bytes as f64 * TOLERANCE;
    let how = if refused { "was refused more" } else { "got it all" };
    let method = format!(
        "a load beside the neighbour in {} asked for {} where {} were left of {}, and {how}; the group \
         was seen with {} at most",
        group.folder,
        mebibytes(wanted),
        mebibytes(limit_bytes.saturating_sub(used)),
        mebibytes(limit_bytes),
        mebibytes(most)
    );
    let free = (used + wanted) as f64;
    // Without a refusal the group had it all, whatever the readings between caught of it.
    let got = if refused { most as f64 } else { free };
    Ok(bench.concluded(limit_bytes as f64, got, free, binds, method))
}

/// The most that the group was seen with, and whether the load was refused.
async fn watch(
    bench: &Bench<'_>,
    group: &ControlGroup,
    load: crate::supervisor::Workload,
    wanted: u64,
) -> Result<(u64, bool), String> {
    let deadline_ns = monotonic_ns() + PATIENCE.as_nanos() as u64;
    let mut most = 0;
    loop {
        most = most.max(usage(bench, group).unwrap_or(0));
        if bench.ended(load, LOOK_PAUSE).await.is_some() {
            return Ok((most, true));
        }
        let resident = resident_bytes(load.pid).unwrap_or(0);
        if resident as f64 >= 0.98 * wanted as f64 {
            return Ok((most.max(usage(bench, group).unwrap_or(0)), false));
        }
        if monotonic_ns() > deadline_ns {
            // Version 2 may hold a group at `memory.high` without ever refusing it.
            return Ok((most, most > 0));
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
