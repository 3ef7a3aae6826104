//! Rows of a delimited table with their line numbers. Cells may be quoted and hold line breaks.

use super::refusal::{Claim, Refusal};

/// One row.
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
}

/// All rows, blank lines as rows of one empty cell (RFC 4180, but for the delimiter).
pub(super) fn rows(file: &str, text: &str, delimiter: char) -> Result<Vec<Row>, Box<Refusal>> {
    let mut rows = Vec::new();
    let mut row = Row { line: 1, cells: Vec::new() };
    let mut cell = String::new();
    let (mut line, mut quoted, mut was_quoted) = (1_u64, false, false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\n' {
            line += 1;
        }
        if quoted {
            match character {
                '"' if characters.peek() == Some(&'"') => {
                    cell.push('"');
                    characters.next();
                }
                '"' => quoted = false,
                _ => cell.push(character),
            }
        } else if character == '"' && cell.is_empty() && !was_quoted {
            (quoted, was_quoted) = (true, true);
        } else if character == delimiter {
            row.cells.push(std::mem::take(&mut cell));
            was_quoted = false;
        } else if character == '\n' {
            if cell.ends_with('\r') {
                cell.pop();
            }
            row.cells.push(std::mem::take(&mut cell));
            was_quoted = false;
            rows.push(std::mem::replace(&mut row, Row { line, cells: Vec::new() }));
        } else {
            cell.push(character);
        }
    }
    if quoted {
        return Err(Box::new(
            Refusal::new(
                file,
                Claim::Anything,
                "a quoted cell has no end",
                "save the table again: the file was cut off",
            )
            .line(row.line),
        ));
    }
    if !cell.is_empty() || !row.cells.is_empty() {
        row.cells.push(cell);
        rows.push(row);
    }
    Ok(rows)
}

/// A row that is not as wide as its header.
pub(super) fn ragged(file: &str, row: &Row, width: usize) -> Box<Refusal> {
    Box::new(
        Refusal::new(
            file,
            Claim::Anything,
            format!("the row has {} cells and its header {width}", row.cells.len()),
            "save the table again as the tool wrote it",
        )
        .line(row.line)
        .found(&row.cells.join(",")),
    )
}

/// A cell that must be a number and not negative. Separators of thousands are taken out.
pub(super) fn amount(file: &str, row: &Row, name: &str, cell: &str) -> Result<f64, Box<Refusal>> {
    let number = cell.trim().replace(',', "").parse::<f64>().ok();
    number.filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(|| {
        Box::new(
            Refusal::new(
                file,
                Claim::Anything,
                "a number that is not negative must stand here",
                "fetch the table again, or repeat the run",
            )
            .line(row.line)
            .at(name)
            .found(cell),
        )
    })
}
