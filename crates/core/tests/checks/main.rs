//! The cheap no: real situations with the answer that each must get, the rules one by one, and what
//! must always hold.

#![expect(clippy::unwrap_used, reason = "a test may stop where its own site is not as made")]
#![expect(clippy::print_stdout, reason = "a failing test shows the arithmetic that it judged")]

mod builder;
mod cases;
mod properties;
mod rules;
