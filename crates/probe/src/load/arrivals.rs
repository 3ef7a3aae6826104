//! When requests are meant to arrive: pure functions of a seed.

use std::sync::Arc;
use std::time::Duration;

use rand_distr::{Distribution, Exp1, Gamma};
use rand_pcg::Pcg64;

use crate::trace::{Trace, TraceRequest};

use super::schedule::ScheduleError;

/// Which part of a trace is replayed. Lengths are in the trace's own time, before the rate factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWindow {
    /// All of it.
    Whole,
    /// From `start` on, for `length`.
    From {
        /// Start, from the trace's first arrival.
        start: Duration,
        /// Length.
        length: Duration,
    },
    /// The stretch of this length that holds the most arrivals; the earliest where several do.
    Busiest {
        /// Length.
        length: Duration,
    },
}

impl TraceWindow {
    /// Its start and its length in a trace, cut at the trace's end.
    pub fn bounds(self, trace: &Trace) -> (Duration, Duration) {
        let span = trace.span();
        let (start, length) = match self {
            Self::Whole => (Duration::ZERO, span),
            Self::From { start, length } => (start, length),
            Self::Busiest { length } => (busiest(&trace.requests, length), length),
        };
        (start, span.saturating_sub(start).min(length))
    }
}

/// The process that makes the arrivals.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Independent exponential times between arrivals.
    Poisson {
        /// Mean rate, requests per second.
        rate_per_s: f64,
    },
    /// Gamma-distributed times between arrivals.
    Gamma {
        /// Mean rate, requests per second.
        rate_per_s: f64,
        /// Squared coefficient of variation of the times between arrivals: 1 is Poisson, more is
        /// burstier. The shape of the gamma distribution is its inverse.
        burstiness: f64,
    },
    /// Equal times between arrivals, the first at 0.
    Constant {
        /// Rate, requests per second.
        rate_per_s: f64,
    },
    /// A Poisson process whose rate changes linearly over the block.
    Ramp {
        /// Rate at the start, requests per second.
        from_per_s: f64,
        /// Rate at the end, requests per second.
        to_per_s: f64,
    },
    /// The arrivals of a trace.
    Trace {
        /// The trace.
        trace: Arc<Trace>,
        /// Which part of it.
        window: TraceWindow,
        /// Times are divided by this: 2 replays twice as fast, so at twice the rate.
        rate_factor: f64,
    },
    /// Users who each wait for an answer, think, and ask again. This is no open loop: a slow
    /// server is asked less, so that latencies under overload look better than they are.
    ClosedLoop {
        /// Users.
        users: u32,
        /// Time between an answer and the same user's next request.
        think: Duration,
        /// Requests in all, given to the users in turn.
        requests: u32,
    },
}

/// One arrival, with the trace's lengths where there is a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) at: Duration,
    pub(super) row: Option<TraceRequest>,
}

impl Arrivals {
    /// What the arrivals are, in words that go into the evidence.
    pub fn describe(&self) -> String {
        match self {
            Self::Poisson { rate_per_s } => format!("Poisson, {rate_per_s} requests/s"),
            Self::Gamma { rate_per_s, burstiness } => {
                format!("gamma, {rate_per_s} requests/s, burstiness {burstiness}")
            }
            Self::Constant { rate_per_s } => format!("constant, {rate_per_s} requests/s"),
            Self::Ramp { from_per_s, to_per_s } => {
                format!("ramp, {from_per_s} to {to_per_s} requests/s")
            }
            Self::Trace { trace, window, rate_factor } => {
                let part = match window {
                    TraceWindow::Whole => "whole".to_owned(),
                    TraceWindow::From { start, length } => {
                        format!("{} s from {} s", length.as_secs_f64(), start.as_secs_f64())
                    }
                    TraceWindow::Busiest { length } => {
                        format!("busiest {} s", length.as_secs_f64())
                    }
                };
                format!("trace {} ({part}), rate factor {rate_factor}", trace.name)
            }
            Self::ClosedLoop { users, think, .. } => {
                format!("closed loop, {users} users, think time {} s", think.as_secs_f64())
            }
        }
    }

