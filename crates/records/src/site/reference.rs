//! The reference of the site file as Markdown, made from the table of fields.

use std::fmt::Write as _;

use super::fields::SITE;
use super::scalar::{Scalar, quantity};
use super::shape::{Record, Shape};

/// Every field of the site file with its meaning, form, example and what it feeds, as Markdown.
pub fn reference() -> String {
    let mut output = String::new();
    let mut done: Vec<(*const Record, String)> = Vec::new();
    section(&SITE, "The file", &mut done, &mut output);
    output
}

fn section(
    record: &'static Record,
    path: &str,
    done: &mut Vec<(*const Record, String)>,
    output: &mut String,
) {
    done.push((std::ptr::from_ref(record), path.to_owned()));
    // Writing to a String cannot fail.
    let _ = write!(output, "### {path}\n\n");
    if !record.one_of.is_empty() {
        let _ =
            write!(output, "Exactly one of {}.\n\n", super::scalar::alternatives(record.one_of));
    }
    let _ = write!(output, "| key | value | feeds | meaning | example |\n|---|---|---|---|---|\n");
    for field in record.fields {
        let required = if field.is_required { " (required)" } else { "" };
        let _ = writeln!(
            output,
            "| `{}`{required} | {} | {} | {} | `{}` |",
            field.name,
            value_of(&field.shape),
            field.feeds,
            field.meaning.replace('|', "\\|"),
            field.example.replace('|', "\\|"),
        );
    }
    output.push('\n');
    for field in record.fields {
        let below = match path {
            "The file" => field.name.to_owned(),
            _ => format!("{path}.{}", field.name),
        };
        inside(&field.shape, &below, done, output);
    }
}

/// The groups below a field, each once.
fn inside(
    shape: &'static Shape,
    path: &str,
    done: &mut Vec<(*const Record, String)>,
    output: &mut String,
) {
    match shape {
        Shape::Scalar(_) => {}
        Shape::Either(_, inner) => inside(inner, path, done, output),
        Shape::List(inner) | Shape::ListOrNone(inner) => {
            inside(inner, &format!("{path}[]"), done, output);
        }
        Shape::ByName(_, inner) => inside(inner, &format!("{path}.<name>"), done, output),
        Shape::Record(record) | Shape::Variant(record) => {
            let known = done.iter().find(|(seen, _)| std::ptr::eq(*seen, *record));
            match known {
                Some((_, first)) => {
                    let _ = write!(output, "### {path}\n\nAs `{first}`.\n\n");
                }
                None => section(record, path, done, output),
            }
        }
    }
}

/// What a value looks like, in a few words.
fn value_of(shape: &Shape) -> String {
    match shape {
        Shape::Scalar(scalar) => scalar_of(*scalar),
        Shape::List(inner) | Shape::ListOrNone(inner) => match **inner {
            Shape::Scalar(scalar) => format!("list of: {}", scalar_of(scalar)),
            _ => "list".to_owned(),
        },
        Shape::ByName(super::shape::Names::Workload, _) => "by workload".to_owned(),
        Shape::ByName(super::shape::Names::Free, _) => "by name".to_owned(),
        Shape::Record(_) => "group".to_owned(),
        Shape::Variant(_) => "exactly one key".to_owned(),
        Shape::Either(scalar, _) => format!("{}, or in full", scalar_of(*scalar)),
    }
}

fn scalar_of(scalar: Scalar) -> String {
    if let Some(quantity) = quantity(scalar) {
        let name = quantity.with_article();
        return name.split_once(' ').map_or(name, |(_, name)| name).to_owned();
    }
    match scalar {
        Scalar::Text => "text",
        Scalar::Name => "name",
        Scalar::Choice(_) | Scalar::Dtype => "one word",
        Scalar::Flag => "`true` or `false`",
        Scalar::Integer(..) => "whole number",
        Scalar::Number | Scalar::PositiveNumber => "number",
        Scalar::TimeZone => "time zone",
        Scalar::Moment => "date and time",
        Scalar::Window => "weekly window",
        Scalar::Weekly => "days and time",
        Scalar::Date => "date",
        Scalar::Url => "URL",
        Scalar::Indexes => "numbers",
        Scalar::Signal => "signal",
        Scalar::Interval => "duration or steps",
        Scalar::LostWork => "word, steps or duration",
        Scalar::Reserve => "number or `derived`",
        Scalar::Priority => "`normal`, `idle` or `nice N`",
        Scalar::Slice => "word or duration",
        Scalar::Template => "template",
        Scalar::Work => "amount with unit",
        _ => "value",
    }
    .to_owned()
}
