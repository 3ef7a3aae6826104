//! Files without a name: whatever ends a process, the kernel frees them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// What the name of a file begins with, in the instant in which it has one.
const PREFIX: &str = ".cotenant-stress-";

/// Why no file could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a file in {folder}: {source}")]
pub struct ScratchError {
    /// The folder.
    pub folder: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// An open file that no folder lists.
#[derive(Debug)]
pub struct Scratch {
    /// The file.
    pub file: File,
}

impl Scratch {
    /// Makes one in a folder, after removing what an earlier process may have left there.
    ///
    /// `O_TMPFILE` gives a file that never had a name. A file system that knows none (NFS, some
    /// FUSE) gets a name that is removed at once; a kill between the two leaves an empty file,
    /// which the next call removes.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn make(folder: &Path) -> Result<Self, ScratchError> {
        let failed = |source| ScratchError { folder: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        remove_left(folder).map_err(failed)?;
        let unnamed = OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::TMPFILE.bits() as i32)
            .open(folder);
        if let Ok(file) = unnamed {
            return Ok(Self { file });
        }
        let path = folder.join(format!("{PREFIX}{}", std::process::id()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        fs::remove_file(&path).map_err(failed)?;
        Ok(Self { file })
    }
}

/// Removes files that a killed process left: empty ones of our own kind of name.
fn remove_left(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_ours && entry.file_type()?.is_file() {
            match fs::remove_file(entry.path()) {
                // Another start was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}
