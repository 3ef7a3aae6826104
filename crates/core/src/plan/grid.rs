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
    pub fn new(time_zone: TimeZone, begins: Date, days: u32, window_minutes: u32) -> Option<Self> {
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
    pub fn touched(&self, weekly: WeeklyWindow) -> Vec<bool> {
        self.windows.iter().map(|window| touches(window, weekly)).collect()
    }
}

/// Whether any minute of a window lies inside of a weekly window.
fn touches(window: &Window, weekly: WeeklyWindow) -> bool {
    let minutes = (window.hours() * 60.0).round() as u32;
    (0..minutes.max(1))
        .any(|offset| contains_minute(&weekly, (window.minute_of_week + offset) % MINUTES_PER_WEEK))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(zone: &str, begins: &str, days: u32, minutes: u32) -> Grid {
        let zone = TimeZone::get(zone).unwrap();
        Grid::new(zone, begins.parse().unwrap(), days, minutes).unwrap()
    }

    fn hours(grid: &Grid) -> f64 {
        grid.windows.iter().map(Window::hours).sum()
    }

    #[test]
    fn a_week_has_336_half_hours_and_follows_without_a_gap() {
        let grid = grid("Europe/Berlin", "2026-12-07", 7, 30);
        assert_eq!(grid.windows.len(), 336);
        assert_eq!(grid.windows[0].minute_of_week, 0, "it is a Monday");
        assert!(grid.windows.windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    #[test]
    fn days_of_23_and_25_hours_have_their_windows() {
        // The European clock goes forward on 28 March 2027 and back on 31 October 2027.
        let spring = grid("Europe/Berlin", "2027-03-28", 1, 30);
        assert_eq!(spring.windows.len(), 46);
        let autumn = grid("Europe/Berlin", "2027-10-31", 1, 30);
        assert_eq!(autumn.windows.len(), 50);
        // Between 02:00 and 03:00 the clock on the wall shows each half hour twice.
        let at_two = autumn.windows.iter().filter(|w| w.minute_of_week % 1440 == 120).count();
        assert_eq!(at_two, 2);
        assert!(spring.windows.iter().all(|w| w.minute_of_week % 1440 / 60 != 2), "no such hour");
        let week = grid("Europe/Berlin", "2027-03-22", 7, 60);
        assert!((hours(&week) - 167.0).abs() < 1e-9);
    }

    #[test]
    fn a_leap_day_is_a_day_like_any_other() {
        let grid = grid("UTC", "2028-02-28", 2, 60);
        assert_eq!(grid.windows.len(), 48);
        let last = grid.time_zone.to_datetime(grid.windows[47].start);
        assert_eq!(last.date().to_string(), "2028-02-29");
        assert_eq!(grid.windows[24].minute_of_week, 1440, "29 February 2028 is a Tuesday");
    }

    #[test]
    fn a_zone_whose_clock_moves_by_half_an_hour_is_covered_too() {
        // Lord Howe Island moves its clock by 30 minutes; the day of the change has 24.5 hours.
        let grid = grid("Australia/Lord_Howe", "2027-04-04", 1, 60);
        assert!((hours(&grid) - 24.5).abs() < 1e-9);
    }

    #[test]
    fn a_window_is_touched_when_any_part_of_it_lies_inside() {
        let grid = grid("UTC", "2026-12-07", 7, 60);
        let weekly = WeeklyWindow::parse("Sun 02:30-03:30").unwrap();
        let touched = grid.touched(weekly);
        assert_eq!(touched.iter().filter(|it| **it).count(), 2);
        assert!(touched[6 * 24 + 2] && touched[6 * 24 + 3]);
        let overnight = WeeklyWindow::parse("Sun 23:00-01:00").unwrap();
        let touched = grid.touched(overnight);
        assert!(touched[6 * 24 + 23] && touched[0], "it wraps around the week");
    }

    #[test]
    fn lengths_that_do_not_divide_an_hour_are_refused() {
        for minutes in [0, 7, 45, 90] {
            let day = "2026-12-07".parse().unwrap();
            assert!(Grid::new(TimeZone::UTC, day, 7, minutes).is_none(), "{minutes}");
        }
    }
}
