//! The search for capacity: its rule, its coverage on queues of known capacity, and which evidence
//! counts for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![allow(dead_code, reason = "the support is shared with other tests")]
#![allow(clippy::format_push_string, reason = "the support prints short texts")]

mod coverage;
mod evidence;
mod queue;
mod rule;
#[path = "../verdict/support.rs"]
mod support;
