//! A file that was not read.

use std::fmt;

/// Why a file was not read: what it seems to be, what stands in the way, and what would be needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRefusal {
    /// The file's name, as given.
    pub file: String,
    /// What it seems to be, with its article: `a Parquet file`.
    pub seems: String,
    /// The line that stands in the way, from 1; `None` where the whole file is meant.
    pub line: Option<u64>,
    /// Why it cannot be read.
    pub why: String,
    /// What would be needed.
    pub way_out: String,
    /// Whether the file or the machine is at fault.
    pub cause: RefusalCause,
}

/// What is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalCause {
    /// What is in the file, or which file was named.
    Content,
    /// The machine: a disk or a pipe failed while the file was read.
    Machine,
}

impl FileRefusal {
    /// A refusal of the whole file for its content.
    pub fn new(
        file: &str,
        seems: impl Into<String>,
        why: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            seems: seems.into(),
            line: None,
            why: why.into(),
            way_out: way_out.into(),
            cause: RefusalCause::Content,
        }
    }

    /// The same with the line that stands in the way.
    #[must_use]
    pub fn at(mut self, line: Option<u64>) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for FileRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}; {}", self.seems, self.why, self.way_out)
    }
}

impl std::error::Error for FileRefusal {}
