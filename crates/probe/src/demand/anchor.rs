//! From the times that a file writes to instants.

use jiff::Timestamp;

use super::read::ANCHOR_S;

/// Nanoseconds of a second.
const SECOND_NS: i128 = 1_000_000_000;

/// Numbers from here on, as seconds, are taken for Unix time: a trace that runs for 31 years does
/// not exist, and stamps since 2001 do.
const UNIX_TIME_FROM_NS: i128 = 1_000_000_000 * SECOND_NS;

/// What the times of a file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Dates.
    Dates,
    /// Numbers that are Unix time.
    UnixTime,
    /// The instant of the origin was given.
    Begins(Timestamp),
    /// Relative, and nobody said to what.
    Unknown,
    /// Relative to the midnight of a day that nobody named.
    SomeMidnight,
}

impl Meaning {
    /// Whether the time of the week can be told.
    pub(super) fn knows_time_of_week(self) -> bool {
        !matches!(self, Self::Unknown | Self::SomeMidnight)
    }

    /// What must be said about it.
    pub(super) fn note(self, name: &str, origin: &str) -> Option<String> {
        match self {
            Self::Dates => None,
            Self::UnixTime => Some(format!("{name}: its times are read as Unix time")),
            Self::Begins(at) => Some(format!("{name}: {origin} is at {at}, as `begins` says")),
            Self::Unknown => Some(format!(
                "{name}: time of week unknown: its times are relative, so {origin} is put at Monday \
                 2024-01-01 00:00 UTC and no hour or weekday means anything; declare `begins`"
            )),
            Self::SomeMidnight => Some(format!(
                "{name}: time of week unknown: it counts from a midnight of its own whose date is \
                 not told, so second 0 is put at Monday 2024-01-01 00:00 UTC and no weekday means \
                 anything; declare `begins`"
            )),
        }
    }
}

/// Turns nanoseconds of a file into instants. The first time that it sees decides what they mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    pub(super) meaning: Meaning,
    shift_ns: i128,
}

impl Anchor {
    /// For a trace: `begins` is the instant of its first row.
    pub(super) fn of_first_row(
        first_ns: i128,
        dated: bool,
        begins: Option<Timestamp>,
        counts_from_midnight: bool,
    ) -> Self {
        let meaning = Self::meaning(first_ns, dated, begins);
        let shift_ns = match meaning {
            Meaning::Begins(at) => at.as_nanosecond() - first_ns,
            Meaning::Unknown if counts_from_midnight => {
                let shift_ns = i128::from(ANCHOR_S) * SECOND_NS;
                return Self { meaning: Meaning::SomeMidnight, shift_ns };
            }
            Meaning::Unknown => i128::from(ANCHOR_S) * SECOND_NS - first_ns,
            Meaning::Dates | Meaning::UnixTime | Meaning::SomeMidnight => 0,
        };
        Self { meaning, shift_ns }
    }

    /// For a table of rates: `begins` is the instant of second 0.
    pub(super) fn of_second_zero(first_ns: i128, dated: bool, begins: Option<Timestamp>) -> Self {
        let meaning = Self::meaning(first_ns, dated, begins);
        let shift_ns = match meaning {
            Meaning::Begins(at) if dated => at.as_nanosecond() - first_ns,
            Meaning::Begins(at) => at.as_nanosecond(),
            Meaning::Unknown => i128::from(ANCHOR_S) * SECOND_NS,
            Meaning::Dates | Meaning::UnixTime | Meaning::SomeMidnight => 0,
        };
        Self { meaning, shift_ns }
    }

    fn meaning(first_ns: i128, dated: bool, begins: Option<Timestamp>) -> Meaning {
        match begins {
            Some(at) => Meaning::Begins(at),
            None if dated => Meaning::Dates,
            None if first_ns >= UNIX_TIME_FROM_NS => Meaning::UnixTime,
            None => Meaning::Unknown,
        }
    }

    /// The instant of a time of the file; `None` outside of the years 1677 to 2262.
    pub(super) fn instant(&self, at_ns: i128) -> Option<Timestamp> {
        let ns = i64::try_from(at_ns + self.shift_ns).ok()?;
        let second_ns = SECOND_NS as i64;
        Timestamp::new(ns.div_euclid(second_ns), ns.rem_euclid(second_ns) as i32).ok()
    }
}
