//! From numbers to the text that people read. Every printed number of a report is made here.

use cotenant_core::verdict::Unit;

use crate::model::{State, Value};

/// The unit in which times of one row or one table are printed, so that they compare at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeScale {
    Microseconds,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
}

impl TimeScale {
    /// The scale that suits all of the times: milliseconds up to a second, and up to ten where some
    /// of the times are well below one.
    pub(crate) fn of(times_s: impl IntoIterator<Item = f64>) -> Self {
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
        for time in times_s.into_iter().map(f64::abs) {
            if time.is_finite() && time > 0.0 {
                smallest = smallest.min(time);
                largest = largest.max(time);
            }
        }
        match largest {
            0.0 => Self::Milliseconds,
            time if time < 1e-3 => Self::Microseconds,
            time if time < 1.0 => Self::Milliseconds,
            time if time < 10.0 && smallest < 0.2 => Self::Milliseconds,
            time if time < 600.0 => Self::Seconds,
            time if time < 6.0 * 3600.0 => Self::Minutes,
            _ => Self::Hours,
        }
    }

    fn per_second(self) -> f64 {
        match self {
            Self::Microseconds => 1e6,
            Self::Milliseconds => 1e3,
            Self::Seconds => 1.0,
            Self::Minutes => 1.0 / 60.0,
            Self::Hours => 1.0 / 3600.0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::Hours => "h",
        }
    }
}

/// A number with three significant digits and thousands set apart by commas.
pub(crate) fn number(value: f64) -> String {
    digits(value, 3)
}

/// A whole number with thousands set apart by commas.
pub(crate) fn count(value: u64) -> String {
    group_thousands(&value.to_string())
}

