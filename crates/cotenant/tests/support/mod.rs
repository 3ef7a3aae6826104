//! What the tests of the binary share: processes that cannot outlive a test, site files, folders.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

pub(crate) mod process;
pub(crate) mod sites;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No test waits longer than this for anything but a whole run.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// No run takes longer than this, however loaded the machine.
pub(crate) const RUN_PATIENCE: Duration = Duration::from_mins(6);

/// The folder of the repository.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Waits, bounded, until something is there; `None` where it does not come.
pub(crate) fn wait_for<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A copy of a folder with all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Numbers that a seed decides (SplitMix64), so that a failure can be run again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number of `0..bound`; the small bias of the remainder does no harm here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % bound
    }
}
