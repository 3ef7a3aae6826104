//! The JSON Schema of the site file, made from the table of fields, so that editors complete it.

use serde_json::{Map, Value, json};

use super::fields::SITE;
use super::scalar::{Scalar, quantity};
use super::shape::{Record, Shape};

/// The JSON Schema (draft 2020-12) of the site file.
///
/// It knows keys, kinds, units and required fields. Rules across fields, such as a reserve that is
/// larger than the server, are found by [`super::read_site`] alone.
pub fn schema() -> Value {
    let mut root = record(&SITE);
    if let Value::Object(object) = &mut root {
        object.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".into(), json!("Cotenant site file"));
        object.insert(
            "description".into(),
            json!("One GPU server or pool with its workloads, objectives and operations."),
        );
    }
    root
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Scalar(kind) => scalar(*kind),
        Shape::List(inner) => {
            json!({ "type": "array", "minItems": 1, "items": self::shape(inner) })
        }
        Shape::ListOrNone(inner) => json!({ "type": "array", "items": self::shape(inner) }),
        Shape::ByName(_, inner) => {
            json!({ "type": "object", "additionalProperties": self::shape(inner) })
        }
        Shape::Record(inner) => record(inner),
        Shape::Variant(inner) => variant(inner),
        Shape::Either(kind, inner) => json!({ "anyOf": [scalar(*kind), self::shape(inner)] }),
    }
}

fn properties(inner: &Record) -> Map<String, Value> {
    let of_field = |field: &super::shape::Field| {
        let mut value = shape(&field.shape);
        if let Value::Object(object) = &mut value {
            object.insert(
                "description".into(),
                json!(format!("{} Example: {}", field.meaning, field.example)),
            );
        }
        (field.name.to_owned(), value)
    };
    inner.fields.iter().map(of_field).collect()
}

fn record(inner: &Record) -> Value {
    let required: Vec<&str> =
        inner.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut object = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties(inner),
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if !inner.one_of.is_empty() {
        let choices: Vec<Value> =
            inner.one_of.iter().map(|name| json!({ "required": [name] })).collect();
        object["oneOf"] = json!(choices);
    }
    object
}

fn variant(inner: &Record) -> Value {
    let mut properties = properties(inner);
    for name in inner.bare {
        // `host_cpu:` with nothing behind it is the same as the bare word.
        if let Some(settings) = properties.remove(*name) {
            let description = settings["description"].clone();
            let choice =
                json!({ "anyOf": [settings, { "type": "null" }], "description": description });
            properties.insert((*name).to_owned(), choice);
        }
    }
    let object = json!({
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": properties,
    });
    if inner.bare.is_empty() {
        object
    } else {
        json!({ "anyOf": [{ "enum": inner.bare }, object] })
    }
}

/// A number at the start of a quantity, as a regular expression.
const NUMBER: &str = r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?";

/// A value as editors see it: YAML reads `13.0` as a number, so texts may be numbers too.
fn scalar(kind: Scalar) -> Value {
    let text = |pattern: String| json!({ "type": "string", "pattern": pattern });
    let units = |units: &str| format!(r"^\s*{NUMBER}\s*(?:{units})\s*$");
    let mut value = match kind {
        Scalar::Text | Scalar::Name => json!({ "type": ["string", "number", "boolean"] }),
        Scalar::Choice(words) => json!({ "enum": words }),
        Scalar::Flag => json!({ "type": "boolean" }),
        Scalar::Integer(min, max) => {
            let mut value = json!({ "type": "integer" });
            if min > i64::MIN + 1 {
                value["minimum"] = json!(min);
            }
            if max < i64::MAX {
                value["maximum"] = json!(max);
            }
            value
        }
        Scalar::Number => json!({ "type": "number", "minimum": 0 }),
        Scalar::PositiveNumber => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Scalar::Count => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, text(units("[kKMBGT]?"))] })
        }
        Scalar::Duration | Scalar::CalendarWindow => text(duration_pattern()),
        Scalar::DurationOrZero => json!({ "anyOf": [text(duration_pattern()), { "const": 0 }] }),
        Scalar::Bytes => text(units("[KMGTP]iB|[kKMGTP]?B")),
        Scalar::BytesPerSecond => text(units(r"(?:[KMGTP]iB|[kKMGTP]?B|[kMGT]bit)\s*/\s*s")),
        Scalar::Rate => text(units(r"[^/\d]+/\s*(?:s|sec|second|m|min|minute|h|hour|d|day)")),
        Scalar::RequestRate => {
            text(units(r"(?:reqs?|requests?)\s*/\s*(?:s|sec|second|m|min|minute|h|hour|d|day)"))
        }
        Scalar::TokenRate => {
            text(units(r"(?:toks?|tokens?)\s*/\s*(?:s|sec|second|m|min|minute|h|hour|d|day)"))
        }
        Scalar::Share => json!({
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, text(units("%"))]
        }),
        Scalar::Money => text(units("[A-Z]{3}")),
        Scalar::Window => text(r"^\s*\S.*\s\d{1,2}:\d{2}\s*[-–]\s*\d{1,2}:\d{2}\s*$".to_owned()),
        Scalar::Weekly => text(r"^\s*\S.*\s\d{1,2}:\d{2}\s*$".to_owned()),
        Scalar::Url => text(r"^https?://[^\s]+$".to_owned()),
        Scalar::Indexes => json!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, text(r"^[\d\s,-]+$".to_owned())]
        }),
        Scalar::Interval => text(r"^\s*[\d.].*$".to_owned()),
        Scalar::LostWork => text(r"^(?:none|since_checkpoint|\s*[\d.].*)$".to_owned()),
        Scalar::Reserve => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "const": "derived" }] })
        }
        Scalar::Priority => text(r"^(?:normal|idle|nice\s*(?:[1-9]|1[0-9]))$".to_owned()),
        Scalar::Template => text(r"\{[^{}]+\}".to_owned()),
        Scalar::Date => text(r"^\s*\d{4}-\d{2}-\d{2}\s*$".to_owned()),
        Scalar::Dtype
        | Scalar::Signal
        | Scalar::Slice
        | Scalar::Work
        | Scalar::TimeZone
        | Scalar::Moment => json!({ "type": "string", "minLength": 1 }),
    };
    if let (Some(quantity), Value::Object(object)) = (quantity(kind), &mut value) {
        object.insert(
            "$comment".into(),
            json!(format!("{} such as {}", quantity.with_article(), quantity.forms())),
        );
    }
    value
}

fn duration_pattern() -> String {
    let units = "ns|us|µs|μs|ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?";
    format!(r"^\s*(?:{NUMBER}\s*(?:{units})\s*)+$")
}
