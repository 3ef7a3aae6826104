//! Values that a file states, and why the others are missing.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;

/// A value, or why there is none. Nothing is filled in: zero is only what the file calls zero.
pub type Stated<T> = Result<T, Absence>;

/// Why a value is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The file has no such column or field.
    NotInFile,
    /// The scheduler says that it is not set: `(null)`, `N/A`, an empty cell, `set: false`.
    NotSet,
    /// The scheduler says that it does not know: `Unknown`.
    Unknown,
    /// The job has not started; zero stands for that in several outputs.
    NotStarted,
    /// The job has not ended.
    NotEnded,
    /// A limit that does not exist: `UNLIMITED`, `infinite: true`.
    Unlimited,
    /// The list of resources names no GPU: there may be none, or the cluster does not account for GPUs.
    NoGpuNamed,
    /// The file allows several meanings and does not say which holds.
    Ambiguous,
    /// The text ends in the middle of the value: the command cut its columns.
    CutOff,
    /// Text that cannot be read as the value, shortened.
    Unreadable(String),
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInFile => "not in the file",
            Self::NotSet => "not set",
            Self::Unknown => "not known to the scheduler",
            Self::NotStarted => "not started",
            Self::NotEnded => "not ended",
            Self::Unlimited => "unlimited",
            Self::NoGpuNamed => "no GPU is named; the cluster may not account for GPUs",
            Self::Ambiguous => "the file does not say which of several meanings holds",
            Self::CutOff => "cut off",
            Self::Unreadable(text) => return write!(f, "not understood: «{text}»"),
        })
    }
}

/// A time as a scheduler writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerTime {
    /// An instant: seconds since 1970, or a time with its distance from UTC.
    Instant(Timestamp),
    /// A local time of the machine that printed it; the zone is not in the file, and is not guessed.
    Zoneless(DateTime),
    /// A time of the day alone, local to the machine that printed it.
    TimeOfDay(Time),
}

impl fmt::Display for SchedulerTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instant(instant) => write!(f, "{instant}"),
            Self::Zoneless(local) => write!(f, "{local} (no zone given)"),
            Self::TimeOfDay(time) => write!(f, "{time} (no day or zone given)"),
        }
    }
}

impl SchedulerTime {
    /// Seconds from `earlier` to this; `None` where the two are of different forms. Of local times the
    /// difference is wrong by the change of the clocks where one lies between.
    pub fn seconds_since(&self, earlier: &Self) -> Option<i64> {
        match (self, earlier) {
            (Self::Instant(one), Self::Instant(other)) => Some(one.as_second() - other.as_second()),
            (Self::Zoneless(one), Self::Zoneless(other)) => {
                let seconds = |local: &DateTime| {
                    TimeZone::UTC.to_timestamp(*local).ok().map(Timestamp::as_second)
                };
                Some(seconds(one)? - seconds(other)?)
            }
            _ => None,
        }
    }
}

/// Words by which Slurm and Kubernetes say that a value is not set.
pub(super) fn absence_of(text: &str) -> Option<Absence> {
    match text.trim() {
        "" | "(null)" | "null" | "N/A" | "n/a" | "n/s" | "None" | "NONE" | "none" | "NOT_SET"
        | "<none>" | "<unset>" | "<nil>" | "None assigned" | "None Assigned" | "-" => {
            Some(Absence::NotSet)
        }
        "Unknown" | "UNKNOWN" | "unknown" | "<unknown>" | "INVALID" => Some(Absence::Unknown),
        "UNLIMITED" | "Unlimited" | "INFINITE" | "infinite" | "Partition_Limit" => {
            Some(Absence::Unlimited)
        }
        _ => None,
    }
}

/// Text that says something.
pub(super) fn word(text: &str) -> Stated<String> {
    match absence_of(text) {
        Some(absence) => Err(absence),
        None => Ok(text.trim().to_owned()),
    }
}

pub(super) fn unreadable<T>(text: &str) -> Stated<T> {
    Err(Absence::Unreadable(super::refusal::shortened(text)))
}

/// A time of Slurm or Kubernetes.
pub(super) fn time(text: &str) -> Stated<SchedulerTime> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let text = text.trim();
    let bytes = text.as_bytes();
    if bytes.iter().all(u8::is_ascii_digit) {
        return match text.parse::<i64>() {
            Ok(0) => Err(Absence::NotSet),
            Ok(seconds) if bytes.len() >= 9 => {
                instant(seconds).ok_or(()).or_else(|()| unreadable(text))
            }
            _ => unreadable(text),
        };
    }
    if text.len() <= 8 && text.contains(':') {
        return text
            .parse::<Time>()
            .map_or_else(|_| unreadable(text), |time| Ok(SchedulerTime::TimeOfDay(time)));
    }
    let has_zone = text.ends_with('Z')
        || bytes.get(10).is_some_and(|one| matches!(one, b'T' | b' ' | b't'))
            && bytes[11..].iter().any(|one| matches!(one, b'+' | b'-'));
    if has_zone {
        // Slurm writes +0100 where RFC 3339 wants +01:00; jiff takes both.
        return text
            .parse::<Timestamp>()
            .map_or_else(|_| unreadable(text), |one| Ok(SchedulerTime::Instant(one)));
    }
    text.parse::<DateTime>()
        .map_or_else(|_| unreadable(text), |local| Ok(SchedulerTime::Zoneless(local)))
}

/// An instant by its seconds since 1970.
pub(super) fn instant(seconds: i64) -> Option<SchedulerTime> {
    Timestamp::from_second(seconds).ok().map(SchedulerTime::Instant)
}

/// Seconds of `[days-]hours:minutes:seconds`, `minutes:seconds` or `days-hours`.
pub(super) fn duration_s(text: &str) -> Stated<u64> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let text = text.trim();
    let read = || -> Option<u64> {
        let (days, clock) = match text.split_once('-') {
            Some((days, clock)) => (Some(days.parse::<u64>().ok()?), clock),
            None => (None, text),
        };
        // Fractions of seconds are of processor time and are dropped.
        let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
        let mut parts = [0_u64; 3];
        let mut count = 0;
        for part in clock.split(':') {
            *parts.get_mut(count)? = part.parse().ok()?;
            count += 1;
        }
        let [a, b, c] = parts;
        let seconds = match (days.is_some(), count) {
            (_, 3) => a.checked_mul(3600)?.checked_add(b.checked_mul(60)?)?.checked_add(c)?,
            (true, 2) => a.checked_mul(3600)?.checked_add(b.checked_mul(60)?)?,
            (false, 2) => a.checked_mul(60)?.checked_add(b)?,
            (true, 1) => a.checked_mul(3600)?,
            _ => return None,
        };
        days.unwrap_or(0).checked_mul(86_400)?.checked_add(seconds)
    };
    read().map_or_else(|| unreadable(text), Ok)
}

/// A whole number that is not negative. Slurm writes counts of thousands as `12K`.
pub(super) fn count(text: &str) -> Stated<u64> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let text = text.trim();
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1024.0),
        Some(b'+') => (&text[..text.len() - 1], 1.0),
        _ => (text, 1.0),
    };
    if let Ok(whole) = digits.parse::<u64>()
        && factor == 1.0
    {
        return Ok(whole);
    }
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() && (0.0..9e15).contains(&number) => {
            Ok((number * factor).round() as u64)
        }
        _ => unreadable(text),
    }
}

/// A finite number.
pub(super) fn number(text: &str) -> Stated<f64> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(number) if number.is_infinite() && number > 0.0 => Err(Absence::Unlimited),
        _ => unreadable(text),
    }
}
