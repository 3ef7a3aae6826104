//! What reclaim and transitions cost, and how often to write a checkpoint, as text.

use super::layout::{Columns, row};
use super::paper::Paper;
use crate::model::{Table, Value};

/// Columns of a number and of a time.
const COUNT_WIDTH: usize = 5;
const TIME_WIDTH: usize = 10;
/// The least width of a part's name, and of a number beside it on a narrow terminal.
const PART_WIDTH_MIN: usize = 20;
const NARROW_WIDTH: usize = 7;

/// The section; nothing where nothing was drilled.
pub(super) fn transitions(paper: &mut Paper, tables: &[Table]) {
    let find = |key: &str| tables.iter().find(|table| table.key == key && !table.rows.is_empty());
    if let Some(table) = find("transitions") {
        paper.heading(&table.title);
        paper.paragraph("", &table.note);
        costs(paper, table);
    }
    if let Some(table) = find("checkpoint_interval") {
        paper.heading(&table.title);
        paper.paragraph("", &table.note);
        for cells in &table.rows {
            let [rule, interval, lost] = cells.as_slice() else { continue };
            let text =
                format!("{}: {}, {} of the time is lost", rule.text, interval.text, lost.text);
            paper.paragraph("• ", &text);
        }
    }
}

/// One line a part, under the direction that it belongs to.
fn costs(paper: &mut Paper, table: &Table) {
    let numbers = |time: usize| COUNT_WIDTH + 3 * time + 4 * 2;
    let fits = paper.width >= numbers(TIME_WIDTH) + PART_WIDTH_MIN;
    let time = if fits { TIME_WIDTH } else { NARROW_WIDTH };
    let part = paper.width.saturating_sub(numbers(time)).max(PART_WIDTH_MIN);
    let part = Columns { width: part, right: false };
    let time = Columns { width: time, right: true };
    let columns = [part, Columns { width: COUNT_WIDTH, right: true }, time, time, time];
    let mut direction = "";
    for cells in &table.rows {
        let [towards, rest @ ..] = cells.as_slice() else { continue };
        if towards.text != direction {
            direction = &towards.text;
            let head = [direction, "n", "p50", "p95", "max"].map(str::to_owned);
            for line in row(&columns, &head) {
                paper.line(&line);
            }
        }
        let texts: Vec<String> = rest.iter().map(|value: &Value| value.text.clone()).collect();
        for line in row(&columns, &texts) {
            paper.line(&line);
        }
    }
}
