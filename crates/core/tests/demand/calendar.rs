//! Demand by the clock on the wall: days of 23 and 25 hours, and a leap day.

use cotenant_core::demand::{
    History, WorkUnit, bootstrap_weeks, forecast, history_of_table, profile,
};
use cotenant_core::plan::Grid;
use cotenant_core::site::{TableRow, WeeklyWindow};
use cotenant_core::units::{RatePerSecond, RateTime};
use jiff::tz::TimeZone;

use crate::support::{after, at, berlin, date, half_hours, rates};

/// Rates of each half hour from an instant on that are the number of the half hour of the day by
/// the clock in Berlin.
fn by_the_clock(begins: &str, half_hours: usize) -> History {
    let start = at(begins);
    let values: Vec<f64> = (0..half_hours)
        .map(|index| {
            let local = berlin().to_datetime(after(start, index as i64 * 1800));
            f64::from(i32::from(local.hour()) * 2 + i32::from(local.minute()) / 30) + 1.0
        })
        .collect();
    rates(start, 1800, &values)
}

#[test]
fn a_day_of_23_hours_leaves_its_hour_out() {
    // Sunday 2027-03-28: 02:00 to 03:00 does not exist in Berlin. From its midnight, 46 half hours.
    let history = by_the_clock("2027-03-27T23:00:00Z", 46);
    let profile = profile(&history, WorkUnit::Requests, &berlin(), 30);
    let sunday = &profile.slots[6 * 48..];
    for (slot, expected) in [(0, 1.0), (3, 4.0), (6, 7.0), (47, 48.0)] {
        assert_eq!(sunday[slot].figures.unwrap().mean, expected);
        assert_eq!(sunday[slot].seen_hours, 0.5);
    }
    assert_eq!((sunday[4].figures, sunday[5].figures), (None, None));
    assert_eq!(profile.seen_hours, 23.0);
}

#[test]
fn a_day_of_25_hours_counts_its_hour_twice() {
    // Sunday 2026-10-25: 02:00 to 03:00 is there twice. 50 half hours.
    let history = by_the_clock("2026-10-24T22:00:00Z", 50);
    let profile = profile(&history, WorkUnit::Requests, &berlin(), 30);
    let sunday = &profile.slots[6 * 48..];
    for (slot, expected) in [(3, 4.0), (4, 5.0), (5, 6.0), (6, 7.0), (47, 48.0)] {
        assert_eq!(sunday[slot].figures.unwrap().mean, expected);
        let twice = if slot == 4 || slot == 5 { 2.0 } else { 1.0 };
        assert_eq!(sunday[slot].seen_hours, twice * 0.5);
        assert_eq!(sunday[slot].weeks, 1);
    }
    assert_eq!(profile.seen_hours, 25.0);
}

#[test]
fn a_leap_day_is_a_day() {
    // Tuesday 2028-02-29 lies between Monday the 28th and Wednesday, March 1st.
    let history = by_the_clock("2028-02-27T23:00:00Z", 3 * 48);
    let profile = profile(&history, WorkUnit::Requests, &berlin(), 30);
    for day in 0..3 {
        assert_eq!(profile.slots[day * 48 + 47].figures.unwrap().mean, 48.0);
    }
    assert_eq!(profile.slots[3 * 48].figures, None);
    let peaks: Vec<_> = profile.peaks.iter().map(|peak| peak.at).collect();
    assert!(peaks.contains(&at("2028-02-29T22:30:00Z")), "{peaks:?}");
}

/// Office hours by the clock: 10 from 08:00 to 18:00 on weekdays, else 1.
fn office(minute_of_week: u32) -> f64 {
    let (day, minute) = (minute_of_week / 1440, minute_of_week % 1440);
    if day < 5 && (480..1080).contains(&minute) { 10.0 } else { 1.0 }
}

