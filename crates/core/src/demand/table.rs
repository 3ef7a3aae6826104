//! A declared table of weekly rates as demand.

use jiff::ToSpan;

use super::builder::HistoryBuilder;
use super::history::History;
use super::refusal::DemandRefusal;
use super::source::Interval;
use crate::evidence::Origin;
use crate::plan::{Grid, MINUTES_PER_WEEK, contains_minute};
use crate::site::TableRow;

/// The week before a calendar as a table of weekly rates declares it. Where rows overlap the highest
/// counts; time that no row covers is a gap, not silence. The windows of the calendar are the
/// resolution of the table's times: a row that begins inside of a window counts for all of it.
///
/// A mean rate over hours shows no burst, and the history's resolution says so: it is the longest
/// stretch of equal rate. `service` is the mean time in the engine, where it is declared.
///
/// Refuses a calendar without windows, and a table that covers none of the week.
pub fn history_of_table(
    rows: &[TableRow],
    grid: &Grid,
    service: Option<std::time::Duration>,
) -> Result<History, DemandRefusal> {
    let first = grid.windows.first().ok_or(DemandRefusal::NoWindows)?;
    let begins = grid.time_zone.to_datetime(first.start).date();
    let week = begins
        .checked_sub(7.days())
        .ok()
        .and_then(|monday| Grid::new(grid.time_zone.clone(), monday, 7, grid.window_minutes))
        .ok_or(DemandRefusal::NoWindows)?;
    let mut builder = HistoryBuilder::new(service);
    builder.is_declared = true;
    let mut stretch: Option<Interval> = None;
    for window in &week.windows {
        let rate = rate_in(rows, window.minute_of_week, week.window_minutes);
        match &mut stretch {
            Some(open) if open.requests_per_s == rate => open.end = window.end,
            _ => {
                if let Some(done) = &stretch {
                    builder.interval(done);
                }
                let empty = Interval::empty(window.start, window.end);
                stretch = Some(Interval { requests_per_s: rate, ..empty });
            }
        }
    }
    if let Some(done) = &stretch {
        builder.interval(done);
    }
    let mut history = builder.finish()?.with_origin(Origin::Declared);
    history.remarks.insert(
        0,
        "the demand is a declared table of weekly rates: one week, repeated; it shows no burst"
            .to_owned(),
    );
    Ok(history)
}

/// The highest rate that is declared for any minute of a window.
fn rate_in(rows: &[TableRow], minute_of_week: u32, window_minutes: u32) -> Option<f64> {
    let minutes = minute_of_week..minute_of_week + window_minutes;
    rows.iter()
        .filter(|row| {
            minutes.clone().any(|minute| contains_minute(&row.when, minute % MINUTES_PER_WEEK))
        })
        .map(|row| row.rate.per_second)
        .reduce(f64::max)
}
