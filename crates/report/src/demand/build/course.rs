//! The course of a history that is too short for a week.

use cotenant_core::demand::{History, Series, WorkUnit};
use jiff::Timestamp;

use super::clock::Clock;
use super::scale::Scale;
use crate::demand::model::{CourseRow, CourseView};
use crate::format;
use crate::model::Value;

/// A history up to this long is shown from its first instant to its last, days.
pub(super) const SHORT_DAYS: f64 = 2.0;

/// Most rows of the course.
const ROWS_MAX: i64 = 25;

/// Lengths of a row that people read well, seconds.
const LENGTHS_S: [i64; 13] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200];

/// The course in one unit; `None` where the history is long or does not show the unit.
pub(super) fn course(history: &History, unit: WorkUnit, clock: &Clock<'_>) -> Option<CourseView> {
    if history.days() > SHORT_DAYS {
        return None;
    }
    let series = history.series(unit)?;
    let highest = series.values.iter().copied().flatten().reduce(f64::max)?;
    let scale = Scale::of(unit, highest);
    let step_s = series.step.as_secs().max(1) as i64;
    let begins_s = series.start.as_second();
    let ends_s = begins_s + step_s * series.values.len() as i64;
    let row_s = LENGTHS_S
        .into_iter()
        .filter(|length| length % step_s == 0 || *length > step_s)
        .find(|length| rows_between(begins_s, ends_s, *length) <= ROWS_MAX)
        .unwrap_or(7200);
    let first = begins_s.div_euclid(row_s);
    let rows = (0..rows_between(begins_s, ends_s, row_s))
        .filter_map(|row| {
            let from_s = (first + row) * row_s;
            let at = Timestamp::from_second(from_s.max(begins_s)).ok()?;
            let values = values_between(&series, from_s, from_s + row_s);
            let max = values.iter().copied().reduce(f64::max);
            let mean = max.map(|_| values.iter().sum::<f64>() / values.len() as f64);
            Some(CourseRow {
                at: clock.moment(at),
                clock: if row_s < 60 { clock.second(at) } else { clock.hour(at) },
                mean: mean.map(|mean| scale.value(mean)),
                max: max.map(|max| scale.value(max)),
            })
        })
        .collect();
    Some(CourseView { printed_in: scale.printed_in(), row_length: row_length(row_s as f64), rows })
}

/// `30 s`, `5 min`, `2 h`.
fn row_length(seconds: f64) -> Value {
    let text = match seconds {
        seconds if seconds < 60.0 => format!("{} s", format::trimmed(seconds)),
        seconds if seconds < 3600.0 => format!("{} min", format::trimmed(seconds / 60.0)),
        seconds => format!("{} h", format::trimmed(seconds / 3600.0)),
    };
    format::value_with_text(seconds, "s", text)
}

fn rows_between(begins_s: i64, ends_s: i64, row_s: i64) -> i64 {
    (ends_s - 1).div_euclid(row_s) - begins_s.div_euclid(row_s) + 1
}

/// The known values of the steps that begin in a stretch.
fn values_between(series: &Series, from_s: i64, until_s: i64) -> Vec<f64> {
    let step_s = series.step.as_secs().max(1) as i64;
    let index = |second: i64| {
        let after = second - series.start.as_second();
        let index = (after + step_s - 1).div_euclid(step_s).max(0) as usize;
        index.min(series.values.len())
    };
    series.values[index(from_s)..index(until_s)].iter().copied().flatten().collect()
}
