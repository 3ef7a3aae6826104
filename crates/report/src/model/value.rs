//! A value as it is shown, and the words of a ruling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands in a cell where there is nothing to compare.
pub(crate) const NOT_COMPARED: &str = "not compared";

/// What kind of content a [`Value`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A finite number: `value` holds it.
    Known,
    /// A number without limit (a request that never completed): `value` is null.
    Unbounded,
    /// Nothing was seen: `value` is null and `text` says why.
    Missing,
    /// Words, not a number: `value` is null.
    Words,
}

/// A value with the text that every rendering prints for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// The number in `unit`, where `state` is `known`.
    pub value: Option<f64>,
    /// What kind of content this is.
    pub state: State,
    /// Unit of `value`: `s`, `share`, `req/s`, `tokens/s`, `ratio`, `count`, `cores` or empty.
    pub unit: String,
    /// What is printed: the number in a unit that people read, or the reason why there is none.
    pub text: String,
}

impl Value {
    /// Words in place of a number.
    pub fn words(text: impl Into<String>) -> Self {
        Self { value: None, state: State::Words, unit: String::new(), text: text.into() }
    }

    /// A value that was not seen, with the reason: prints as `not seen: <reason>`.
    pub fn missing(reason: impl AsRef<str>) -> Self {
        let text = format!("not seen: {}", reason.as_ref());
        Self { value: None, state: State::Missing, unit: String::new(), text }
    }
}

/// The word for an objective, a gate or the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Word {
    /// It holds as declared.
    #[serde(rename = "PASS")]
    Pass,
    /// It holds under narrower conditions that were tested.
    #[serde(rename = "CONDITIONAL")]
    Conditional,
    /// Something needed to decide is missing.
    #[serde(rename = "NOT PROVEN")]
    NotProven,
    /// It does not hold.
    #[serde(rename = "FAIL")]
    Fail,
    /// The tests prove nothing, in either direction.
    #[serde(rename = "INVALID")]
    Invalid,
}

impl Word {
    /// The word as printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Conditional => "CONDITIONAL",
            Self::NotProven => "NOT PROVEN",
            Self::Fail => "FAIL",
            Self::Invalid => "INVALID",
        }
    }

    /// A mark that tells the words apart without colour.
    pub fn mark(self) -> char {
        match self {
            Self::Pass => '✓',
            Self::Conditional => '◆',
            Self::NotProven => '?',
            Self::Fail => '✗',
            Self::Invalid => '⊘',
        }
    }
}
