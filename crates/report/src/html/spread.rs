//! Step times by block.

use maud::{Markup, html};

use super::marks::{badge, series_class};
use super::scale::{Scale, place};
use crate::model::{SeriesKind, SpreadBox, SpreadChart};

const WIDTH: f64 = 520.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 492.0;
const TOP: f64 = 24.0;
const ROW: f64 = 15.0;
const GROUP_GAP: f64 = 10.0;

/// The chart with its heading and key.
pub(super) fn spread_figure(chart: &SpreadChart) -> Markup {
    html! {
        figure {
            figcaption { h3 { (chart.title) } }
            @if let Some(missing) = &chart.missing {
                p class="missing" { (missing) }
            } @else {
                (key(chart))
                (drawing(chart))
            }
        }
    }
}

fn key(chart: &SpreadChart) -> Markup {
    let kinds = [
        (SeriesKind::TrainingAlone, "B alone"),
        (SeriesKind::Together, "C together"),
        (SeriesKind::WithRemedy, "C′ with remedy"),
    ];
    html! {
        ul class="key" {
            @for (kind, label) in kinds {
                @if chart.boxes.iter().any(|entry| entry.kind == kind) {
                    li { (badge(kind)) " " (label) }
                }
            }
            li { "bar: middle half · line: all steps · dot: mean" }
        }
    }
}

fn drawing(chart: &SpreadChart) -> Markup {
    let x = Scale::new(&chart.x, LEFT, RIGHT);
    let mut rows = Vec::with_capacity(chart.boxes.len());
    let mut at = TOP + ROW / 2.0;
    let mut previous: Option<SeriesKind> = None;
    for entry in &chart.boxes {
        if previous.is_some_and(|kind| kind != entry.kind) {
            at += GROUP_GAP;
        }
        rows.push((entry, at));
        at += ROW;
        previous = Some(entry.kind);
    }
    let bottom = at;
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (place(bottom + 28.0)) } role="img"
            aria-label=(chart.description) {
            @for tick in &chart.x.ticks {
                @let at = place(x.at(tick.at));
                path class="grid" d={ "M" (at) " " (TOP) "V" (place(bottom)) } {}
                text class="tick middle" x=(at) y=(place(bottom + 18.0)) { (tick.text) }
            }
            @for line in &chart.lines {
                @let at = x.at(line.at);
                path class="target" d={ "M" (place(at)) " " (TOP - 6.0) "V" (place(bottom)) } {}
                text class={ "label " (if at > 280.0 { "end" } else { "" }) } x=(place(at))
                    y=(TOP - 11.0) { (line.text) }
            }
            @for (entry, at) in rows { (row(entry, at, x)) }
        }
    }
}

fn row(entry: &SpreadBox, at: f64, x: Scale) -> Markup {
    let from = x.at(entry.quarter);
    let width = (x.at(entry.three_quarters) - from).max(2.0);
    html! {
        g class=(series_class(entry.kind)) {
            title { (entry.text) }
            text class="tick end" x=(LEFT - 8.0) y=(place(at)) dy="0.32em" { (entry.label) }
            path class="whisker" d={
                "M" (place(x.at(entry.low))) " " (place(at)) "H" (place(x.at(entry.high)))
            } {}
            rect class="fill" x=(place(from)) y=(place(at - 4.0)) width=(place(width)) height="8"
                rx="1.5" {}
            circle class="mean" cx=(place(x.at(entry.mean))) cy=(place(at)) r="3" {}
        }
    }
}
