//! The windows of a calendar, in local time of the site.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::site::WeeklyWindow;

/// Minutes of a week.
pub const MINUTES_PER_WEEK: u32 = 7 * 24 * 60;

/// One window of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start.
    pub start: Timestamp,
    /// Its end.
    pub end: Timestamp,
    /// Its place in the week by the clock on the wall: minutes from Monday 00:00 local time.
    pub minute_of_week: u32,
}

impl Window {
    /// Its length, hours.
    pub fn hours(&self) -> f64 {
        self.end.duration_since(self.start).as_secs_f64() / 3600.0
    }
}

/// The windows of a calendar, without a gap, in order. They are equal in elapsed time and begin at
/// the whole window by the clock on the wall, so a day of 23 hours has fewer of them and a day of
/// 25 hours has more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The site's time zone.
    pub time_zone: TimeZone,
    /// Length of a window, minutes: 15, 20, 30 or 60.
    pub window_minutes: u32,
    /// The windows.
    pub windows: Vec<Window>,
}

impl Grid {
    /// The windows of a number of days from local midnight of `begins`. `None` where the dates lie
    /// outside of what the calendar can express, or where a window has no length.
    pub fn new(
        time_zone: TimeZone,
        begins: Date,
        days: u32,
        window_minutes: u32,
    ) -> Option<Self> {
        if window_minutes == 0 || 60 % window_minutes != 0 {
            return None;
        }
        let first = midnight(begins, &time_zone)?;
        let last_day = begins.checked_add(i64::from(days).days()).ok()?;
        let last = midnight(last_day, &time_zone)?;
        let length = jiff::SignedDuration::from_mins(i64::from(window_minutes));
        let mut windows = Vec::new();
        let mut start = first;
        while start < last {
            let end = start.checked_add(length).ok()?.min(last);
            let minute_of_week = minute_of_week(start, &time_zone);
            windows.push(Window { start, end, minute_of_week });
            start = end;
        }
        Some(Self { time_zone, window_minutes, windows })
    }

    /// The windows that a weekly window of the site touches, as a flag for each window. A window is
    /// marked when any part of it lies inside.
    pub fn touched(&self, weekly: &WeeklyWindow) -> Vec<bool> {
        self.windows.iter().map(|window| self.touches(window, weekly)).collect()
    }

    fn touches(&self, window: &Window, weekly: &WeeklyWindow) -> bool {
        let minutes = (window.hours() * 60.0).round() as u32;
        (0..minutes.max(1)).any(|offset| {
            let at = (window.minute_of_week + offset) % MINUTES_PER_WEEK;
            contains_minute(weekly, at)
        })
    }
}

/// The first instant of a local day. Where the clock is put forward at midnight, the day begins
/// later by as much.
fn midnight(day: Date, time_zone: &TimeZone) -> Option<Timestamp> {
    time_zone.to_timestamp(day.to_datetime(jiff::civil::Time::midnight())).ok()
}

/// Whether a minute of the week lies inside of a weekly window.
pub fn contains_minute(weekly: &WeeklyWindow, minute_of_week: u32) -> bool {
    let length = u32::from(weekly.wall_minutes());
    weekly.days.days().any(|day| {
        let start = day.to_monday_zero_offset() as u32 * 24 * 60 + u32::from(weekly.start_minute);
        (minute_of_week + MINUTES_PER_WEEK - start) % MINUTES_PER_WEEK < length
    })
}

/// Minutes from Monday 00:00 by the clock on the wall.
pub fn minute_of_week(at: Timestamp, time_zone: &TimeZone) -> u32 {
    let local = time_zone.to_datetime(at);
    let day = local.weekday().to_monday_zero_offset() as u32;
    day * 24 * 60 + local.hour() as u32 * 60 + local.minute() as u32
}
