//! Where the kernel's files are: `/`, or a folder that holds copies of them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cotenant_core::evidence::{Missing, Reading};

/// Largest file that is read, bytes. The kernel's own are far below it (`/proc/cpuinfo` of 1,024
/// CPUs has about 1.5 MB).
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The folder in which `/proc` and `/sys` are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// This machine's own.
    pub fn of_this_machine() -> Self {
        Self("/".into())
    }

    /// A folder with copies, for tests.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The path below this root; `path` is absolute.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The text of a file; a file that cannot be read is a reading that says which and why.
    pub fn read(&self, path: &str) -> Reading<String> {
        read(&self.path(path))
    }

    /// The same, where the file's absence has a meaning of its own.
    pub fn read_if_present(&self, path: &str) -> Reading<Option<String>> {
        let path = self.path(path);
        match path.try_exists() {
            Ok(false) => Ok(None),
            _ => read(&path).map(Some),
        }
    }
}

fn read(path: &Path) -> Reading<String> {
    use std::io::Read as _;
    let missing = |error: std::io::Error| {
        let why = match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        Missing(format!("{}: {why}", path.display()))
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(missing)?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(missing)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds the path to what a parser found wrong.
pub(super) fn in_file<T>(path: &str, parsed: Reading<T>) -> Reading<T> {
    parsed.map_err(|Missing(why)| Missing(format!("{path}: {why}")))
}
