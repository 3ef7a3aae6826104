//! The cap of the rate of writing, and the quota of space.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use super::{Audited, Bench};
use crate::clock::monotonic_ns;
use crate::supervisor::{HAS_HIT_THE_LIMIT, Resource, Workload};

/// How long writing is weighed.
const WEIGH: Duration = Duration::from_secs(3);
/// How far above the limit counts as within it.
const TOLERANCE: f64 = 1.15;
/// What the same load must get outside, relative to the limit.
const ROOM: f64 = 1.25;
/// Longest wait for a load that takes space.
const PATIENCE: Duration = Duration::from_mins(5);
/// Space above the quota that is asked for, at least, bytes.
const ABOVE_BYTES: u64 = 64 << 20;
/// Space that must stay free on a disk that others use too, bytes.
const SPARE_BYTES: u64 = 1 << 30;

/// Writes with fdatasync, outside and then inside the neighbour's group.
pub(super) async fn audit_rate(bench: &Bench<'_>, limit: f64, folder: &Path) -> Audited {
    let group = bench.group("blkio")?;
    let resource = Resource::DiskWrite { folder: folder.to_owned() };
    let outside = bench.start(&[], 30, resource.clone()).await?;
    let free = weigh(outside).await;
    bench.stop(outside).await?;
    let free = free?;
    if free < limit * ROOM {
        return Err(format!(
            "outside the cap the same load wrote {}/s: the disk of {} gives too little to see a cap \
             of {}/s bind",
            megabytes(free),
            folder.display(),
            megabytes(limit)
        ));
    }
    let inside = bench.start(&[&group], 30, resource).await?;
    let got = weigh(inside).await;
    bench.stop(inside).await?;
    let got = got?;
    let method = format!(
        "writes of 1 MiB with fdatasync in {} got {}/s in {} and {}/s outside; {}/s are allowed",
        folder.display(),
        megabytes(got),
        group.folder,
        megabytes(free),
        megabytes(limit)
    );
    Ok(bench.concluded(limit, got, free, got <= limit * TOLERANCE, method))
}

/// Takes space until it is refused. A disk that inference uses too is not filled.
pub(super) async fn audit_space(
    bench: &Bench<'_>,
    limit: u64,
    folder: &Path,
    site_folder: &Path,
) -> Audited {
    let wanted = limit + ABOVE_BYTES.max(limit / 20);
    refuse_common_disk(folder, site_folder, wanted)?;
    let resource = Resource::DiskSpace { folder: folder.to_owned(), bytes: wanted, hold: false };
    let load = bench.start(&[], 300, resource).await?;
    let code = bench.ended(load, PATIENCE).await;
    let said = bench.last_line(load);
    bench.stop(load).await?;
    let refused = match code {
        Some(0) => false,
        Some(code) if code == HAS_HIT_THE_LIMIT => true,
        _ => return Err(format!("space in {} could not be taken: {said}", folder.display())),
    };
    let got = said.split_ascii_whitespace().find_map(|word| word.parse::<f64>().ok());
    let got = got.unwrap_or(wanted as f64);
    let method = format!(
        "a load asked for {} in {} where {} are allowed, and {said}",
        megabytes(wanted as f64),
        folder.display(),
        megabytes(limit as f64)
    );
    Ok(bench.concluded(limit as f64, got, wanted as f64, refused, method))
}

/// # Errors
/// The folder's disk is the site's own, or the root's, and taking `wanted` might fill it.
pub(in super::super) fn refuse_common_disk(
    folder: &Path,
    site_folder: &Path,
    wanted: u64,
) -> Result<(), String> {
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
    let own = device(folder).map_err(|e| format!("cannot look at {}: {e}", folder.display()))?;
    let is_common = [Path::new("/"), site_folder].into_iter().any(|p| device(p).ok() == Some(own));
    let space = rustix::fs::statvfs(folder)
        .map_err(|e| format!("cannot look at the disk of {}: {e}", folder.display()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if is_common && free < wanted + SPARE_BYTES {
        return Err(format!(
            "{} lies on a disk that inference uses too, and {} of {} free would be taken: give the \
             neighbour a file system or a quota of its own",
            folder.display(),
            megabytes(wanted as f64),
            megabytes(free as f64)
        ));
    }
    Ok(())
}

async fn weigh(load: Workload) -> Result<f64, String> {
    let (began_ns, before) = (monotonic_ns(), written_bytes(load.pid)?);
    tokio::time::sleep(WEIGH).await;
    let (ended_ns, after) = (monotonic_ns(), written_bytes(load.pid)?);
    Ok(after.saturating_sub(before) as f64 / ((ended_ns - began_ns) as f64 / 1e9))
}

/// Bytes that a process gave to its write calls (`wchar` of `/proc/<pid>/io`); each is followed by
/// fdatasync, so that they are on the disk but for the last.
fn written_bytes(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/io");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|value| value.parse().ok()).ok_or_else(|| format!("{path}: no wchar"))
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
