//! Tells a log's format by its content.

use std::fmt;

use super::clean::CleanLine;
use super::format::{Format, Lines};
use super::reader::is_progress;

/// Lines that are looked at: trainers print thousands of lines before their first step.
const LINES_MAX: usize = 50_000;
/// Lines of progress after which a format of the highest strength is not doubted.
const CERTAIN_HITS: usize = 50;

/// A format that claims lines of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// Lines of progress that it reads.
    pub hits: usize,
    /// The first of them, counted from 1.
    pub first_line: usize,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, hits, first_line } = self;
        write!(f, "{} ({hits} lines, the first is line {first_line})", format.name())
    }
}

/// Why a log's format cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// No line is progress in any format.
    #[error(
        "none of its {lines} lines is a step or a frame of a known format: write a template in the site file's `log.step`"
    )]
    Unknown {
        /// Lines looked at.
        lines: usize,
    },
    /// More than one format claims lines.
    #[error("several formats claim lines of it: {}: name one in `log.format`", list(.0))]
    Ambiguous(Vec<Candidate>),
}

fn list(candidates: &[Candidate]) -> String {
    candidates.iter().map(Candidate::to_string).collect::<Vec<_>>().join(", ")
}

/// The format of a log of lines. Lines of libraries (DeepSpeed's, progress bars) yield to those of
/// the framework above them.
///
/// # Errors
/// No format, or several, claim its lines.
pub fn detect(text: &str) -> Result<Format, DetectError> {
    let mut readers: Vec<(Candidate, Lines)> = Format::ALL
        .into_iter()
        .map(|format| (Candidate { format, hits: 0, first_line: 0 }, Lines::new(format)))
        .collect();
    let mut lines = 0;
    'lines: for line in text.lines().take(LINES_MAX) {
        lines += 1;
        for piece in line.split('\r').filter(|piece| !piece.trim().is_empty()) {
            let clean = CleanLine::new(piece);
            for (candidate, reader) in &mut readers {
                if reader.read(&clean).as_ref().is_some_and(is_progress) {
                    candidate.hits += 1;
                    if candidate.hits == 1 {
                        candidate.first_line = lines;
                    }
                }
            }
        }
        if readers.iter().any(|(c, _)| c.format.strength() == 2 && c.hits >= CERTAIN_HITS) {
            break 'lines;
        }
    }
    let claims = || readers.iter().map(|(candidate, _)| *candidate).filter(|c| c.hits > 0);
    let strongest = claims().map(|c| c.format.strength()).max();
    let candidates: Vec<Candidate> =
        claims().filter(|c| Some(c.format.strength()) == strongest).collect();
    match candidates[..] {
        [] => Err(DetectError::Unknown { lines }),
        [candidate] => Ok(candidate.format),
        _ => Err(DetectError::Ambiguous(candidates)),
    }
}
