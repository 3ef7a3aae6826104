//! Why a file was not read, told so that it can be mended.

use std::fmt;

/// A file that is not read: what it is, where that shows, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file's name, as given.
    pub file: String,
    /// Line, counted from 1; `None` where the whole file is meant.
    pub line: Option<u64>,
    /// What the file is: "an empty file", "an error message of sacct: …".
    pub what: String,
    /// The way out.
    pub way_out: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.what, self.way_out)
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    /// The whole file is refused.
    pub(super) fn file(file: &str, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, what: what.into(), way_out: way_out.into() }
    }

    pub(super) fn at(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

/// Most characters of a text that is shown or kept as a sample.
pub(super) const SHOWN_CHARACTERS_MAX: usize = 120;

/// The beginning of a text.
pub(super) fn shortened(text: &str) -> String {
    let mut short: String = text.trim().chars().take(SHOWN_CHARACTERS_MAX).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}
