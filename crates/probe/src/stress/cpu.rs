//! Cores: arithmetic in registers at a duty.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use super::run::{Work, count};

/// CPU time between two looks at the clock, about: short beside a scheduler's slice.
const PART_NS: u64 = 2_000_000;

pub(super) fn start(work: &mut Work<'_>) -> Result<(), String> {
    for _ in 0..work.threads() {
        let done = work.done.clone();
        let mut pace = Work::pace(work.settings.rate, work.threads(), 0.02);
        spawn("spin", move || {
            let mut state = 1_u64;
            loop {
                let began_ns = thread_cpu_ns();
                let mut used_ns = 0;
                while used_ns < PART_NS {
                    // The multiplier is Knuth's for MMIX; any arithmetic that the compiler keeps
                    // would do.
                    for _ in 0..10_000 {
                        state = black_box(
                            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1),
                        );
                    }
                    used_ns = thread_cpu_ns().saturating_sub(began_ns);
                }
                count(&done, &mut pace, used_ns, 1e-9);
            }
        })?;
    }
    Ok(())
}

/// A thread that works until the process ends.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(used.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(used.tv_nsec).unwrap_or(0)
}
