//! Axes and headings of the drawings.

use cotenant_core::plan::Calendar;
use jiff::tz::TimeZone;

use super::blocks::start_of;
use super::days::days_of;
use crate::build::axes::coordinate;
use crate::model::{Axis, AxisScale, Tick};
use crate::plan::model::WeekFigure;

const DAYS_PER_FIGURE: usize = 7;

/// Hours between two windows' starts.
fn hours_between(calendar: &Calendar, from: usize, until: usize) -> f64 {
    let span = start_of(calendar, until).duration_since(start_of(calendar, from));
    coordinate(span.as_secs_f64() / 3600.0)
}

fn hours_axis(max: f64, ticks: Vec<Tick>) -> Axis {
    Axis { title: "local time".to_owned(), scale: AxisScale::Linear, min: 0.0, max, ticks }
}

/// Windows at which the clock on the wall shows one of some hours, as ticks: a place in hours from
/// `from`, and the hour.
fn clock_ticks(
    calendar: &Calendar,
    time_zone: &TimeZone,
    (from, until): (usize, usize),
    every: i8,
) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = Vec::new();
    for (index, window) in calendar.grid.windows.iter().enumerate().take(until).skip(from) {
        let local = time_zone.to_datetime(window.start);
        if local.minute() == 0 && local.hour() % every == 0 {
            let text = format!("{:02}:00", local.hour());
            ticks.push(Tick { at: hours_between(calendar, from, index), text });
        }
    }
    ticks
}

/// The hours of one day, a tick each second hour.
pub(super) fn day_axis(
    calendar: &Calendar,
    time_zone: &TimeZone,
    from: usize,
    until: usize,
) -> Axis {
    let ticks = clock_ticks(calendar, time_zone, (from, until), 3);
    hours_axis(hours_between(calendar, from, until), ticks)
}

/// One drawing for each seven days.
pub(super) fn weeks(calendar: &Calendar, time_zone: &TimeZone) -> Vec<WeekFigure> {
    let days = days_of(calendar, time_zone);
    days.chunks(DAYS_PER_FIGURE).map(|days| week(calendar, time_zone, days)).collect()
}

fn week(
    calendar: &Calendar,
    time_zone: &TimeZone,
    days: &[(jiff::civil::Date, usize, usize)],
) -> WeekFigure {
    let from = days.first().map_or(0, |day| day.1);
    let until = days.last().map_or(0, |day| day.2);
    let label = |date: &jiff::civil::Date| date.strftime("%a %-d %b").to_string();
    let title = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first.0 != last.0 => {
            format!("{} to {}", label(&first.0), label(&last.0))
        }
        (Some(first), _) => label(&first.0),
        _ => String::new(),
    };
    let middles = days
        .iter()
        .map(|(date, first, after)| Tick {
            at: coordinate(f64::midpoint(
                hours_between(calendar, from, *first),
                hours_between(calendar, from, *after),
            )),
            text: label(date),
        })
        .collect();
    WeekFigure {
        description: format!(
            "{title}: demand of each inference workload, the GPUs that it reserves, and below them \
             who holds each of {} GPUs. The blocks are told in words on pointing at them, and the \
             same calendar stands as text in the terminal form.",
            calendar.gpus
        ),
        title,
        from: from as u32,
        until: until as u32,
        x: hours_axis(
            hours_between(calendar, from, until),
            clock_ticks(calendar, time_zone, (from, until), 12)
                .into_iter()
                .filter(|tick| tick.text != "00:00")
                .collect(),
        ),
        days: middles,
        midnights: days.iter().map(|day| hours_between(calendar, from, day.1)).collect(),
    }
}