/// `count` with a noun in singular or plural.
pub(crate) fn plural(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

fn digits(value: f64, significant: i32) -> String {
    if !value.is_finite() {
        return "unbounded".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (significant - 1 - magnitude).clamp(0, 6) as usize;
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if value < 0.0 { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", group_thousands(whole))
}

fn group_thousands(whole: &str) -> String {
    let mut grouped = String::with_capacity(whole.len() + whole.len() / 3);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A time in a given scale: `412 ms`. A part of one unit has two digits after the point, as its
/// neighbours in the row have.
pub(crate) fn time_in(scale: TimeScale, time_s: f64) -> String {
    if !time_s.is_finite() {
        return "unbounded".to_owned();
    }
    let scaled = time_s * scale.per_second();
    if (0.01..0.995).contains(&scaled) {
        return format!("{scaled:.2} {}", scale.name());
    }
    format!("{} {}", number(scaled), scale.name())
}

/// A time in a given scale, without zeros at its end: `2.5 s`, `400 ms`.
pub(crate) fn trimmed_time_in(scale: TimeScale, time_s: f64) -> String {
    format!("{} {}", trimmed(time_s * scale.per_second()), scale.name())
}

/// Bytes in a binary unit: `1.50 GiB`.
pub(crate) fn bytes(value: f64) -> String {
    if !value.is_finite() {
        return "unbounded".to_owned();
    }
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < units.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(scaled), units[unit])
}

/// A time in the scale that suits it.
pub(crate) fn time(time_s: f64) -> String {
    time_in(TimeScale::of([time_s]), time_s)
}

/// Like [`time`], without the zeros that a declared round number would get: `500 ms`, `2 s`.
pub(crate) fn round_time(time_s: f64) -> String {
    let scale = TimeScale::of([time_s]);
    if !time_s.is_finite() {
        return "unbounded".to_owned();
    }
    format!("{} {}", trimmed(time_s * scale.per_second()), scale.name())
}

/// A number without trailing zeros after the point.
pub(crate) fn trimmed(value: f64) -> String {
    let text = digits(value, 4);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A share as a percentage: `1.25 %`. A share that is not zero never prints as zero, and one that
/// is below one does not print as 100 %.
pub(crate) fn share(value: f64) -> String {
    if !value.is_finite() {
        return "unbounded".to_owned();
    }
    format!("{} %", percent(value))
}

/// The number of a percentage, without its sign.
pub(crate) fn percent(value: f64) -> String {
    let significant = if (0.99..1.0).contains(&value) { 5 } else { 3 };
    trimmed_to(value * 100.0, significant)
}

/// The same with so many significant digits.
pub(crate) fn trimmed_to(value: f64, significant: i32) -> String {
    let text = digits(value, significant);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The text of a measured value in the unit's usual form.
pub(crate) fn text(value: f64, unit: Unit, scale: Option<TimeScale>) -> String {
    if !value.is_finite() {
        return "unbounded".to_owned();
    }
    match unit {
        Unit::Seconds => match scale {
            Some(scale) => time_in(scale, value),
            None => time(value),
        },
        Unit::Share => share(value),
        Unit::RequestsPerSecond => format!("{} req/s", number(value)),
        Unit::TokensPerSecond => format!("{} tokens/s", number(value)),
        Unit::Count => trimmed(value),
        Unit::Ratio => format!("{}×", number(value)),
    }
}

/// The unit's name in the JSON.
pub(crate) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::Share => "share",
        Unit::RequestsPerSecond => "req/s",
        Unit::TokensPerSecond => "tokens/s",
        Unit::Count => "count",
        Unit::Ratio => "ratio",
    }
}

/// A value with its own text: finite numbers are known, infinities unbounded, NaN is missing.
pub(crate) fn value_with_text(value: f64, unit: &str, text: String) -> Value {
    if value.is_nan() {
        return Value::missing("it is not a number");
    }
    let known = value.is_finite();
    Value {
        value: known.then_some(value),
        state: if known { State::Known } else { State::Unbounded },
        unit: unit.to_owned(),
        text,
    }
}

/// A measured value.
pub(crate) fn measured(value: f64, unit: Unit) -> Value {
    value_with_text(value, unit_name(unit), text(value, unit, None))
}

/// A measured value whose times are printed in a given scale.
pub(crate) fn measured_in(value: f64, unit: Unit, scale: Option<TimeScale>) -> Value {
    value_with_text(value, unit_name(unit), text(value, unit, scale))
}

/// A declared value: printed without trailing zeros.
pub(crate) fn declared(value: f64, unit: Unit) -> Value {
    let text = match unit {
        Unit::Seconds => round_time(value),
        Unit::RequestsPerSecond => format!("{} req/s", trimmed(value)),
        Unit::TokensPerSecond => format!("{} tokens/s", trimmed(value)),
        Unit::Ratio => format!("{}×", trimmed(value)),
        Unit::Share | Unit::Count => text(value, unit, None),
    };
    value_with_text(value, unit_name(unit), text)
}

/// A count.
pub(crate) fn counted(value: u64) -> Value {
    value_with_text(value as f64, "count", count(value))
}

/// CPU in cores.
pub(crate) fn cores(value: f64) -> Value {
    let text = if value.is_finite() { format!("{value:.2}") } else { "unbounded".to_owned() };
    value_with_text(value, "cores", text)
}

/// Minutes as people say them: `under 1 min`, `12 min`, `3.5 h`.
pub(crate) fn minutes(value: f64) -> String {
    match value {
        minutes if !minutes.is_finite() => "unbounded".to_owned(),
        minutes if minutes <= 0.0 => "0 min".to_owned(),
        minutes if minutes < 1.0 => "under 1 min".to_owned(),
        minutes if minutes < 120.0 => format!("{} min", trimmed_to(minutes, 2)),
        minutes => format!("{} h", trimmed_to(minutes / 60.0, 2)),
    }
}

/// Ties each unit to its number with a space that does not break, for renderings that break lines.
pub(crate) fn glue(text: &str) -> String {
    const UNITS: [&str; 17] = [
        "%", "µs", "ms", "s", "min", "h", "tokens/s", "req/s", "B", "KiB", "MiB", "GiB", "cores",
        "MHz", "GPU-h", "GPUs", "GPU",
    ];
    let mut glued = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches([',', '.', ')', ';', ':']);
        let after_number = glued.ends_with(|c: char| c.is_ascii_digit());
        if index > 0 {
            glued.push(if after_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        glued.push_str(word);
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (412.4, "412"),
            (1234.5, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-2.5, "−2.50"),
            (f64::INFINITY, "unbounded"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn times_share_a_scale() {
        assert_eq!(time_in(TimeScale::of([1.28, 0.916]), 1.28), "1.28 s");
        assert_eq!(time_in(TimeScale::of([1.28, 0.916]), 0.916), "0.92 s");
        let scale = TimeScale::of([0.034, 1.2, f64::INFINITY]);
        assert_eq!(time_in(scale, 0.034), "34.0 ms");
        assert_eq!(time_in(scale, 1.2), "1,200 ms");
        assert_eq!(time_in(scale, f64::INFINITY), "unbounded");
    }

    #[test]
    fn declared_values_are_round() {
        assert_eq!(declared(0.5, Unit::Seconds).text, "500 ms");
        assert_eq!(declared(2.0, Unit::Seconds).text, "2 s");
        assert_eq!(declared(0.05, Unit::Share).text, "5 %");
        assert_eq!(declared(0.001, Unit::Share).text, "0.1 %");
        assert_eq!(declared(0.9999, Unit::Share).text, "99.99 %");
    }

    #[test]
    fn infinity_is_unbounded_and_nan_is_missing() {
        assert_eq!(measured(f64::INFINITY, Unit::Seconds).state, State::Unbounded);
        assert_eq!(measured(f64::NAN, Unit::Seconds).state, State::Missing);
        assert_eq!(measured(f64::INFINITY, Unit::Seconds).value, None);
    }

    #[test]
    fn minutes_read_well() {
        for (value, text) in
            [(0.0, "0 min"), (0.4, "under 1 min"), (12.0, "12 min"), (210.0, "3.5 h")]
        {
            assert_eq!(minutes(value), text);
        }
    }
}
