//! The list of fields that DCGM's exporter is told to show.

use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, Table};

use super::look::{Claim, Look, Outcome, short};

const TYPES: [&str; 4] = ["gauge", "counter", "label", "histogram"];

/// `DCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).`: field, type, help.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let mut parts = line.splitn(3, ',').map(str::trim);
    let (field, kind, help) = (parts.next()?, parts.next()?, parts.next()?);
    let of_dcgm = field.starts_with("DCGM_") || field.starts_with("dcgm_");
    (of_dcgm && TYPES.contains(&kind)).then_some((field, kind, help))
}

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    let lines = || look.sample().lines().map(str::trim).filter(|line| !line.is_empty());
    let fields = lines().filter(|line| row(line).is_some()).count();
    let others = lines().filter(|line| !line.starts_with('#') && row(line).is_none()).count();
    (fields > 0 && others == 0).then(|| {
        let clue =
            "each line is a field of DCGM, a type and a text, as the exporter's list has them";
        Claim::sure(clue, read)
    })
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole("a list of DCGM's fields")?;
    let mut reading = FileReading::new(look.name, FileKind::DcgmFields, "field list");
    reading.producer = Some("DCGM exporter".to_owned());
    let mut table = Table::new("Fields", &["field", "type", "unit", "help"]);
    let mut commented = 0_u64;
    for (number, line) in (1_u64..).zip(look.text.lines()) {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            commented += u64::from(row(comment.trim()).is_some());
            continue;
        }
        match row(line) {
            Some((field, kind, help)) => {
                table.row(vec![
                    Figure::text(field),
                    Figure::text(kind),
                    Figure::text_or(unit(help), "its help names none"),
                    Figure::text(help),
                ]);
            }
            None if line.is_empty() => {}
            None => {
                reading
                    .skip(format!("line {number}: no field, type and help: {}", short(line, 60)));
            }
        }
    }
    reading.count("fields shown", table.rows.len() as u64 + table.rows_left_out);
    reading.count("fields commented out", commented);
    reading.table(table);
    Ok(reading.into())
}

/// The unit in a help text such as `Power draw (in W).`.
fn unit(help: &str) -> Option<&str> {
    let (_, after) = help.rsplit_once("(in ")?;
    after.split_once(')').map(|(unit, _)| unit)
}
