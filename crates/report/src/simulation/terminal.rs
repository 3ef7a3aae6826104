//! A simulation as text.

use anstyle::Style;

use super::SimulationReport;
use crate::model::{State, Table, Value};
use crate::terminal::TerminalOptions;
use crate::terminal::layout::{Columns, row, wrap};
use crate::terminal::paper::Paper;

/// Width of a column of numbers.
const NUMBER_WIDTH: usize = 11;
/// Rows of a table that are shown; the JSON has them all.
const ROWS_MAX: usize = 16;
/// The least width of a name.
const NAME_WIDTH_MIN: usize = 12;

/// The simulation as text: the answer, inference, jobs, where the GPUs' time went, what was assumed. No
/// line is longer than `options.width`, and the text ends in a newline.
pub fn render_simulation_terminal(report: &SimulationReport, options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    for line in wrap(&report.site, paper.width) {
        paper.styled_line(Style::new().bold(), &line);
    }
    paper.paragraph("", &report.headline);
    for note in &report.notes {
        paper.paragraph("! ", note);
    }
    if report.weeks > 0 {
        for part in [&report.services, &report.jobs, &report.gpu_time] {
            table(&mut paper, part);
        }
    }
    for section in &report.latencies {
        paper.heading(&format!("Latencies of {}", section.workload));
        paper.paragraph("", &section.headline);
        for part in &section.tables {
            table(&mut paper, part);
        }
        for sentence in &section.assumed {
            paper.paragraph("• assumed: ", sentence);
        }
    }
    if !report.assumed.is_empty() {
        paper.heading("Assumed");
        for sentence in &report.assumed {
            paper.paragraph("• ", sentence);
        }
    }
    paper.text
}

fn table(paper: &mut Paper, table: &Table) {
    paper.heading(&table.title);
    if table.rows.is_empty() {
        paper.paragraph("", &table.empty);
        return;
    }
    paper.paragraph("", &table.note);
    let numbers = table.columns.len().saturating_sub(1);
    let room = paper.width.saturating_sub(numbers * (NUMBER_WIDTH + 2));
    let columns: Vec<Columns> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| Columns {
            width: if place == 0 { room.max(NAME_WIDTH_MIN) } else { NUMBER_WIDTH },
            right: column.numeric,
        })
        .collect();
    let head: Vec<String> = table.columns.iter().map(|column| column.title.clone()).collect();
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for cells in table.rows.iter().take(ROWS_MAX) {
        let texts: Vec<String> = cells.iter().map(short).collect();
        for line in row(&columns, &texts) {
            paper.line(&line);
        }
    }
    if let Some(more) = table.rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        paper.line(&format!("… and {more} more, in `--format json`"));
    }
}

/// What is missing is a dash here; its reason is in the JSON.
fn short(value: &Value) -> String {
    if value.state == State::Missing { "–".to_owned() } else { value.text.clone() }
}
