//! A value of a JSON or YAML file that knows its path, and numbers that are checked when read.

use serde_json::Value;

use super::refusal::{Claim, Refusal};

/// A value at a path.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u64>,
    pub(super) path: String,
    pub(super) value: &'a Value,
}

type Checked<T> = Result<T, Box<Refusal>>;

impl<'a> Node<'a> {
    pub(super) fn root(file: &'a str, line: Option<u64>, value: &'a Value) -> Self {
        Self { file, line, path: String::new(), value }
    }

    /// The value under a key; `None` where it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let path =
            if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Node { file: self.file, line: self.line, path, value })
    }

    /// The value under several keys in turn.
    pub(super) fn walk(&self, keys: &[&str]) -> Option<Node<'a>> {
        keys.iter().try_fold(self.clone(), |node, key| node.get(key))
    }

    /// The first of several keys that is there.
    pub(super) fn any(&self, keys: &[&str]) -> Option<Node<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// The items of a list; none for anything else.
    pub(super) fn items(&self) -> Vec<Node<'a>> {
        let Some(items) = self.value.as_array() else { return Vec::new() };
        items
            .iter()
            .enumerate()
            .map(|(index, value)| Node {
                file: self.file,
                line: self.line,
                path: format!("{}[{index}]", self.path),
                value,
            })
            .collect()
    }

    /// Text, or a number as text.
    pub(super) fn text(&self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// A finite number.
    pub(super) fn number(&self) -> Checked<f64> {
        self.value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| {
            self.refuse("a finite number must stand here", "fetch the tool's own file again")
        })
    }

    /// A finite number that is not negative: a time, a rate, a size.
    pub(super) fn amount(&self) -> Checked<f64> {
        let number = self.number()?;
        if number < 0.0 {
            return Err(self.refuse(
                "a time, a rate or a count cannot be negative",
                "repeat the run: the tool recorded something that did not happen",
            ));
        }
        Ok(number)
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self) -> Checked<u64> {
        let number = self.amount()?;
        if number.fract() != 0.0 || number > 9e15 {
            return Err(self.refuse("a whole number must stand here", "give the tool's own file"));
        }
        Ok(self.value.as_u64().unwrap_or(number as u64))
    }

    /// Nanoseconds of a clock, which a float could not hold exactly.
    pub(super) fn count_of_ns(&self) -> Checked<u64> {
        match self.value.as_u64() {
            Some(ns) => Ok(ns),
            None => Ok(self.amount()? as u64),
        }
    }

    /// A rate of requests; `None` where the tool says "as fast as possible".
    pub(super) fn rate(&self) -> Checked<Option<f64>> {
        match self.value.as_str() {
            Some("inf" | "Infinity" | ".inf") => Ok(None),
            Some(text) => match text.trim().parse::<f64>() {
                Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(Some(rate)),
                _ => Err(self.refuse("a rate must be a number or inf", "name the rate of the run")),
            },
            None => self.amount().map(Some),
        }
    }

    pub(super) fn refuse(&self, rule: impl Into<String>, hint: impl Into<String>) -> Box<Refusal> {
        let mut refusal = Refusal::new(self.file, Claim::Anything, rule, hint)
            .at(self.path.clone())
            .found(&self.value.to_string());
        refusal.line = self.line;
        Box::new(refusal)
    }
}

/// A checked number of an optional field.
pub(super) fn amount(node: Option<Node<'_>>) -> Checked<Option<f64>> {
    node.map(|node| node.amount()).transpose()
}

/// A checked whole number of an optional field.
pub(super) fn count(node: Option<Node<'_>>) -> Checked<Option<u64>> {
    node.map(|node| node.count()).transpose()
}

/// The text of an optional field.
pub(super) fn text(node: Option<Node<'_>>) -> Option<String> {
    node.and_then(|node| node.text())
}
