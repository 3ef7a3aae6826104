//! Moments and zones. Zones come from the database that is built in, so that one site file means
//! the same instant on every machine.

use cotenant_core::site::Deadline;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ZonedDateTime};

use super::nearest::nearest;
use super::scalar::{Fault, shorten};

/// A moment as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WrittenTime {
    /// Without zone: local time of the site.
    Local(DateTime),
    /// With an offset or `Z`.
    Instant(Timestamp),
    /// With a zone in brackets.
    Zoned(Timestamp, TimeZone),
}

/// The zone with an IANA name.
pub(super) fn time_zone(name: &str) -> Result<TimeZone, Fault> {
    let database = TimeZoneDatabase::bundled();
    let is_plain = !name.is_empty() && name.len() < 64;
    if let Some(zone) = is_plain.then(|| database.get(name).ok()).flatten() {
        return Ok(zone);
    }
    let names: Vec<String> = database.available().map(|zone| zone.as_str().to_owned()).collect();
    // `Berlin` for `Europe/Berlin`: the city alone is the commonest slip.
    let city = names.iter().find(|zone| {
        zone.rsplit_once('/').is_some_and(|(_, city)| city.eq_ignore_ascii_case(name.trim()))
    });
    let near = city.map(String::as_str).or_else(|| nearest(name, names.iter().map(String::as_str)));
    Err(Fault::new(
        format!("there is no time zone `{}`", shorten(name)),
        match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "write an IANA name such as `Europe/Berlin`, `America/New_York` or `UTC`".to_owned()
            }
        },
    ))
}

/// Reads a moment: `2026-12-04 18:00`, `2026-12-04T18:00:00Z`, `2026-12-04T18:00[Europe/Berlin]`.
pub(super) fn parse_written_time(text: &str) -> Result<WrittenTime, Fault> {
    let bad = || {
        Fault::new(
            format!("`{}` is not a date with a time", shorten(text)),
            "write `2026-12-04 18:00` in the site's time zone, or with a zone: \
             `2026-12-04T18:00[Europe/Berlin]` or `2026-12-04T17:00:00Z`",
        )
    };
    let text = text.trim();
    if let Some((local, zone)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        let zone = time_zone(zone)?;
        if let Ok(timestamp) = local.parse::<Timestamp>() {
            return Ok(WrittenTime::Zoned(timestamp, zone));
        }
        let civil: DateTime = local.parse().map_err(|_| bad())?;
        let zoned = unambiguous(civil, &zone)?;
        return Ok(WrittenTime::Zoned(zoned.timestamp(), zone));
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(WrittenTime::Instant(timestamp));
    }
    // A date without a time would silently mean midnight.
    if !text.contains(':') {
        return Err(bad());
    }
    text.parse::<DateTime>().map(WrittenTime::Local).map_err(|_| bad())
}

/// The one instant at which a clock on the wall shows a local time, refused where the clocks are
/// changed so that there is none, or two.
fn unambiguous(civil: DateTime, zone: &TimeZone) -> Result<ZonedDateTime, Fault> {
    zone.to_ambiguous_zoned_datetime(civil).unambiguous().map_err(|_| {
        let name = zone.iana_name().unwrap_or("this zone");
        let shown = civil.strftime("%Y-%m-%d %H:%M");
        match zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Fold { before, after } => Fault::new(
                format!("{shown} comes twice in {name}"),
                format!(
                    "the clocks are set back then; write which one is meant: `{}{before}` or \
                     `{}{after}`",
                    civil.strftime("%Y-%m-%dT%H:%M"),
                    civil.strftime("%Y-%m-%dT%H:%M"),
                ),
            ),
            _ => Fault::new(
                format!("{shown} does not exist in {name}"),
                "the clocks are set forward over it; write a time before or after",
            ),
        }
    })
}

/// The instant of a written moment, and the zone to show it in.
pub(super) fn resolve(
    written: &WrittenTime,
    site_zone: &TimeZone,
) -> Result<(Timestamp, TimeZone), Fault> {
    match written {
        WrittenTime::Instant(timestamp) => Ok((*timestamp, site_zone.clone())),
        WrittenTime::Zoned(timestamp, zone) => Ok((*timestamp, zone.clone())),
        WrittenTime::Local(civil) => {
            unambiguous(*civil, site_zone).map(|zoned| (zoned.timestamp(), site_zone.clone()))
        }
    }
}

/// The instant of a moment from its text.
pub(super) fn instant(text: &str, site_zone: &TimeZone) -> Option<Timestamp> {
    resolve(&parse_written_time(text).ok()?, site_zone).ok().map(|(timestamp, _)| timestamp)
}

/// A one-off deadline from its texts.
pub(super) fn one_off(at: &str, start: Option<&str>, site_zone: &TimeZone) -> Option<Deadline> {
    let (at, time_zone) = resolve(&parse_written_time(at).ok()?, site_zone).ok()?;
    let start = match start {
        Some(text) => Some(instant(text, site_zone)?),
        None => None,
    };
    Some(Deadline::At { at, time_zone, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, zone: &str) -> Result<String, String> {
        let zone = time_zone(zone).unwrap();
        parse_written_time(text)
            .and_then(|written| resolve(&written, &zone))
            .map(|(timestamp, _)| timestamp.to_string())
            .map_err(|fault| fault.message)
    }

    #[test]
    fn local_times_are_the_sites() {
        assert_eq!(resolved("2026-12-04 18:00", "Europe/Berlin").unwrap(), "2026-12-04T17:00:00Z");
        assert_eq!(resolved("2026-07-04T18:00", "Europe/Berlin").unwrap(), "2026-07-04T16:00:00Z");
        assert_eq!(
            resolved("2026-12-04T18:00[Asia/Tokyo]", "UTC").unwrap(),
            "2026-12-04T09:00:00Z"
        );
        assert_eq!(resolved("2026-12-04T18:00+01:00", "UTC").unwrap(), "2026-12-04T17:00:00Z");
    }

    #[test]
    fn times_that_the_change_of_clocks_removes_or_doubles_are_refused() {
        assert_eq!(
            resolved("2026-03-29 02:30", "Europe/Berlin").unwrap_err(),
            "2026-03-29 02:30 does not exist in Europe/Berlin"
        );
        assert_eq!(
            resolved("2026-10-25 02:30", "Europe/Berlin").unwrap_err(),
            "2026-10-25 02:30 comes twice in Europe/Berlin"
        );
        assert_eq!(
            resolved("2026-10-25T02:30+01:00", "Europe/Berlin").unwrap(),
            "2026-10-25T01:30:00Z"
        );
        // What the hint offers can be written.
        assert_eq!(
            resolved("2026-10-25T02:30+02", "Europe/Berlin").unwrap(),
            "2026-10-25T00:30:00Z"
        );
        assert!(resolved("2026-12-04", "UTC").is_err());
    }
}
