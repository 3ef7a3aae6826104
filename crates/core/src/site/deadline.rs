//! When work must be done.

use super::{WeekdaySet, format_minute_of_day};

/// When work must be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deadline {
    /// Once.
    At {
        /// The last good instant.
        at: jiff::Timestamp,
        /// The zone in which it was written: the site's, unless the text names its own.
        time_zone: jiff::tz::TimeZone,
        /// The earliest instant at which the work may begin; `None` where the file is silent.
        start: Option<jiff::Timestamp>,
    },
    /// On days of each week, in local time of the site.
    Weekly {
        /// The days.
        days: WeekdaySet,
        /// Minutes from local midnight, up to 1440.
        minute: u16,
    },
}

impl Deadline {
    /// Whether it comes again.
    pub fn is_recurring(&self) -> bool {
        matches!(self, Self::Weekly { .. })
    }
}

impl std::fmt::Display for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::At { at, time_zone, .. } => {
                let local = time_zone.to_datetime(*at);
                let zone = time_zone.iana_name().unwrap_or("local time");
                write!(f, "{} {zone}", local.strftime("%Y-%m-%d %H:%M"))
            }
            Self::Weekly { days, minute } => {
                write!(f, "each {days} {}", format_minute_of_day(*minute))
            }
        }
    }
}
