//! Why a quantity could not be read.

use std::fmt;

/// The kind of quantity that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// A length of time.
    Duration,
    /// An amount of memory or storage.
    Bytes,
    /// Bytes over time.
    BytesPerSecond,
    /// Requests, tokens, frames or other things over time.
    Rate,
    /// A part of a whole, from 0 to 1.
    Share,
    /// An amount of a currency.
    Money,
    /// A whole number of things.
    Count,
}

impl Quantity {
    /// The quantity with its article, for messages.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Duration => "a duration",
            Self::Bytes => "an amount of memory",
            Self::BytesPerSecond => "a bandwidth",
            Self::Rate => "a rate",
            Self::Share => "a share",
            Self::Money => "an amount of money",
            Self::Count => "a count",
        }
    }

    /// The accepted forms, by example.
    pub fn forms(self) -> &'static str {
        match self {
            Self::Duration => "`500 ms`, `1.5 s`, `30 min`, `6 h`, `2 d`, `1 w` or `4h 30m`",
            Self::Bytes => "`80 GiB`, `512 MiB`, `64 KiB`, `2 TiB`, or decimal `80 GB`, `500 MB`",
            Self::BytesPerSecond => "`3.5 GB/s`, `900 MiB/s` or `25 Gbit/s`",
            Self::Rate => "`12 req/s`, `700 req/min`, `4000 tok/s` or `90 frames/h`",
            Self::Share => "`5 %` or `0.05`",
            Self::Money => "`2.50 EUR` or `3 USD`",
            Self::Count => "`1000`, `1_000_000`, `8.03 B`, `70 M` or `500 k`",
        }
    }
}

/// What is wrong with the text.
#[derive(Clone, Debug, PartialEq)]
pub enum UnitProblem {
    /// Nothing was written.
    Empty,
    /// The text does not begin with a number.
    NoNumber,
    /// A number was written with a comma.
    DecimalComma,
    /// A number without a unit; the bare number is kept so that units can be offered with it.
    NoUnit(String),
    /// The unit is not one of this quantity; a near one is offered where there is one.
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// What was probably meant.
        meant: Option<&'static str>,
    },
    /// The number is below zero.
    Negative,
    /// The number is not finite.
    NotFinite,
    /// The number is larger than can be held; the limit for people.
    TooLarge(&'static str),
    /// The number must be a whole one.
    NotWhole,
    /// A share above 1.
    AboveOne,
}

/// A quantity that could not be read. Its text is a lowercase fragment; [`UnitError::hint`] says
/// what to write instead.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitError {
    /// What was expected.
    pub quantity: Quantity,
    /// The text that was found.
    pub found: String,
    /// What is wrong with it.
    pub problem: UnitProblem,
}

impl UnitError {
    pub(super) fn new(quantity: Quantity, found: &str, problem: UnitProblem) -> Self {
        /// Longest part of a wrong text that a message repeats, in characters.
        const FOUND_CHARACTERS_MAX: usize = 60;
        let mut shown: String = found.chars().take(FOUND_CHARACTERS_MAX).collect();
        if shown.len() < found.len() {
            shown.push('…');
        }
        Self { quantity, found: shown, problem }
    }

    /// What to write instead.
    pub fn hint(&self) -> String {
        let forms = self.quantity.forms();
        match &self.problem {
            UnitProblem::NoUnit(number) => match self.quantity {
                Quantity::Duration => {
                    format!(
                        "write the unit: `{number} ms`, `{number} s`, `{number} min` or `{number} h`"
                    )
                }
                Quantity::Bytes => {
                    format!(
                        "write the unit: `{number} MiB`, `{number} GiB` or decimal `{number} GB`"
                    )
                }
                Quantity::BytesPerSecond => {
                    format!("write the unit: `{number} MB/s`, `{number} GB/s` or `{number} Gbit/s`")
                }
                Quantity::Rate => {
                    format!(
                        "write the unit: `{number} req/s`, `{number} req/min` or `{number} tok/s`"
                    )
                }
                Quantity::Money => format!("write the currency: `{number} EUR` or `{number} USD`"),
                Quantity::Share | Quantity::Count => format!("write {forms}"),
            },
            UnitProblem::UnknownUnit { meant: Some(meant), .. } => {
                format!("did you mean `{meant}`?")
            }
            UnitProblem::DecimalComma => {
                format!("write a point, not a comma: `{}`", self.found.replacen(',', ".", 1))
            }
            UnitProblem::AboveOne => {
                format!("a share is at most 1; write a percentage with its sign, {forms}")
            }
            _ => format!("write {forms}"),
        }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.quantity.with_article();
        let found = &self.found;
        match &self.problem {
            UnitProblem::Empty => write!(f, "{what} is missing"),
            UnitProblem::NoNumber => write!(f, "`{found}` is not {what}"),
            UnitProblem::DecimalComma => write!(f, "`{found}` has a comma in its number"),
            UnitProblem::NoUnit(_) => write!(f, "`{found}` has no unit"),
            UnitProblem::UnknownUnit { unit, .. } => write!(f, "`{unit}` is not a unit of {what}"),
            UnitProblem::Negative => write!(f, "`{found}` is negative"),
            UnitProblem::NotFinite => write!(f, "`{found}` is not a finite number"),
            UnitProblem::TooLarge(limit) => write!(f, "`{found}` is more than {limit}"),
            UnitProblem::NotWhole => write!(f, "`{found}` is not a whole number"),
            UnitProblem::AboveOne => write!(f, "`{found}` is more than the whole"),
        }
    }
}

impl std::error::Error for UnitError {}
