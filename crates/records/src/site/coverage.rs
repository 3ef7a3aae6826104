//! The fixtures and the documentation cover the table of fields.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fields::SITE;
use super::shape::{Record, Shape};
use super::tree::{Node, NodeKind, parse};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A field by its record and its name.
type FieldId = (*const Record, &'static str);

/// Every field that can be reached.
fn declared(record: &'static Record, found: &mut BTreeSet<FieldId>) {
    for field in record.fields {
        if found.insert((std::ptr::from_ref(record), field.name)) {
            inside(&field.shape, found);
        }
    }
}

fn inside(shape: &'static Shape, found: &mut BTreeSet<FieldId>) {
    match shape {
        Shape::Scalar(_) => {}
        Shape::List(inner)
        | Shape::ListOrNone(inner)
        | Shape::ByName(_, inner)
        | Shape::Either(_, inner) => inside(inner, found),
        Shape::Record(record) | Shape::Variant(record) => declared(record, found),
    }
}

/// Every field that a tree uses.
fn used(node: &Node, shape: &'static Shape, found: &mut BTreeSet<FieldId>) {
    match (shape, &node.kind) {
        (Shape::List(inner) | Shape::ListOrNone(inner), NodeKind::List(items)) => {
            for item in items {
                used(item, inner, found);
            }
        }
        (Shape::ByName(_, inner), NodeKind::Map(entries)) => {
            for entry in entries {
                used(&entry.value, inner, found);
            }
        }
        (Shape::Either(_, inner), _) => used(node, inner, found),
        (Shape::Record(record) | Shape::Variant(record), NodeKind::Map(entries)) => {
            for entry in entries {
                let field = record.field(&entry.key).unwrap();
                found.insert((std::ptr::from_ref(*record), field.name));
                used(&entry.value, &field.shape, found);
            }
        }
        _ => {}
    }
}

static ROOT: Shape = Shape::Record(&SITE);

#[test]
fn every_field_occurs_in_a_fixture() {
    let mut all = BTreeSet::new();
    declared(&SITE, &mut all);
    let mut seen = BTreeSet::new();
    let fixtures = workspace().join("crates/records/tests/fixtures/good");
    let files = std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    for file in files.chain([workspace().join("examples/h100-server.yaml")]) {
        let text = std::fs::read_to_string(file).unwrap();
        let (root, problems) = parse(&text);
        assert!(problems.is_empty());
        used(&root.unwrap(), &ROOT, &mut seen);
    }
    let missing: Vec<&str> = all.difference(&seen).map(|(_, name)| *name).collect();
    assert!(missing.is_empty(), "no fixture uses {missing:?}");
}

/// Each example of the table stands where it says, so the hints that quote it are right.
#[test]
fn every_scalar_example_is_accepted() {
    fn check(record: &'static Record, done: &mut BTreeSet<*const Record>) {
        if !done.insert(std::ptr::from_ref(record)) {
            return;
        }
        for field in record.fields {
            let text = format!("{}: {}\n", field.name, field.example);
            let (root, problems) = parse(&text);
            assert!(problems.is_empty(), "{text}");
            let root = root.unwrap();
            let value = &root.entry(field.name).unwrap().value;
            if let (Shape::Scalar(scalar) | Shape::Either(scalar, _), Some(example)) =
                (&field.shape, value.text())
            {
                assert_eq!(scalar.check(example), Ok(()), "{text}");
            }
            each_record(&field.shape, done);
        }
    }
    fn each_record(shape: &'static Shape, done: &mut BTreeSet<*const Record>) {
        match shape {
            Shape::Scalar(_) => {}
            Shape::List(inner)
            | Shape::ListOrNone(inner)
            | Shape::ByName(_, inner)
            | Shape::Either(_, inner) => each_record(inner, done),
            Shape::Record(record) | Shape::Variant(record) => check(record, done),
        }
    }
    check(&SITE, &mut BTreeSet::new());
}

/// The reference in the documentation is what the table says. To write it anew, run this test with
/// `COTENANT_WRITE_REFERENCE=1`.
#[test]
fn the_documented_reference_is_current() {
    const MARK: &str = "<!-- The reference below is made from the table of fields. -->\n\n";
    let path = workspace().join("docs/site-file.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, documented) = text.split_once(MARK).unwrap();
    let current = super::reference();
    let current = current.trim_end();
    if std::env::var_os("COTENANT_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, format!("{head}{MARK}{current}\n")).unwrap();
        return;
    }
    assert!(documented.trim_end() == current, "docs/site-file.md is not what the table says");
}
