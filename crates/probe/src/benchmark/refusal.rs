//! What an imported result cannot be used for, told so that it can be mended.

use std::fmt;

/// What somebody may want to conclude from a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// Anything at all: the file is not read further.
    Anything,
    /// Whether latency objectives hold: it needs every request with the time at which it was wanted.
    Objectives,
    /// Tails of latency: they need quantiles above the median.
    Tails,
    /// Gaps between single tokens.
    TokenGaps,
    /// Latency at the rate that was asked for.
    RequestedRate,
    /// Any time of inference under load.
    Latency,
}

impl Claim {
    /// The claim in words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anything => "any claim",
            Self::Objectives => "whether latency objectives hold",
            Self::Tails => "tails of latency",
            Self::TokenGaps => "gaps between tokens",
            Self::RequestedRate => "latency at the requested rate",
            Self::Latency => "latency under load",
        }
    }
}

/// A refused claim: where, what rule it breaks, what stands there, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file's name, as given.
    pub file: String,
    /// Line, counted from 1; `None` where a field or the whole file is meant.
    pub line: Option<u64>,
    /// Path of the field, as `load_summary.requested_rate`; `None` where the whole file is meant.
    pub field: Option<String>,
    /// The text that is there, shortened.
    pub found: Option<String>,
    /// What cannot be concluded.
    pub claim: Claim,
    /// The rule that the file breaks.
    pub rule: String,
    /// The way out.
    pub hint: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field {field}")?;
        }
        write!(f, ": does not support {}: {}", self.claim.name(), self.rule)?;
        if let Some(found) = &self.found {
            write!(f, " (found {found:?})")?;
        }
        write!(f, "; {}", self.hint)
    }
}

impl std::error::Error for Refusal {}

/// Most characters of a bad text that a refusal shows.
const FOUND_CHARACTERS_MAX: usize = 80;

impl Refusal {
    pub(super) fn new(
        file: &str,
        claim: Claim,
        rule: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            field: None,
            found: None,
            claim,
            rule: rule.into(),
            hint: hint.into(),
        }
    }

    /// The whole file is refused.
    pub(super) fn file(file: &str, rule: impl Into<String>, hint: impl Into<String>) -> Box<Self> {
        Box::new(Self::new(file, Claim::Anything, rule, hint))
    }

    pub(super) fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub(super) fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(super) fn found(mut self, text: &str) -> Self {
        let mut short: String = text.chars().take(FOUND_CHARACTERS_MAX).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        self.found = Some(short);
        self
    }
}
