//! Schedules: what a seed fixes, what a process must look like, what is refused.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use cotenant_probe::load::{
    Arrivals, LengthDistribution, LengthScale, Lengths, LoadSpec, Pacing, Schedule, ScheduleError,
    TraceWindow, schedule,
};
use cotenant_probe::trace::{ReadOptions, Trace, read};
use proptest::prelude::*;

const LENGTHS: Lengths = Lengths::Drawn {
    prompt: LengthDistribution::LogNormal { p50: 1000, p95: 4000, min: 1, max: 32_768 },
    output: LengthDistribution::Fixed(64),
};

fn spec(arrivals: Arrivals, seconds: u64, seed: u64) -> LoadSpec {
    LoadSpec::new(arrivals, LENGTHS, Duration::from_secs(seconds), seed)
}

fn gaps_s(plan: &Schedule) -> Vec<f64> {
    let times: Vec<f64> =
        plan.requests.iter().map(|request| request.intended.as_secs_f64()).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Mean and squared coefficient of variation.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance / (mean * mean))
}

#[test]
fn a_seed_fixes_every_byte_and_another_seed_none() {
    let arrivals = Arrivals::Poisson { rate_per_s: 20.0 };
    let plan = schedule(&spec(arrivals.clone(), 60, 1)).unwrap();
    assert_eq!(plan, schedule(&spec(arrivals.clone(), 60, 1)).unwrap());
    let other = schedule(&spec(arrivals, 60, 2)).unwrap();
    assert_ne!(plan.digest(), other.digest());
    assert_eq!(plan.digest().len(), 64);
    // Guards the digests in evidence that exists: a change here makes old loads incomparable.
    let constant = schedule(&LoadSpec::new(
        Arrivals::Constant { rate_per_s: 2.0 },
        Lengths::Drawn {
            prompt: LengthDistribution::Fixed(10),
            output: LengthDistribution::Fixed(20),
        },
        Duration::from_secs(2),
        9,
    ))
    .unwrap();
    assert_eq!(constant.requests.len(), 4);
    assert_eq!(
        constant.digest(),
        "1cdcfb9c3dba0e6ad26b9c2a68ff005733520f39bf20b732d09c0f4b0aaedc8d"
    );
}

#[test]
fn other_lengths_leave_the_arrivals_as_they_are() {
    let arrivals = Arrivals::Gamma { rate_per_s: 5.0, burstiness: 4.0 };
    let drawn = schedule(&spec(arrivals.clone(), 60, 3)).unwrap();
    let lengths = Lengths::Drawn {
        prompt: LengthDistribution::Fixed(9),
        output: LengthDistribution::LogNormal { p50: 5, p95: 50, min: 1, max: 100 },
    };
    let fixed = schedule(&LoadSpec::new(arrivals, lengths, Duration::from_mins(1), 3)).unwrap();
    assert_eq!(gaps_s(&drawn), gaps_s(&fixed));
    assert_ne!(drawn.digest(), fixed.digest());
}

/// Exponential gaps have a squared coefficient of variation of 1, gamma gaps that of their
/// burstiness. 200,000 arrivals: the mean's standard error is 0.2 % times √CV².
#[test]
fn renewal_processes_have_their_rate_and_burstiness() {
    let poisson = schedule(&spec(Arrivals::Poisson { rate_per_s: 100.0 }, 2000, 4)).unwrap();
    let (mean, variation) = moments(&gaps_s(&poisson));
    assert!((mean * 100.0 - 1.0).abs() < 0.01, "{mean}");
    assert!((variation - 1.0).abs() < 0.03, "{variation}");
    for burstiness in [0.25, 1.0, 4.0] {
        let arrivals = Arrivals::Gamma { rate_per_s: 100.0, burstiness };
        let plan = schedule(&spec(arrivals, 2000, 5)).unwrap();
        let (mean, variation) = moments(&gaps_s(&plan));
        assert!((mean * 100.0 - 1.0).abs() < 0.02, "{burstiness}: {mean}");
        assert!((variation / burstiness - 1.0).abs() < 0.06, "{burstiness}: {variation}");
    }
}

