//! Capacity as text.

use super::layout::{Columns, row};
use super::paper::Paper;
use crate::model::{CapacityView, Table};

/// What searches for capacity found; nothing where none was made.
pub(super) fn capacity(paper: &mut Paper, views: &[CapacityView]) {
    if views.is_empty() {
        return;
    }
    paper.heading("Capacity");
    for view in views {
        paper.paragraph("", &view.headline);
        for fact in &view.facts {
            let origin = fact.origin.as_deref().unwrap_or("none yet");
            paper.paragraph("• ", &format!("{}: {} [{origin}]", fact.name, fact.text));
        }
        for remark in &view.remarks {
            paper.paragraph("• ", remark);
        }
        curve(paper, &view.curve);
    }
}

fn curve(paper: &mut Paper, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    paper.blank();
    let count = table.columns.len().max(1);
    let width = (paper.width.saturating_sub(2 * count) / count).clamp(6, 16);
    let columns: Vec<Columns> =
        table.columns.iter().map(|column| Columns { width, right: column.numeric }).collect();
    let head: Vec<String> = table.columns.iter().map(|column| column.title.clone()).collect();
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for cells in &table.rows {
        let texts: Vec<String> = cells.iter().map(|cell| cell.text.clone()).collect();
        for line in row(&columns, &texts) {
            paper.line(&line);
        }
    }
}
