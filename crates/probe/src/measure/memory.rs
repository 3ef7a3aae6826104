//! What holds memory after a process is gone: files in shared memory, segments that nobody is
//! attached to, allocations that a GPU's driver still counts. Looked at before a neighbour starts and
//! after it has gone.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::gpu_memory::{GpuMemory, GpuReader};

/// Less than this is no finding: a semaphore in shared memory has a page, a driver counts in MiB.
const BYTES_MIN: u64 = 1 << 20;
/// Most files of shared memory that are looked at.
const FILES_MAX: usize = 10_000;
/// Where files of shared memory live.
const SHARED_MEMORY: &str = "/dev/shm";
/// Where System V segments are listed (`sysvipc(5)` in the kernel's `proc_pid`).
const SEGMENTS: &str = "/proc/sysvipc/shm";

/// What was there before a neighbour started.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryBefore {
    files: BTreeSet<(u64, u64)>,
    segments: BTreeSet<u64>,
    /// Memory in use on each GPU before the start, where there is a GPU to ask.
    pub(super) gpu: Option<GpuMemory>,
}

/// Something that still holds memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) name: String,
    pub(super) bytes: u64,
}

impl MemoryBefore {
    /// Looks, before the neighbour starts.
    pub(super) async fn look(gpu: Option<&GpuReader>) -> Self {
        Self {
            files: shared_files(Path::new(SHARED_MEMORY)).into_iter().map(|file| file.id).collect(),
            segments: segments().into_iter().map(|segment| segment.id).collect(),
            gpu: match gpu {
                Some(reader) => reader.read().await.ok(),
                None => None,
            },
        }
    }

    /// What lies in the host's shared memory that did not before, and that no process has mapped or
    /// is attached to: nobody but the one that is gone can have left it.
    pub(super) fn left_on_host(&self) -> Vec<Holder> {
        let new: Vec<SharedFile> = shared_files(Path::new(SHARED_MEMORY))
            .into_iter()
            .filter(|file| file.bytes >= BYTES_MIN && !self.files.contains(&file.id))
            .collect();
        let mapped = if new.is_empty() { BTreeSet::new() } else { mapped_files() };
        let files = new
            .into_iter()
            .filter(|file| !mapped.contains(&file.id.1))
            .map(|file| Holder { name: file.path.display().to_string(), bytes: file.bytes });
        let segments = segments()
            .into_iter()
            .filter(|segment| segment.attached == 0 && segment.bytes >= BYTES_MIN)
            .filter(|segment| !self.segments.contains(&segment.id))
            .map(|segment| Holder {
                name: format!("shared memory segment {}", segment.id),
                bytes: segment.bytes,
            });
        files.chain(segments).collect()
    }
}

/// A file of shared memory.
struct SharedFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
    bytes: u64,
}

/// Every regular file below a folder. What cannot be read is not ours.
fn shared_files(folder: &Path) -> Vec<SharedFile> {
    let mut open = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                open.push(entry.path());
            } else if metadata.is_file() && files.len() < FILES_MAX {
                files.push(SharedFile {
                    path: entry.path(),
                    id: (metadata.dev(), metadata.ino()),
                    // Blocks of 512 bytes, whatever the file system: stat(2).
                    bytes: metadata.blocks() * 512,
                });
            }
        }
    }
    files
}

/// Inodes of the files that any process has mapped from shared memory.
fn mapped_files() -> BTreeSet<u64> {
    let mut inodes = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let maps = std::fs::read_to_string(entry.path().join("maps")).unwrap_or_default();
        let shared = maps.lines().filter(|line| line.contains(SHARED_MEMORY));
        inodes.extend(
            shared.filter_map(|line| line.split_ascii_whitespace().nth(4)?.parse::<u64>().ok()),
        );
    }
    inodes
}

/// A System V segment.
struct Segment {
    id: u64,
    attached: u64,
    bytes: u64,
}

fn segments() -> Vec<Segment> {
    parse_segments(&std::fs::read_to_string(SEGMENTS).unwrap_or_default())
}

/// Reads `/proc/sysvipc/shm`: a head, then one line a segment. Columns are found by their names.
fn parse_segments(text: &str) -> Vec<Segment> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    let column = |name: &str| head.iter().position(|column| *column == name);
    let (Some(id), Some(attached)) = (column("shmid"), column("nattch")) else { return Vec::new() };
    let Some(bytes) = column("rss").or_else(|| column("size")) else { return Vec::new() };
    lines
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let number = |column: usize| fields.get(column)?.parse().ok();
            Some(Segment { id: number(id)?, attached: number(attached)?, bytes: number(bytes)? })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_by_the_names_of_their_columns() {
        let text = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  \
                    cuid  cgid      atime      dtime      ctime                   rss                  swap\n\
                    \x20        0          7  1600              67108864  4711  4711      0  1000  1000  1000  \
                    1000 1700000000          0 1700000000              33554432                     0\n";
        let found = parse_segments(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id, found[0].attached, found[0].bytes), (7, 0, 33_554_432));
        assert!(parse_segments("").is_empty() && parse_segments("a b\n1 2\n").is_empty());
    }

    #[test]
    fn a_file_that_nobody_has_mapped_is_a_holder_and_goes_with_its_removal() {
        let before = MemoryBefore {
            files: shared_files(Path::new(SHARED_MEMORY)).into_iter().map(|file| file.id).collect(),
            ..MemoryBefore::default()
        };
        let path = format!("{SHARED_MEMORY}/cotenant-test-{}", std::process::id());
        let holds = || before.left_on_host().into_iter().find(|holder| holder.name == path);
        if std::fs::write(&path, vec![1_u8; 3 << 20]).is_err() {
            // A machine without shared memory has none to hold.
            return;
        }
        let held = holds();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(held.map(|holder| holder.bytes), Some(3 << 20));
        assert_eq!(holds(), None);
    }
}
