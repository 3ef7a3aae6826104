//! Exit codes, and the errors that lead to them.

use std::fmt;
use std::process::ExitCode;

use cotenant_core::verdict::{Ruling, Validity, Verdict};

use crate::printer::Printer;

/// What the program ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The question was answered; for `verdict` and `try`: PASS.
    Answered = 0,
    /// The user's input is wrong.
    Input = 2,
    /// The world failed: an endpoint is down, a tool is missing, evidence is damaged.
    World = 3,
    /// CONDITIONAL, from `verdict` and `try` alone.
    Conditional = 10,
    /// FAIL, from `verdict` and `try` alone.
    Fail = 20,
    /// NOT PROVEN, from `verdict` and `try` alone.
    NotProven = 30,
    /// The test is INVALID, from `measure` and `try`.
    Invalid = 40,
    /// A bug.
    Bug = 70,
    /// The user pressed Ctrl-C: what was finished is kept.
    Interrupted = 130,
}

impl Code {
    /// The code of a verdict's word.
    pub(crate) fn of(verdict: &Verdict) -> Self {
        match verdict.ruling {
            Ruling::Pass => Self::Answered,
            Ruling::Conditional => Self::Conditional,
            Ruling::Fail => Self::Fail,
            Ruling::NotProven => Self::NotProven,
        }
    }

    /// The code of a test: whether it can prove anything.
    pub(crate) fn of_test(verdict: &Verdict) -> Option<Self> {
        matches!(verdict.validity, Validity::Invalid(_)).then_some(Self::Invalid)
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Why a verb gave no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong input; the text is whole and printed as it is.
    Input(String),
    /// The world; a sentence fragment, with a way out where there is one.
    World {
        /// What happened.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The user's Ctrl-C.
    Interrupted(String),
    /// The reader of our output went away, which is no failure of ours.
    BrokenPipe,
    /// What should be impossible.
    Bug(String),
}

impl Failure {
    /// A failure of the world.
    pub(crate) fn world(message: impl fmt::Display) -> Self {
        Self::World { message: message.to_string(), hint: None }
    }

    /// A failure of the world with a way out.
    pub(crate) fn world_hint(message: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self::World { message: message.to_string(), hint: Some(hint.into()) }
    }

    /// Wrong input, told in one sentence.
    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self::Input(format!("error: {message}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::world(error)
        }
    }
}

/// Tells a failure and gives its code.
pub(crate) fn failed(failure: &Failure, printer: &Printer) -> ExitCode {
    let code = match failure {
        Failure::Input(text) => {
            printer.error_text(text);
            Code::Input
        }
        Failure::World { message, hint } => {
            printer.error_text(&format!("error: {message}"));
            if let Some(hint) = hint {
                printer.error_text(&format!("\nhint: {hint}"));
            }
            Code::World
        }
        Failure::Interrupted(text) => {
            printer.error_text(text);
            Code::Interrupted
        }
        // Existing Unix convention: `cotenant … | head` is no error.
        Failure::BrokenPipe => Code::Answered,
        Failure::Bug(text) => {
            printer.error_text(&format!("bug: {text}\n\nhint: please report it with the command"));
            Code::Bug
        }
    };
    code.into()
}

/// Tells what is wrong with the command line, or the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // A reader that is gone changes nothing about what was asked.
    let _ = error.print();
    if error.use_stderr() { Code::Input.into() } else { Code::Answered.into() }
}
