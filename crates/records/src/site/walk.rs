//! The walk over a tree: every structural problem at once.

use cotenant_core::units::Quantity;

use super::nearest::nearest;
use super::scalar::{Scalar, alternatives, quantity};
use super::shape::{Field, Names, Record, Shape};
use super::tree::{Entry, Node, NodeKind};
use super::{Problem, Span};

/// Checks a tree against a record.
pub(super) fn walk(root: &Node, record: &'static Record) -> Vec<Problem> {
    let mut walker = Walker { problems: Vec::new(), records: Vec::new() };
    walker.record(root, record, Place { name: "the site", span: head_of(root) });
    walker.problems
}

/// What is being looked at: the key that leads to it.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    span: Span,
}

struct Walker {
    problems: Vec<Problem>,
    /// The records around the current one, outermost first.
    records: Vec<&'static Record>,
}

/// Where a group is pointed at: its first key.
fn head_of(node: &Node) -> Span {
    node.entries().first().map_or(node.span, |entry| entry.key_span)
}

impl Walker {
    fn shape(&mut self, node: &Node, shape: &'static Shape, place: Place<'_>) {
        if matches!(node.kind, NodeKind::Broken) {
            return;
        }
        if matches!(node.kind, NodeKind::Null) {
            self.problems.push(
                Problem::error("no-value", format!("`{}` has no value", place.name))
                    .at(place.span, "nothing stands behind the colon")
                    .hint(no_value_hint(shape)),
            );
            return;
        }
        match shape {
            Shape::Scalar(scalar) => self.scalar(node, *scalar, place),
            Shape::List(inner) => {
                if matches!(&node.kind, NodeKind::List(items) if items.is_empty()) {
                    self.empty_list(node, place);
                }
                self.list(node, inner, place);
            }
            Shape::ListOrNone(inner) => self.list(node, inner, place),
            Shape::ByName(names, inner) => self.by_name(node, *names, inner, place),
            Shape::Record(record) => self.record(node, record, place),
            Shape::Variant(record) => self.variant(node, record, place),
            Shape::Either(scalar, inner) => match node.kind {
                NodeKind::Scalar(_) => self.scalar(node, *scalar, place),
                _ => self.shape(node, inner, place),
            },
        }
    }

    fn scalar(&mut self, node: &Node, scalar: Scalar, place: Place<'_>) {
        let Some(text) = node.text() else {
            self.wrong_kind(node, place, "a single value");
            return;
        };
        if text == "?" {
            self.problems.push(
                Problem::error(
                    "unknown-value",
                    format!("`{}` is still to be filled in", place.name),
                )
                .at(node.span, "not known yet")
                .hint("write the value, or remove the line"),
            );
            return;
        }
        if let Err(fault) = scalar.check(text) {
            let code = match (scalar, quantity(scalar)) {
                (Scalar::TimeZone, _) => "time-zone",
                (_, Some(Quantity::Count)) => "number",
                (_, Some(_)) => "quantity",
                (Scalar::Integer(..) | Scalar::Number | Scalar::PositiveNumber, _) => "number",
                (Scalar::Choice(_) | Scalar::Signal | Scalar::Dtype | Scalar::Flag, _) => "word",
                _ => "value",
            };
            self.problems.push(
                Problem::error(code, format!("{}: {}", place.name, fault.message))
                    .at(node.span, if fault.is_other_kind { expected(scalar) } else { "" })
                    .hint(fault.hint),
            );
        }
    }

    fn list(&mut self, node: &Node, inner: &'static Shape, place: Place<'_>) {
        let NodeKind::List(items) = &node.kind else {
            self.problems.push(
                Problem::error(
                    "kind",
                    format!("`{}` must be a list, not {}", place.name, node.kind_name()),
                )
                .at(place.span, "a list is expected here")
                .hint(match node.kind {
                    NodeKind::Scalar(_) => "put it into brackets: `[a, b]`".to_owned(),
                    _ => format!("begin each item of `{}` with `- `", place.name),
                }),
            );
            return;
        };
        for item in items {
            self.shape(item, inner, Place { name: place.name, span: head_of(item) });
        }
    }

