//! Ending a load early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    notify: Notify,
}

/// A switch that ends a load. Clones share it; it stays thrown.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Shared>);

impl Cancel {
    /// A switch that is not thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the load: what is open is recorded as cancelled, and nothing more is sent.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
    }

    /// Whether it is thrown.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Completes when the switch is thrown after this call. Whoever waits asks
    /// [`Self::is_cancelled`] after making it, else a throw between the two would be missed.
    pub(super) fn notified(&self) -> Notified<'_> {
        self.0.notify.notified()
    }
}
