//! YAML as `kubectl -o yaml` writes it: several documents, no aliases. What YAML 1.2 calls a number is
//! one; everything in quotes is text.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Collections that may lie inside each other.
const DEPTH_MAX: usize = 64;

/// Documents of a file that are read.
const DOCUMENTS_MAX: usize = 1 << 16;

/// A document, and the line at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    pub(super) line: u64,
    pub(super) value: Value,
}

/// An error of YAML, at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) line: u64,
    pub(super) what: String,
}

/// An open collection, with the key that waits for its value.
struct Open {
    value: Value,
    key: Option<String>,
}

/// The documents of a text.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, YamlError> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        disallow_directives: true,
    };
    let mut open: Vec<Open> = Vec::new();
    let mut documents: Vec<Document> = Vec::new();
    let mut line_of_document = 1;
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| YamlError {
            line: error.marker().line() as u64,
            what: error.to_string(),
        })?;
        let line = span.start.line() as u64;
        let done = match event {
            Event::Scalar(text, style, _, _) => scalar(&text, style == ScalarStyle::Plain),
            Event::SequenceStart(..) => {
                if open.is_empty() {
                    line_of_document = line;
                }
                open.push(Open { value: Value::Array(Vec::new()), key: None });
                continue;
            }
            Event::MappingStart(..) => {
                if open.is_empty() {
                    line_of_document = line;
                }
                open.push(Open { value: Value::Object(Map::new()), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(open) => open.value,
                None => continue,
            },
            Event::Alias(..) => {
                return Err(YamlError {
                    line,
                    what: "an alias, which kubectl never writes".to_owned(),
                });
            }
            _ => continue,
        };
        let Some(parent) = open.last_mut() else {
            if documents.len() < DOCUMENTS_MAX {
                documents.push(Document { line: line_of_document, value: done });
            }
            continue;
        };
        put(parent, done).map_err(|what| YamlError { line, what })?;
    }
    Ok(documents)
}

fn put(parent: &mut Open, done: Value) -> Result<(), String> {
    match (&mut parent.value, parent.key.take()) {
        (Value::Array(items), _) => items.push(done),
        (Value::Object(entries), Some(key)) => {
            entries.insert(key, done);
        }
        (Value::Object(_), None) => {
            parent.key = Some(match done {
                Value::String(key) => key,
                Value::Array(_) | Value::Object(_) => {
                    return Err("a key that is no word".to_owned());
                }
                other => other.to_string(),
            });
        }
        _ => {}
    }
    Ok(())
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
            let is_numeric = text
                .strip_prefix(['-', '+'])
                .unwrap_or(text)
                .starts_with(|first: char| first.is_ascii_digit());
            let number = if is_numeric {
                text.parse::<i64>()
                    .map(Value::from)
                    .or_else(|_| text.parse::<f64>().map(Value::from))
                    .ok()
            } else {
                None
            };
            number.filter(|number| !number.is_null()).unwrap_or_else(|| text.into())
        }
    }
}
