//! The one clock of everything that looks.
//!
//! Stamps are taken in two processes (the guardian reads the workloads' lines, the measuring process
//! sends the requests) and must be comparable, so both read `CLOCK_MONOTONIC`: on one running kernel
//! it is the same clock in every process of a time namespace, it never steps, and it is what
//! `clock_gettime(2)` answers without a system call on common hardware.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`: comparable between the processes of one machine since its
/// boot, and with nothing else.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The kernel never gives a negative monotonic time: it counts from the boot.
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// The time of day, for people and for the names of runs. Nothing is measured with it.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the time of day")]
pub fn wall_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::monotonic_ns;

    #[test]
    fn time_never_goes_back() {
        let stamps: Vec<u64> = (0..10_000).map(|_| monotonic_ns()).collect();
        assert!(stamps.is_sorted());
        assert!(stamps[0] > 0);
    }
}
