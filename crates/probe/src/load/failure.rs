//! Errors of the HTTP layer as outcomes.

use std::error::Error as _;
use std::io;

use cotenant_core::evidence::Outcome;

use super::progress::Failure;

/// An error before the answer's head was read.
pub(super) fn before_head(error: &hyper::Error) -> Failure {
    let outcome = if error.is_parse() { Outcome::Malformed } else { Outcome::Reset };
    Failure::new(outcome, words(error))
}

/// An error while the answer's body came.
pub(super) fn after_head(error: &hyper::Error) -> Failure {
    let outcome = match io_kind(error) {
        Some(io::ErrorKind::UnexpectedEof) => Outcome::Truncated,
        // A chunk size that is no number, or a chunk without its end.
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => Outcome::Malformed,
        None if error.is_incomplete_message() => Outcome::Truncated,
        None if error.is_parse() => Outcome::Malformed,
        Some(_) | None => Outcome::Reset,
    };
    Failure::new(outcome, words(error))
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        source = cause.source();
    }
    None
}

fn words(error: &hyper::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}
