//! One line of CSV into its cells (RFC 4180, one record a line).

use std::borrow::Cow;

use super::error::Problem;

/// The cells of a line, without the quotes around them.
pub(super) fn cells(line: &str) -> Result<Vec<Cow<'_, str>>, Problem> {
    let mut cells = Vec::with_capacity(8);
    let mut rest = line;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_cell(line, quoted)?,
            None => match rest.find(',') {
                Some(comma) => (Cow::Borrowed(&rest[..comma]), &rest[comma..]),
                None => (Cow::Borrowed(rest), ""),
            },
        };
        cells.push(cell);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(cells),
        }
    }
}

fn quoted_cell<'a>(line: &'a str, quoted: &'a str) -> Result<(Cow<'a, str>, &'a str), Problem> {
    let mut text = String::new();
    let mut rest = quoted;
    loop {
        let Some(quote) = rest.find('"') else {
            return Err(Problem::new(
                "a quoted cell has no end on its line",
                "one request a line: remove line breaks inside cells",
            )
            .text(line));
        };
        text.push_str(&rest[..quote]);
        let after = &rest[quote + 1..];
        match after.strip_prefix('"') {
            Some(next) => {
                text.push('"');
                rest = next;
            }
            None if after.is_empty() || after.starts_with(',') => {
                return Ok((Cow::Owned(text), after));
            }
            None => {
                return Err(Problem::new(
                    "text follows the end of a quoted cell",
                    "double the quotes that stand inside a cell",
                )
                .text(line));
            }
        }
    }
}
