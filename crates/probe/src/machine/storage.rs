//! Filesystems that can hold checkpoints: which, on what, and how much of them is free.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use cotenant_core::evidence::{Missing, Reading};
use cotenant_core::machine::{Filesystem, Finding, Found, missing};
use cotenant_core::units::Bytes;

use crate::host::Root;

/// Kinds that keep data on a disk of this machine.
const LOCAL: [&str; 9] =
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "overlay"];

/// Kinds that keep data elsewhere.
const REMOTE: [&str; 14] = [
    "nfs",
    "nfs4",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "cifs",
    "smb3",
    "fuse.weka",
    "wekafs",
    "glusterfs",
    "fuse.glusterfs",
    "orangefs",
    "9p",
];

/// Places where the system itself or a container's runtime mounts, and nobody keeps checkpoints.
const PASSED: [&str; 8] =
    ["/boot", "/etc", "/proc", "/sys", "/run", "/var/lib/docker", "/var/lib/kubelet", "/snap"];

/// Filesystems that are told, at most.
const FILESYSTEMS_MAX: usize = 16;

/// A filesystem whose server is gone does not answer, and cannot be interrupted.
const PATIENCE: Duration = Duration::from_secs(2);

/// The filesystems, in the order in which they were mounted, each source once.
pub(super) fn filesystems(root: &Root) -> Finding<Vec<Filesystem>> {
    let path = "/proc/self/mountinfo";
    let text = root.read(path)?;
    let mut found: Vec<Filesystem> = Vec::new();
    for mount in text.lines().filter_map(Mount::of) {
        let is_known = found.iter().any(|one| one.source == mount.source);
        if is_known || found.len() == FILESYSTEMS_MAX || !mount.holds_data() {
            continue;
        }
        found.push(Filesystem {
            disk: mount.disk(root),
            space: space(root.path(&mount.point)),
            point: mount.point,
            kind: mount.kind,
            source: mount.source,
        });
    }
    if found.is_empty() {
        return missing(format!("{path} has no filesystem on a disk or a network"));
    }
    Ok(Found::new(found, path))
}

/// A line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
struct Mount {
    device: String,
    point: String,
    kind: String,
    source: String,
    is_read_only: bool,
}

impl Mount {
    fn of(line: &str) -> Option<Self> {
        let (place, rest) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let (device, _, point, options) =
            (place.next()?, place.next()?, place.next()?, place.next()?);
        let mut rest = rest.split(' ');
        Some(Self {
            device: device.to_owned(),
            point: point.replace("\\040", " "),
            kind: rest.next()?.to_owned(),
            source: rest.next()?.to_owned(),
            is_read_only: options.split(',').any(|one| one == "ro"),
        })
    }

    fn holds_data(&self) -> bool {
        let is_kind = LOCAL.contains(&self.kind.as_str()) || REMOTE.contains(&self.kind.as_str());
        let is_passed = PASSED.iter().any(|start| Path::new(&self.point).starts_with(start));
        is_kind && !is_passed && !self.is_read_only
    }

    /// What it lies on, as the kernel says it of the block device.
    fn disk(&self, root: &Root) -> Reading<String> {
        if REMOTE.contains(&self.kind.as_str()) {
            return Ok("network".to_owned());
        }
        let block = format!("/sys/dev/block/{}", self.device);
        let target = std::fs::canonicalize(root.path(&block)).map_err(|_| {
            Missing(format!("{} is no block device that the kernel lists", self.source))
        })?;
        // A partition has no queue of its own; its disk, one folder up, has.
        let disks = [Some(target.as_path()), target.parent()];
        for disk in disks.into_iter().flatten() {
            let Ok(text) = std::fs::read_to_string(disk.join("queue/rotational")) else { continue };
            let name = disk.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            return Ok(match (name.starts_with("nvme"), text.trim()) {
                (true, _) => "NVMe",
                (false, "0") => "solid state, or a virtual disk",
                (false, _) => "rotating or virtual disk",
            }
            .to_owned());
        }
        Err(Missing(format!("{block} does not say")))
    }
}

/// Size and free space, asked on a thread that is left behind where no answer comes.
fn space(path: PathBuf) -> Reading<(Bytes, Bytes)> {
    let shown = path.display().to_string();
    let (sender, receiver) = channel();
    let ask = move || {
        let answer = rustix::fs::statvfs(&path).map(|space| {
            let of = |blocks: u64| Bytes(blocks.saturating_mul(space.f_frsize));
            (of(space.f_blocks), of(space.f_bavail))
        });
        // The other end is gone where the answer came too late.
        let _ = sender.send(answer);
    };
    std::thread::Builder::new()
        .name("statvfs".to_owned())
        .spawn(ask)
        .map_err(|error| Missing(format!("no thread can be started: {error}")))?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(Ok(space)) => Ok(space),
        Ok(Err(error)) => Err(Missing(format!("{shown}: {error}"))),
        Err(_) => Err(Missing(format!(
            "{shown} did not answer within {} s; its server may be gone",
            PATIENCE.as_secs()
        ))),
    }
}
