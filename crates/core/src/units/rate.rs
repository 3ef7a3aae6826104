//! Things over time.

use std::fmt;

use super::error::{Quantity, UnitError, UnitProblem};
use super::number::{format_significant, split_number};

/// A rate of requests, tokens, frames or other things.
#[derive(Clone, Debug, PartialEq)]
pub struct RatePerSecond {
    /// Things per second.
    pub per_second: f64,
    /// What is counted, as written: `req`, `tok`, `frames`, `samples`.
    pub unit: String,
    /// The time in which it was written, so that it is shown as it was written.
    pub per: RateTime,
}

/// The time in the denominator of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateTime {
    /// Per second.
    Second,
    /// Per minute.
    Minute,
    /// Per hour.
    Hour,
    /// Per day.
    Day,
}

impl RateTime {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "s" | "sec" | "second" => Self::Second,
            "m" | "min" | "minute" => Self::Minute,
            "h" | "hour" => Self::Hour,
            "d" | "day" => Self::Day,
            _ => return None,
        })
    }

    fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
            Self::Day => 86_400.0,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Minute => "min",
            Self::Hour => "h",
            Self::Day => "d",
        }
    }
}

impl RatePerSecond {
    /// A rate per second of a thing.
    pub fn new(per_second: f64, unit: &str) -> Self {
        Self { per_second, unit: unit.to_owned(), per: RateTime::Second }
    }

    /// Reads a rate: `12 req/s`, `700 req/min`, `4000 tok/s`, `90 frames/h`.
    ///
    /// # Errors
    /// No unit, no time in the unit, a negative or infinite number, or more than 10¹⁵ a second.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        const PER_SECOND_MAX: f64 = 1e15;
        let fail = |problem| Err(UnitError::new(Quantity::Rate, text, problem));
        let (number, written) = split_number(Quantity::Rate, text)?;
        if written.is_empty() {
            return fail(UnitProblem::NoUnit(text.trim().to_owned()));
        }
        let unknown = |meant| {
            let unit = written.to_owned();
            fail(UnitProblem::UnknownUnit { unit, meant })
        };
        let Some((unit, time)) = written.split_once('/') else {
            return unknown(match written.to_ascii_lowercase().as_str() {
                "rps" | "qps" | "req" | "requests" => Some("req/s"),
                "rpm" | "qpm" => Some("req/min"),
                "tps" | "tok" | "tokens" => Some("tok/s"),
                "fps" | "frames" => Some("frames/s"),
                _ => None,
            });
        };
        let unit = unit.trim();
        let is_word = !unit.is_empty()
            && unit.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-' || c == ' ');
        let Some(per) = RateTime::parse(time.trim()).filter(|_| is_word) else {
            return unknown(None);
        };
        let per_second = number / per.seconds();
        if per_second > PER_SECOND_MAX {
            return fail(UnitProblem::TooLarge("1e15 a second"));
        }
        Ok(Self { per_second, unit: unit.to_owned(), per })
    }

    /// Whether requests are counted.
    pub fn is_requests(&self) -> bool {
        matches!(self.unit.as_str(), "req" | "reqs" | "request" | "requests")
    }

    /// Whether tokens are counted.
    pub fn is_tokens(&self) -> bool {
        matches!(self.unit.as_str(), "tok" | "toks" | "token" | "tokens")
    }
}

impl fmt::Display for RatePerSecond {
    /// In the unit and the time in which it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = format_significant(self.per_second * self.per.seconds());
        write!(f, "{value} {}/{}", self.unit, self.per.symbol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_keeps_what_it_counts_and_shows_as_written() {
        for (text, per_second, unit, shown) in [
            ("12 req/s", 12.0, "req", "12 req/s"),
            ("720 req/min", 12.0, "req", "720 req/min"),
            ("4000 tok/s", 4000.0, "tok", "4000 tok/s"),
            ("90 frames/h", 0.025, "frames", "90 frames/h"),
            ("0.5req / s", 0.5, "req", "0.5 req/s"),
        ] {
            let rate = RatePerSecond::parse(text).unwrap();
            assert!((rate.per_second - per_second).abs() < 1e-12);
            assert_eq!(rate.unit, unit);
            assert_eq!(rate.to_string(), shown);
        }
        assert!(RatePerSecond::parse("1 req/s").unwrap().is_requests());
        assert!(RatePerSecond::parse("1 tok/s").unwrap().is_tokens());
    }

    #[test]
    fn refused_forms_say_what_to_write() {
        for (text, message, hint) in [
            ("12", "`12` has no unit", "write the unit: `12 req/s`"),
            ("12 rps", "`rps` is not a unit of a rate", "did you mean `req/s`?"),
            ("12 req", "`req` is not a unit of a rate", "did you mean `req/s`?"),
            ("12 /s", "`/s` is not a unit of a rate", "write `12 req/s`"),
            ("12 req/fortnight", "`req/fortnight` is not a unit of a rate", "write `12 req/s`"),
            ("-1 req/s", "`-1 req/s` is negative", "write `12 req/s`"),
            ("1e20 req/s", "`1e20 req/s` is more than 1e15 a second", "write `12 req/s`"),
        ] {
            let error = RatePerSecond::parse(text).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
            assert!(error.hint().starts_with(hint), "{text}: {}", error.hint());
        }
    }
}
