//! The reserve: series computed by hand, what days support, coverage, and what must always hold.

#![expect(clippy::unwrap_used, reason = "a test may stop where its own question is not as made")]

mod assumed;
mod by_hand;
mod chance;
mod declared;
mod support;
mod trace;
