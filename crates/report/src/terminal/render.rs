//! The report from top to bottom.

use anstyle::Style;

use super::burst::bursts;
use super::capacity::capacity;
use super::layout::{Columns, pad, row, width, wrap};
use super::paper::{Paper, TerminalOptions, marked, style_of};
use super::transitions::transitions;
use crate::model::{
    FindingView, GateView, MissingView, NOT_COMPARED, Report, State, Story, StoryRow, Table, Value,
};

/// The report as text: verdict, conditions, what is missing, the ways of sharing side by side, the
/// gates, next steps. Charts and tables of detail are in the page alone. No line is longer than
/// `options.width`, and the text ends in a newline.
pub fn render_terminal(report: &Report, options: &TerminalOptions) -> String {
    let mut paper = Paper::new(options);
    headline(&mut paper, report);
    missing(&mut paper, &report.missing);
    facts(&mut paper, report);
    story(&mut paper, &report.story);
    capacity(&mut paper, &report.capacity);
    gates(&mut paper, &report.gates);
    transitions(&mut paper, &report.tables);
    bursts(&mut paper, &report.tables);
    engine(&mut paper, &report.tables);
    if let Some(why) = &report.why {
        super::why::why(&mut paper, why);
    }
    left_out(&mut paper, &report.tables);
    next_steps(&mut paper, report);
    paper.text
}

fn headline(paper: &mut Paper, report: &Report) {
    let verdict = &report.verdict;
    paper.styled_line(style_of(verdict.word), &marked(verdict.word));
    paper.paragraph("", &verdict.reason);
    paper.blank();
    paper.paragraph("", &format!("{} · {}", report.site, report.as_of_text));
    for note in &report.notes {
        paper.paragraph("! ", note);
    }
    if !verdict.conditions.is_empty() {
        paper.heading("It holds on these conditions");
        for condition in &verdict.conditions {
            paper.paragraph("• ", &condition.sentence);
            paper.command(4, &condition.predicate);
            if !condition.tested_by.is_empty() {
                paper.paragraph("    ", &format!("tested in {}", condition.tested_by.join(", ")));
            }
        }
    }
    if !verdict.reservations.is_empty() {
        paper.heading("About the tests");
        for reservation in &verdict.reservations {
            paper.paragraph("• ", reservation);
        }
    }
}

fn missing(paper: &mut Paper, missing: &[MissingView]) {
    if missing.is_empty() {
        return;
    }
    paper.heading("What is missing, cheapest first");
    for entry in missing {
        paper.paragraph("• ", &format!("{} ({})", entry.what, entry.minutes_text));
        paper.command(4, &entry.command);
    }
}

fn facts(paper: &mut Paper, report: &Report) {
    paper.heading("What was tested");
    let name_width = 14;
    for fact in report.tested.iter().chain(&report.objectives) {
        let text = match &fact.origin {
            Some(origin) => format!("{} [{origin}]", fact.text),
            None => fact.text.clone(),
        };
        let columns = [
            Columns { width: name_width, right: false },
            Columns { width: paper.width - name_width - 2, right: false },
        ];
        for line in row(&columns, &[fact.name.clone(), text]) {
            paper.line(&line);
        }
    }
}

fn story(paper: &mut Paper, story: &Story) {
    paper.heading("Alone, together, apart");
    for column in &story.columns {
        let ruling = column.ruling.map_or_else(|| "not judged".to_owned(), marked);
        let text = format!("{} ({}): {}; {}", column.title, column.seen, ruling, column.summary);
        paper.paragraph(&pad(&column.letters, 7), &text);
    }
    // As many columns side by side as have room; further ones in a table of their own.
    let room = paper.width.saturating_sub(TITLE_WIDTH + OBJECTIVE_WIDTH + 2) / (CELL_WIDTH_MIN + 2);
    let columns: Vec<usize> = (0..story.columns.len()).collect();
    for shown in columns.chunks(room.max(1)) {
        paper.blank();
        story_table(paper, story, shown);
    }
}

const TITLE_WIDTH: usize = 18;
const OBJECTIVE_WIDTH: usize = 10;
const CELL_WIDTH_MIN: usize = 8;

fn story_table(paper: &mut Paper, story: &Story, shown: &[usize]) {
    let room = paper.width.saturating_sub(TITLE_WIDTH + OBJECTIVE_WIDTH + 2);
    let each = (room / shown.len().max(1)).saturating_sub(2).min(18);
    let mut columns = vec![
        Columns { width: TITLE_WIDTH, right: false },
        Columns { width: OBJECTIVE_WIDTH, right: true },
    ];
    columns.extend(shown.iter().map(|_| Columns { width: each, right: true }));
    let mut head = vec![String::new(), "objective".to_owned()];
    head.extend(
        shown.iter().filter_map(|&index| story.columns.get(index)).map(|c| c.letters.clone()),
    );
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    let mut group = "";
    for entry in &story.rows {
        if entry.group != group {
            group = &entry.group;
            for line in wrap(group, paper.width) {
                paper.styled_line(Style::new().bold(), &line);
            }
        }
        for line in row(&columns, &story_cells(entry, shown)) {
            paper.line(&line);
        }
    }
}

fn story_cells(entry: &StoryRow, shown: &[usize]) -> Vec<String> {
    let objective = entry.objective.as_ref().map_or_else(String::new, |value| value.text.clone());
    let mut cells = vec![entry.title.clone(), objective];
    cells.extend(shown.iter().filter_map(|&index| entry.cells.get(index)).map(|cell| {
        let text = brief(&cell.value);
        match cell.ruling {
            Some(word) => format!("{} {text}", word.mark()),
            None => text,
        }
    }));
    cells
}

