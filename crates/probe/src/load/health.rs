//! The client's own fitness: what it cost, and how late it was.

use std::time::Duration;

use cotenant_core::evidence::ClientHealth;
use rustix::time::{ClockId, clock_gettime};

/// The ⌈qn⌉-th smallest of sorted values (the order statistic that quantiles mean everywhere in
/// this program); `None` where there are none.
pub(super) fn order_statistic<T>(sorted: &[T], q: f64) -> Option<&T> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1)
}

/// CPU time and run-queue wait of the calling thread so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadUse {
    cpu: Duration,
    run_queue_wait: Option<Duration>,
}

impl ThreadUse {
    /// Reads both now. The thread must stay the same between two readings, which is why the client
    /// belongs on a current-thread runtime.
    pub(super) fn read() -> Self {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let cpu = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        Self { cpu, run_queue_wait: run_queue_wait() }
    }
}

/// The second number of schedstat: nanoseconds spent waiting on a run queue
/// (Documentation/scheduler/sched-stats.rst). Kernels without CONFIG_SCHED_INFO lack the file.
fn run_queue_wait() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let wait_ns: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(wait_ns))
}

/// Puts the client's fitness together.
pub(super) fn health(
    requests_planned: u32,
    requests_sent: u32,
    mut lateness_ns: Vec<u64>,
    before: ThreadUse,
    streams_open_max: u32,
) -> ClientHealth {
    lateness_ns.sort_unstable();
    let quantile = |q: f64| order_statistic(&lateness_ns, q).map_or(0.0, |ns| *ns as f64 / 1e9);
    let after = ThreadUse::read();
    let run_queue_wait_s = match (before.run_queue_wait, after.run_queue_wait) {
        (Some(before), Some(after)) => Some(after.saturating_sub(before).as_secs_f64()),
        _ => None,
    };
    ClientHealth {
        requests_planned,
        requests_sent,
        lateness_p50_s: quantile(0.5),
        lateness_p99_s: quantile(0.99),
        lateness_max_s: quantile(1.0),
        cpu_s: after.cpu.saturating_sub(before.cpu).as_secs_f64(),
        run_queue_wait_s,
        streams_open_max,
    }
}
