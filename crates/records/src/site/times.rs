//! Weekly windows and moments, days, and windows of the calendar.

use std::time::Duration;

use cotenant_core::site::{WeekdaySet, WeeklyWindow, parse_minute_of_day};
use cotenant_core::units::{format_duration, parse_duration};

use super::scalar::{Fault, fault, shorten};

pub(super) fn window(text: &str) -> Result<WeeklyWindow, Fault> {
    WeeklyWindow::parse(text).map_or_else(
        || {
            fault(
                format!("`{}` is not a weekly window", shorten(text)),
                "write days and times: `Mon-Fri 08:00-18:00`, `Sat,Sun 22:00-06:00` or \
                 `daily 01:00-05:00`",
            )
        },
        Ok,
    )
}

/// A weekly moment: days, and minutes from local midnight.
pub(super) fn weekly(text: &str) -> Result<(WeekdaySet, u16), Fault> {
    let parsed = text
        .trim()
        .rsplit_once(char::is_whitespace)
        .and_then(|(days, time)| Some((WeekdaySet::parse(days)?, parse_minute_of_day(time)?)));
    parsed.map_or_else(
        || {
            fault(
                format!("`{}` is not a weekly moment", shorten(text)),
                "write days and a time: `Fri 18:00`, `Mon-Fri 06:00` or `daily 07:30`",
            )
        },
        Ok,
    )
}

pub(super) fn date(text: &str) -> Result<jiff::civil::Date, Fault> {
    let text = text.trim();
    // Ten characters: jiff would also read a date out of a date with a time.
    let parsed = (text.len() == "2026-12-07".len()).then(|| text.parse().ok()).flatten();
    parsed.ok_or_else(|| {
        Fault::new(
            format!("`{}` is not a date", shorten(text)),
            "write year, month and day: `2026-12-07`",
        )
    })
}

/// Length of a window of the calendar: whole windows make an hour, so that they begin where
/// declared times do.
pub(super) fn calendar_window(text: &str) -> Result<Duration, Fault> {
    const MINUTES: [u64; 4] = [15, 20, 30, 60];
    let duration = parse_duration(text)?;
    if MINUTES.into_iter().any(|minutes| duration == Duration::from_secs(60 * minutes)) {
        return Ok(duration);
    }
    fault(
        format!("a window of {} is not offered", format_duration(duration)),
        "write `15 min`, `20 min`, `30 min` or `60 min`",
    )
}
