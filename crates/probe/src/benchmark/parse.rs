//! Text to values: JSON as Python writes it, JSON lines, and the plain part of YAML.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::refusal::{Claim, Refusal};

/// Collections that may lie inside each other.
const DEPTH_MAX: usize = 64;

/// JSON text. Python writes `NaN` and `Infinity`, which JSON has no words for: they become text, so
/// that whoever reads the field refuses it by name.
pub(crate) fn json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_bare_words(text) {
        Some(text) => serde_json::from_str(&text),
        None => Err(error),
    })
}

/// The text with `NaN`, `Infinity` and `-Infinity` in quotes; `None` where there are none.
fn without_bare_words(text: &str) -> Option<String> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut quoted = String::new();
    let (mut in_string, mut escaped, mut copied) = (false, false, 0);
    for (at, character) in text.char_indices() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character == '"' {
            in_string = true;
        } else if at >= copied
            && let Some(word) = WORDS.iter().find(|word| text[at..].starts_with(**word))
        {
            quoted.push_str(&text[copied..at]);
            quoted.push('"');
            quoted.push_str(word);
            quoted.push('"');
            copied = at + word.len();
        }
    }
    if copied == 0 {
        return None;
    }
    quoted.push_str(&text[copied..]);
    Some(quoted)
}

/// JSON lines with their numbers, blank lines left out.
pub(super) fn json_lines(file: &str, text: &str) -> Result<Vec<(u64, Value)>, Box<Refusal>> {
    let mut lines = Vec::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let value = json(line).map_err(|error| {
            Box::new(
                Refusal::new(
                    file,
                    Claim::Anything,
                    format!("the line is not JSON: {error}"),
                    "give the file as the tool wrote it: one JSON value, or one a line",
                )
                .line(number)
                .found(line),
            )
        })?;
        lines.push((number, value));
    }
    Ok(lines)
}

/// An open collection, with the key that waits for its value.
struct Open {
    value: Value,
    key: Option<String>,
}

/// One document of YAML without aliases and tags. Plain scalars that are numbers become numbers.
pub(super) fn yaml(file: &str, text: &str) -> Result<Value, Box<Refusal>> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        disallow_directives: true,
    };
    let refuse = |line: u64, what: String| {
        Box::new(
            Refusal::new(
                file,
                Claim::Anything,
                what,
                "give a result as JSON, JSONL, CSV or YAML, as the tool wrote it",
            )
            .line(line),
        )
    };
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| {
            refuse(error.marker().line() as u64, format!("the file is no known format: {error}"))
        })?;
        let line = span.start.line() as u64;
        let done = match event {
            Event::Scalar(text, style, _, _) => scalar(&text, style == ScalarStyle::Plain),
            Event::SequenceStart(..) => {
                open.push(Open { value: Value::Array(Vec::new()), key: None });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open { value: Value::Object(Map::new()), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(open) => open.value,
                None => continue,
            },
            Event::DocumentStart(..) if root.is_some() => {
                return Err(refuse(line, "a second YAML document begins here".to_owned()));
            }
            Event::Alias(..) => {
                return Err(refuse(line, "YAML aliases stand in no result".to_owned()));
            }
            _ => continue,
        };
        let Some(parent) = open.last_mut() else {
            root = Some(done);
            continue;
        };
        match (&mut parent.value, parent.key.take()) {
            (Value::Array(items), _) => items.push(done),
            (Value::Object(entries), Some(key)) => {
                entries.insert(key, done);
            }
            (Value::Object(_), None) => {
                parent.key = Some(match done {
                    Value::String(key) => key,
                    Value::Array(_) | Value::Object(_) => {
                        return Err(refuse(line, "a YAML key must be a word".to_owned()));
                    }
                    other => other.to_string(),
                });
            }
            _ => {}
        }
    }
    root.ok_or_else(|| refuse(1, "the file holds no value".to_owned()))
}

fn scalar(text: &str, is_plain: bool) -> Value {
    if !is_plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => {
            let is_numeric = text.starts_with(|first: char| {
                first.is_ascii_digit() || matches!(first, '-' | '+' | '.')
            });
            let number = if is_numeric {
                text.parse::<u64>()
                    .ok()
                    .map(Value::from)
                    .or_else(|| text.parse::<f64>().ok().map(Value::from))
            } else {
                None
            };
            number.filter(|number| !number.is_null()).unwrap_or_else(|| text.into())
        }
    }
}
