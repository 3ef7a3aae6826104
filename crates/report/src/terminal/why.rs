//! The section on sensitivity: outcomes in words, and one table of doses.

use super::layout::{Columns, row};
use super::paper::Paper;
use crate::model::{State, Table, Value, WhyView};

/// Columns of the table of doses that have room in a terminal, before those of the objectives.
const LEADING: [&str; 3] = ["resource", "dose", "pressure"];
/// Their widths.
const RESOURCE: usize = 21;
const DOSE: usize = 4;
const PRESSURE: usize = 11;
/// Objectives side by side.
const OBJECTIVES_MAX: usize = 2;

pub(super) fn why(paper: &mut Paper, why: &WhyView) {
    paper.heading("Why: what inference is sensitive to");
    paper.paragraph("", &why.note);
    for one in &why.outcomes {
        paper.blank();
        let line = format!(
            "{}: predicted {}, measured {}, unexplained {}",
            one.title,
            brief(&one.predicted),
            brief(&one.measured),
            brief(&one.unexplained)
        );
        paper.paragraph("• ", &line);
        paper.paragraph("  ", &one.cause);
    }
    if !why.responses.rows.is_empty() {
        paper.blank();
        doses(paper, &why.responses);
    }
    if !why.neighbour.rows.is_empty() {
        paper.blank();
        paper.line("the neighbour alone (test B)");
        for cells in &why.neighbour.rows {
            let text = |at: usize| cells.get(at).map_or_else(String::new, brief);
            paper.paragraph("  ", &format!("{}: {}; {}", text(0), text(1), text(4)));
        }
    }
    for entry in &why.missing {
        paper.paragraph("• ", &format!("missing: {}", entry.what));
        paper.command(4, &entry.command);
    }
    for remark in &why.remarks {
        paper.paragraph("! ", remark);
    }
}

fn brief(value: &Value) -> String {
    match value.state {
        State::Missing => "not seen".to_owned(),
        State::Known | State::Unbounded | State::Words => value.text.clone(),
    }
}

fn doses(paper: &mut Paper, table: &Table) {
    let place = |key: &str| table.columns.iter().position(|column| column.key == key);
    let leading: Vec<usize> = LEADING.iter().filter_map(|key| place(key)).collect();
    let first = place("blocks").map_or(leading.len(), |at| at + 1);
    let objectives: Vec<usize> = (first..table.columns.len()).collect();
    for (index, shown) in objectives.chunks(OBJECTIVES_MAX).enumerate() {
        if index > 0 {
            paper.blank();
        }
        let mut columns = vec![
            Columns { width: RESOURCE, right: false },
            Columns { width: DOSE, right: true },
            Columns { width: PRESSURE, right: true },
        ];
        let room = paper.width.saturating_sub(RESOURCE + DOSE + PRESSURE + 2 * 2);
        let each = (room / shown.len().max(1)).saturating_sub(2).min(20);
        columns.extend(shown.iter().map(|_| Columns { width: each, right: true }));
        let places: Vec<usize> = leading.iter().chain(shown).copied().collect();
        let title =
            |at: &usize| table.columns.get(*at).map_or_else(String::new, |c| c.title.clone());
        for line in row(&columns, &places.iter().map(title).collect::<Vec<_>>()) {
            paper.line(&line);
        }
        for cells in &table.rows {
            let text = |at: &usize| cells.get(*at).map_or_else(String::new, brief);
            for line in row(&columns, &places.iter().map(text).collect::<Vec<_>>()) {
                paper.line(&line);
            }
        }
    }
}
