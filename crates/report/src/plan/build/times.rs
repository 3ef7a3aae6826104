//! Instants and stretches of time, by the clock on the wall of the site.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::plan::model::Moment;

/// An instant: `Fri 6 Nov 18:00`. Where the clocks are set back and the same hour comes twice, the
/// zone's abbreviation says which one is meant.
pub(super) fn moment(at: Timestamp, time_zone: &TimeZone) -> Moment {
    let day = time_zone.to_datetime(at).strftime("%a %-d %b").to_string();
    Moment { at: at.to_string(), text: format!("{day} {}", clock(at, time_zone)) }
}

/// The clock on the wall: `18:00`.
fn clock(at: Timestamp, time_zone: &TimeZone) -> String {
    let local = time_zone.to_datetime(at);
    let text = local.strftime("%H:%M").to_string();
    if time_zone.to_ambiguous_timestamp(local).is_ambiguous() {
        let info = time_zone.to_offset_info(at);
        return format!("{text} {}", info.abbreviation());
    }
    text
}

/// An instant with its year, for the head of the page.
pub(super) fn full(at: Timestamp, time_zone: &TimeZone) -> String {
    let day = time_zone.to_datetime(at).strftime("%-d %B %Y").to_string();
    let zone = time_zone.to_offset_info(at).abbreviation().to_owned();
    format!("{day}, {} {zone}", time_zone.to_datetime(at).strftime("%H:%M"))
}

/// A stretch of time: `Mon 2 Nov 09:00–18:00`, or both days where it reaches into another.
pub(super) fn stretch(from: Timestamp, until: Timestamp, time_zone: &TimeZone) -> String {
    let begins = time_zone.to_datetime(from);
    let ends = time_zone.to_datetime(until);
    let first = moment(from, time_zone).text;
    if begins.date() == ends.date() {
        return format!("{first}–{}", clock(until, time_zone));
    }
    if is_next_midnight(begins, ends) {
        return format!("{first}–24:00");
    }
    format!("{first} to {}", moment(until, time_zone).text)
}

fn is_next_midnight(begins: DateTime, ends: DateTime) -> bool {
    ends.time() == jiff::civil::Time::midnight()
        && begins.date().tomorrow().is_ok_and(|tomorrow| tomorrow == ends.date())
}
