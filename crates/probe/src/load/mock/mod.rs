//! A server that answers as an engine does, at times that are known: it measures the client. Raw
//! HTTP/1.1 with server-sent events, one write for each chunk on an absolute schedule, and its own
//! record of what it really did.

mod http;
mod options;
mod server;
mod stats;

pub use options::{Fault, MockOptions, Pause};
pub use server::{MockServer, serve};
pub use stats::{MockStats, TimeSummary};
