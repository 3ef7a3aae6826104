//! Words into lines, and cells into tables, measured as a terminal does.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::format::glue;

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Text without what would move the cursor: a control character or a line break is a space.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_format(c) { ' ' } else { c }).collect()
}

/// Characters that have no width of their own and reorder or join what stands around them.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Breaks a text into lines of at most `columns`, between words where it can, inside a word where it
/// must. There is always at least one line.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let glued = glue(&clean(text));
    for word in glued.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= columns {
            if gap == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        line = break_word(word, columns, &mut lines);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// Puts all but the last piece of a long word into `lines` and returns the last.
fn break_word(word: &str, columns: usize, lines: &mut Vec<String>) -> String {
    let mut piece = String::new();
    for c in word.chars() {
        let mut longer = piece.clone();
        longer.push(c);
        if width(&longer) > columns && c.width().unwrap_or(0) > 0 && !piece.is_empty() {
            lines.push(std::mem::take(&mut piece));
            piece.push(c);
        } else {
            piece = longer;
        }
    }
    piece
}

/// Pads a text on the right.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Pads a text on the left.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    pub(crate) width: usize,
    pub(crate) right: bool,
}

/// One row of a table: each cell is wrapped to its column, and the columns stand two apart.
pub(crate) fn row(columns: &[Columns], cells: &[String]) -> Vec<String> {
    let wrapped: Vec<_> =
        columns.iter().zip(cells).map(|(column, cell)| wrap(cell, column.width)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|index| {
            let cells: Vec<_> = columns
                .iter()
                .zip(&wrapped)
                .map(|(column, lines)| {
                    let text = lines.get(index).map_or("", String::as_str);
                    if column.right {
                        pad_left(text, column.width)
                    } else {
                        pad(text, column.width)
                    }
                })
                .collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_never_exceed_their_width() {
        for text in
            ["", "a b c", "supercalifragilistic", "日本語のテキスト", "a\u{301}\u{301}b", "x\n\ty"]
        {
            for columns in 2..12 {
                let lines = wrap(text, columns);
                assert!(!lines.is_empty());
                assert!(lines.iter().all(|line| width(line) <= columns), "{text:?} at {columns}");
            }
        }
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefg", 3), ["abc", "def", "g"]);
        assert_eq!(wrap("at most 5 % of it", 9), ["at most", "5 % of it"]);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(wrap("a\u{1b}[31mb\u{202e}c", 40), ["a [31mb c"]);
    }
}
