//! Times of a trace in nanoseconds from an origin that only this trace knows.

use super::columns::TimeUnit;
use super::error::Problem;

/// Nanoseconds from the origin of the trace.
pub(super) fn parse(text: &str, unit: TimeUnit) -> Result<i128, Problem> {
    let text = text.trim();
    match unit {
        TimeUnit::DateTime => date_time(text),
        TimeUnit::Seconds => decimal(text, 9),
        TimeUnit::Milliseconds => decimal(text, 6),
        TimeUnit::Microseconds => decimal(text, 3),
        TimeUnit::Nanoseconds => decimal(text, 0),
    }
}

fn date_time(text: &str) -> Result<i128, Problem> {
    // A zone, if there is one, follows the time: `Z`, `+00:00` or `-05:00`.
    let clock = text.get(10..).unwrap_or("");
    let zoned = clock.ends_with(['Z', 'z']) || clock.contains(['+', '-']);
    let parsed = if zoned {
        text.parse::<jiff::Timestamp>()
    } else {
        text.parse::<jiff::civil::DateTime>()
            .and_then(|local| jiff::tz::TimeZone::UTC.to_timestamp(local))
    };
    parsed.map(jiff::Timestamp::as_nanosecond).map_err(|_| {
        Problem::new(
            "not a date and time",
            "write it as 2023-11-16 18:15:46.6805900, or name the column's unit if it is a number",
        )
    })
}

/// A decimal number in units of 10^`digits` nanoseconds, exact to the nanosecond; finer digits are
/// cut. Numbers with an exponent, which some writers emit, go through a double.
fn decimal(text: &str, digits: usize) -> Result<i128, Problem> {
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
        return if ns.is_finite() && ns.abs() < 1e27 {
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
    Ok(if negative { -ns } else { ns })
}
