//! Why a text of `nvidia-smi` could not be read.

use thiserror::Error;

/// Why a text could not be read. Each names its line and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// A line that is broken, or does not belong where it stands.
    #[error("line {line}: {problem}: «{text}»; {way_out}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
        /// The line's beginning.
        text: String,
        /// What to do instead.
        way_out: &'static str,
    },
    /// The tool says that it failed.
    #[error("line {line}: nvidia-smi failed: «{message}»; {way_out}")]
    Tool {
        /// The line, from 1.
        line: usize,
        /// What the tool said.
        message: String,
        /// What to do about it.
        way_out: &'static str,
    },
    /// A form that is known, and not read.
    #[error("line {line}: this is {kind}, which is not read; {way_out}")]
    Refused {
        /// The line by which it was recognised, from 1.
        line: usize,
        /// What it is.
        kind: &'static str,
        /// What to give instead.
        way_out: &'static str,
    },
}

/// Characters of a line that an error repeats.
const SHOWN_CHARS_MAX: usize = 120;

impl DeviceError {
    /// A broken line.
    pub(super) fn line(
        line: usize,
        problem: impl Into<String>,
        text: &str,
        way_out: &'static str,
    ) -> Self {
        let text = text.trim().chars().take(SHOWN_CHARS_MAX).collect();
        Self::Line { line, problem: problem.into(), text, way_out }
    }

    /// The same error, in a file in which the text begins `lines` lines later.
    #[must_use]
    pub(super) fn moved_by(mut self, lines: usize) -> Self {
        match &mut self {
            Self::Line { line, .. } | Self::Tool { line, .. } | Self::Refused { line, .. } => {
                *line += lines;
            }
        }
        self
    }
}
