//! One line of CSV into its cells (RFC 4180, one record a line).

use std::borrow::Cow;

use super::error::Problem;

/// The cells of a line, without the quotes around them.
pub(crate) fn cells(line: &str) -> Result<Vec<Cow<'_, str>>, Problem> {
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

/// The cells at some positions, without building the others, and the number of all cells; `None`
/// where a quote stands in the line, so that it must be read whole. A cell that is not there stays
/// empty: the caller compares the number.
pub(crate) fn plain_cells_at<'a, const N: usize>(
    line: &'a str,
    positions: &[Option<usize>; N],
) -> Option<([&'a str; N], usize)> {
    let bytes = line.as_bytes();
    if memchr::memchr(b'"', bytes).is_some() {
        return None;
    }
    let mut picked = [""; N];
    let mut place = |index: usize, cell: &'a str| {
        for (slot, position) in picked.iter_mut().zip(positions) {
            if *position == Some(index) {
                *slot = cell;
            }
        }
    };
    let (mut start, mut index) = (0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b',' {
            place(index, &line[start..at]);
            start = at + 1;
            index += 1;
        }
    }
    place(index, &line[start..]);
    Some((picked, index + 1))
}

/// Where a column stands in a header; `None` where it is not there.
pub(crate) fn position(names: &[&str], column: &str) -> Result<Option<usize>, Problem> {
    let mut found = names.iter().enumerate().filter(|(_, name)| **name == column);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => {
            Err(Problem::new("the header names this column twice", "rename one of the two")
                .column(column))
        }
        (first, _) => Ok(first.map(|(position, _)| position)),
    }
}

/// Where a column stands that must be there.
pub(crate) fn required_position(names: &[&str], column: &str) -> Result<usize, Problem> {
    position(names, column)?.ok_or_else(|| {
        Problem::new(
            format!("the header has no such column; it has {}", names.join(", ")),
            "name the columns of time, prompt tokens and output tokens",
        )
        .column(column)
    })
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

#[cfg(test)]
mod tests {
    use super::{cells, plain_cells_at};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_see_the_same_cells(line in "[a-z0-9, .:-]{0,40}", at in 0_usize..6) {
            let all = cells(&line).unwrap();
            let (picked, count) = plain_cells_at(&line, &[Some(at), None]).unwrap();
            prop_assert_eq!(count, all.len());
            prop_assert_eq!(picked[0], all.get(at).map_or("", |cell| cell.as_ref()));
            prop_assert_eq!(picked[1], "");
        }
    }

    #[test]
    fn a_quote_sends_the_line_the_long_way() {
        assert!(plain_cells_at("a,\"b\"", &[Some(0)]).is_none());
    }
}
