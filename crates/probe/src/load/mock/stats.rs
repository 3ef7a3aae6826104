//! The mock's own record.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::load::health::order_statistic;

/// Most times of one kind that are kept, so that the record has a bound: 16 MiB each.
const TIMES_MAX: usize = 4 << 20;

/// Quantiles of times, microseconds (⌈qn⌉-th order statistics). All 0 where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSummary {
    /// How many there are.
    pub count: u64,
    /// Median.
    pub p50_us: u32,
    /// 99th percentile.
    pub p99_us: u32,
    /// 99.9th percentile.
    pub p999_us: u32,
    /// Largest.
    pub max_us: u32,
}

impl TimeSummary {
    /// Sums up times in microseconds; sorts them.
    pub fn of(times_us: &mut [u32]) -> Self {
        times_us.sort_unstable();
        let quantile = |q: f64| order_statistic(times_us, q).copied().unwrap_or(0);
        Self {
            count: times_us.len() as u64,
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: quantile(1.0),
        }
    }
}

/// What the mock really did since it started or was last asked to forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MockStats {
    /// Requests read.
    pub requests: u64,
    /// Connections taken.
    pub connections: u64,
    /// Tokens written.
    pub tokens: u64,
    /// Most streams open at once.
    pub streams_open_max: u64,
    /// Request read to first token written.
    pub first_token: TimeSummary,
    /// Between two chunks with tokens written to one stream.
    pub chunk_gap: TimeSummary,
    /// Of each stream of two tokens and more: (last token − first token) ÷ (tokens − 1).
    pub token_gap_mean: TimeSummary,
    /// How late chunks were written, against the schedule.
    pub lateness: TimeSummary,
    /// Monotonic time (`CLOCK_MONOTONIC`) at which the first request was read; 0 where none was.
    pub first_request_ns: u64,
    /// The same of the last request.
    pub last_request_ns: u64,
    /// Monotonic time at which the last token of a whole stream was written; 0 where none was.
    pub last_token_ns: u64,
    /// CPU time of the serving thread since it started, seconds.
    pub cpu_s: f64,
}

/// The record while it grows.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) requests: u64,
    pub(super) connections: u64,
    pub(super) tokens: u64,
    streams_open: u64,
    streams_open_max: u64,
    first_token_us: Vec<u32>,
    chunk_gap_us: Vec<u32>,
    token_gap_mean_us: Vec<u32>,
    lateness_us: Vec<u32>,
    first_request_ns: u64,
    last_request_ns: u64,
    last_token_ns: u64,
}

impl Recorder {
    /// Notes a request, read at this monotonic time.
    pub(super) fn open(&mut self, now_ns: u64) {
        if self.requests == 0 {
            self.first_request_ns = now_ns;
        }
        self.last_request_ns = now_ns;
        self.requests += 1;
        self.streams_open += 1;
        self.streams_open_max = self.streams_open_max.max(self.streams_open);
    }

    pub(super) fn close(&mut self) {
        self.streams_open = self.streams_open.saturating_sub(1);
    }

    /// Notes a chunk with tokens: when it was written, when it was due, and what came before it.
    pub(super) fn chunk(&mut self, now: Instant, due: Instant, before: Before) {
        keep(&mut self.lateness_us, now.saturating_duration_since(due));
        match before {
            Before::Request(read) => {
                keep(&mut self.first_token_us, now.saturating_duration_since(read));
            }
            Before::Chunk(written) => {
                keep(&mut self.chunk_gap_us, now.saturating_duration_since(written));
            }
        }
    }

    /// Notes the last token of a stream: its monotonic time, the time since the first one, and how
    /// many there were.
    pub(super) fn last(&mut self, now_ns: u64, span: Duration, tokens: u32) {
        self.last_token_ns = now_ns;
        if tokens > 1 {
            keep(&mut self.token_gap_mean_us, span / (tokens - 1));
        }
    }

    pub(super) fn forget(&mut self) {
        let (streams_open, connections) = (self.streams_open, self.connections);
        *self = Self { connections, streams_open, ..Self::default() };
    }

    pub(super) fn stats(&mut self, cpu: Duration) -> MockStats {
        MockStats {
            requests: self.requests,
            connections: self.connections,
            tokens: self.tokens,
            streams_open_max: self.streams_open_max,
            first_token: TimeSummary::of(&mut self.first_token_us),
            chunk_gap: TimeSummary::of(&mut self.chunk_gap_us),
            token_gap_mean: TimeSummary::of(&mut self.token_gap_mean_us),
            lateness: TimeSummary::of(&mut self.lateness_us),
            first_request_ns: self.first_request_ns,
            last_request_ns: self.last_request_ns,
            last_token_ns: self.last_token_ns,
            cpu_s: cpu.as_secs_f64(),
        }
    }
}

/// What came before a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    /// The request, read then.
    Request(Instant),
    /// Another chunk, written then.
    Chunk(Instant),
}

fn keep(times_us: &mut Vec<u32>, time: Duration) {
    if times_us.len() < TIMES_MAX {
        times_us.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }
}