#[test]
fn a_forecast_across_a_change_of_the_clocks_keeps_to_the_clock() {
    for (begins, target, days) in
        [("2027-03-08", "2027-03-22", 14), ("2026-10-05", "2026-10-19", 14)]
    {
        let series = half_hours(&berlin(), begins, 14, |minute, _| office(minute));
        let grid = Grid::new(berlin(), date(target), days, 30).unwrap();
        let forecast = forecast(&series, &grid, 0.2).unwrap();
        for (window, expected) in grid.windows.iter().zip(&forecast.windows) {
            assert_eq!(expected.point, Some(office(window.minute_of_week)), "{window:?}");
            assert_eq!(expected.upper, expected.point, "a pattern without an error has no margin");
        }
    }
}

#[test]
fn drawn_weeks_across_a_change_of_the_clocks_keep_to_the_clock() {
    let series = half_hours(&berlin(), "2027-03-01", 21, |minute, _| office(minute));
    let grid = Grid::new(berlin(), date("2027-03-22"), 7, 30).unwrap();
    assert_eq!(grid.windows.len(), 7 * 48 - 2);
    for week in bootstrap_weeks(&series, &grid, 5, 1) {
        for (window, value) in grid.windows.iter().zip(week) {
            assert_eq!(value, office(window.minute_of_week));
        }
    }
}

fn row(when: &str, per_second: f64) -> TableRow {
    let rate = RatePerSecond { per_second, unit: "req".to_owned(), per: RateTime::Second };
    TableRow { when: WeeklyWindow::parse(when).unwrap(), rate }
}

#[test]
fn a_table_is_a_week_of_demand() {
    let rows = [row("daily 00:00-24:00", 1.0), row("Mon-Fri 08:00-18:00", 10.0)];
    // The week before the calendar holds the day of 23 hours.
    let grid = Grid::new(berlin(), date("2027-03-29"), 7, 30).unwrap();
    let history = history_of_table(&rows, &grid, None).unwrap();
    assert_eq!(history.origin().name(), "declared");
    assert!(history.gaps().is_empty());
    assert_eq!(history.span(), (at("2027-03-21T23:00:00Z"), at("2027-03-28T22:00:00Z")));
    // From Friday 18:00 to the end of Sunday, 53 hours of equal rate by elapsed time.
    assert_eq!(history.resolution().as_secs(), 53 * 3600);
    let series = history.series(WorkUnit::Requests).unwrap();
    let forecast = forecast(&series, &grid, 0.05).unwrap();
    for (window, expected) in grid.windows.iter().zip(&forecast.windows) {
        // Nothing is known of the hour that the week before does not have.
        let missing = (6 * 1440 + 120..6 * 1440 + 180).contains(&window.minute_of_week);
        let point = (!missing).then(|| office(window.minute_of_week));
        assert_eq!(expected.point, point, "{window:?}");
        assert_eq!(expected.upper, None, "one week has nothing to compare with");
    }
    assert!(forecast.scores.is_empty());
}

#[test]
fn what_a_table_leaves_out_is_a_gap_and_a_zero_is_a_zero() {
    let grid = Grid::new(TimeZone::UTC, date("2026-03-02"), 7, 60).unwrap();
    let rows = [row("Mon-Fri 08:00-18:00", 10.0), row("Mon-Fri 18:00-08:00", 0.0)];
    let history = history_of_table(&rows, &grid, None).unwrap();
    let series = history.series(WorkUnit::Requests).unwrap();
    // From Saturday 08:00 to Monday 00:00 nothing is declared, and from Monday 00:00 to 08:00.
    let unknown: u64 = history
        .gaps()
        .iter()
        .map(|gap| gap.until.duration_since(gap.from).as_secs().unsigned_abs())
        .sum();
    assert_eq!(unknown, (40 + 8) * 3600);
    let zero_hours = series.values.iter().filter(|value| **value == Some(0.0)).count() as u64
        * series.step.as_secs()
        / 3600;
    assert_eq!(zero_hours, 5 * 14 - 8 + 8);
    assert!(history_of_table(&[], &grid, None).is_err());
}