    fn empty_list(&mut self, node: &Node, place: Place<'_>) {
        self.problems.push(
            Problem::error("empty-list", format!("`{}` is an empty list", place.name))
                .at(node.span, "")
                .hint("add an item, or remove the line"),
        );
    }

    fn by_name(&mut self, node: &Node, names: Names, inner: &'static Shape, place: Place<'_>) {
        let NodeKind::Map(entries) = &node.kind else {
            let what = match names {
                Names::Workload => "a group of workloads by name",
                Names::Free => "a group of names",
            };
            self.wrong_kind(node, place, what);
            return;
        };
        for entry in entries {
            self.shape(&entry.value, inner, Place { name: &entry.key, span: entry.key_span });
        }
    }

    fn record(&mut self, node: &Node, record: &'static Record, place: Place<'_>) {
        let NodeKind::Map(entries) = &node.kind else {
            self.wrong_kind(node, place, "a group of keys");
            return;
        };
        for entry in entries {
            match record.field(&entry.key) {
                Some(field) => {
                    self.records.push(record);
                    let inside = Place { name: &entry.key, span: entry.key_span };
                    self.shape(&entry.value, &field.shape, inside);
                    self.records.pop();
                }
                None => self.unknown_key(entry, record),
            }
        }
        self.missing(node, record, place);
    }

    /// Required fields that are absent, and the choice of exactly one.
    fn missing(&mut self, node: &Node, record: &'static Record, place: Place<'_>) {
        for field in record.fields.iter().filter(|field| field.is_required) {
            if node.entry(field.name).is_none() {
                self.problems.push(
                    Problem::error("missing", format!("{} lacks `{}`", record.what, field.name))
                        .at(place.span, format!("`{}` is missing here", field.name))
                        .hint(format!("add `{}`", line_of(field))),
                );
            }
        }
        let given: Vec<&Entry> = node
            .entries()
            .iter()
            .filter(|entry| record.one_of.contains(&entry.key.as_str()))
            .collect();
        match given.as_slice() {
            [] if !record.one_of.is_empty() => self.problems.push(
                Problem::error("missing", format!("{} lacks what it is", record.what))
                    .at(place.span, "one key is missing here")
                    .hint(format!("add one of {}", alternatives(record.one_of))),
            ),
            [first, second, ..] => self.problems.push(
                Problem::error("one-of", format!("{} is two things at once", record.what))
                    .at(second.key_span, format!("also `{}`", second.key))
                    .beside(first.key_span, format!("already `{}`", first.key))
                    .hint("keep one of them"),
            ),
            _ => {}
        }
    }

    fn variant(&mut self, node: &Node, record: &'static Record, place: Place<'_>) {
        let names: Vec<&str> = record.fields.iter().map(|field| field.name).collect();
        let entries = match &node.kind {
            NodeKind::Scalar(text) => {
                self.bare_variant(node, text, record, place, &names);
                return;
            }
            NodeKind::Map(entries) => entries,
            _ => {
                self.wrong_kind(node, place, "one key with its settings");
                return;
            }
        };
        for entry in entries {
            match record.field(&entry.key) {
                // `host_cpu:` with nothing behind it is the same as the bare word.
                Some(field)
                    if matches!(entry.value.kind, NodeKind::Null)
                        && record.bare.contains(&field.name) => {}
                Some(field) => {
                    self.records.push(record);
                    let inside = Place { name: &entry.key, span: entry.key_span };
                    self.shape(&entry.value, &field.shape, inside);
                    self.records.pop();
                }
                None => self.unknown_key(entry, record),
            }
        }
        let mut known = entries.iter().filter(|entry| record.field(&entry.key).is_some());
        match (known.next(), known.next()) {
            (Some(first), Some(second)) => self.problems.push(
                Problem::error("one-of", format!("`{}` holds exactly one of its keys", place.name))
                    .at(second.key_span, "also given here")
                    .beside(first.key_span, "already given here")
                    .hint("keep one of the two"),
            ),
            (None, _) if entries.is_empty() => self.problems.push(
                Problem::error("missing", format!("`{}` is empty", place.name))
                    .at(place.span, "")
                    .hint(format!("write one of {}", alternatives(&names))),
            ),
            _ => {}
        }
    }

