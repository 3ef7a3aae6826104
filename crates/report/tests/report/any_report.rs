//! Any report renders: no panic, no long line, no unescaped text, whatever its strings and numbers.

use crate::support::samples;
use std::sync::LazyLock;

use cotenant_report::{Report, TerminalOptions, from_json, render_html, render_terminal, to_json};
use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// Puts other strings and numbers into the places of a value that hold any. Words of fixed meaning
/// (`state`, `kind`, `scale`, `word`, `ruling`, `format`) stay.
pub(crate) fn disturb(value: &mut Value, texts: &[String], numbers: &[f64], next: &mut usize) {
    const FIXED: [&str; 7] = ["state", "kind", "scale", "word", "ruling", "format", "outcome"];
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                if !FIXED.contains(&key.as_str()) {
                    disturb(field, texts, numbers, next);
                }
            }
        }
        Value::Array(items) => {
            items.truncate(12);
            for item in items {
                disturb(item, texts, numbers, next);
            }
        }
        Value::String(text) => {
            *next += 1;
            if next.is_multiple_of(3) {
                text.clone_from(&texts[*next % texts.len()]);
            }
        }
        Value::Number(number) if number.is_f64() => {
            *next += 1;
            if next.is_multiple_of(2) {
                *value = numbers[*next % numbers.len()].into();
            }
        }
        _ => {}
    }
}

/// The samples as JSON, built once.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    samples().iter().map(|sample| serde_json::to_value(sample.report()).unwrap()).collect()
});

fn disturbed() -> impl Strategy<Value = Report> {
    let texts = proptest::collection::vec(any::<String>(), 5..9);
    let numbers = proptest::collection::vec(any::<f64>(), 5..9);
    (0..5_usize, texts, numbers, 0..7_usize).prop_map(|(which, texts, numbers, offset)| {
        let mut value = SAMPLES[which].clone();
        let finite: Vec<f64> =
            numbers.into_iter().map(|n| if n.is_finite() { n } else { 0.0 }).collect();
        let mut next = offset;
        disturb(&mut value, &texts, &finite, &mut next);
        from_json(&value.to_string()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_report_renders(report in disturbed()) {
        let text = render_terminal(&report, &TerminalOptions { width: 80, color: false });
        for line in text.lines() {
            prop_assert!(line.width() <= 80, "{line:?}");
        }
        let page = render_html(&report);
        prop_assert!(page.ends_with("</html>"));
        prop_assert!(!page.contains("NaN"), "a coordinate is not a number");
        prop_assert!(serde_json::from_str::<Value>(&to_json(&report)).is_ok());
    }
}