    /// The mean rate, requests per second; `None` in a closed loop, whose rate follows from the answers.
    pub fn rate_per_s(&self) -> Option<f64> {
        Some(match self {
            Self::Poisson { rate_per_s }
            | Self::Gamma { rate_per_s, .. }
            | Self::Constant { rate_per_s } => *rate_per_s,
            Self::Ramp { from_per_s, to_per_s } => f64::midpoint(*from_per_s, *to_per_s),
            Self::Trace { trace, window, rate_factor } => {
                let (start, length) = window.bounds(trace);
                let inside = |row: &&TraceRequest| (start..start + length).contains(&row.at);
                let arrivals = trace.requests.iter().filter(inside).count();
                arrivals as f64 / length.as_secs_f64().max(1e-9) * rate_factor
            }
            Self::ClosedLoop { .. } => return None,
        })
    }

    /// Every arrival in `[0, duration)`, in order, at most `requests_max`.
    pub(super) fn generate(
        &self,
        duration: Duration,
        requests_max: usize,
        random: &mut Pcg64,
    ) -> Result<Vec<Arrival>, ScheduleError> {
        let expected = self.expected(duration)?;
        if expected > requests_max as f64 {
            return Err(ScheduleError::TooMany { requests: expected, requests_max });
        }
        let end = duration.as_secs_f64();
        let arrivals = match self {
            Self::Poisson { rate_per_s } => {
                let gap = || {
                    let unit: f64 = Exp1.sample(random);
                    unit / rate_per_s
                };
                renewals(end, gap)
            }
            Self::Gamma { rate_per_s, burstiness } => {
                let shape = 1.0 / burstiness;
                let distribution = Gamma::new(shape, burstiness / rate_per_s)
                    .map_err(|error| bad("burstiness", *burstiness, error.to_string()))?;
                renewals(end, || distribution.sample(random))
            }
            Self::Constant { rate_per_s } => {
                let times = (0..).map(|index| f64::from(index) / rate_per_s);
                times.take_while(|at| *at < end).map(untraced).collect()
            }
            Self::Ramp { from_per_s, to_per_s } => ramp(*from_per_s, *to_per_s, end, random),
            Self::Trace { trace, window, rate_factor } => {
                replay(trace, *window, *rate_factor, duration)?
            }
            Self::ClosedLoop { users, think, requests } => (0..*requests)
                .map(|index| Arrival {
                    at: if index < *users { Duration::ZERO } else { *think },
                    row: None,
                })
                .collect(),
        };
        Ok(arrivals)
    }

    /// The expected number of arrivals, after a check of every parameter.
    fn expected(&self, duration: Duration) -> Result<f64, ScheduleError> {
        let seconds = duration.as_secs_f64();
        match self {
            Self::Poisson { rate_per_s } | Self::Constant { rate_per_s } => {
                Ok(positive("rate_per_s", *rate_per_s)? * seconds)
            }
            Self::Gamma { rate_per_s, burstiness } => {
                // Beyond these bounds the sampler's shape is 0 or its spread is below a nanosecond.
                if !(1e-6..=1e4).contains(burstiness) {
                    return Err(bad("burstiness", *burstiness, "must be in 0.000001 to 10000"));
                }
                Ok(positive("rate_per_s", *rate_per_s)? * seconds)
            }
            Self::Ramp { from_per_s, to_per_s } => {
                for (name, rate) in [("from_per_s", *from_per_s), ("to_per_s", *to_per_s)] {
                    if !rate.is_finite() || rate < 0.0 {
                        return Err(bad(name, rate, "must be at least 0"));
                    }
                }
                positive("the larger rate of the ramp", from_per_s.max(*to_per_s))?;
                Ok(f64::midpoint(*from_per_s, *to_per_s) * seconds)
            }
            Self::Trace { rate_factor, trace, .. } => {
                positive("rate_factor", *rate_factor)?;
                Ok(trace.requests.len() as f64)
            }
            Self::ClosedLoop { users, requests, .. } => {
                positive("users", f64::from(*users))?;
                Ok(f64::from(*requests))
            }
        }
    }
}

