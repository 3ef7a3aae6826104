//! Lengths of time. The type is [`std::time::Duration`]; only text is ours.

use std::time::Duration;

use super::error::{Quantity, UnitError, UnitProblem};
use super::number::{format_significant, split_number};

/// The longest duration that a site file may name: 100 years of 365 days.
pub const DURATION_MAX: Duration = Duration::from_hours(100 * 365 * 24);

/// Seconds of one unit, or `None` for a word that is not a unit of time.
fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    })
}

/// What a word that is nearly a unit was meant to be.
fn meant_unit(unit: &str) -> Option<&'static str> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "msec" | "msecs" | "millis" | "milliseconds" | "millisecond" | "ms" => "ms",
        "usec" | "micros" | "microseconds" | "us" => "us",
        "secs" | "s" | "sec" => "s",
        "mins" | "mn" | "min" => "min",
        "hr" | "hrs" | "std" | "h" => "h",
        "d" => "d",
        _ => return None,
    })
}

/// Reads a duration: `500 ms`, `1.5 s`, `6 h`, `2 d`, `4h 30m`. Several parts are added.
///
/// # Errors
/// A part without a unit, an unknown unit, a negative or infinite number, or more than
/// [`DURATION_MAX`].
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let fail = |problem| Err(UnitError::new(Quantity::Duration, text, problem));
    let mut seconds = 0.0;
    let mut rest = text.trim();
    let mut is_first = true;
    while is_first || !rest.is_empty() {
        let (number, behind) = split_number(Quantity::Duration, rest)
            .map_err(|error| UnitError::new(Quantity::Duration, text, error.problem))?;
        let unit_length = behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len());
        let (unit, after) = behind.split_at(unit_length);
        if unit.is_empty() {
            // Zero is the same in every unit.
            if is_first && number == 0.0 && after.is_empty() {
                return Ok(Duration::ZERO);
            }
            if after.is_empty() {
                let bare = rest.trim().to_owned();
                return fail(UnitProblem::NoUnit(bare));
            }
            let unit = after.to_owned();
            return fail(UnitProblem::UnknownUnit { unit, meant: None });
        }
        let Some(factor) = unit_seconds(unit) else {
            let meant = meant_unit(unit);
            return fail(UnitProblem::UnknownUnit { unit: unit.to_owned(), meant });
        };
        seconds += number * factor;
        rest = after.trim_start();
        is_first = false;
    }
    if seconds > DURATION_MAX.as_secs_f64() {
        return fail(UnitProblem::TooLarge("100 years"));
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) => Ok(duration),
        Err(_) => fail(UnitProblem::TooLarge("100 years")),
    }
}

/// A duration for people: `0 s`, `12.5 µs`, `500 ms`, `1.5 s`, `2 min 30 s`, `4 h 30 min`, `2 d 4 h`.
/// Below a minute four significant digits are kept; above, the two largest units, rounded.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if duration.is_zero() {
        return "0 s".to_owned();
    }
    // The limits lie half a unit of the last shown digit below the round number, so that nothing is
    // ever shown as `1000 ms` or `60 s`.
    if seconds < 0.999_95e-6 {
        return format!("{} ns", format_significant(seconds * 1e9));
    }
    if seconds < 0.999_95e-3 {
        return format!("{} µs", format_significant(seconds * 1e6));
    }
    if seconds < 0.999_95 {
        return format!("{} ms", format_significant(seconds * 1e3));
    }
    if seconds < 59.995 {
        return format!("{} s", format_significant(seconds));
    }
    let whole_seconds = seconds.round() as u64;
    let (large, large_unit, small, small_unit) = if whole_seconds < 3600 {
        (whole_seconds / 60, "min", whole_seconds % 60, "s")
    } else {
        let minutes = (seconds / 60.0).round() as u64;
        if minutes < 24 * 60 {
            (minutes / 60, "h", minutes % 60, "min")
        } else {
            let hours = (seconds / 3600.0).round() as u64;
            (hours / 24, "d", hours % 24, "h")
        }
    };
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_forms_add_up() {
        for (text, seconds) in [
            ("500 ms", 0.5),
            ("500ms", 0.5),
            ("1.5 s", 1.5),
            ("6 h", 21_600.0),
            ("2 d", 172_800.0),
            ("4h 30m", 16_200.0),
            ("4 h 30 min", 16_200.0),
            ("1 w", 604_800.0),
            ("250 µs", 250e-6),
            ("0", 0.0),
            ("1e3 ms", 1.0),
        ] {
            let read = parse_duration(text).unwrap().as_secs_f64();
            assert!((read - seconds).abs() < 1e-12, "{text}: {read}");
        }
    }

    #[test]
    fn refused_forms_say_what_to_write() {
        for (text, message, hint) in [
            ("500", "`500` has no unit", "write the unit: `500 ms`, `500 s`, `500 min` or `500 h`"),
            ("5 parsec", "`parsec` is not a unit of a duration", "write `500 ms`"),
            ("5 Sec", "`Sec` is not a unit of a duration", "did you mean `s`?"),
            ("-5 s", "`-5 s` is negative", "write `500 ms`"),
            ("nan s", "`nan s` is not a finite number", "write `500 ms`"),
            ("inf", "`inf` is not a finite number", "write `500 ms`"),
            ("1,5 s", "`1,5 s` has a comma in its number", "write a point, not a comma: `1.5 s`"),
            ("", "a duration is missing", "write `500 ms`"),
            ("soon", "`soon` is not a duration", "write `500 ms`"),
            ("101 years", "`years` is not a unit of a duration", "write `500 ms`"),
            ("99999 d", "`99999 d` is more than 100 years", "write `500 ms`"),
            ("4h 30", "`4h 30` has no unit", "write the unit: `30 ms`"),
            ("5 %", "`%` is not a unit of a duration", "write `500 ms`"),
        ] {
            let error = parse_duration(text).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
            assert!(error.hint().starts_with(hint), "{text}: {}", error.hint());
        }
    }

    #[test]
    fn durations_are_shown_in_the_unit_that_reads_best() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (12.5e-6, "12.5 µs"),
            (0.5, "500 ms"),
            (0.999_99, "1 s"),
            (1.5, "1.5 s"),
            (59.999, "1 min"),
            (150.0, "2 min 30 s"),
            (16_200.0, "4 h 30 min"),
            (86_399.0, "1 d"),
            (187_200.0, "2 d 4 h"),
        ] {
            assert_eq!(format_duration(Duration::from_secs_f64(seconds)), text, "{seconds}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_can_be_read_back_within_its_precision(nanoseconds in 0_u64..1 << 55) {
            let duration = Duration::from_nanos(nanoseconds);
            let read = parse_duration(&format_duration(duration)).unwrap();
            let error = (read.as_secs_f64() - duration.as_secs_f64()).abs();
            proptest::prop_assert!(error <= duration.as_secs_f64() * 0.025 + 1e-12);
        }

        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = parse_duration(&text);
        }
    }
}
