//! A check in the making.

use crate::plan::model::{Check, Outcome};

/// A check that has decided nothing yet.
pub(super) fn open(key: &'static str, title: String, workloads: Vec<String>) -> Check {
    Check {
        key,
        title,
        workloads,
        outcome: Outcome::Open,
        answer: String::new(),
        arithmetic: Vec::new(),
        would_be_conditional_on: Vec::new(),
        missing: Vec::new(),
        sources: Vec::new(),
    }
}

/// Adds a text unless it stands there already: several tenants may lack the same line.
pub(super) fn push_once(texts: &mut Vec<String>, text: impl Into<String>) {
    let text = text.into();
    if !texts.contains(&text) {
        texts.push(text);
    }
}

/// A list for people: `chat`, `chat and tune`, `a, b and c`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A workload's name as it stands in a sentence.
pub(super) fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// A line of the site file that belongs to one workload.
pub(super) fn line_of(workload: &str, yaml: &str) -> String {
    format!("{yaml} # workload {workload}")
}

/// A number and its noun: `1 GPU`, `7 GPUs`.
pub(super) fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A number with at most this many decimals and no trailing zeros, thousands apart: `22,107.6`.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let is_zero = whole == "0" && part.is_empty();
    let sign = if value < 0.0 && !is_zero { "−" } else { "" };
    if part.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_short() {
        for (value, decimals, text) in [
            (22_107.6, 1, "22,107.6"),
            (1_751.4, 0, "1,751"),
            (0.0, 2, "0"),
            (-0.001, 2, "0"),
            (-1_234.5, 1, "−1,234.5"),
            (1_000_000.0, 2, "1,000,000"),
            (40.104, 2, "40.1"),
        ] {
            assert_eq!(number(value, decimals), text);
        }
    }

    #[test]
    fn lists_read_as_sentences() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..2]), "a and b");
        assert_eq!(counted(1, "GPU"), "1 GPU");
        assert_eq!(counted(7, "GPU"), "7 GPUs");
    }
}
