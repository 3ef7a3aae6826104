//! The calendar as a week of letters.

use crate::plan::model::{CalendarDay, CalendarView, HolderView, LevelView};
use crate::terminal::layout::{Columns, pad, row, width};
use crate::terminal::paper::Paper;

/// Days that are always shown; a later one that is the same as a week before says so.
const DAYS_PER_WEEK: usize = 7;
/// A longer legend is set as one paragraph.
const LEGEND_LINES_MAX: usize = 12;

pub(super) fn calendar(paper: &mut Paper, view: &CalendarView) {
    paper.heading("The calendar");
    let entry = |holder: &HolderView| format!("{} {}", holder.letter, holder.text);
    if view.holders.len() > LEGEND_LINES_MAX {
        paper.paragraph("", &view.holders.iter().map(entry).collect::<Vec<_>>().join(" · "));
        paper.blank();
    } else {
        for holder in &view.holders {
            paper.paragraph("", &entry(holder));
        }
    }
    paper.paragraph("", &view.days_note);
    let label = view
        .days
        .iter()
        .flat_map(|day| day.rows.iter().map(|row| width(&row.label)))
        .chain([width("Wed 30 Sep")])
        .max()
        .unwrap_or(0)
        .min(paper.width / 2);
    for (index, day) in view.days.iter().enumerate() {
        paper.blank();
        let before = index.checked_sub(DAYS_PER_WEEK).and_then(|before| view.days.get(before));
        match before {
            Some(before) if before.rows == day.rows && before.scale == day.scale => {
                paper.paragraph("", &format!("{}: as {}", day.label, before.label));
            }
            _ => one_day(paper, day, label),
        }
    }
}

fn one_day(paper: &mut Paper, day: &CalendarDay, label: usize) {
    let room = paper.width.saturating_sub(label + 2).max(1);
    let letters = day.rows.iter().map(|row| row.letters.chars().count()).max().unwrap_or(0);
    for first in (0..letters.max(1)).step_by(room) {
        let part = |text: &str| text.chars().skip(first).take(room).collect::<String>();
        paper.line(&format!("{}  {}", pad(&day.label, label), part(&day.scale)));
        for row in &day.rows {
            let name: String = row.label.chars().take(label).collect();
            paper.line(&format!("{}  {}", pad(&name, label), part(&row.letters)));
        }
    }
}

/// What was optimised, with bound and gap.
pub(super) fn levels(paper: &mut Paper, levels: &[LevelView]) {
    if levels.is_empty() {
        return;
    }
    paper.heading("What was optimised, in this order");
    let rest = paper.width.saturating_sub(2 + 14 + 16 + 8 + 4 * 2);
    let columns = [
        Columns { width: 2, right: true },
        Columns { width: rest, right: false },
        Columns { width: 14, right: true },
        Columns { width: 16, right: true },
        Columns { width: 8, right: true },
    ];
    let head = ["", "", "reached", "no better than", "gap"].map(str::to_owned);
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for level in levels {
        let cells = [
            level.place.to_string(),
            level.name.clone(),
            level.value.text.clone(),
            level.bound.text.clone(),
            level.gap.text.clone(),
        ];
        for line in row(&columns, &cells) {
            paper.line(&line);
        }
    }
}

/// How inference and the jobs meet.
pub(super) fn overlap(paper: &mut Paper, view: &CalendarView) {
    paper.heading("Overlap");
    for sentence in &view.overlap.sentences {
        paper.paragraph("", sentence);
    }
    paper.blank();
    let rest = paper.width.saturating_sub(14 + 9 + 2 * 2);
    let columns = [
        Columns { width: 14, right: true },
        Columns { width: 9, right: true },
        Columns { width: rest, right: false },
    ];
    for part in &view.overlap.parts {
        let name = view.holders.get(part.holder as usize).map_or("", |holder| &holder.text);
        let cells = [part.gpu_hours.text.clone(), part.share.text.clone(), name.to_owned()];
        for line in row(&columns, &cells) {
            paper.line(&line);
        }
    }
    let total = [view.overlap.total.text.clone(), String::new(), "in all".to_owned()];
    for line in row(&columns, &total) {
        paper.line(&line);
    }
}
