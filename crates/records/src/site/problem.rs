//! What is wrong with a site file, and where.

/// A place in the site file, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The site cannot be used.
    Error,
    /// The site can be used, but something in it is probably not what was meant.
    Warning,
}

/// A place with what is to be said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be said about it; may be empty.
    pub text: String,
    /// Whether the problem is here; other labels show what it is in conflict with.
    pub is_primary: bool,
}

/// One problem of a site file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A stable short name of the kind of problem, such as `unknown-key`.
    pub code: &'static str,
    /// What is wrong: a lowercase fragment without a full stop.
    pub message: String,
    /// Where, primary labels first. Empty where the file as a whole is meant.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    pub(super) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: Vec::new(),
            hint: None,
        }
    }

    pub(super) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds the place of the problem.
    #[must_use]
    pub(super) fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), is_primary: true });
        self
    }

    /// Adds a place with which it is in conflict.
    #[must_use]
    pub(super) fn beside(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), is_primary: false });
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The order in which problems are shown: by place, the file as a whole first.
    pub(super) fn order(&self) -> (Option<usize>, Severity) {
        (self.labels.first().map(|label| label.span.start), self.severity)
    }
}

/// Whether any problem keeps the site from being used.
pub fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}
