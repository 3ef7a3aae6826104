//! The plan from top to bottom.

use anstyle::Style;

use super::calendar::{calendar, levels, overlap};
use super::parts::{backtest, candidates, certificates, checks, gates, promises};
use super::reserve::reserves;
use crate::plan::model::{CheckView, PlanReport};
use crate::terminal::TerminalOptions;
use crate::terminal::layout::{Columns, row};
use crate::terminal::paper::{Paper, marked, style_of};

/// The plan as text: the answer, demand and reserve, the calendar, what was optimised, promises,
/// proofs, ways of sharing, the replayed history, checks, and what is missing. No line is longer
/// than `options.width`, and the text ends in a newline.
pub fn render_plan_terminal(report: &PlanReport, options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    headline(&mut paper, report);
    facts(&mut paper, report);
    certificates(&mut paper, &report.certificates);
    gates(&mut paper, &report.gates);
    reserves(&mut paper, &report.reserves);
    if let Some(view) = &report.calendar {
        calendar(&mut paper, view);
        levels(&mut paper, &view.levels);
        overlap(&mut paper, view);
    }
    if let Some(reason) = &report.calendar_missing {
        paper.heading("The calendar");
        paper.paragraph("", reason);
    }
    promises(&mut paper, &report.promises);
    candidates(&mut paper, &report.candidates);
    if let Some(view) = &report.backtest {
        backtest(&mut paper, view);
    }
    checks(&mut paper, &report.checks);
    sentences(&mut paper, "What is missing", &report.missing);
    sentences(&mut paper, "What was assumed", &report.assumptions);
    next_steps(&mut paper, report);
    paper.text
}

/// The checks alone, as they stand in a plan; empty where there are none.
pub fn render_checks_terminal(views: &[CheckView], options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    checks(&mut paper, views);
    paper.text
}

fn headline(paper: &mut Paper, report: &PlanReport) {
    let head = &report.headline;
    paper.styled_line(style_of(head.word), &marked(head.word));
    paper.paragraph("", &head.reason);
    paper.blank();
    match &report.as_of {
        Some(as_of) => paper.paragraph("", &format!("{} · as of {}", report.site, as_of.text)),
        None => paper.paragraph("", &report.site),
    }
    for fact in &report.glance {
        paper.paragraph("", &format!("{}: {}", fact.name, fact.text));
    }
    for note in &report.notes {
        paper.paragraph("! ", note);
    }
    sentences(paper, "It would be conditional on", &head.would_be_conditional_on);
}

/// A heading with a list below it, where there is anything to list.
fn sentences(paper: &mut Paper, heading: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    paper.heading(heading);
    for sentence in sentences {
        paper.paragraph("• ", sentence);
    }
}

fn facts(paper: &mut Paper, report: &PlanReport) {
    if report.facts.is_empty() {
        return;
    }
    paper.heading("What was planned");
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

fn next_steps(paper: &mut Paper, report: &PlanReport) {
    if report.next_steps.is_empty() {
        return;
    }
    paper.heading("Next steps");
    for step in &report.next_steps {
        paper.paragraph("• ", &step.text);
        if !step.command.is_empty() {
            paper.command(4, &step.command);
        }
    }
}

/// A line in bold that is wrapped like any other.
pub(super) fn bold(paper: &mut Paper, first: &str, text: &str) {
    let indent = crate::terminal::layout::width(first);
    let lines = crate::terminal::layout::wrap(text, paper.width.saturating_sub(indent));
    for (index, line) in lines.iter().enumerate() {
        let lead = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
        let line = paper.styled(Style::new().bold(), line);
        paper.text.push_str(&lead);
        paper.text.push_str(&line);
        paper.text.push('\n');
    }
}
