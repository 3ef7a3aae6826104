//! Instants for people: by the clock on the wall, or by days from the source's own time zero.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use crate::plan::model::Moment;

/// The days of the week, from Monday.
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Tells instants.
#[derive(Clone, Debug)]
pub(super) struct Clock<'a> {
    time_zone: &'a TimeZone,
    /// The day before day 1, where the time of week is not known.
    day_zero: Option<Date>,
    /// Whether days are told with their year.
    with_year: bool,
}

impl<'a> Clock<'a> {
    /// A clock for a history. Where the time of week is not known, day 1 is the Monday at which the
    /// reader put the source's time zero, so days 1, 8, 15, … share a row of the week.
    pub(super) fn new(
        time_zone: &'a TimeZone,
        span: (Timestamp, Timestamp),
        time_of_week_known: bool,
    ) -> Self {
        let (begins, ends) = (time_zone.to_datetime(span.0), time_zone.to_datetime(span.1));
        let before = begins.weekday().to_monday_zero_offset();
        let day_zero = begins.date().checked_sub((i64::from(before) + 1).days()).ok();
        Self {
            time_zone,
            day_zero: day_zero.filter(|_| !time_of_week_known),
            with_year: begins.year() != ends.year(),
        }
    }

    /// An instant: `Fri 6 Nov 18:00`, or `day 3 18:00`.
    pub(super) fn moment(&self, at: Timestamp) -> Moment {
        let text = format!("{} {}", self.day(at), self.hour(at));
        Moment { at: at.to_string(), text }
    }

    /// An instant with its year, where there is one.
    pub(super) fn moment_in_full(&self, at: Timestamp) -> Moment {
        if self.day_zero.is_some() {
            return self.moment(at);
        }
        let text = self.local(at).strftime("%a %-d %b %Y %H:%M").to_string();
        Moment { at: at.to_string(), text }
    }

    /// The day of an instant: `Fri 6 Nov`, or `day 3`.
    pub(super) fn day(&self, at: Timestamp) -> String {
        let local = self.local(at);
        match self.day_zero {
            Some(zero) => format!("day {}", local.date().duration_since(zero).as_hours() / 24),
            None if self.with_year => local.strftime("%a %-d %b %Y").to_string(),
            None => local.strftime("%a %-d %b").to_string(),
        }
    }

    /// The time of day: `18:00`. Where the clocks are set back and the same hour comes twice, the
    /// zone's abbreviation says which one is meant.
    pub(super) fn hour(&self, at: Timestamp) -> String {
        let local = self.local(at);
        let text = local.strftime("%H:%M").to_string();
        if self.time_zone.to_ambiguous_timestamp(local).is_ambiguous() {
            return format!("{text} {}", self.time_zone.to_offset_info(at).abbreviation());
        }
        text
    }

    /// The time of day to the second: `18:00:30`.
    pub(super) fn second(&self, at: Timestamp) -> String {
        self.local(at).strftime("%H:%M:%S").to_string()
    }

    /// A stretch: `Mon 2 Nov 09:00 to 18:00`, or both days where it reaches into another.
    pub(super) fn stretch(&self, from: Timestamp, until: Timestamp) -> String {
        let (first, last) = (self.moment(from).text, self.moment(until).text);
        if self.local(from).date() == self.local(until).date() {
            return format!("{first} to {}", self.hour(until));
        }
        format!("{first} to {last}")
    }

    /// The name of a day of the week, from 0 for Monday.
    pub(super) fn weekday(&self, from_monday: usize) -> String {
        if self.day_zero.is_some() {
            return format!("day {}", from_monday + 1);
        }
        WEEKDAYS.get(from_monday).copied().unwrap_or_default().to_owned()
    }

    /// A time of the week: `Wed 14:00`.
    pub(super) fn minute_of_week(&self, minute: u32) -> String {
        let day = self.weekday((minute / (24 * 60)) as usize);
        format!("{day} {}", clock_of(minute % (24 * 60)))
    }

    fn local(&self, at: Timestamp) -> DateTime {
        self.time_zone.to_datetime(at)
    }
}

/// `14:00` from minutes after midnight.
pub(super) fn clock_of(minutes: u32) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}
