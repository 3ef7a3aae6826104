//! The week as a map of shades, and as a table of numbers.

use crate::demand::model::{CourseView, UnitView, WeekDay, WeekView};
use crate::model::Value;
use crate::terminal::layout::{pad, pad_left, width};
use crate::terminal::paper::Paper;

/// From the lowest to the highest fifth.
const SHADES: [&str; 5] = ["·", "░", "▒", "▓", "█"];
/// Columns of the words before the hours.
const LABEL: usize = 7;
/// Columns of a number of a table.
const NUMBER: usize = 4;
/// Columns of the median, the 95th percentile and the peak hour beside the map.
const BESIDE: usize = 24;
/// Columns of a bar.
const BAR: usize = 40;

/// Seven rows of 24 hours.
pub(super) fn week(paper: &mut Paper, unit: &UnitView, view: &WeekView) {
    paper.heading(&format!("The week in {}", unit.name));
    let cell = if paper.width >= LABEL + 48 + BESIDE { 2 } else { 1 };
    let hours: String = (0..24).step_by(3).map(|hour| pad(&format!("{hour}h"), 3 * cell)).collect();
    let head = format!("{:>6}{:>6}{:>12}", "p50", "p95", "peak hour");
    paper.line(&format!("{}{hours}{head}", pad("", LABEL)));
    for day in &view.days {
        let map: String = day.hours.iter().map(|hour| shade(hour.shade).repeat(cell)).collect();
        let peak = day
            .peak
            .as_ref()
            .map_or(String::new(), |peak| format!("{:>7}{:>5}", peak.clock, peak.p95.text));
        let line =
            format!("{}{map}{:>6}{:>6}{peak}", pad(&day.label, LABEL), day.p50.text, day.p95.text);
        paper.line(&line);
    }
    paper.paragraph("", &legend(view, cell));
}

fn shade(shade: Option<u8>) -> &'static str {
    shade.and_then(|shade| SHADES.get(usize::from(shade)).copied()).unwrap_or(" ")
}

fn legend(view: &WeekView, cell: usize) -> String {
    let shades: Vec<String> = view
        .shades
        .iter()
        .map(|entry| {
            let mark = shade(Some(entry.shade)).repeat(cell);
            match entry.shade {
                0 => format!("{mark} less"),
                _ => format!("{mark} from {}", entry.from.text),
            }
        })
        .collect();
    format!("{} (mean of the hour in {}); blank: not known", shades.join("  "), view.printed_in)
}

/// Hours down, days across: the median and the 95th percentile.
pub(super) fn hours(paper: &mut Paper, unit: &UnitView, view: &WeekView) {
    paper.heading(&format!("p50 and p95 of each hour in {}", view.printed_in));
    let cell = 2 * NUMBER + 2;
    let fits = (paper.width.saturating_sub(LABEL) / cell).max(1);
    for (part, days) in view.days.chunks(fits).enumerate() {
        if part > 0 {
            paper.blank();
        }
        let head: String = days.iter().map(|day| pad_left(&day.label, cell)).collect();
        paper.line(&format!("{}{head}", pad("", LABEL - 1)));
        for hour in 0..24 {
            let cells: String = days.iter().map(|day| pair(day, hour)).collect();
            let clock = days.first().and_then(|day| day.hours.get(hour));
            let clock = clock.map_or("", |hour| hour.clock.as_str());
            if !cells.trim().is_empty() {
                paper.line(&format!("{}{cells}", pad(clock, LABEL - 1)));
            }
        }
    }
    let minutes = unit.bin_minutes;
    if minutes != 60 {
        paper.paragraph("", &format!("The JSON has the bins of {minutes} min."));
    }
}

fn pair(day: &WeekDay, hour: usize) -> String {
    let text = |value: Option<&Value>| value.map_or(String::new(), |value| value.text.clone());
    let hour = day.hours.get(hour);
    let p50 = text(hour.and_then(|hour| hour.p50.as_ref()));
    let p95 = text(hour.and_then(|hour| hour.p95.as_ref()));
    format!(" {}{}", pad_left(&p50, NUMBER), pad_left(&p95, NUMBER + 1))
}

/// A row for each step of a short history: a bar to the mean, and on to the highest value.
pub(super) fn course(paper: &mut Paper, unit: &UnitView, view: &CourseView) {
    paper.heading(&format!(
        "{} from the first instant to the last, {} a row",
        unit.name, view.row_length.text
    ));
    let number = |value: &Option<Value>| value.as_ref().and_then(|value| value.value);
    let highest = view.rows.iter().filter_map(|row| number(&row.max)).fold(0.0, f64::max);
    let label = view.rows.iter().map(|row| width(&row.clock)).max().unwrap_or(0) + 2;
    let bar = BAR.min(paper.width.saturating_sub(label + 16));
    let columns = |value: f64| {
        if highest > 0.0 { (bar as f64 * value / highest).round() as usize } else { 0 }
    };
    paper.line(&format!("{}{:>6}{:>6}", pad("", label), "mean", "max"));
    for row in &view.rows {
        let (Some(mean), Some(max)) = (&row.mean, &row.max) else {
            paper.line(&format!("{}  not known", pad(&row.clock, label)));
            continue;
        };
        let solid = columns(mean.value.unwrap_or(0.0));
        let light = columns(max.value.unwrap_or(0.0)).saturating_sub(solid);
        let line = format!(
            "{}{:>6}{:>6}  {}{}",
            pad(&row.clock, label),
            mean.text,
            max.text,
            "█".repeat(solid),
            "░".repeat(light)
        );
        paper.line(&line);
    }
    paper.paragraph("", &format!("█ mean  ░ up to the highest, in {}", view.printed_in));
}
