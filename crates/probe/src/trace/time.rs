//! Times of a trace in nanoseconds: from the Unix epoch where they are dates, else from an origin
//! that only the trace knows.

use super::columns::TimeUnit;
use super::error::Problem;

/// What the times of a file turned out to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A date was read.
    pub(crate) dates: bool,
    /// A date was read that names no zone.
    pub(crate) without_zone: bool,
    /// A number was read.
    pub(crate) numbers: bool,
}

/// Reads the times of one file. The days of neighbouring rows are mostly the same, so the last one
/// is kept.
#[derive(Debug)]
pub(crate) struct TimeReader {
    unit: TimeUnit,
    seen: Seen,
    day_text: [u8; 10],
    day_ns: i128,
}

impl TimeReader {
    pub(crate) fn new(unit: TimeUnit) -> Self {
        Self { unit, seen: Seen::default(), day_text: [0; 10], day_ns: 0 }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    /// Nanoseconds from the origin.
    pub(crate) fn read(&mut self, text: &str) -> Result<i128, Problem> {
        let text = text.trim_ascii();
        match self.unit {
            TimeUnit::DateTime => self.date_time(text),
            TimeUnit::Seconds => self.number(text, 9),
            TimeUnit::Milliseconds => self.number(text, 6),
            TimeUnit::Microseconds => self.number(text, 3),
            TimeUnit::Nanoseconds => self.number(text, 0),
            TimeUnit::ByContent => self.by_content(text),
        }
    }

    fn by_content(&mut self, text: &str) -> Result<i128, Problem> {
        let is_date = text.as_bytes().get(4) == Some(&b'-') && text.len() >= 10;
        if (is_date && self.seen.numbers) || (!is_date && self.seen.dates) {
            return Err(Problem::new(
                "the rows before this one write time otherwise: numbers and dates are mixed",
                "write all times as seconds or all as dates",
            ));
        }
        if is_date {
            return self.date_time(text);
        }
        self.number(text, 9).map_err(|problem| Problem {
            what: "neither a number of seconds nor a date".to_owned(),
            hint: "write it as 12.5 or as 2023-11-16 18:15:46.6805900".to_owned(),
            ..problem
        })
    }

    fn number(&mut self, text: &str, digits: usize) -> Result<i128, Problem> {
        let ns = decimal(text, digits)?;
        self.seen.numbers = true;
        Ok(ns)
    }

    fn date_time(&mut self, text: &str) -> Result<i128, Problem> {
        let (ns, zoned) = match self.plain_date_time(text.as_bytes()) {
            Some(read) => read,
            None => self.any_date_time(text)?,
        };
        self.seen.dates = true;
        self.seen.without_zone |= !zoned;
        Ok(ns)
    }

    /// `2023-11-16 18:15:46.6805900`, with `T` or a space, up to nine digits of a fraction, and
    /// no zone or that of UTC: what the traces write. Anything else goes the long way.
    fn plain_date_time(&mut self, text: &[u8]) -> Option<(i128, bool)> {
        let (day, clock) = text.split_at_checked(10)?;
        if !matches!(clock.first(), Some(b' ' | b'T')) {
            return None;
        }
        let (&[_, h1, h0, b':', m1, m0, b':', s1, s0], rest) = clock.split_first_chunk::<9>()?
        else {
            return None;
        };
        let (hour, minute) = (two_digits(h1, h0)?, two_digits(m1, m0)?);
        let second = two_digits(s1, s0)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (fraction_ns, zone) = fraction_ns(rest)?;
        let zoned = match zone {
            b"" => false,
            b"Z" | b"+00:00" => true,
            _ => return None,
        };
        if day != self.day_text {
            let civil: jiff::civil::Date = std::str::from_utf8(day).ok()?.parse().ok()?;
            let midnight = jiff::tz::TimeZone::UTC.to_timestamp(civil.at(0, 0, 0, 0)).ok()?;
            self.day_text.copy_from_slice(day);
            self.day_ns = midnight.as_nanosecond();
        }
        let of_day_s = u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second);
        let of_day_ns = of_day_s * 1_000_000_000 + u64::from(fraction_ns);
        Some((self.day_ns + i128::from(of_day_ns), zoned))
    }

