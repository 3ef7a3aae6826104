//! What can be wrong with a file of demand, told so that it can be mended.

use std::fmt;

/// A file that cannot be read: where, what, the text that is there, and a way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file's name, as given.
    pub file: String,
    /// Line, counted from 1; `None` where the whole file is meant.
    pub line: Option<u64>,
    /// Name of the column or key; `None` where the whole line is meant.
    pub column: Option<String>,
    /// The text that is there, shortened.
    pub text: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// The way out.
    pub hint: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(text) = &self.text {
            write!(f, " (found {text:?})")?;
        }
        write!(f, "; {}", self.hint)
    }
}

impl std::error::Error for TraceError {}

/// Most characters of a bad text that an error shows.
const TEXT_CHARACTERS_MAX: usize = 80;

/// A problem that does not yet know its file and line.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) column: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) what: String,
    pub(crate) hint: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { column: None, text: None, what: what.into(), hint: hint.into() }
    }

    pub(crate) fn column(mut self, column: &str) -> Self {
        self.column = Some(column.to_owned());
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        let mut short: String = text.chars().take(TEXT_CHARACTERS_MAX).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        self.text = Some(short);
        self
    }

    pub(crate) fn at(self, file: &str, line: Option<u64>) -> Box<TraceError> {
        Box::new(TraceError {
            file: file.to_owned(),
            line,
            column: self.column,
            text: self.text,
            problem: self.what,
            hint: self.hint,
        })
    }
}
