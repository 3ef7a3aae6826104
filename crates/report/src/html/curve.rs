//! Latency curves.

use maud::{Markup, html};

use super::grid::Plot;
use super::marks::series_class;
use super::scale::{Scale, place};
use crate::model::{CurveChart, CurveSeries};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 492.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 276.0;
const PLOT: Plot = Plot { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };

/// The chart with its heading and key.
pub(super) fn curve_figure(chart: &CurveChart) -> Markup {
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

fn key(chart: &CurveChart) -> Markup {
    html! {
        ul class="key" {
            @for curve in &chart.series {
                li {
                    svg class={ "sample " (series_class(curve.kind)) } width="26" height="10"
                        viewBox="0 0 26 10" aria-hidden="true" {
                        path class="curve" d="M1 5h24" {}
                    }
                    (curve.label)
                    @if let Some(text) = &curve.unbounded_text { ": " (text) " ↑" }
                }
            }
        }
    }
}

fn drawing(chart: &CurveChart) -> Markup {
    let (x, y) = PLOT.scales(&chart.x, &chart.y);
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
            aria-label=(chart.description) {
            (PLOT.grid(&chart.x, &chart.y))
            text class="axis" x=(LEFT) y=(BOTTOM + 42.0) { (chart.x.title) }
            @for line in &chart.lines {
                @let at = y.at(line.at);
                @let cx = line.share.map_or(RIGHT, |share| x.at(share));
                path class="target" d={ "M" (LEFT) " " (place(at)) "H" (place(cx)) } {}
                @if line.share.is_some() {
                    path class="target faint" d={ "M" (place(cx)) " " (place(at)) "V" (BOTTOM) } {}
                    path class="goal" d={
                        "M" (place(cx)) " " (place(at - 5.5)) "l5.5 5.5-5.5 5.5-5.5-5.5z"
                    } { title { (line.text) } }
                }
                text class="label" x=(LEFT + 6.0) y=(place(at - 6.0)) { (line.text) }
            }
            @for curve in &chart.series { (series(curve, x, y)) }
            @for (curve, at) in letters(chart, y) {
                @let end = curve.points.last().map_or(RIGHT, |point| x.at(point.0));
                text class={ "letter " (series_class(curve.kind)) }
                    x=(place((end + 8.0).min(RIGHT + 6.0))) y=(place(at)) dy="0.32em" {
                    (curve.kind.letter())
                }
            }
        }
    }
}

fn series(curve: &CurveSeries, x: Scale, y: Scale) -> Markup {
    let mut path = String::new();
    for (index, (share, value)) in curve.points.iter().enumerate() {
        path.push(if index == 0 { 'M' } else { 'L' });
        path.push_str(&place(x.at(*share)));
        path.push(' ');
        path.push_str(&place(y.at(*value)));
    }
    html! {
        g class=(series_class(curve.kind)) {
            path class="curve" d=(path) { title { (curve.label) } }
            @if let (Some(share), Some((_, value))) = (curve.unbounded_from, curve.points.last()) {
                @let at = place(x.at(share));
                path class="beyond" d={ "M" (at) " " (place(y.at(*value))) "V" (TOP + 6.0) } {
                    @if let Some(text) = &curve.unbounded_text { title { (text) } }
                }
                path class="arrow" d={ "M" (at) " " (TOP) "l4 8h-8z" } {}
            }
        }
    }
}

/// Heights of the letters at the curves' ends, kept apart so that none covers another.
fn letters(chart: &CurveChart, y: Scale) -> Vec<(&CurveSeries, f64)> {
    let mut ends: Vec<_> = chart
        .series
        .iter()
        .filter_map(|curve| Some((curve, y.at(curve.points.last()?.1))))
        .collect();
    ends.sort_by(|left, right| left.1.total_cmp(&right.1));
    for index in 1..ends.len() {
        ends[index].1 = ends[index].1.max(ends[index - 1].1 + 14.0);
    }
    ends
}
