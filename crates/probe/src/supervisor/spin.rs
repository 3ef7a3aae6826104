//! A process that keeps one CPU busy for a bounded time: what the audit weighs.

use std::hint::black_box;
use std::process::ExitCode;

use crate::clock::monotonic_ns;

/// Longest spin that can be asked for, seconds.
const SPIN_S_MAX: u64 = 60;

/// Computes until the time is over.
pub(super) fn spin_main(arguments: &[String]) -> ExitCode {
    let Some(seconds) = arguments.first().and_then(|text| text.parse::<u64>().ok()) else {
        return ExitCode::from(2);
    };
    let end_ns = monotonic_ns() + seconds.min(SPIN_S_MAX) * 1_000_000_000;
    let mut state = 1_u64;
    while monotonic_ns() < end_ns {
        // The multiplier is Knuth's for MMIX; any arithmetic that the compiler keeps would do.
        for _ in 0..100_000 {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    ExitCode::SUCCESS
}