    fn bare_variant(
        &mut self,
        node: &Node,
        text: &str,
        record: &'static Record,
        place: Place<'_>,
        names: &[&str],
    ) {
        if record.bare.contains(&text) {
            return;
        }
        let (message, hint) = match record.field(text) {
            Some(field) => (
                format!("`{text}` needs its settings"),
                format!("write `{}: {{ {} }}`", place.name, line_of(field)),
            ),
            None => (
                format!("{}: `{}` is not known here", place.name, super::scalar::shorten(text)),
                match nearest(text, names.iter().copied()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("write one of {}", alternatives(names)),
                },
            ),
        };
        self.problems.push(Problem::error("word", message).at(node.span, "").hint(hint));
    }

    fn wrong_kind(&mut self, node: &Node, place: Place<'_>, expected: &str) {
        let found = node.kind_name();
        let span = if node.span.end > node.span.start { node.span } else { place.span };
        self.problems.push(
            Problem::error("kind", format!("`{}` must be {expected}, not {found}", place.name))
                .at(span, format!("this is {found}"))
                .hint(match (&node.kind, expected) {
                    (NodeKind::List(_), "a group of keys") => {
                        "write keys with values, not a list of items".to_owned()
                    }
                    (_, "a single value") => "write one value behind the colon".to_owned(),
                    _ => format!(
                        "put its keys on lines of their own, indented below `{}`",
                        place.name
                    ),
                }),
        );
    }

    /// An unknown key, with what it probably should have been: the same key one level down or up,
    /// else a near one.
    fn unknown_key(&mut self, entry: &Entry, record: &'static Record) {
        let key = entry.key.as_str();
        let problem = Problem::error(
            "unknown-key",
            format!("`{}` is not a key of {}", super::scalar::shorten(key), record.what),
        )
        .at(entry.key_span, "unknown key");
        let below = record.fields.iter().find(|field| {
            field.shape.record_below().is_some_and(|inner| inner.field(key).is_some())
        });
        let above = self.records.iter().rev().find(|outer| outer.field(key).is_some());
        let near = nearest(key, record.fields.iter().map(|field| field.name));
        let hint = if key == "<<" {
            "merge keys are not read; write the keys out, or use `key: *anchor`".to_owned()
        } else if let Some(near) =
            near.filter(|near| near.replace('_', "-") == key.replace('_', "-"))
        {
            format!("did you mean `{near}`?")
        } else if let Some(field) = below {
            format!("`{key}` belongs under `{}`: indent it below that key", field.name)
        } else if let Some(outer) = above {
            format!("`{key}` belongs further out, to {}: indent it less", outer.what)
        } else if let Some(near) = near {
            format!("did you mean `{near}`?")
        } else {
            let names: Vec<&str> = record.fields.iter().map(|field| field.name).collect();
            format!("known here: {}", names.join(", "))
        };
        self.problems.push(problem.hint(hint));
    }
}

/// A field as a line of a site file.
fn line_of(field: &Field) -> String {
    format!("{}: {}", field.name, field.example)
}

fn no_value_hint(shape: &Shape) -> String {
    match shape {
        Shape::Scalar(_) | Shape::Either(..) => "write the value, or remove the line".to_owned(),
        Shape::ListOrNone(_) => "write items below it, or `[]` for none".to_owned(),
        Shape::List(_) => "write items below it, each with `- `, or remove the line".to_owned(),
        Shape::ByName(..) | Shape::Record(_) | Shape::Variant(_) => {
            "indent its keys below it, or remove the line".to_owned()
        }
    }
}

/// What is expected, in a few words for the caret.
fn expected(scalar: Scalar) -> &'static str {
    match quantity(scalar) {
        Some(quantity) => match quantity {
            Quantity::Duration => "expected a duration",
            Quantity::Bytes => "expected an amount of memory",
            Quantity::BytesPerSecond => "expected a bandwidth",
            Quantity::Rate => "expected a rate",
            Quantity::Share => "expected a share",
            Quantity::Money => "expected an amount of money",
            Quantity::Count => "expected a count",
        },
        None => "",
    }
}
