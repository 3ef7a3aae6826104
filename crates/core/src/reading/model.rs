//! A file that was read.

use std::borrow::Cow;

use super::kind::FileKind;

/// Most rows of a table that are kept; more are counted.
pub const ROWS_KEPT_MAX: usize = 1_000;
/// Most lines of what was passed over, and of remarks, that are kept; more are counted.
pub const LINES_KEPT_MAX: usize = 50;

/// A file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct FileReading {
    /// The file's name, as given.
    pub file: String,
    /// What kind of file it is.
    pub kind: FileKind,
    /// Which of the kind's forms it has: `nvidia-smi -q -x`, `summary report`.
    pub form: String,
    /// Who wrote it, where that can be told.
    pub producer: Option<String>,
    /// The version of the producer or of its schema, where the file names one.
    pub version: Option<String>,
    /// How it is stored, from outside to inside: `gzip`, `UTF-16 LE`. Empty for plain UTF-8.
    pub packing: Vec<&'static str>,
    /// By what it was recognised, in words.
    pub clues: Vec<String>,
    /// Single numbers and words.
    pub facts: Vec<Fact>,
    /// What there is many of.
    pub tables: Vec<Table>,
    /// What was passed over, each with its place; the first [`LINES_KEPT_MAX`].
    pub skipped: Vec<String>,
    /// How many more were passed over.
    pub skipped_left_out: u64,
    /// What a reader must know; the first [`LINES_KEPT_MAX`].
    pub notes: Vec<String>,
    /// How many more notes there are.
    pub notes_left_out: u64,
    /// What it cannot be used for.
    pub limits: Vec<Limit>,
    /// The command that uses such a file.
    pub next: Option<String>,
}

/// A value under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The name, without its unit.
    pub name: Cow<'static, str>,
    /// The value.
    pub figure: Figure,
}

/// A value as a file gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A number.
    Number {
        /// The number; not NaN. Infinity means that there is no bound.
        value: f64,
        /// Its unit: `s`, `bytes`, `MiB`, `share`, `req/s`, and empty for a bare number.
        unit: Cow<'static, str>,
    },
    /// A number of which only bounds are known.
    Between {
        /// It lies above this, or at it where this is 0.
        above: f64,
        /// It is at most this; `None` where there is no upper bound.
        at_most: Option<f64>,
        /// Its unit.
        unit: Cow<'static, str>,
    },
    /// Words.
    Text(String),
    /// Nothing, and why.
    Absent(String),
}

impl Figure {
    /// A number with its unit; one that is none is absent.
    pub fn number(value: f64, unit: impl Into<Cow<'static, str>>) -> Self {
        if value.is_nan() {
            return Self::Absent("not a number (NaN)".to_owned());
        }
        Self::Number { value, unit: unit.into() }
    }

    /// A count.
    pub fn count(value: impl TryInto<u64>) -> Self {
        // More than 2⁶⁴ of anything does not fit into a file.
        Self::number(value.try_into().unwrap_or(u64::MAX) as f64, "")
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Nothing, and why.
    pub fn absent(why: impl Into<String>) -> Self {
        Self::Absent(why.into())
    }

    /// Words, or why there are none.
    pub fn text_or(text: Option<impl Into<String>>, why: &str) -> Self {
        text.map_or_else(|| Self::absent(why), Self::text)
    }

    /// A number, or why there is none.
    pub fn number_or(value: Option<f64>, unit: impl Into<Cow<'static, str>>, why: &str) -> Self {
        value.map_or_else(|| Self::absent(why), |value| Self::number(value, unit))
    }
}

/// Rows of equal columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a figure for each column; the first [`ROWS_KEPT_MAX`].
    pub rows: Vec<Vec<Figure>>,
    /// How many rows did not find room.
    pub rows_left_out: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name.
    pub name: Cow<'static, str>,
    /// Whether it may be left out where there is little room: where a number stands in the file.
    pub is_detail: bool,
}

/// Something that a file cannot be used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What cannot be concluded.
    pub claim: String,
    /// Why.
    pub why: String,
    /// The way out.
    pub way_out: String,
    /// Where in the file, or of which part of it; empty where the whole is meant.
    pub place: String,
}

impl FileReading {
    /// A reading without any numbers yet.
    pub fn new(file: &str, kind: FileKind, form: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            kind,
            form: form.into(),
            producer: None,
            version: None,
            packing: Vec::new(),
            clues: Vec::new(),
            facts: Vec::new(),
            tables: Vec::new(),
            skipped: Vec::new(),
            skipped_left_out: 0,
            notes: Vec::new(),
            notes_left_out: 0,
            limits: Vec::new(),
            next: None,
        }
    }

    /// Adds a value under a name.
    pub fn fact(&mut self, name: impl Into<Cow<'static, str>>, figure: Figure) {
        self.facts.push(Fact { name: name.into(), figure });
    }

    /// Adds a count.
    pub fn count(&mut self, name: impl Into<Cow<'static, str>>, value: impl TryInto<u64>) {
        self.fact(name, Figure::count(value));
    }

    /// Adds a table, unless it is empty.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.tables.push(table);
        }
    }

    /// Tells something that was passed over.
    pub fn skip(&mut self, what: impl Into<String>) {
        if self.skipped.len() < LINES_KEPT_MAX {
            self.skipped.push(what.into());
        } else {
            self.skipped_left_out += 1;
        }
    }

    /// Tells something that a reader must know.
    pub fn note(&mut self, what: impl Into<String>) {
        if self.notes.len() < LINES_KEPT_MAX {
            self.notes.push(what.into());
        } else {
            self.notes_left_out += 1;
        }
    }

    /// The figure of the first fact of this name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| &fact.figure)
    }

    /// The number of the first fact of this name, in its unit.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.figure(name)? {
            Figure::Number { value, .. } => Some(*value),
            _ => None,
        }
    }
}

impl Table {
    /// A table without rows. A column whose name begins with `*` is a detail.
    pub fn new(title: impl Into<String>, columns: &[&'static str]) -> Self {
        let column = |name: &&'static str| Column {
            name: Cow::Borrowed(name.trim_start_matches('*')),
            is_detail: name.starts_with('*'),
        };
        let columns = columns.iter().map(column).collect();
        Self { title: title.into(), columns, rows: Vec::new(), rows_left_out: 0 }
    }

    /// Adds a row, or counts it where there is no room. Cells that are missing are absent.
    pub fn row(&mut self, mut row: Vec<Figure>) {
        if self.rows.len() >= ROWS_KEPT_MAX {
            self.rows_left_out += 1;
            return;
        }
        row.resize_with(self.columns.len(), || Figure::absent("not said"));
        self.rows.push(row);
    }
}
