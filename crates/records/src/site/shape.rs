//! What may stand where in a site file: the types of the table of fields.

use super::scalar::Scalar;

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Shape {
    /// One value.
    Scalar(Scalar),
    /// A list of equal things, at least one.
    List(&'static Shape),
    /// A list of equal things, in which an empty one says that there are none.
    ListOrNone(&'static Shape),
    /// Names with equal things.
    ByName(Names, &'static Shape),
    /// Fixed keys.
    Record(&'static Record),
    /// Exactly one of the keys; a key in `bare` may also stand alone as a word.
    Variant(&'static Record),
    /// One value as a short form, or the full form.
    Either(Scalar, &'static Shape),
}

/// What the names of a [`Shape::ByName`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Workloads of this site.
    Workload,
    /// Anything.
    Free,
}

/// A group of keys.
#[derive(Debug)]
pub(super) struct Record {
    /// What it is, for messages: `a workload`.
    pub(super) what: &'static str,
    /// Its keys.
    pub(super) fields: &'static [Field],
    /// Keys of which exactly one must be given.
    pub(super) one_of: &'static [&'static str],
    /// In a variant: keys that need no settings.
    pub(super) bare: &'static [&'static str],
}

/// One key.
#[derive(Debug)]
pub(super) struct Field {
    /// The key.
    pub(super) name: &'static str,
    /// What its value looks like.
    pub(super) shape: Shape,
    /// Whether it must be given.
    pub(super) is_required: bool,
    /// The gate of the verdict that it feeds, or what else it is for.
    pub(super) feeds: &'static str,
    /// What it means: whole sentences.
    pub(super) meaning: &'static str,
    /// A value as it may be written.
    pub(super) example: &'static str,
}

impl Record {
    /// The field with a name.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Shape {
    /// The record whose keys a user writes one level down, through lists and names.
    pub(super) fn record_below(&self) -> Option<&'static Record> {
        match self {
            Self::Record(record) | Self::Variant(record) => Some(record),
            Self::List(inner) | Self::ListOrNone(inner) | Self::Either(_, inner) => {
                inner.record_below()
            }
            Self::ByName(..) | Self::Scalar(_) => None,
        }
    }
}
