//! Demand and reserve by hour of the day.

use super::render::bold;
use crate::plan::model::{ReserveView, WeekdayReserve};
use crate::terminal::layout::{pad, pad_left, width};
use crate::terminal::paper::Paper;

/// Columns of the words before the hours.
const LABEL: usize = 8;
/// The narrowest column of an hour.
const CELL_MIN: usize = 3;

pub(super) fn reserves(paper: &mut Paper, reserves: &[ReserveView]) {
    if reserves.is_empty() {
        return;
    }
    paper.heading("Demand and reserve");
    for (index, reserve) in reserves.iter().enumerate() {
        if index > 0 {
            paper.blank();
        }
        bold(paper, "", &reserve.workload);
        paper.paragraph("", &reserve.summary);
        paper.paragraph("", &format!("It needs {}.", reserve.peak_text));
        if !reserve.weekdays.is_empty() {
            paper.blank();
            paper.paragraph("", "GPUs by hour of the day, the highest of each hour:");
            for day in &reserve.weekdays {
                weekday(paper, day, &reserve.hours);
            }
        }
        for remark in &reserve.remarks {
            paper.paragraph("• ", remark);
        }
    }
}

fn weekday(paper: &mut Paper, day: &WeekdayReserve, clock: &[u32]) {
    let rows = [("reserved", &day.reserved), ("free", &day.hot), ("lendable", &day.lent)];
    let texts = |hours: &[Option<u32>]| -> Vec<String> {
        let text = |gpus: &Option<u32>| match gpus {
            Some(0) => "·".to_owned(),
            Some(gpus) => gpus.to_string(),
            None => String::new(),
        };
        hours.iter().map(text).collect()
    };
    let widest = rows.iter().flat_map(|(_, hours)| texts(hours)).map(|text| width(&text)).max();
    let cell = CELL_MIN.max(widest.unwrap_or(0) + 1);
    let label = LABEL.max(width(&day.label));
    let fits = (paper.width.saturating_sub(label) / cell).max(1);
    // Where a line has no room for the whole day, it is set in halves or thirds.
    let per_line = [24, 12, 8, 6, 4].into_iter().find(|hours| *hours <= fits).unwrap_or(1);
    for (part, clock) in clock.chunks(per_line).enumerate() {
        let hours = part * per_line..part * per_line + clock.len();
        let head: String = clock.iter().map(|hour| pad_left(&hour.to_string(), cell)).collect();
        paper.line(&format!("{}{head}", pad(&day.label, label)));
        for (name, gpus) in rows.iter().filter(|(_, gpus)| gpus.iter().flatten().any(|n| *n > 0)) {
            let cells = texts(gpus.get(hours.clone()).unwrap_or_default());
            let line: String = cells.iter().map(|text| pad_left(text, cell)).collect();
            paper.line(&format!("{}{line}", pad(name, label)));
        }
    }
}