/// A table has no room for reasons; the gates below give them.
fn brief(value: &Value) -> String {
    match value.state {
        State::Missing => "not seen".to_owned(),
        State::Known | State::Unbounded | State::Words => value.text.clone(),
    }
}

fn gates(paper: &mut Paper, gates: &[GateView]) {
    paper.heading("The gates");
    let word_width = 14;
    for gate in gates {
        let word = paper.styled(style_of(gate.ruling), &marked(gate.ruling));
        let gap = " ".repeat(word_width - width(&marked(gate.ruling)));
        let name = wrap(&gate.name, paper.width - word_width);
        for (index, line) in name.iter().enumerate() {
            let lead = if index == 0 { format!("{word}{gap}") } else { " ".repeat(word_width) };
            let line = paper.styled(Style::new().bold(), line);
            paper.text.push_str(&lead);
            paper.text.push_str(&line);
            paper.text.push('\n');
        }
        paper.paragraph(&" ".repeat(word_width), &gate.summary);
        if !gate.findings.is_empty() {
            findings(paper, &gate.findings);
        }
        paper.blank();
    }
}

/// The findings of one gate: value, bound, objective, origin; below each the reason.
fn findings(paper: &mut Paper, findings: &[FindingView]) {
    let fixed = 2 + 11 + 11 + 9 + 2 * 4;
    let rest = paper.width.saturating_sub(fixed);
    let subject = rest / 2;
    let columns = [
        Columns { width: 2, right: true },
        Columns { width: subject, right: false },
        Columns { width: 11, right: true },
        Columns { width: rest - subject - 2, right: false },
        Columns { width: 11, right: true },
        Columns { width: 9, right: false },
    ];
    let numbers = findings.iter().any(|finding| finding.objective.is_some());
    if numbers {
        let head = ["", "finding", "seen", "bound (95 %)", "objective", "origin"];
        for line in row(&columns, &head.map(str::to_owned)) {
            paper.line(&line);
        }
    }
    for finding in findings {
        let origin = finding.origin.as_deref().unwrap_or("none yet");
        if finding.objective.is_some() {
            let cells = [
                finding.ruling.mark().to_string(),
                format!("{}, {}", finding.subject, finding.strategy),
                brief(&finding.observed),
                finding.bound_text.clone(),
                finding.objective.as_ref().map_or_else(String::new, |value| value.text.clone()),
                origin.to_owned(),
            ];
            for line in row(&columns, &cells) {
                paper.line(&line);
            }
        } else {
            let text = format!("{}, {} [{origin}]", finding.subject, finding.strategy);
            paper.paragraph(&format!(" {}  ", finding.ruling.mark()), &text);
        }
        reason(paper, finding);
    }
}

fn reason(paper: &mut Paper, finding: &FindingView) {
    let indent = "      ";
    let reason = if finding.sample_count > 0 {
        format!("{} ({})", finding.explanation, finding.sample_text)
    } else {
        finding.explanation.clone()
    };
    paper.paragraph(indent, &reason);
    if let Some(blind) = &finding.blind_spot {
        paper.paragraph(indent, &format!("blind spot: {blind}"));
    }
    for missing in &finding.missing {
        let text = format!("missing: {} ({})", missing.what, missing.minutes_text);
        paper.paragraph(indent, &text);
        paper.command(8, &missing.command);
    }
}

/// Whether client and engine agree, one line for each latency that both tell. What one of them does not
/// tell is on the page.
fn engine(paper: &mut Paper, tables: &[Table]) {
    let Some(table) = tables.iter().find(|table| table.key == "engine") else { return };
    let place = |key: &str| table.columns.iter().position(|column| column.key == key);
    let keys = ["test", "latency", "client_p95_s", "engine_p95", "answer", "why"].map(place);
    let [Some(test), Some(latency), Some(client), Some(engine), Some(answer), Some(why)] = keys
    else {
        return;
    };
    let is_told =
        |cells: &&Vec<Value>| cells.get(answer).is_some_and(|cell| cell.text != NOT_COMPARED);
    let mut told = table.rows.iter().filter(is_told).peekable();
    if told.peek().is_none() {
        return;
    }
    paper.heading(&table.title);
    for cells in told {
        let text = |place: usize| cells.get(place).map_or("", |cell| cell.text.as_str());
        let seen = cells.get(client).is_some_and(|cell| cell.state == State::Known);
        let p95 = if seen {
            format!(" (p95 {}, engine {})", text(client), text(engine))
        } else {
            String::new()
        };
        let line =
            format!("{}, {}{p95}: {}; {}", text(test), text(latency), text(answer), text(why));
        paper.paragraph("• ", &line);
    }
}

/// What was left out is told wherever the verdict is told.
fn left_out(paper: &mut Paper, tables: &[Table]) {
    let told = tables
        .iter()
        .filter(|table| matches!(table.key.as_str(), "rejected" | "excluded"))
        .filter(|table| !table.rows.is_empty());
    for table in told {
        paper.heading(&table.title);
        for cells in &table.rows {
            let texts: Vec<_> = cells.iter().map(|cell| cell.text.as_str()).collect();
            paper.paragraph("• ", &texts.join(" · "));
        }
    }
}

fn next_steps(paper: &mut Paper, report: &Report) {
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
