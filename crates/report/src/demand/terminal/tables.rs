//! Tables of figures.

use crate::demand::model::{DemandReport, FiguresRow, UnitView};
use crate::terminal::layout::{Columns, pad, row, width};
use crate::terminal::paper::Paper;

/// Peaks and outliers of one unit that are printed, at most.
const SHOWN_MAX: usize = 5;

/// How much there is: one row for each unit of work, and for tokens.
pub(super) fn figures(paper: &mut Paper, report: &DemandReport) {
    paper.heading("How much");
    let rows: Vec<&FiguresRow> = report.figures.iter().chain(&report.tokens).collect();
    let cells_of = |row: &FiguresRow| {
        [&row.mean, &row.p50, &row.p95, &row.p99, &row.max].map(|value| value.text.clone())
    };
    let number = rows.iter().flat_map(|row| cells_of(row)).map(|text| width(&text)).max();
    let number = number.unwrap_or(0).max(4);
    let label = paper.width.saturating_sub(5 * (number + 2)).clamp(8, 20);
    let mut columns = vec![Columns { width: label, right: false }];
    columns.resize(6, Columns { width: number, right: true });
    let head = ["", "mean", "p50", "p95", "p99", "max"].map(str::to_owned);
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for figures in rows {
        let mut cells = vec![figures.name.clone()];
        cells.extend(cells_of(figures));
        for line in row(&columns, &cells) {
            paper.line(&line);
        }
    }
    for sentence in &report.unknown {
        paper.paragraph("• ", sentence);
    }
    for unit in &report.units {
        if let Some(why) = &unit.missing
            && report.figures.is_empty()
        {
            paper.paragraph("• ", why);
        }
    }
}

/// The highest windows.
pub(super) fn peaks(paper: &mut Paper, unit: &UnitView) {
    // The course of a short history shows its peaks itself.
    if unit.course.is_some() || unit.peaks.is_empty() {
        return;
    }
    paper.blank();
    let peaks: Vec<_> = unit.peaks.iter().take(SHOWN_MAX).collect();
    let label = peaks.iter().map(|peak| width(&peak.at.text)).max().unwrap_or(0).max(18);
    let head = format!("{:>12}{:>22}", "highest", "mean of its window");
    paper.line(&format!("{}{head}", pad("The highest days", label)));
    for peak in peaks {
        let numbers = format!("{:>12}{:>22}", peak.value.text, peak.mean.text);
        paper.line(&format!("{}{numbers}", pad(&peak.at.text, label)));
    }
}

/// The windows most unlike their peers.
pub(super) fn outliers(paper: &mut Paper, unit: &UnitView) {
    if unit.outliers.is_empty() {
        return;
    }
    let shown: Vec<_> = unit.outliers.iter().take(SHOWN_MAX).collect();
    let label = shown.iter().map(|it| width(&it.at.text)).max().unwrap_or(0).max(14);
    paper.line(&format!("{}{:>10}{:>10}{:>9}", pad("", label), "mean", "usual", "z"));
    for it in shown {
        let numbers = format!("{:>10}{:>10}{:>9}", it.value.text, it.median.text, it.z.text);
        paper.line(&format!("{}{numbers}", pad(&it.at.text, label)));
    }
}
