//! What the measuring process and the guardian say to each other: one JSON value a line.
//!
//! Both ends are the same binary, so the protocol has no version. Times are nanoseconds of the
//! monotonic clock, which both read.

use serde::{Deserialize, Serialize};

use super::launch::{Exit, Launch, Signal, StopOrder, StopReport, Stream};
use super::lines::LineText;

/// To the guardian. `seq` numbers the question; its answer carries the same number.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) seq: u64,
    pub(crate) body: RequestBody,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RequestBody {
    /// Start a workload and call it `id` from now on.
    Start { id: u32, launch: Launch },
    /// Send a signal to the whole group.
    Signal { id: u32, signal: Signal },
    /// A signal, patience, SIGKILL to all that is left.
    Stop { id: u32, order: StopOrder },
    /// Kill everything and exit. It is answered by the end of the stream.
    Shutdown,
}

/// From the guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Frame {
    /// The answer to a request.
    Answer { seq: u64, answer: Result<Answer, String> },
    /// A workload's program runs.
    Started { id: u32, pid: u32, at_ns: u64 },
    /// Lines that one read completed, in order; the stamp was taken when the read returned.
    Lines { id: u32, stream: Stream, at_ns: u64, lines: Vec<LineText> },
    /// The first process of a workload has exited.
    LeaderExited { id: u32, at_ns: u64, exit: Exit },
    /// The last process of a workload is gone, and its output has been sent.
    Gone { id: u32, at_ns: u64, output_cut: bool },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Started { pid: u32, at_ns: u64 },
    Signalled { at_ns: u64 },
    Stopped(StopReport),
}
