//! A timer that is exact to tens of microseconds.
//!
//! Tokio's timers turn on a wheel of one millisecond: at 1,000 requests a second every send would
//! be late by half of the time between two sends. Sleeping and then spinning for the last part
//! would be exact, but the same thread reads the streams: while it spins it stamps nothing, and on
//! a small machine it takes CPU from the server that it measures. A timerfd costs one wake-up of
//! the same event loop and is driven by the kernel's high-resolution timers, without the slack
//! that `epoll_wait` adds to its own timeout.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::Timespec;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One timer. It belongs to the runtime on which it was made.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// A timer that is not set.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "the replacement is unsafe, for types whose descriptor may close or change; \
                      an `OwnedFd` that the `AsyncFd` owns keeps its own open"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Self { timer })
    }

    /// Waits until `deadline`. Dropping the future before it completes leaves the timer usable.
    pub(super) async fn wait_until(&self, deadline: Instant) -> io::Result<()> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.set(left)?;
            let mut ready = self.timer.readable().await?;
            let mut expirations = [0_u8; 8];
            // `WouldBlock` means that an older setting made the descriptor ready: wait again.
            let _expired = ready.try_io(|timer| {
                rustix::io::read(timer.get_ref(), &mut expirations).map_err(io::Error::from)
            });
        }
    }

    fn set(&self, left: Duration) -> io::Result<()> {
        let value = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &value)?;
        Ok(())
    }
}