    fn any_date_time(&self, text: &str) -> Result<(i128, bool), Problem> {
        // A zone, if there is one, follows the time: `Z`, `+00:00` or `-05:00`.
        let clock = text.get(10..).unwrap_or("");
        let zoned = clock.ends_with(['Z', 'z']) || clock.contains(['+', '-']);
        let parsed = if zoned {
            text.parse::<jiff::Timestamp>()
        } else {
            text.parse::<jiff::civil::DateTime>()
                .and_then(|local| jiff::tz::TimeZone::UTC.to_timestamp(local))
        };
        parsed.map(|instant| (instant.as_nanosecond(), zoned)).map_err(|_| {
            let hint = if self.unit == TimeUnit::ByContent {
                "write it as 2023-11-16 18:15:46.6805900, or as a number of seconds"
            } else {
                "write it as 2023-11-16 18:15:46.6805900, or name the column's unit if it is a \
                 number"
            };
            Problem::new("not a date and time", hint)
        })
    }
}

fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    digits.then(|| (tens - b'0') * 10 + (ones - b'0'))
}

/// The nanoseconds of `.6805900`, and what stands behind it. `None` where digits are missing or too
/// many.
fn fraction_ns(text: &[u8]) -> Option<(u32, &[u8])> {
    let Some((b'.', rest)) = text.split_first() else { return Some((0, text)) };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || count > 9 {
        return None;
    }
    let (digits, zone) = rest.split_at(count);
    let mut ns = 0;
    for index in 0..9 {
        ns = ns * 10 + digits.get(index).map_or(0, |digit| u32::from(digit - b'0'));
    }
    Some((ns, zone))
}

/// Times beyond this many nanoseconds from their origin, either way, are none: thirty billion years.
/// It leaves room for sums and differences.
const TIME_NS_MAX: u128 = 1_000_000_000_000_000_000_000_000_000;

/// A decimal number in units of 10^`digits` nanoseconds, exact to the nanosecond; finer digits are
/// cut. Numbers with an exponent, which some writers emit, go through a double.
pub(crate) fn decimal(text: &str, digits: usize) -> Result<i128, Problem> {
    let wrong = || {
        Problem::new(
            "not a number",
            "a time is a number such as 12.5; if the column holds dates, name its unit so",
        )
    };
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) {
        let number: f64 = text.parse().map_err(|_| wrong())?;
        let ns = number * 10_f64.powi(digits as i32);
        return if ns.is_finite() && ns.abs() < TIME_NS_MAX as f64 {
            Ok(ns.round() as i128)
        } else {
            Err(wrong())
        };
    }
    let mut ns: i128 = whole.parse().map_err(|_| wrong())?;
    let mut fraction = fraction.bytes();
    for _ in 0..digits {
        let digit = fraction.next().map_or(0, |byte| i128::from(byte - b'0'));
        ns = ns.checked_mul(10).and_then(|ns| ns.checked_add(digit)).ok_or_else(wrong)?;
    }
    if ns.unsigned_abs() > TIME_NS_MAX {
        return Err(wrong());
    }
    Ok(if negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::{TimeReader, TimeUnit};
    use proptest::prelude::*;

    proptest! {
        /// The short way and jiff's own parser agree wherever the short way answers.
        #[test]
        fn the_short_way_is_right(
            seconds in -2_000_000_000_i64..4_000_000_000,
            digits in 0_usize..=9,
            fraction in 0_u32..1_000_000_000,
            zone in prop::sample::select(vec!["", "Z", "+00:00", "+02:00"]),
            letter in prop::sample::select(vec![' ', 'T']),
        ) {
            let instant = jiff::Timestamp::from_second(seconds).unwrap();
            let mut text = instant.strftime("%Y-%m-%d %H:%M:%S").to_string();
            text = text.replace(' ', &letter.to_string());
            if digits > 0 {
                text.push('.');
                text.push_str(&format!("{fraction:09}")[..digits]);
            }
            text.push_str(zone);
            let slow = TimeReader::new(TimeUnit::DateTime).any_date_time(&text).unwrap();
            let mut reader = TimeReader::new(TimeUnit::DateTime);
            prop_assert_eq!(reader.read(&text).unwrap(), slow.0);
            prop_assert_eq!(reader.seen().without_zone, !slow.1);
            if let Some(quick) = reader.plain_date_time(text.as_bytes()) {
                prop_assert_eq!(quick, slow);
            } else {
                prop_assert_eq!(zone, "+02:00");
            }
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["2023-02-29 00:00:00", "2023-01-01 24:00:00", "2023-01-01", "x", "", "46"] {
            let read = TimeReader::new(TimeUnit::DateTime).read(text);
            assert!(read.is_err() || text == "2023-01-01", "{text:?}: {read:?}");
        }
        for text in ["", "-", "1e400", "nan", "12:30", "1_000", "9000000000000000000000000000"] {
            assert!(TimeReader::new(TimeUnit::Seconds).read(text).is_err(), "{text:?}");
        }
    }
}
