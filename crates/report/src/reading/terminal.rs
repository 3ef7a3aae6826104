//! Files from top to bottom.

use anstyle::Style;

use super::model::{
    FigureState, FigureView, FileView, ReadView, ReadingReport, RefusalView, TableView,
};
use crate::format::plural;
use crate::terminal::TerminalOptions;
use crate::terminal::layout::{Columns, row, width, wrap};
use crate::terminal::paper::Paper;

/// Rows of a table that are printed, at most; the JSON has all that are kept.
const ROWS_SHOWN_MAX: usize = 40;
/// Lines of what was passed over, and of notes, that are printed at most.
const LINES_SHOWN_MAX: usize = 10;
/// A column is not made narrower than this.
const COLUMN_MIN: usize = 6;
/// Space between two columns.
const GAP: usize = 2;

/// Files as text: what each is, by what that is known, its numbers, what was passed over, what it
/// cannot be used for, and what to do with it. No line is longer than `options.width`, and the text
/// ends in a newline.
pub fn render_reading_terminal(report: &ReadingReport, options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    for (place, view) in report.files.iter().enumerate() {
        if place > 0 {
            paper.blank();
        }
        file(&mut paper, view);
    }
    if !report.contradictions.is_empty() {
        paper.heading("What the files contradict in each other");
        for sentence in &report.contradictions {
            paper.paragraph("• ", sentence);
        }
    }
    if report.files.len() > 1 {
        paper.blank();
        let files = plural(report.files.len() as u64, "file", "files");
        paper.line(&format!("{files}: {} read, {} refused", report.read, report.refused));
    }
    paper.text
}

fn file(paper: &mut Paper, view: &FileView) {
    for line in wrap(&view.file, paper.width) {
        paper.styled_line(Style::new().bold(), &line);
    }
    match (&view.reading, &view.refusal) {
        (Some(reading), _) => read(paper, reading),
        (None, Some(refusal)) => refused(paper, refusal),
        (None, None) => {}
    }
}

fn refused(paper: &mut Paper, refusal: &RefusalView) {
    paper.paragraph("✗ ", &format!("refused: it seems to be {}", refusal.seems));
    let line = refusal.line.map_or(String::new(), |line| format!("line {line}: "));
    paper.paragraph("  ", &format!("{line}{}", refusal.why));
    paper.paragraph("  → ", &refusal.way_out);
}

fn read(paper: &mut Paper, reading: &ReadView) {
    let mut what = vec![format!("{}: {}", reading.kind_text, reading.form)];
    what.extend(reading.producer.as_ref().map(|producer| format!(", by {producer}")));
    what.extend(reading.producer_version.as_ref().map(|version| format!(" ({version})")));
    if !reading.packing.is_empty() {
        what.push(format!(", stored as {}", reading.packing.join(" around ")));
    }
    paper.paragraph("", &what.concat());
    paper.paragraph("known by: ", &reading.recognised_by.join("; "));
    if !reading.facts.is_empty() {
        paper.blank();
        facts(paper, reading);
    }
    for one in &reading.tables {
        table(paper, one);
    }
    list(paper, "To know", &reading.notes, reading.notes_left_out);
    list(paper, "Passed over", &reading.skipped, reading.skipped_left_out);
    if !reading.limits.is_empty() {
        sub_heading(paper, "What it cannot prove");
        for limit in &reading.limits {
            let place =
                if limit.place.is_empty() { String::new() } else { format!(" ({})", limit.place) };
            paper.paragraph("✗ ", &format!("{}: {}{place}", limit.claim, limit.why));
            paper.paragraph("  → ", &limit.way_out);
        }
    }
    if let Some(next) = &reading.next {
        sub_heading(paper, "Next");
        paper.command(2, next);
    }
}

fn sub_heading(paper: &mut Paper, text: &str) {
    paper.blank();
    for line in wrap(text, paper.width) {
        paper.styled_line(Style::new().bold(), &line);
    }
}

fn list(paper: &mut Paper, title: &str, lines: &[String], left_out: u64) {
    if lines.is_empty() {
        return;
    }
    sub_heading(paper, title);
    for line in lines.iter().take(LINES_SHOWN_MAX) {
        paper.paragraph("• ", line);
    }
    let more = lines.len().saturating_sub(LINES_SHOWN_MAX) as u64 + left_out;
    if more > 0 {
        paper.line(&format!("  and {more} more"));
    }
}

