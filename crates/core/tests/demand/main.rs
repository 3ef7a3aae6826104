//! Demand: histories, gaps, profiles, forecasts and bootstrap weeks.

#![expect(clippy::unwrap_used, reason = "a test may stop where its own series is not as made")]

mod calendar;
mod forecasts;
mod histories;
mod real;
mod shapes;
mod support;
