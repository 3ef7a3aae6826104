//! Numbers and times as trainers write them.

use std::time::Duration;

/// Reads fixed shapes of digits from bytes.
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// Exactly this many digits.
    pub(super) fn digits(&mut self, count: usize) -> Option<u64> {
        let (digits, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        std::str::from_utf8(digits)
            .ok()
            .filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?
            .parse()
            .ok()
    }

    pub(super) fn one_of(&mut self, allowed: &[u8]) -> Option<()> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        allowed.contains(first).then_some(())
    }

    /// A fraction after one of these marks, and the smallest step that its digits can show.
    pub(super) fn fraction(&mut self, marks: &[u8]) -> (f64, f64) {
        let Some((mark, rest)) = self.bytes.split_first() else { return (0.0, 1.0) };
        let count = rest.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        if !marks.contains(mark) || count == 0 {
            return (0.0, 1.0);
        }
        let scale = 10f64.powi(count as i32);
        let digits = std::str::from_utf8(&rest[..count]).ok().and_then(|d| d.parse::<f64>().ok());
        (digits.unwrap_or(0.0) / scale, 1.0 / scale)
    }
}

/// Seconds from 1970-01-01 to a day of the Gregorian calendar.
pub(super) fn civil_s(year: u64, month: u64, day: u64) -> Option<f64> {
    let date = jiff::civil::Date::new(year as i16, month as i8, day as i8).ok()?;
    let epoch = jiff::civil::Date::new(1970, 1, 1).ok()?;
    let days = date.since((jiff::Unit::Day, epoch)).ok()?.get_days();
    Some(f64::from(days) * 86_400.0)
}

/// The number at the start of a text, which may end in anything, and what follows it.
///
/// Commas are thousands where each is followed by exactly three digits (`5,868`, `1,250.5`) and the
/// number does not begin with a lone zero; one comma otherwise is a decimal comma (`339,85`,
/// `0,123`). A sign, a fraction and an exponent (`1.2e+03`, `5.969E-05`) are read. Not finite: none.
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let bytes = text.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_number = is_digit(end) || (bytes.get(end) == Some(&b'.') && is_digit(end + 1));
    if !is_number {
        return None;
    }
    while is_digit(end) || (matches!(bytes.get(end), Some(b',' | b'.')) && is_digit(end + 1)) {
        end += 1;
    }
    let mantissa = plain_decimal(&text[..end])?;
    let mut exponent = end;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let mut at = end + 1 + sign;
        while is_digit(at) {
            at += 1;
        }
        if at > end + 1 + sign {
            exponent = at;
        }
    }
    let value: f64 = format!("{mantissa}{}", &text[end..exponent]).parse().ok()?;
    value.is_finite().then_some((value, &text[exponent..]))
}

/// Digits with points and commas as a decimal that Rust reads; none where they have no meaning.
fn plain_decimal(text: &str) -> Option<String> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    if fraction.is_some_and(|fraction| fraction.contains(['.', ','])) {
        return None;
    }
    let Some((head, tail)) = whole.split_once(',') else { return Some(text.to_owned()) };
    let groups = tail.split(',').all(|group| group.len() == 3);
    let leading = head.trim_start_matches(['+', '-']);
    if groups && leading.len() <= 3 && !leading.starts_with('0') {
        return Some(text.replace(',', ""));
    }
    let decimal = fraction.is_none() && !tail.contains(',');
    decimal.then(|| format!("{head}.{tail}"))
}

/// The number after a marker, with blanks between.
pub(super) fn number_after(text: &str, marker: &str) -> Option<f64> {
    leading_number(rest_after(text, marker)?).map(|(value, _)| value)
}

/// A count after a marker: a number without sign and fraction.
pub(super) fn count_after(text: &str, marker: &str) -> Option<u64> {
    whole(number_after(text, marker)?)
}

/// What follows a marker, without blanks before it.
pub(super) fn rest_after<'t>(text: &'t str, marker: &str) -> Option<&'t str> {
    text.find(marker).map(|at| text[at + marker.len()..].trim_start())
}

/// A count at the start of a text and what follows.
pub(super) fn leading_count(text: &str) -> Option<(u64, &str)> {
    let (value, rest) = leading_number(text)?;
    Some((whole(value)?, rest))
}

/// `12/ 400` as a count of a count.
pub(super) fn leading_progress(text: &str) -> Option<(u64, u64, &str)> {
    let (done, rest) = leading_count(text)?;
    let (of, rest) = leading_count(rest.trim_start().strip_prefix('/')?.trim_start())?;
    Some((done, of, rest))
}

/// A whole number that a `u64` holds exactly.
pub(super) fn whole(value: f64) -> Option<u64> {
    ((0.0..9.007_199_254_740_992e15).contains(&value) && value.fract() == 0.0)
        .then_some(value as u64)
}

/// A time, seconds, if it can be one: finite, not negative, below a million years.
pub(super) fn seconds(value: f64) -> Option<f64> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|d| d.as_secs() < 31_557_600_000_000)
        .map(|_| value)
}

/// A clock text at the start: `9 days, 22:13:15`, `1 day, 0:08:23`, `0:32:48`, `14:32`,
/// `01:02:03.45`; seconds, and what follows.
pub fn leading_clock(text: &str) -> Option<(f64, &str)> {
    let (mut total_s, mut rest) = (0.0, text);
    if let Some((days, after)) = leading_count(text)
        && let Some(after) = after.trim_start().strip_prefix("day")
    {
        let after = after.strip_prefix('s').unwrap_or(after);
        total_s = days as f64 * 86_400.0;
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    let end =
        rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let clock = rest[..end].trim_end_matches('.');
    let parts: Vec<&str> = clock.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    let mut clock_s = 0.0;
    for part in &parts {
        let value: f64 = part.parse().ok()?;
        clock_s = clock_s * 60.0 + value;
    }
    Some((seconds(total_s + clock_s)?, &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_they_are_written() {
        let read = |text: &str| leading_number(text).map(|(value, _)| value);
        for (text, expected) in [
            ("5,868", 5868.0),
            ("1,250.5ms", 1250.5),
            ("1,234,567", 1_234_567.0),
            ("339,85", 339.85),
            ("0,123", 0.123),
            ("1.2e+03 x", 1200.0),
            ("5.969E-05 |", 5.969e-5),
            ("34.36%", 34.36),
            ("12, next", 12.0),
            ("105.", 105.0),
            ("-1.0", -1.0),
            (".5", 0.5),
            ("2.5e", 2.5),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in ["", "nan", "x1", "1.2.3", "1,23,4", "inf", "1e999", "-"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn clocks_as_they_are_written() {
        let read = |text: &str| leading_clock(text).map(|(value, _)| value);
        assert_eq!(read("9 days, 22:13:15"), Some(857_595.0));
        assert_eq!(read("1 day, 0:08:23"), Some(86_903.0));
        assert_eq!(read("0:32:48"), Some(1968.0));
        assert_eq!(read("14:32<00:00"), Some(872.0));
        assert_eq!(read("00:00.33 (Saving"), Some(0.33));
        assert_eq!(read("01:02:03.45"), Some(3723.45));
        assert_eq!(read("12"), None);
        assert_eq!(read("1:x"), None);
    }
}