fn bad(name: &'static str, value: f64, reason: impl Into<String>) -> ScheduleError {
    ScheduleError::BadParameter { name, value, reason: reason.into() }
}

fn positive(name: &'static str, value: f64) -> Result<f64, ScheduleError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(bad(name, value, "must be more than 0"))
    }
}

fn untraced(at_s: f64) -> Arrival {
    Arrival { at: Duration::from_secs_f64(at_s), row: None }
}

/// A renewal process: the first arrival comes one gap after 0.
fn renewals(end_s: f64, mut gap_s: impl FnMut() -> f64) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    let mut at = gap_s();
    while at < end_s {
        arrivals.push(untraced(at));
        at += gap_s();
    }
    arrivals
}

/// A Poisson process with rate a + (b − a)·t/T, by inversion of its cumulative rate
/// Λ(t) = a·t + (b − a)·t²/(2T) (Çinlar's method): unit-rate arrivals u map to
/// t = 2u / (a + √(a² + 2u(b − a)/T)), the root that stays exact where b is near a.
fn ramp(from: f64, to: f64, end_s: f64, random: &mut Pcg64) -> Vec<Arrival> {
    let total = f64::midpoint(from, to) * end_s;
    let mut arrivals = Vec::new();
    let mut unit: f64 = Exp1.sample(random);
    while unit < total {
        let root = (from * from + 2.0 * unit * (to - from) / end_s).max(0.0).sqrt();
        let at = 2.0 * unit / (from + root);
        if at < end_s {
            arrivals.push(untraced(at));
        }
        let step: f64 = Exp1.sample(random);
        unit += step;
    }
    arrivals
}

fn replay(
    trace: &Trace,
    window: TraceWindow,
    rate_factor: f64,
    duration: Duration,
) -> Result<Vec<Arrival>, ScheduleError> {
    let (start, length) = window.bounds(trace);
    let available_s = length.as_secs_f64() / rate_factor;
    // A window that ends before the block would leave its end without load, and the block would
    // look better than it is. A microsecond is left to rounding.
    if available_s + 1e-6 < duration.as_secs_f64() {
        return Err(ScheduleError::TraceTooShort {
            available_s,
            block_s: duration.as_secs_f64(),
            rate_factor,
        });
    }
    let from = trace.requests.partition_point(|row| row.at < start);
    let arrivals = trace.requests[from..]
        .iter()
        .map(|row| Arrival {
            at: Duration::from_secs_f64(row.at.saturating_sub(start).as_secs_f64() / rate_factor),
            row: Some(*row),
        })
        .take_while(|arrival| arrival.at < duration)
        .collect();
    Ok(arrivals)
}

/// Start of the busiest stretch [start, start + length): by two pointers over the sorted arrivals,
/// as the best stretch can always begin at an arrival.
fn busiest(rows: &[TraceRequest], length: Duration) -> Duration {
    let last = rows.last().map_or(Duration::ZERO, |row| row.at);
    let latest_start = last.saturating_sub(length);
    let (mut best, mut best_start, mut end) = (0, Duration::ZERO, 0);
    for (begin, row) in rows.iter().enumerate() {
        // Near the end the stretch begins earlier, so that it is never cut short.
        let start = row.at.min(latest_start);
        let first = if start < row.at { rows.partition_point(|r| r.at < start) } else { begin };
        while end < rows.len() && rows[end].at < start + length {
            end += 1;
        }
        if end.saturating_sub(first) > best {
            best = end - first;
            best_start = start;
        }
        if row.at > latest_start {
            break;
        }
    }
    best_start
}
