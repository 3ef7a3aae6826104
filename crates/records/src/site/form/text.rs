//! A form as text of 80 columns.

use std::fmt;

use super::model::{FilledForm, FormSection};

const COLUMNS: usize = 80;
/// Width of the questions; the answers stand behind.
const LABEL_COLUMNS: usize = 28;
const BLANK: &str = "____";

impl fmt::Display for FilledForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        form(f, "Capacity calendar", &self.calendar.iter().collect::<Vec<_>>())?;
        writeln!(f)?;
        // What stands above word for word is not printed again.
        let (shown, new): (Vec<&FormSection>, Vec<&FormSection>) = self
            .intake
            .iter()
            .partition(|section| self.calendar.iter().any(|above| above.rows == section.rows));
        let shown: Vec<&str> = shown.iter().map(|section| section.title.as_str()).collect();
        form(f, "Intake form", &new)?;
        writeln!(f, "\nAs above")?;
        for line in wrap(&shown.join("; "), COLUMNS - 2) {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}

fn form(f: &mut fmt::Formatter<'_>, title: &str, sections: &[&FormSection]) -> fmt::Result {
    writeln!(f, "{title}\n{}", "=".repeat(title.chars().count()))?;
    for section in sections {
        writeln!(f, "\n{}", section.title)?;
        for row in &section.rows {
            let value = row.value.as_deref().unwrap_or(BLANK);
            let mut lines = wrap(value, COLUMNS - LABEL_COLUMNS - 2).into_iter();
            if row.label.chars().count() < LABEL_COLUMNS {
                let first = lines.next().unwrap_or_default();
                writeln!(f, "  {:LABEL_COLUMNS$}{first}", row.label)?;
            } else {
                // A long name leaves no room beside it.
                writeln!(f, "  {}", row.label)?;
            }
            for line in lines {
                writeln!(f, "  {:LABEL_COLUMNS$}{line}", "")?;
            }
        }
    }
    Ok(())
}

/// Breaks at blanks, and inside words that are wider than the column.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in amounts_together(text) {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if used > 0 {
            push(&mut lines, ' ');
            used += 1;
        }
        for character in word.chars() {
            if used == width {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, character);
            used += 1;
        }
    }
    lines
}

fn push(lines: &mut [String], character: char) {
    if let Some(line) = lines.last_mut() {
        line.push(character);
    }
}

/// Words, with a number and its unit as one: a line that ends in `1 min 30` misleads.
fn amounts_together(text: &str) -> Vec<String> {
    const UNIT_CHARACTERS_MAX: usize = 4;
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = word.trim_end_matches([',', ';']).chars().count() <= UNIT_CHARACTERS_MAX
            && word.starts_with(char::is_alphabetic);
        let continues = word.starts_with(|c: char| c.is_ascii_digit());
        match words.last_mut() {
            Some(last) if is_unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            Some(last) if continues && last.ends_with(" min") => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}
