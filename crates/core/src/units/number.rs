//! The number in front of a unit, and counts.

use super::error::{Quantity, UnitError, UnitProblem};

/// Splits a quantity into its number and the text behind it, which is trimmed and may be empty.
/// The number is finite and not negative; `_` may stand between digits.
pub(super) fn split_number(quantity: Quantity, text: &str) -> Result<(f64, &str), UnitError> {
    let fail = |problem| Err(UnitError::new(quantity, text, problem));
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return fail(UnitProblem::Empty);
    }
    let unsigned = trimmed.strip_prefix(['-', '−']).map_or(trimmed, str::trim_start);
    let is_negative = unsigned.len() < trimmed.len();
    let lower = unsigned.trim_start_matches(['+', '.']).to_ascii_lowercase();
    if lower.starts_with("inf") || lower.starts_with("nan") || lower.starts_with('∞') {
        return fail(UnitProblem::NotFinite);
    }
    let (digits, rest) = unsigned.split_at(number_length(unsigned));
    if digits.is_empty() {
        return fail(UnitProblem::NoNumber);
    }
    if is_negative {
        return fail(UnitProblem::Negative);
    }
    let mut behind = rest.chars();
    if behind.next() == Some(',') && behind.next().is_some_and(|c| c.is_ascii_digit()) {
        return fail(UnitProblem::DecimalComma);
    }
    let Ok(value) = digits.replace('_', "").parse::<f64>() else {
        return fail(UnitProblem::NoNumber);
    };
    if !value.is_finite() {
        return fail(UnitProblem::NotFinite);
    }
    Ok((value, rest.trim()))
}

/// Length in bytes of the decimal number at the start of a text: digits, at most one point, and an
/// exponent if digits follow the `e`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut seen_point = false;
    let mut seen_digit = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => seen_digit = true,
            b'_' if seen_digit && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {}
            b'.' if !seen_point => seen_point = true,
            _ => break,
        }
        at += 1;
    }
    if !seen_digit {
        return 0;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let digits = bytes[at + 1 + sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            return at + 1 + sign + digits;
        }
    }
    at
}

/// Reads a whole number of things: `1000`, `1_000_000`, `8.03 B` (10⁹), `70 M`, `500 k`, `1.5 T`.
///
/// # Errors
/// Anything that is not a whole number from 0 to 2⁵³, the largest range in which every whole number
/// has its own floating point value.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    const COUNT_MAX: f64 = 9_007_199_254_740_992.0;
    let fail = |problem| Err(UnitError::new(Quantity::Count, text, problem));
    let (number, unit) = split_number(Quantity::Count, text)?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "B" | "G" => 1e9,
        "T" => 1e12,
        _ => {
            let meant = match unit {
                "m" => Some("M"),
                "b" | "bn" | "g" => Some("B"),
                "t" => Some("T"),
                _ => None,
            };
            return fail(UnitProblem::UnknownUnit { unit: unit.to_owned(), meant });
        }
    };
    let value = number * factor;
    let whole = value.round();
    if whole > COUNT_MAX {
        return fail(UnitProblem::TooLarge("9e15"));
    }
    // A product such as 8.03 × 10⁹ may miss its whole number by rounding alone.
    if (value - whole).abs() > whole.max(1.0) * 1e-12 {
        return fail(UnitProblem::NotWhole);
    }
    Ok(whole as u64)
}

/// A count for people: `999`, `12,500`, `8.03 B`.
pub fn format_count(count: u64) -> String {
    for (factor, unit) in [(1_000_000_000_000_u64, "T"), (1_000_000_000, "B"), (1_000_000, "M")] {
        if count >= factor {
            return format!("{} {unit}", format_significant(count as f64 / factor as f64));
        }
    }
    if count >= 10_000 {
        format!("{},{:03}", count / 1000, count % 1000)
    } else {
        count.to_string()
    }
}

/// A number with up to four significant digits and no trailing zeros; whole numbers in full.
pub(super) fn format_significant(value: f64) -> String {
    const DIGITS: i32 = 4;
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (DIGITS - 1 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_may_carry_a_magnitude() {
        for (text, count) in [
            ("0", 0),
            ("1000", 1000),
            ("1_000_000", 1_000_000),
            ("8.03 B", 8_030_000_000),
            ("70M", 70_000_000),
            ("500 k", 500_000),
            ("1e6", 1_000_000),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for (text, message) in [
            ("1.5", "`1.5` is not a whole number"),
            ("-3", "`-3` is negative"),
            ("", "a count is missing"),
            ("eight", "`eight` is not a count"),
            ("8 bn", "`bn` is not a unit of a count"),
            ("1e30", "`1e30` is more than 9e15"),
            ("1e999", "`1e999` is not a finite number"),
            (".inf", "`.inf` is not a finite number"),
        ] {
            assert_eq!(parse_count(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn counts_are_shown_short() {
        for (count, text) in
            [(999, "999"), (1000, "1000"), (12_500, "12,500"), (8_030_000_000, "8.03 B")]
        {
            assert_eq!(format_count(count), text);
        }
    }
}
