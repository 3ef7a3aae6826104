//! Tables of `--query-gpu=… --format=csv` and `--query-compute-apps=… --format=csv`.
//!
//! Cells are separated by a comma and a space and never quoted. Units stand in the heading and, unless
//! `nounits` was asked for, in each cell again.

use super::error::DeviceError;
use super::fill::Filler;
use super::model::{DeviceProcess, DeviceReport, Problem, Source};
use super::reading::Absence;
use super::tree::Node;
use super::unreachable::{is_unreachable, unreachable};

const WAY_OUT: &str = "give the table with its heading, as `--format=csv` prints it";

/// A heading: its name, and its unit where it has one.
struct Heading {
    name: String,
    unit: Option<String>,
}

/// Reads `--query-gpu`.
///
/// # Errors
/// A row with another number of cells than the heading, with its line.
pub(super) fn read_gpus(text: &str) -> Result<DeviceReport, DeviceError> {
    let rows = rows(text)?;
    let unreachable: Vec<_> =
        text.lines().enumerate().filter_map(|(index, line)| unreachable(line, index + 1)).collect();
    let mut filler = Filler::default();
    let first = |name: &str| {
        let Some(cell) = rows.first().and_then(|row| row.child(name)) else {
            return Err(Absence::NotPrinted);
        };
        Absence::of(&cell.text).map_or_else(|| Ok(cell.text.clone()), Err)
    };
    let (printed_at, driver) = (first("timestamp"), first("driver_version"));
    let attached = first("count").and_then(|text| text.parse().map_err(|_| Absence::Said(text)));
    let gpus: Vec<_> = rows.iter().map(|row| filler.gpu(row)).collect();
    let mut problems = filler.problems;
    if let Ok(attached) = attached
        && attached as usize != gpus.len() + unreachable.len()
    {
        problems.push(Problem {
            line: 1,
            message: format!(
                "{attached} GPUs are attached and {} listed: the query was limited to some (`-i`), or the \
                 table is cut off",
                gpus.len()
            ),
        });
    }
    Ok(DeviceReport {
        source: Source::Csv,
        printed_at,
        driver,
        cuda: Err(Absence::NotPrinted),
        gpus_attached: attached,
        gpus,
        unreachable,
        topology: Err(Absence::NotPrinted),
        problems,
    })
}

/// Reads `--query-compute-apps`, with what was not understood.
///
/// # Errors
/// A row with another number of cells than the heading, with its line.
pub(super) fn read_processes(
    text: &str,
) -> Result<(Vec<DeviceProcess>, Vec<Problem>), DeviceError> {
    let mut filler = Filler::default();
    let processes = rows(text)?.iter().map(|row| filler.process(row)).collect();
    Ok((processes, filler.problems))
}

/// The names of a heading line; `None` where the line is no heading.
pub(super) fn headings(line: &str) -> Option<Vec<String>> {
    let names: Vec<String> = line.split(',').map(|cell| heading(cell).name).collect();
    let is_name = |name: &String| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    };
    names.iter().all(is_name).then_some(names)
}

fn heading(cell: &str) -> Heading {
    let cell = cell.trim();
    match cell.split_once(" [") {
        Some((name, unit)) => {
            Heading { name: name.to_owned(), unit: Some(unit.trim_end_matches(']').to_owned()) }
        }
        None => Heading { name: cell.to_owned(), unit: None },
    }
}

/// Each row as a flat tree.
fn rows(text: &str) -> Result<Vec<Node>, DeviceError> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !is_unreachable(line));
    let Some((_, first)) = lines.next() else {
        return Err(DeviceError::line(1, "the table is empty", "", WAY_OUT));
    };
    let headings: Vec<Heading> = first.split(',').map(heading).collect();
    lines.map(|(index, line)| row(index + 1, line, &headings)).collect()
}

fn row(number: usize, line: &str, headings: &[Heading]) -> Result<Node, DeviceError> {
    let cells: Vec<&str> = line.split(", ").map(str::trim).collect();
    if cells.len() != headings.len() {
        let problem =
            format!("the row has {} cells and the heading {}", cells.len(), headings.len());
        return Err(DeviceError::line(number, problem, line, WAY_OUT));
    }
    let children = headings
        .iter()
        .zip(cells)
        .map(|(heading, cell)| Node {
            name: heading.name.clone(),
            label: heading.name.clone(),
            text: with_unit(cell, heading.unit.as_deref()),
            line: number,
            children: Vec::new(),
        })
        .collect();
    Ok(Node { line: number, children, ..Node::default() })
}

/// A bare number gets the unit of its heading.
fn with_unit(cell: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) if cell.parse::<f64>().is_ok() => format!("{cell} {unit}"),
        _ => cell.to_owned(),
    }
}