#[test]
fn constant_arrivals_are_exact() {
    let plan = schedule(&spec(Arrivals::Constant { rate_per_s: 10.0 }, 1, 0)).unwrap();
    let times: Vec<u128> =
        plan.requests.iter().map(|request| request.intended.as_millis()).collect();
    assert_eq!(times, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
}

/// A ramp from 0 to 40 requests/s over 1,000 s has 20,000 arrivals, a quarter of them in the first
/// half (the integral of the rate).
#[test]
fn a_ramp_grows_linearly() {
    let arrivals = Arrivals::Ramp { from_per_s: 0.0, to_per_s: 40.0 };
    let plan = schedule(&spec(arrivals, 1000, 6)).unwrap();
    let count = plan.requests.len() as f64;
    assert!((count - 20_000.0).abs() < 600.0, "{count}");
    let half = Duration::from_secs(500);
    let early = plan.requests.iter().filter(|request| request.intended < half).count() as f64;
    assert!((early / count - 0.25).abs() < 0.02, "{early} of {count}");
    let down = Arrivals::Ramp { from_per_s: 40.0, to_per_s: 0.0 };
    let plan = schedule(&spec(down, 1000, 6)).unwrap();
    let early = plan.requests.iter().filter(|request| request.intended < half).count() as f64;
    assert!((early / plan.requests.len() as f64 - 0.75).abs() < 0.02);
}

#[test]
fn drawn_lengths_go_through_their_quantiles() {
    let plan = schedule(&spec(Arrivals::Poisson { rate_per_s: 100.0 }, 1000, 8)).unwrap();
    let p50 = f64::from(plan.prompt_tokens_quantile(0.5).unwrap());
    let p95 = f64::from(plan.prompt_tokens_quantile(0.95).unwrap());
    assert!((p50 / 1000.0 - 1.0).abs() < 0.02, "{p50}");
    assert!((p95 / 4000.0 - 1.0).abs() < 0.03, "{p95}");
    assert_eq!(plan.output_tokens_quantile(0.5), Some(64));
}

fn trace(rows: &[(f64, u32, u32)]) -> Arc<Trace> {
    let mut text = "arrived_at,num_prefill_tokens,num_decode_tokens\n".to_owned();
    for (at, prompt, output) in rows {
        writeln!(text, "{at},{prompt},{output}").unwrap();
    }
    Arc::new(read("made.csv", text.as_bytes(), &ReadOptions::default()).unwrap())
}

fn replay(trace: &Arc<Trace>, window: TraceWindow, rate_factor: f64, seconds: u64) -> LoadSpec {
    let trace = Arc::clone(trace);
    let arrivals = Arrivals::Trace { trace, window, rate_factor };
    LoadSpec::new(arrivals, Lengths::FromTrace, Duration::from_secs(seconds), 1)
}

#[test]
fn a_trace_is_replayed_with_its_lengths() {
    let rows: Vec<(f64, u32, u32)> = (0..=20).map(|i| (f64::from(i), 100 + i, 10 + i)).collect();
    let trace = trace(&rows);
    let whole = schedule(&replay(&trace, TraceWindow::Whole, 1.0, 20)).unwrap();
    assert_eq!(whole.requests.len(), 20, "the arrival at the end of the block is outside");
    let window =
        TraceWindow::From { start: Duration::from_secs(4), length: Duration::from_secs(10) };
    let part = schedule(&replay(&trace, window, 2.0, 5)).unwrap();
    assert_eq!(part.requests.len(), 10);
    let first = part.requests[0];
    assert_eq!(
        (first.intended, first.prompt_tokens, first.output_tokens),
        (Duration::ZERO, 104, 14)
    );
    assert_eq!(part.requests[1].intended, Duration::from_millis(500));
    let short = schedule(&replay(&trace, window, 2.0, 6)).unwrap_err();
    assert!(matches!(short, ScheduleError::TraceTooShort { .. }), "{short}");
    assert!(short.to_string().contains("5.0 s"), "{short}");
}

#[test]
fn the_busiest_window_is_found() {
    let mut rows: Vec<(f64, u32, u32)> = (0..100).map(|i| (f64::from(i) * 10.0, 1, 1)).collect();
    rows.extend((0..30).map(|i| (500.0 + f64::from(i), 7, 7)));
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let trace = trace(&rows);
    let window = TraceWindow::Busiest { length: Duration::from_secs(30) };
    let plan = schedule(&replay(&trace, window, 1.0, 30)).unwrap();
    // Thirty of the burst and those at 500, 510 and 520 s.
    assert_eq!(plan.requests.len(), 33);
    // At the end of the trace the window is moved, not cut.
    let late: Vec<(f64, u32, u32)> =
        (0..10).map(|i| (f64::from(i), 1, 1)).chain((0..9).map(|_| (60.0, 2, 2))).collect();
    let trace = self::trace(&late);
    let window = TraceWindow::Busiest { length: Duration::from_secs(5) };
    let plan = schedule(&replay(&trace, window, 1.0, 5)).unwrap();
    assert_eq!(plan.requests.len(), 5, "the burst lies at the very end of what can be replayed");
}

#[test]
fn lengths_are_scaled_and_what_is_clamped_is_counted() {
    let trace = trace(&[(0.0, 4000, 100), (1.0, 400, 0), (2.0, 1, 1)]);
    let mut spec = replay(&trace, TraceWindow::Whole, 1.0, 2);
    spec.scale = LengthScale {
        prompt_factor: 0.1,
        output_factor: 0.5,
        prompt_tokens_range: (1, 256),
        output_tokens_range: (1, 512),
    };
    let plan = schedule(&spec).unwrap();
    let lengths: Vec<(u32, u32)> = plan
        .requests
        .iter()
        .map(|request| (request.prompt_tokens, request.output_tokens))
        .collect();
    assert_eq!(lengths, [(256, 50), (40, 1)]);
    assert_eq!(plan.lengths_clamped, 2);
}

#[test]
fn classes_are_merged_in_order_of_time() {
    let mut chat = spec(Arrivals::Constant { rate_per_s: 2.0 }, 2, 1);
    chat.class = 0;
    let mut code = spec(Arrivals::Constant { rate_per_s: 1.0 }, 2, 2);
    code.class = 1;
    let plan = Schedule::merge(vec![schedule(&chat).unwrap(), schedule(&code).unwrap()]).unwrap();
    let order: Vec<(u32, u16)> =
        plan.requests.iter().map(|request| (request.index, request.class)).collect();
    assert_eq!(order, [(0, 0), (1, 1), (2, 0), (3, 0), (4, 1), (5, 0)]);
}

#[test]
fn a_closed_loop_is_named_so() {
    let arrivals = Arrivals::ClosedLoop { users: 3, think: Duration::from_secs(2), requests: 7 };
    assert!(arrivals.describe().starts_with("closed loop"));
    let plan = schedule(&spec(arrivals, 1, 1)).unwrap();
    assert_eq!((plan.pacing, plan.requests.len()), (Pacing::Closed { users: 3 }, 7));
    let refused = Schedule::merge(vec![plan.clone(), plan]).unwrap_err();
    assert_eq!(refused, ScheduleError::MergeOfClosedLoop);
}

#[test]
fn what_has_no_meaning_is_refused() {
    for rate_per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = schedule(&spec(Arrivals::Poisson { rate_per_s }, 10, 1)).unwrap_err();
        assert!(refused.to_string().starts_with("rate_per_s is"), "{refused}");
    }
    let burst = Arrivals::Gamma { rate_per_s: 1.0, burstiness: 0.0 };
    assert!(schedule(&spec(burst, 10, 1)).is_err());
    let flat = Arrivals::Ramp { from_per_s: 0.0, to_per_s: 0.0 };
    assert!(schedule(&spec(flat, 10, 1)).is_err());
    let huge = schedule(&spec(Arrivals::Poisson { rate_per_s: 1e9 }, 1000, 1)).unwrap_err();
    assert!(matches!(huge, ScheduleError::TooMany { .. }), "{huge}");
    let from_trace = LoadSpec::new(
        Arrivals::Constant { rate_per_s: 1.0 },
        Lengths::FromTrace,
        Duration::from_secs(5),
        1,
    );
    assert_eq!(schedule(&from_trace).unwrap_err(), ScheduleError::NoTraceForLengths);
    let mut lengths = spec(Arrivals::Constant { rate_per_s: 1.0 }, 5, 1);
    lengths.lengths = Lengths::Drawn {
        prompt: LengthDistribution::LogNormal { p50: 100, p95: 50, min: 1, max: 10 },
        output: LengthDistribution::Fixed(1),
    };
    assert!(schedule(&lengths).unwrap_err().to_string().contains("at least the median"));
}

proptest! {
    /// Whatever the process: in order, inside the block, numbered, at least one token each way.
    #[test]
    fn every_schedule_is_whole(
        kind in 0_u8..4,
        rate in 0.1_f64..200.0,
        other in 0.0_f64..200.0,
        seconds in 1_u64..30,
        seed in any::<u64>(),
    ) {
        let arrivals = match kind {
            0 => Arrivals::Poisson { rate_per_s: rate },
            1 => Arrivals::Gamma { rate_per_s: rate, burstiness: other / 20.0 + 0.01 },
            2 => Arrivals::Constant { rate_per_s: rate },
            _ => Arrivals::Ramp { from_per_s: other, to_per_s: rate },
        };
        let plan = schedule(&spec(arrivals, seconds, seed)).unwrap();
        for (index, request) in plan.requests.iter().enumerate() {
            prop_assert_eq!(request.index as usize, index);
            prop_assert!(request.intended < Duration::from_secs(seconds));
            prop_assert!(request.prompt_tokens >= 1 && request.output_tokens >= 1);
        }
        prop_assert!(plan.requests.windows(2).all(|pair| pair[0].intended <= pair[1].intended));
    }
}
