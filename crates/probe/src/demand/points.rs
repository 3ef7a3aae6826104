//! Values at times, in equal steps, into a history.

use std::time::Duration;

use cotenant_core::demand::{HistoryBuilder, Interval};
use jiff::{SignedDuration, Timestamp};

use super::read::DemandError;
use crate::trace::Problem;

/// A value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Its time, nanoseconds from the origin of its file.
    pub(super) at_ns: i128,
    /// The mean rate of requests per second; `None` where the source says that it does not know.
    pub(super) rate: Option<f64>,
    /// Its line in the file, 0 where there are none.
    pub(super) line: u64,
}

/// Nanoseconds of a second.
const SECOND_NS: i128 = 1_000_000_000;

/// Puts points in order and finds their step: the least distance, of which every other one must be a
/// multiple. A distance of several steps is a gap.
///
/// # Errors
/// One point alone, two at one time, or a distance that is no multiple.
pub(super) fn order(points: &mut [Point]) -> Result<Duration, (Problem, u64)> {
    points.sort_by_key(|point| point.at_ns);
    let distances = || points.windows(2).map(|pair| (pair[1].at_ns - pair[0].at_ns, pair));
    if let Some((_, pair)) = distances().find(|(distance, _)| *distance == 0) {
        let (first, second) = (pair[0].line.min(pair[1].line), pair[0].line.max(pair[1].line));
        let problem = Problem::new(
            format!("the row has the time of line {first}"),
            "one row for each interval: remove one of the two, or add them up",
        );
        return Err((problem, second));
    }
    let Some(step_ns) = distances().map(|(distance, _)| distance).min() else {
        let problem = Problem::new(
            "one value alone does not say for how long it holds",
            "give at least two rows",
        );
        return Err((problem, points.first().map_or(0, |point| point.line)));
    };
    if let Some((distance, pair)) = distances().find(|(distance, _)| distance % step_ns != 0) {
        let problem = Problem::new(
            format!(
                "the row is {} s after the one before it, which is no multiple of the shortest \
                 distance in the file, {} s",
                seconds(distance),
                seconds(step_ns)
            ),
            "rows must be equally long; a row that is missing is a gap",
        );
        return Err((problem, pair[1].line));
    }
    if step_ns % SECOND_NS != 0 {
        let problem = Problem::new(
            format!(
                "the rows are {} s apart, which is no whole number of seconds",
                seconds(step_ns)
            ),
            "average them over whole seconds",
        );
        return Err((problem, points[1].line));
    }
    // A step beyond the range of time is refused where instants are made.
    Ok(Duration::from_secs(u64::try_from(step_ns / SECOND_NS).unwrap_or(u64::MAX)))
}

fn seconds(ns: i128) -> f64 {
    ns as f64 / 1e9
}

/// Where a value stands in its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// At its start, as in tables.
    Start,
    /// At its end, as of a rate that a query computes over the time before.
    End,
}

/// Counts points whose instants are known. A value that the source does not know is a gap, as is a
/// row that is not there.
pub(super) fn fold(
    name: &str,
    points: impl Iterator<Item = (Timestamp, Option<f64>)>,
    step: Duration,
    stamp: Stamp,
    builder: &mut HistoryBuilder,
) -> Result<(), DemandError> {
    let step = SignedDuration::try_from(step).unwrap_or(SignedDuration::MAX);
    let out_of_range = || {
        Problem::new("a time lies outside of the calendar", "mend the times or their unit")
            .at(name, None)
    };
    for (at, rate) in points {
        let (start, end) = match stamp {
            Stamp::Start => (at, at.checked_add(step).map_err(|_| out_of_range())?),
            Stamp::End => (at.checked_sub(step).map_err(|_| out_of_range())?, at),
        };
        let interval = match rate {
            Some(rate) => Interval::rate(start, end, rate),
            None => Interval::empty(start, end),
        };
        builder.interval(&interval);
    }
    Ok(())
}

/// Intervals that are missing between the first and the last point.
pub(super) fn missing(points: &[Point], step: Duration) -> u64 {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0 };
    let step_ns = i128::from(step.as_secs()).max(1) * SECOND_NS;
    let places = (last.at_ns - first.at_ns) / step_ns + 1;
    u64::try_from(places).unwrap_or(u64::MAX).saturating_sub(points.len() as u64)
}
