//! One place in one clock: by hand where a number can be computed by hand, by what must always hold,
//! and against theory.

#![expect(clippy::unwrap_used, reason = "a test may stop where its own place is not as made")]

mod calendars;
mod engines;
mod properties;
mod requests;
mod support;
mod transitions;
