//! The section of capacity with its figure.

use maud::{Markup, html};

use super::grid::Plot;
use super::page::facts;
use super::scale::{Scale, place};
use super::table::detail;
use crate::model::{CapacityView, RateChart};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 492.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 246.0;
const PLOT: Plot = Plot { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };

/// What searches for capacity found; nothing where none was made.
pub(super) fn capacity(views: &[CapacityView]) -> Markup {
    html! {
        @if !views.is_empty() {
            section id="capacity" {
                h2 { "Capacity" }
                @for view in views {
                    p { (view.headline) }
                    (facts(&view.facts))
                    @if !view.remarks.is_empty() {
                        ul class="notes" { @for remark in &view.remarks { li { (remark) } } }
                    }
                    (figure(&view.chart))
                    (detail(&view.curve))
                }
            }
        }
    }
}

fn figure(chart: &RateChart) -> Markup {
    html! {
        figure {
            figcaption { h3 { "Rate against each objective" } }
            @if let Some(missing) = &chart.missing {
                p class="missing" { (missing) }
            } @else {
                (drawing(chart))
            }
        }
    }
}

fn drawing(chart: &RateChart) -> Markup {
    let (x, y) = PLOT.scales(&chart.x, &chart.y);
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
            aria-label=(chart.description) {
            (PLOT.grid(&chart.x, &chart.y))
            text class="axis" x=(LEFT) y=(BOTTOM + 42.0) {
                (chart.x.title) "; " (chart.y.title)
            }
            // What an objective allows.
            path class="target" d={ "M" (LEFT) " " (place(y.at(1.0))) "H" (RIGHT) } {}
            @if let Some((low, high)) = chart.interval {
                @for end in [low, high] {
                    path class="target" d={ "M" (place(x.at(end))) " " (TOP) "V" (BOTTOM) } {}
                }
            }
            @for (index, line) in chart.lines.iter().enumerate() {
                g class="sa" {
                    path class="curve" d=(path(&line.points, x, y)) { title { (line.label) } }
                    @for (rate, ratio) in &line.points {
                        circle class="goal" r="3" cx=(place(x.at(*rate))) cy=(place(y.at(*ratio))) {}
                    }
                }
                @if let Some((rate, ratio)) = line.points.get(index % line.points.len().max(1)) {
                    text class="label" x=(place(x.at(*rate) + 6.0))
                        y=(place(y.at(*ratio) - 8.0 - 11.0 * index as f64)) { (line.label) }
                }
            }
        }
    }
}

fn path(points: &[(f64, f64)], x: Scale, y: Scale) -> String {
    let mut path = String::new();
    for (index, (rate, ratio)) in points.iter().enumerate() {
        path.push(if index == 0 { 'M' } else { 'L' });
        path.push_str(&place(x.at(*rate)));
        path.push(' ');
        path.push_str(&place(y.at(*ratio)));
    }
    path
}
