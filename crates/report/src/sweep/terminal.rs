//! A sweep as text.

use anstyle::Style;

use super::SweepReport;
use crate::model::{State, Table, Value};
use crate::terminal::TerminalOptions;
use crate::terminal::layout::{Columns, row, width, wrap};
use crate::terminal::paper::Paper;

/// Rows of a table that are shown; the JSON has them all.
const ROWS_MAX: usize = 40;
/// The widest column: what is longer is broken over lines.
const COLUMN_WIDTH_MAX: usize = 28;

/// The sweep as text: the answer, the points with the front marked, pools, what moving work is worth, what
/// was assumed. No line is longer than `options.width`, and the text ends in a newline.
pub fn render_sweep_terminal(report: &SweepReport, options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    for line in wrap(&report.site, paper.width) {
        paper.styled_line(Style::new().bold(), &line);
    }
    paper.paragraph("", &report.headline);
    paper.paragraph("", &report.pays);
    for note in &report.notes {
        paper.paragraph("! ", note);
    }
    points(&mut paper, report);
    table(&mut paper, &report.pools, |_| true);
    if !report.shift.rows.is_empty() {
        table(&mut paper, &report.shift, |_| true);
    }
    if !report.assumed.is_empty() {
        paper.heading("Assumed");
        for sentence in &report.assumed {
            paper.paragraph("• ", sentence);
        }
    }
    paper.text
}

/// All points where they are few, else those of the front.
fn points(paper: &mut Paper, report: &SweepReport) {
    let all = report.table.rows.len() <= ROWS_MAX;
    let is_shown = |place: usize| all || report.front.binary_search(&(place as u64)).is_ok();
    table(paper, &report.table, is_shown);
    if !all {
        paper.line("the points of the front; all are in `--format json`");
    }
    let mut told: Vec<&str> = Vec::new();
    for why in report.points.iter().filter_map(|point| point.missing.as_deref()) {
        if !told.contains(&why) && told.len() < 4 {
            paper.paragraph("– ", why);
            told.push(why);
        }
    }
}

fn table(paper: &mut Paper, table: &Table, is_shown: impl Fn(usize) -> bool) {
    paper.heading(&table.title);
    if table.rows.is_empty() {
        paper.paragraph("", &table.empty);
        return;
    }
    paper.paragraph("", &table.note);
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .enumerate()
        .filter(|(place, _)| is_shown(*place))
        .map(|(_, cells)| cells.iter().map(short).collect())
        .collect();
    let columns = columns(table, &rows, paper.width);
    let head: Vec<String> = table.columns.iter().map(|column| column.title.clone()).collect();
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for cells in rows.iter().take(ROWS_MAX) {
        for line in row(&columns, cells) {
            paper.line(&line);
        }
    }
    if let Some(more) = rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        paper.line(&format!("… and {more} more, in `--format json`"));
    }
}

/// As wide as their cells, and together no wider than the paper: the widest give way first.
fn columns(table: &Table, rows: &[Vec<String>], room: usize) -> Vec<Columns> {
    let mut columns: Vec<Columns> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            let cells = rows.iter().filter_map(|cells| cells.get(place)).map(|cell| width(cell));
            let widest = cells.chain([width(&column.title)]).max().unwrap_or(0);
            Columns { width: widest.clamp(1, COLUMN_WIDTH_MAX), right: column.numeric }
        })
        .collect();
    let total = |columns: &[Columns]| {
        columns.iter().map(|it| it.width).sum::<usize>() + 2 * columns.len().saturating_sub(1)
    };
    while total(&columns) > room {
        let Some(widest) = columns.iter_mut().max_by_key(|it| it.width).filter(|it| it.width > 2)
        else {
            break;
        };
        widest.width -= 1;
    }
    columns
}

/// What is missing is a dash here; its reason is in the JSON.
fn short(value: &Value) -> String {
    if value.state == State::Missing { "–".to_owned() } else { value.text.clone() }
}
