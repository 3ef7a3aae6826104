//! Demand from top to bottom.

use anstyle::Style;

use super::forecast::forecasts;
use super::tables::{figures, outliers, peaks};
use super::week::{course, hours, week};
use crate::demand::model::{DemandReport, GapsView, UnitView};
use crate::terminal::TerminalOptions;
use crate::terminal::layout::{Columns, row, wrap};
use crate::terminal::paper::Paper;

/// Demand as text: what was read, how much it is, when it is, what is unlike the rest, what is not
/// known, and what is to be expected. No line is longer than `options.width`, and the text ends in a
/// newline.
pub fn render_demand_terminal(report: &DemandReport, options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    head(&mut paper, report);
    facts(&mut paper, report);
    figures(&mut paper, report);
    let shown = || report.units.iter().filter(|unit| unit.missing.is_none());
    for (place, unit) in shown().enumerate() {
        if let Some(view) = &unit.week {
            week(&mut paper, unit, view);
        }
        if let Some(view) = &unit.course {
            course(&mut paper, unit, view);
        }
        // One table of hours is enough to read at once; the JSON has them all.
        if place == 0
            && let Some(view) = &unit.week
        {
            hours(&mut paper, unit, view);
        }
        peaks(&mut paper, unit);
    }
    unlike(&mut paper, &shown().collect::<Vec<_>>());
    gaps(&mut paper, &report.gaps);
    forecasts(&mut paper, &shown().collect::<Vec<_>>());
    if !report.remarks.is_empty() {
        paper.heading("Remarks");
        for remark in &report.remarks {
            paper.paragraph("• ", remark);
        }
    }
    paper.text
}

fn head(paper: &mut Paper, report: &DemandReport) {
    for line in wrap(&report.title, paper.width) {
        paper.styled_line(Style::new().bold(), &line);
    }
    for sentence in &report.headline {
        paper.paragraph("", sentence);
    }
    for note in &report.notes {
        paper.paragraph("! ", note);
    }
}

fn facts(paper: &mut Paper, report: &DemandReport) {
    paper.heading("What was read");
    let columns =
        [Columns { width: 10, right: false }, Columns { width: paper.width - 12, right: false }];
    for fact in &report.facts {
        let text = match &fact.origin {
            Some(origin) => format!("{} [{origin}]", fact.text),
            None => fact.text.clone(),
        };
        for line in row(&columns, &[fact.name.clone(), text]) {
            paper.line(&line);
        }
    }
}

/// Windows unlike their peers, and drift between weeks, of each unit.
fn unlike(paper: &mut Paper, units: &[&UnitView]) {
    if units.is_empty() {
        return;
    }
    paper.heading("What is unlike the rest");
    // Units of which the same is said are told together.
    let same = |left: &&UnitView, right: &&UnitView| {
        left.drift.sentence == right.drift.sentence
            && left.outliers.is_empty()
            && right.outliers.is_empty()
    };
    for (place, group) in units.chunk_by(same).enumerate() {
        let Some(unit) = group.first() else { continue };
        if place > 0 {
            paper.blank();
        }
        if units.len() > group.len() {
            let names: Vec<&str> = group.iter().map(|unit| unit.name.as_str()).collect();
            for line in wrap(&names.join(", "), paper.width) {
                paper.styled_line(Style::new().bold(), &line);
            }
        }
        paper.paragraph("", &unit.drift.sentence);
        paper.paragraph("", &unit.outlier_sentence);
        outliers(paper, unit);
    }
}

fn gaps(paper: &mut Paper, gaps: &GapsView) {
    paper.heading("What is not known");
    paper.paragraph("", &gaps.summary);
    let shown = gaps.shown.iter().filter_map(|place| gaps.list.get(*place as usize));
    let mut said = "";
    for gap in shown {
        paper.paragraph("• ", &format!("{}: {}", gap.kind, gap.text));
        // The reasons of one kind differ in their numbers alone, and the JSON has them all.
        if gap.kind != said {
            paper.paragraph("  ", &gap.why);
            said = &gap.kind;
        }
    }
    if let Some(sentence) = &gaps.not_shown {
        paper.paragraph("", sentence);
    }
}
