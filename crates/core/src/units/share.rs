//! Parts of a whole.

use std::fmt;

use super::error::{Quantity, UnitError, UnitProblem};
use super::number::split_number;

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// The share, if it lies from 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The part, from 0 to 1.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Reads a share: `5 %` or `0.05`.
    ///
    /// # Errors
    /// An unknown unit, or a number outside 0 to 1 (0 % to 100 %).
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        let fail = |problem| Err(UnitError::new(Quantity::Share, text, problem));
        let (number, unit) = split_number(Quantity::Share, text)?;
        let value = match unit {
            "" => number,
            // Shifted in decimal: 99.9 ÷ 100 in binary is not the number nearest to 0.999.
            "%" => format!("{number}e-2").parse().unwrap_or(number / 100.0),
            _ => {
                let meant = matches!(unit, "percent" | "pct" | "per cent").then_some("%");
                return fail(UnitProblem::UnknownUnit { unit: unit.to_owned(), meant });
            }
        };
        match Self::new(value) {
            Some(share) => Ok(share),
            None => fail(UnitProblem::AboveOne),
        }
    }
}

impl fmt::Display for Share {
    /// As a percentage with as many digits as are needed: `5 %`, `99.95 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.6}", self.0 * 100.0);
        write!(f, "{} %", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!(Share::parse("5 %").unwrap().value(), 0.05);
        assert_eq!(Share::parse("0.05").unwrap().value(), 0.05);
        assert_eq!(Share::parse("1").unwrap().value(), 1.0);
        assert_eq!(Share::parse("99.9 %").unwrap().value(), 0.999);
        assert_eq!(Share::parse("99.95%").unwrap().to_string(), "99.95 %");
        assert_eq!(Share::parse("100 %").unwrap().to_string(), "100 %");
        for (text, message) in [
            ("5", "`5` is more than the whole"),
            ("101 %", "`101 %` is more than the whole"),
            ("-1 %", "`-1 %` is negative"),
            ("5 percent", "`percent` is not a unit of a share"),
            ("nan", "`nan` is not a finite number"),
        ] {
            assert_eq!(Share::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        assert_eq!(Share::new(f64::NAN), None);
    }
}
