//! Bursts as text.

use super::layout::{Columns, row};
use super::paper::Paper;
use crate::model::{State, Table, Value};

const MARK_WIDTH: usize = 12;

/// The section; nothing where no burst was made.
pub(super) fn bursts(paper: &mut Paper, tables: &[Table]) {
    let table = tables.iter().find(|table| table.key == "bursts" && !table.rows.is_empty());
    let Some(table) = table else { return };
    paper.heading(&table.title);
    paper.paragraph("", &table.note);
    let keys = ["beside", "late", "told_s", "gone_s", "inference_s", "neighbour_s"];
    let titles = ["beside", "late", "told after", "gone", "inference", "at pace"];
    let places: Vec<usize> = keys
        .into_iter()
        .filter_map(|key| table.columns.iter().position(|column| column.key == key))
        .collect();
    let width = (paper.width.saturating_sub(MARK_WIDTH + 2 * keys.len()) / (keys.len() - 1)).max(6);
    let columns: Vec<Columns> = (0..places.len())
        .map(|at| match at {
            0 => Columns { width: MARK_WIDTH, right: false },
            _ => Columns { width, right: true },
        })
        .collect();
    for line in row(&columns, &titles.map(str::to_owned)) {
        paper.line(&line);
    }
    for cells in &table.rows {
        let texts: Vec<String> =
            places.iter().filter_map(|place| cells.get(*place)).map(short).collect();
        for line in row(&columns, &texts) {
            paper.line(&line);
        }
    }
    for cells in &table.rows {
        let (Some(beside), Some(seen)) =
            (places.first().and_then(|place| cells.get(*place)), cells.last())
        else {
            continue;
        };
        if !seen.text.is_empty() {
            paper.paragraph("• ", &format!("beside {}: {}", beside.text, seen.text));
        }
    }
}

/// What fits into a column: a reason stands in the page, and here a dash.
fn short(value: &Value) -> String {
    if value.state == State::Missing { "not seen".to_owned() } else { value.text.clone() }
}
