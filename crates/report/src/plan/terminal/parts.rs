//! Gates, promises, proofs, ways of sharing, the replayed history and checks.

use anstyle::{AnsiColor, Style};

use super::render::bold;
use crate::model::Word;
use crate::plan::model::{
    BacktestView, CandidateSimulation, CandidateView, CertificateView, CheckOutcome, CheckView,
    PlanGateView, PromiseView,
};
use crate::terminal::layout::{Columns, pad, row, width};
use crate::terminal::paper::{Paper, marked, style_of};

/// Columns of a word with its mark.
const WORD: usize = 14;

/// A word in its colour, then a title in bold.
fn titled(paper: &mut Paper, word: &str, style: Style, title: &str) {
    let lead = paper.styled(style, word);
    paper.text.push_str(&lead);
    paper.text.push_str(&" ".repeat(WORD.saturating_sub(width(word))));
    let lines = crate::terminal::layout::wrap(title, paper.width - WORD);
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            paper.text.push_str(&" ".repeat(WORD));
        }
        paper.styled_line(Style::new().bold(), line);
    }
}

fn below(paper: &mut Paper, text: &str) {
    paper.paragraph(&" ".repeat(WORD), text);
}

fn listed(paper: &mut Paper, lead: &str, texts: &[String]) {
    for text in texts {
        below(paper, &format!("{lead}: {text}"));
    }
}

pub(super) fn gates(paper: &mut Paper, gates: &[PlanGateView]) {
    if gates.is_empty() {
        return;
    }
    paper.heading("The gates, as far as a plan can decide them");
    for gate in gates {
        titled(paper, &marked(gate.word), style_of(gate.word), &gate.name);
        below(paper, &gate.reason);
        listed(paper, "would be conditional on", &gate.would_be_conditional_on);
        listed(paper, "to test", &gate.to_test);
    }
}

pub(super) fn promises(paper: &mut Paper, promises: &[PromiseView]) {
    if promises.is_empty() {
        return;
    }
    paper.heading("What can be promised");
    let rest = paper.width.saturating_sub(1 + 17 + 17 + 16 + 4 * 2);
    let columns = [
        Columns { width: 1, right: false },
        Columns { width: rest, right: false },
        Columns { width: 17, right: false },
        Columns { width: 17, right: false },
        Columns { width: 16, right: false },
    ];
    let head = ["", "job", "due", "done", ""].map(str::to_owned);
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    let none = || "–".to_owned();
    for promise in promises {
        let mark = match promise.in_time {
            Some(true) => '✓',
            Some(false) => '✗',
            None => '·',
        };
        let cells = [
            mark.to_string(),
            promise.job.clone(),
            promise.deadline.as_ref().map_or_else(none, |at| at.text.clone()),
            promise.done.as_ref().map_or_else(none, |at| at.text.clone()),
            promise.margin_text.clone(),
        ];
        for line in row(&columns, &cells) {
            paper.line(&line);
        }
        let detail = format!(
            "{} in time {}, {} lost to transitions; {}{}",
            promise.gpu_hours_in_time.text,
            promise.work_text,
            promise.gpu_hours_lost.text,
            if promise.keeps_share == Some(false) { "✗ " } else { "" },
            promise.on_time_text,
        );
        paper.paragraph("   ", &detail);
        for remark in &promise.remarks {
            paper.paragraph("   ", remark);
        }
    }
}

pub(super) fn certificates(paper: &mut Paper, certificates: &[CertificateView]) {
    if certificates.is_empty() {
        return;
    }
    paper.heading("Deadlines that cannot be met, and what would help");
    for (index, certificate) in certificates.iter().enumerate() {
        if index > 0 {
            paper.blank();
        }
        bold(paper, "✗ ", &certificate.jobs.join(", "));
        paper.paragraph("  ", &certificate.sentence);
        paper.paragraph("  ", &certificate.arithmetic);
        if certificate.changes.is_empty() {
            paper.paragraph("  ", "No change was found that would meet it.");
        }
        for change in &certificate.changes {
            paper.paragraph("  • ", &format!("{}: {}", change.what, change.text));
        }
    }
}

pub(super) fn candidates(paper: &mut Paper, candidates: &[CandidateView]) {
    if candidates.is_empty() {
        return;
    }
    paper.heading("Ways of sharing, in the order in which they are considered");
    for candidate in candidates {
        let chosen = if candidate.chosen { " (shown above)" } else { "" };
        let title = format!("{}. {}{chosen}", candidate.place, candidate.name);
        match candidate.word {
            Some(word) => titled(paper, &marked(word), style_of(word), &title),
            None => titled(paper, "– left out", Style::new().dimmed(), &title),
        }
        below(paper, &candidate.why);
        if candidate.looked_at {
            let text = format!(
                "{} for jobs; deadlines met: {}",
                candidate.gpu_hours.text, candidate.deadlines.text
            );
            below(paper, &text);
        }
        let gates: Vec<_> = candidate
            .gates
            .iter()
            .map(|gate| format!("{} {}", gate.word.mark(), gate.gate))
            .collect();
        if !gates.is_empty() {
            below(paper, &format!("gates: {}", gates.join(", ")));
        }
        for line in candidate.simulated.iter().flat_map(simulated_lines) {
            below(paper, &line);
        }
        listed(paper, "to test", &candidate.to_test);
    }
}

/// What came of a candidate in the simulator, a line for each part of it that has figures.
fn simulated_lines(simulated: &CandidateSimulation) -> Vec<String> {
    simulated.sentences().into_iter().map(|line| format!("simulated: {line}")).collect()
}

pub(super) fn backtest(paper: &mut Paper, view: &BacktestView) {
    let table = &view.table;
    paper.heading("The history, replayed");
    paper.paragraph("", &format!("{}.", table.title));
    paper.paragraph("", &table.note);
    if table.rows.is_empty() {
        paper.paragraph("", &table.empty);
        return;
    }
    paper.blank();
    // The last column, words of any length, stands in the page alone.
    let shown = table.columns.len().saturating_sub(1).max(1);
    let each = ((paper.width - 14) / (shown - 1).max(1)).saturating_sub(2).clamp(6, 11);
    let first = paper.width.saturating_sub((each + 2) * (shown - 1)).max(2);
    let columns: Vec<_> = table
        .columns
        .iter()
        .take(shown)
        .enumerate()
        .map(|(index, column)| Columns {
            width: if index == 0 { first } else { each },
            right: column.numeric,
        })
        .collect();
    let head: Vec<_> = table.columns.iter().take(shown).map(|c| c.title.clone()).collect();
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for cells in &table.rows {
        let texts: Vec<_> = cells.iter().take(shown).map(|cell| cell.text.clone()).collect();
        for line in row(&columns, &texts) {
            paper.line(&line);
        }
    }
}

pub(super) fn checks(paper: &mut Paper, checks: &[CheckView]) {
    if checks.is_empty() {
        return;
    }
    paper.heading("Checks by arithmetic");
    for check in checks {
        let word = format!("{} {}", check.outcome.mark(), check.outcome.text());
        let style = match check.outcome {
            CheckOutcome::Fails => style_of(Word::Fail),
            CheckOutcome::Open => style_of(Word::NotProven),
            CheckOutcome::Holds => AnsiColor::Green.on_default(),
        };
        titled(paper, &pad(&word, 1), style, &check.title);
        below(paper, &check.answer);
        for line in &check.arithmetic {
            below(paper, line);
        }
        listed(paper, "would be conditional on", &check.would_be_conditional_on);
        listed(paper, "missing", &check.missing);
    }
}
