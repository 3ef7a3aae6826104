//! Demand by the clock on the wall.

use jiff::tz::TimeZone;

use super::history::instant;
use super::series::Series;

pub(super) const DAY_S: i64 = 24 * 3600;
pub(super) const MINUTES_PER_DAY: u32 = 24 * 60;

/// Offsets from UTC change at whole quarters of an hour in every zone of today.
const QUARTER_S: i64 = 900;

/// Turns instants into seconds by the clock on the wall, counted from its 1970-01-01 00:00. The
/// offset is looked up once for each quarter of an hour.
pub(super) struct WallClock<'a> {
    time_zone: &'a TimeZone,
    quarter: Option<i64>,
    offset_s: i64,
}

impl<'a> WallClock<'a> {
    pub(super) fn new(time_zone: &'a TimeZone) -> Self {
        Self { time_zone, quarter: None, offset_s: 0 }
    }

    pub(super) fn second(&mut self, second: i64) -> i64 {
        let quarter = second.div_euclid(QUARTER_S);
        if self.quarter != Some(quarter) {
            self.quarter = Some(quarter);
            self.offset_s = i64::from(self.time_zone.to_offset(instant(second)).seconds());
        }
        second + self.offset_s
    }
}

/// Day of the week of a day since 1970, Monday 0: that day was a Thursday.
pub(super) fn weekday(day: i64) -> usize {
    (day + 3).rem_euclid(7) as usize
}

/// One piece of a step: short enough to lie in one window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Its start, seconds since 1970.
    pub(super) at_s: i64,
    /// Its start by the clock on the wall.
    pub(super) wall_s: i64,
    /// Its length.
    pub(super) seconds: i64,
    /// The value of its step.
    pub(super) value: f64,
}

/// The known values of a series in pieces that lie in one window each, in order. Steps that begin at
/// an odd second are cut to a minute.
pub(super) fn pieces<'a>(
    series: &'a Series,
    time_zone: &'a TimeZone,
    window_minutes: u32,
) -> impl Iterator<Item = Piece> + 'a {
    let step_s = i64::try_from(series.step.as_secs()).unwrap_or(i64::MAX).max(1);
    let start_s = series.start.as_second();
    let aligned = divisor(divisor(step_s, i64::from(window_minutes) * 60), start_s);
    let piece_s = aligned.max(step_s.min(60));
    let mut clock = WallClock::new(time_zone);
    let known =
        series.values.iter().enumerate().filter_map(|(index, value)| Some((index, (*value)?)));
    known
        .flat_map(move |(index, value)| {
            let from = start_s + index as i64 * step_s;
            (0..(step_s + piece_s - 1) / piece_s).map(move |piece| {
                let at_s = from + piece * piece_s;
                (at_s, piece_s.min(from + step_s - at_s), value)
            })
        })
        .map(move |(at_s, seconds, value)| Piece {
            at_s,
            wall_s: clock.second(at_s),
            seconds,
            value,
        })
}

/// The greatest common divisor.
fn divisor(left: i64, right: i64) -> i64 {
    let (mut left, mut right) = (left.abs(), right.abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// Demand in windows by the clock on the wall, whole days: on a day of 25 hours two windows have
/// the same place and are one here; on a day of 23 hours some are empty.
#[derive(Clone, Debug)]
pub(super) struct WallWindows {
    pub(super) window_minutes: u32,
    /// The day of the first window, days since 1970.
    pub(super) first_day: i64,
    /// In order of the clock, whole days. `None` where less than half of the window is known.
    pub(super) windows: Vec<Option<WallWindow>>,
}

/// What is known of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WallWindow {
    /// The first known instant of it, seconds since 1970.
    pub(super) at_s: i64,
    /// The mean over its known time.
    pub(super) mean: f64,
    /// The highest value.
    pub(super) peak: f64,
}

impl WallWindows {
    pub(super) fn of(series: &Series, time_zone: &TimeZone, window_minutes: u32) -> Self {
        let window_s = i64::from(window_minutes) * 60;
        let per_day = i64::from(MINUTES_PER_DAY / window_minutes);
        let mut first_day = None;
        let mut sums: Vec<Option<(WallWindow, i64)>> = Vec::new();
        for piece in pieces(series, time_zone, window_minutes) {
            let day = piece.wall_s.div_euclid(DAY_S);
            let first = *first_day.get_or_insert(day);
            let within = piece.wall_s.rem_euclid(DAY_S) / window_s;
            let Ok(index) = usize::try_from((day - first) * per_day + within) else { continue };
            if index >= sums.len() {
                sums.resize(((day - first + 1) * per_day) as usize, None);
            }
            let fresh = WallWindow { at_s: piece.at_s, mean: 0.0, peak: piece.value };
            let (window, seconds) = sums[index].get_or_insert((fresh, 0));
            *seconds += piece.seconds;
            // In this form the mean of equal values is that value, to the last bit.
            window.mean += (piece.value - window.mean) * (piece.seconds as f64 / *seconds as f64);
            window.peak = window.peak.max(piece.value);
        }
        let windows = sums
            .into_iter()
            .map(|sum| sum.filter(|(_, seconds)| 2 * seconds >= window_s).map(|(window, _)| window))
            .collect();
        Self { window_minutes, first_day: first_day.unwrap_or(0), windows }
    }

    pub(super) fn per_day(&self) -> usize {
        (MINUTES_PER_DAY / self.window_minutes) as usize
    }

    /// The windows of each day, with its number.
    pub(super) fn days(&self) -> impl Iterator<Item = (i64, &[Option<WallWindow>])> {
        (self.first_day..).zip(self.windows.chunks(self.per_day()))
    }
}