fn facts(paper: &mut Paper, reading: &ReadView) {
    let longest = reading.facts.iter().map(|fact| width(&fact.name)).max().unwrap_or(0);
    let name = longest.clamp(8, paper.width / 2);
    let columns = [
        Columns { width: name, right: false },
        Columns { width: paper.width - name - GAP, right: false },
    ];
    for fact in &reading.facts {
        for line in row(&columns, &[fact.name.clone(), fact.figure.text.clone()]) {
            paper.line(&line);
        }
    }
}

fn table(paper: &mut Paper, table: &TableView) {
    sub_heading(paper, &table.title);
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let shown: Vec<&Vec<FigureView>> = table.rows.iter().take(ROWS_SHOWN_MAX).collect();
    let needed =
        |columns: &[usize]| natural(table, &shown, columns).iter().map(|w| w + GAP).sum::<usize>();
    // What is a detail is left out before anything is broken into pieces.
    let columns = if needed(&all) > paper.width + GAP {
        all.into_iter().filter(|at| !table.columns[*at].is_detail).collect()
    } else {
        all
    };
    match widths(natural(table, &shown, &columns), paper.width) {
        Some(widths) => as_table(paper, table, &shown, &columns, &widths),
        None => as_records(paper, table, &shown),
    }
    let more = (table.rows.len() - shown.len()) as u64 + table.rows_left_out;
    if more > 0 {
        paper.line(&format!("and {more} more rows; --format json has more of them"));
    }
}

/// A cell as the terminal shows it: that nothing is there, without the reason, which the JSON has.
fn cell(figure: &FigureView) -> String {
    match figure.state {
        FigureState::Missing => "—".to_owned(),
        _ => figure.text.clone(),
    }
}

/// The widths that the columns would like to have.
fn natural(table: &TableView, rows: &[&Vec<FigureView>], columns: &[usize]) -> Vec<usize> {
    let of = |at: &usize| {
        let cells = rows.iter().filter_map(|row| row.get(*at)).map(|figure| width(&cell(figure)));
        let name = table.columns.get(*at).map_or(0, |column| width(&column.name));
        cells.chain([name]).max().unwrap_or(0)
    };
    columns.iter().map(of).collect()
}

/// The widths of the columns; `None` where there are too many for the paper.
fn widths(mut widths: Vec<usize>, paper: usize) -> Option<Vec<usize>> {
    let room = paper.checked_sub(GAP * widths.len().saturating_sub(1))?;
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter().copied().max()?;
        let place = widths.iter().position(|one| *one == widest)?;
        if widest <= COLUMN_MIN.max(room / widths.len()) {
            return None;
        }
        widths[place] -= 1;
    }
    Some(widths)
}

fn as_table(
    paper: &mut Paper,
    table: &TableView,
    rows: &[&Vec<FigureView>],
    shown: &[usize],
    widths: &[usize],
) {
    let is_number = |at: usize| {
        let is_figure = |figure: &FigureView| {
            !matches!(figure.state, FigureState::Words | FigureState::Missing)
        };
        let mut cells = rows.iter().filter_map(|row| row.get(at)).peekable();
        cells.peek().is_some()
            && cells.all(|figure| is_figure(figure) || figure.state == FigureState::Missing)
    };
    let columns: Vec<Columns> = shown
        .iter()
        .zip(widths)
        .map(|(at, width)| Columns { width: *width, right: is_number(*at) })
        .collect();
    let names: Vec<String> = shown.iter().map(|at| table.columns[*at].name.clone()).collect();
    for line in row(&columns, &names) {
        paper.line(&line);
    }
    for one in rows {
        let cells: Vec<String> = shown.iter().filter_map(|at| one.get(*at)).map(cell).collect();
        for line in row(&columns, &cells) {
            paper.line(&line);
        }
    }
}

/// Where a table is too wide: each row as a paragraph, without what is not there.
fn as_records(paper: &mut Paper, table: &TableView, rows: &[&Vec<FigureView>]) {
    for one in rows {
        let known = table
            .columns
            .iter()
            .zip(one.iter())
            .filter(|(column, figure)| !column.is_detail && figure.state != FigureState::Missing)
            .map(|(column, figure)| format!("{} {}", column.name, figure.text));
        paper.paragraph("• ", &known.collect::<Vec<_>>().join("; "));
    }
}
