//! From files as they were read to the view of them: each text is made here, once.

use cotenant_core::reading::{Figure, FileReading, FileRefusal, Limit, Table};

use super::model::{
    ColumnView, FactView, FigureState, FigureView, FileView, LimitView, ReadView, ReadingReport,
    RefusalView, TableView,
};
use super::{READING_FORMAT, READING_VERSION};
use crate::format;

/// A file that was read, or why it was not.
pub type ReadInput<'a> = Result<&'a FileReading, &'a FileRefusal>;

/// The view of files. `contradictions` are sentences about several of them.
pub fn build_reading(
    files: &[ReadInput<'_>],
    contradictions: &[String],
    tool_version: &str,
) -> ReadingReport {
    let read = files.iter().filter(|file| file.is_ok()).count() as u64;
    ReadingReport {
        format: READING_FORMAT.to_owned(),
        version: READING_VERSION,
        tool: tool_version.to_owned(),
        read,
        refused: files.len() as u64 - read,
        files: files.iter().map(file).collect(),
        contradictions: contradictions.to_vec(),
    }
}

fn file(input: &ReadInput<'_>) -> FileView {
    match input {
        Ok(reading) => {
            FileView { file: reading.file.clone(), reading: Some(read(reading)), refusal: None }
        }
        Err(refusal) => FileView {
            file: refusal.file.clone(),
            reading: None,
            refusal: Some(RefusalView {
                seems: refusal.seems.clone(),
                line: refusal.line,
                why: refusal.why.clone(),
                way_out: refusal.way_out.clone(),
            }),
        },
    }
}

fn read(reading: &FileReading) -> ReadView {
    ReadView {
        kind: reading.kind.name().to_owned(),
        kind_text: reading.kind.title().to_owned(),
        form: reading.form.clone(),
        producer: reading.producer.clone(),
        producer_version: reading.version.clone(),
        packing: reading.packing.iter().map(|layer| (*layer).to_owned()).collect(),
        recognised_by: reading.clues.clone(),
        facts: reading
            .facts
            .iter()
            .map(|fact| FactView { name: fact.name.to_string(), figure: figure(&fact.figure) })
            .collect(),
        tables: reading.tables.iter().map(table).collect(),
        skipped: reading.skipped.clone(),
        skipped_left_out: reading.skipped_left_out,
        notes: reading.notes.clone(),
        notes_left_out: reading.notes_left_out,
        limits: reading.limits.iter().map(limit).collect(),
        next: reading.next.clone(),
    }
}

fn table(table: &Table) -> TableView {
    TableView {
        title: table.title.clone(),
        columns: table
            .columns
            .iter()
            .map(|column| ColumnView { name: column.name.to_string(), is_detail: column.is_detail })
            .collect(),
        rows: table.rows.iter().map(|row| row.iter().map(figure).collect()).collect(),
        rows_left_out: table.rows_left_out,
    }
}

fn limit(limit: &Limit) -> LimitView {
    LimitView {
        claim: limit.claim.clone(),
        why: limit.why.clone(),
        way_out: limit.way_out.clone(),
        place: limit.place.clone(),
    }
}

fn figure(figure: &Figure) -> FigureView {
    let view = |state, unit: &str, text: String| FigureView {
        state,
        value: None,
        above: None,
        at_most: None,
        unit: unit.to_owned(),
        text,
    };
    match figure {
        Figure::Number { value, unit } if value.is_finite() => FigureView {
            value: Some(*value),
            ..view(FigureState::Known, unit, with_unit(*value, unit))
        },
        Figure::Number { value, unit } => {
            let text = if *value < 0.0 { "−∞" } else { "∞" };
            view(FigureState::Unbounded, unit, text.to_owned())
        }
        Figure::Between { above, at_most, unit } => FigureView {
            above: Some(*above),
            at_most: *at_most,
            ..view(FigureState::Between, unit, between(*above, *at_most, unit))
        },
        Figure::Text(text) => view(FigureState::Words, "", text.clone()),
        Figure::Absent(why) => view(FigureState::Missing, "", format!("— ({why})")),
    }
}

/// A quantile that lies in a bucket: above one bound, at most another.
fn between(above: f64, at_most: Option<f64>, unit: &str) -> String {
    match at_most {
        Some(at_most) if above <= 0.0 => format!("≤ {}", with_unit(at_most, unit)),
        Some(at_most) => format!("{} to {}", with_unit(above, unit), with_unit(at_most, unit)),
        None => format!("> {}", with_unit(above, unit)),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" => format::time(value),
        "bytes" => format::bytes(value),
        "share" => format::share(value),
        "" => bare(value),
        "%" | "°C" => format!("{} {unit}", format::trimmed(value)),
        _ => format!("{} {unit}", bare(value)),
    }
}

/// Whole numbers in full, others with as many digits as are read at once.
fn bare(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..9e15).contains(&value) {
        format::count(value as u64)
    } else {
        format::trimmed(value)
    }
}
