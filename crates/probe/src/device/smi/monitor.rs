//! `nvidia-smi dmon` and `pmon`: one row for each device or process and each second.

use super::error::DeviceError;
use super::reading::{Absence, Reading};

const WAY_OUT: &str =
    "give what `nvidia-smi dmon` or `nvidia-smi pmon` printed, with both heading lines";

/// Rows under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// The columns, as the heading names them.
    pub columns: Vec<Column>,
    /// The rows, in the order of the text.
    pub rows: Vec<MonitorRow>,
}

/// A column with its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// `pwr`, `sm`, `mclk`.
    pub name: String,
    /// `W`, `%`, `MHz`, as the second heading line says.
    pub unit: String,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorRow {
    /// Its line, from 1.
    pub line: usize,
    /// A cell for each column; `-` is an absence.
    pub cells: Vec<Reading<String>>,
}

impl Monitor {
    /// A cell as text.
    pub fn text(&self, row: &MonitorRow, column: &str) -> Reading<String> {
        let place = self.columns.iter().position(|one| one.name == column);
        place.and_then(|place| row.cells.get(place)).cloned().unwrap_or(Err(Absence::NotPrinted))
    }

    /// A cell as a number, in the unit of its column.
    pub fn number(&self, row: &MonitorRow, column: &str) -> Reading<f64> {
        let text = self.text(row, column)?;
        text.parse().map_err(|_| Absence::Said(text))
    }

    /// Whether the rows are of processes (`pmon`).
    pub fn is_of_processes(&self) -> bool {
        self.columns.iter().any(|column| column.name == "pid")
    }
}

/// Reads `dmon` or `pmon`.
///
/// # Errors
/// A row that does not fit the heading, a heading that changes, and a text without one.
pub(super) fn read_monitor(text: &str) -> Result<Monitor, DeviceError> {
    let mut heading: Option<Vec<String>> = None;
    let mut monitor: Option<Monitor> = None;
    for (index, line) in text.lines().enumerate() {
        let fault = |problem: String| DeviceError::line(index + 1, problem, line, WAY_OUT);
        let bare = line.trim();
        if bare.is_empty() {
            continue;
        }
        if let Some(words) = bare.strip_prefix('#') {
            let words: Vec<String> = self::words(words).map(str::to_owned).collect();
            // Two lines: names, then units. Both are repeated from time to time.
            let Some(names) = heading.take() else {
                heading = Some(words);
                continue;
            };
            if names.len() != words.len() {
                return Err(fault(format!("{} names have {} units", names.len(), words.len())));
            }
            let columns: Vec<Column> =
                names.into_iter().zip(words).map(|(name, unit)| Column { name, unit }).collect();
            match &monitor {
                None => monitor = Some(Monitor { columns, rows: Vec::new() }),
                Some(known) if known.columns == columns => {}
                Some(_) => return Err(fault("the columns change".to_owned())),
            }
            continue;
        }
        let monitor =
            monitor.as_mut().ok_or_else(|| fault("a row before its heading".to_owned()))?;
        let cells = cells(bare, &monitor.columns).map_err(fault)?;
        monitor.rows.push(MonitorRow { line: index + 1, cells });
    }
    monitor.ok_or_else(|| DeviceError::line(1, "the heading is missing", "", WAY_OUT))
}

/// The words of a line; `--format csv` puts commas between them.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|one: char| one.is_whitespace() || one == ',').filter(|word| !word.is_empty())
}

fn cells(line: &str, columns: &[Column]) -> Result<Vec<Reading<String>>, String> {
    let mut words: Vec<String> = words(line).map(str::to_owned).collect();
    // A command may have spaces, and it is the last column.
    let is_command = columns.last().is_some_and(|last| last.name == "command");
    if is_command && words.len() > columns.len() {
        let command = words.split_off(columns.len() - 1).join(" ");
        words.push(command);
    }
    if words.len() != columns.len() {
        return Err(format!("{} cells stand under {} headings", words.len(), columns.len()));
    }
    Ok(words.into_iter().map(|word| Absence::of(&word).map_or(Ok(word), Err)).collect())
}
