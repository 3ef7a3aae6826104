//! The little that is read in a PromQL expression: over how long it looks.

use std::fmt::Write as _;
use std::time::Duration;

/// The longest range selector of an expression, as `5m` in `rate(x[5m])`; of a subquery `[1h:1m]`
/// the hour. `None` where there is none, or none that is a duration.
pub(super) fn longest_range(query: &str) -> Option<Duration> {
    let mut longest = None;
    let mut quote = None;
    let mut characters = query.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            // A character behind a backslash ends no string; raw strings know no backslash.
            (Some('"' | '\''), '\\') => {
                characters.next();
            }
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '[') => {
                let inside = &query[at + 1..];
                let end = inside.find([']', ':']).unwrap_or(inside.len());
                longest = longest.max(duration(inside[..end].trim()));
            }
            _ => {}
        }
    }
    longest
}

/// A duration as Prometheus writes it: `1h30m`, `500ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit_ms = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            "y" => 365 * 86_400_000,
            _ => return None,
        };
        rest = &rest[letters..];
        sum = sum.checked_add(Duration::from_millis(unit_ms).checked_mul(number)?)?;
    }
    (!sum.is_zero()).then_some(sum)
}

/// A text for the query part of a URL (RFC 3986): all but the unreserved characters as `%XX`.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_range_counts() {
        let minutes = |m: u64| Some(Duration::from_secs(60 * m));
        for (query, expected) in [
            ("rate(vllm:request_success_total[5m])", minutes(5)),
            ("sum(rate(a[1m])) + sum(rate(b{path=\"[9h]\"}[2m]))", minutes(2)),
            ("max_over_time(rate(a[1m])[1h30m:1m])", minutes(90)),
            ("x{a='it\\'s [9h]'}", None),
            ("x{a=`\\`}[ 1m ]", minutes(1)),
            ("rate(x[500ms])", Some(Duration::from_millis(500))),
            ("vllm:num_requests_running", None),
            ("rate(x[$__rate_interval])", None),
            ("rate(x[5m", minutes(5)),
            ("x[]", None),
        ] {
            assert_eq!(longest_range(query), expected, "{query}");
        }
    }

    #[test]
    fn reserved_characters_are_encoded() {
        assert_eq!(percent_encoded("a+b{c=\"ü\"}[5m]"), "a%2Bb%7Bc%3D%22%C3%BC%22%7D%5B5m%5D");
    }
}
