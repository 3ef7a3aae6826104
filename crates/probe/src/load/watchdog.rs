//! The three things that end a request from outside: its time limit, a stall, the end of the test.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use cotenant_core::evidence::Outcome;
use tokio::sync::futures::Notified;
use tokio::time::Sleep;

use super::cancel::Cancel;
use super::connection::ns_since;
use super::progress::Failure;

/// Watches one request. Its one timer is set lazily: a chunk that arrives does not touch it; when
/// it fires, the watchdog looks when bytes last came and sleeps on if that was lately.
pub(super) struct Watchdog<'a, 'b> {
    pub(super) start: Instant,
    pub(super) cancel: &'a Cancel,
    /// Time limit, nanoseconds from the block's start.
    pub(super) deadline_ns: u64,
    pub(super) stall_ns: u64,
    pub(super) sleep: Pin<&'a mut Sleep>,
    pub(super) notified: Pin<&'a mut Notified<'b>>,
    /// Whether the runtime knows whom to wake on cancellation. Once is enough: the task stays the
    /// same, and the switch stays thrown.
    pub(super) registered: bool,
}

impl Watchdog<'_, '_> {
    /// Ready when the request must end. `last_read_ns` is when bytes of the answer last came;
    /// before the first there is no stall, only a long wait, which the time limit bounds.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        last_read_ns: Option<u64>,
    ) -> Poll<Failure> {
        if !self.registered {
            self.registered = true;
            let _registered = self.notified.as_mut().poll(context);
        }
        if self.cancel.is_cancelled() {
            return Poll::Ready(Failure::new(Outcome::Cancelled, "the test ended"));
        }
        while self.sleep.as_mut().poll(context).is_ready() {
            let now_ns = ns_since(self.start);
            if now_ns >= self.deadline_ns {
                return Poll::Ready(Failure::new(
                    Outcome::TimedOut,
                    "the request took longer than its time limit",
                ));
            }
            let quiet_ns = last_read_ns.map_or(0, |last| now_ns.saturating_sub(last));
            if quiet_ns >= self.stall_ns {
                let seconds = quiet_ns as f64 / 1e9;
                let detail = format!("no byte for {seconds:.3} s after the answer had begun");
                return Poll::Ready(Failure::new(Outcome::Stalled, detail));
            }
            let next_ns = self.deadline_ns.min(now_ns.saturating_add(self.stall_ns - quiet_ns));
            let next = self.start + Duration::from_nanos(next_ns);
            self.sleep.as_mut().reset(next.into());
        }
        Poll::Pending
    }
}
