//! The section on sensitivity.

use maud::{Markup, html};

use super::grid::Plot;
use super::scale::{Scale, place};
use super::table::{cell, detail};
use crate::format::glue;
use crate::model::{ResponseChart, ResponseSeries, WhyView};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 492.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 246.0;
const PLOT: Plot = Plot { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };

/// Colours and patterns of the lines: the letters beside them tell them apart without either.
const CLASSES: [&str; 7] = ["sa", "sc", "sb", "sr", "sx", "u5", "d1"];

pub(super) fn section(why: &WhyView) -> Markup {
    html! {
        section id="why" {
            h2 { "Why: what inference is sensitive to" }
            p class="note" { (why.note) }
            div class="scroll" tabindex="0" role="region" aria-label="Predicted and measured" {
                table {
                    thead { tr {
                        th scope="col" { "objective" }
                        th scope="col" class="num" { "alone" }
                        th scope="col" class="num" { "C predicted" }
                        th scope="col" class="num" { "C measured" }
                        th scope="col" class="num" { "unexplained" }
                        th scope="col" { "what explains it" }
                    } }
                    tbody {
                        @for one in &why.outcomes { tr {
                            th scope="row" { (one.title) }
                            td class="num" { (cell(&one.alone)) }
                            td class="num" { (cell(&one.predicted)) }
                            td class="num" { (cell(&one.measured)) }
                            td class="num" { (cell(&one.unexplained)) }
                            td { (glue(&one.cause)) }
                        } }
                    }
                }
            }
            div class="figures" { @for chart in &why.charts { (figure(chart)) } }
            (detail(&why.responses))
            (detail(&why.neighbour))
            @if !why.missing.is_empty() {
                ol class="steps" {
                    @for entry in &why.missing { li {
                        p { (entry.what) }
                        pre { code { (entry.command) } }
                    } }
                }
            }
            @if !why.remarks.is_empty() {
                ul class="notes" { @for remark in &why.remarks { li { (glue(remark)) } } }
            }
        }
    }
}

fn class(index: usize) -> &'static str {
    CLASSES[index % CLASSES.len()]
}

/// The number that marks a line in the drawing and in the key.
fn number(index: usize) -> String {
    (index + 1).to_string()
}

fn figure(chart: &ResponseChart) -> Markup {
    html! {
        figure {
            figcaption { h3 { (chart.title) } }
            @if let Some(missing) = &chart.missing {
                p class="missing" { (missing) }
            } @else {
                ul class="key" {
                    @for (index, line) in chart.series.iter().enumerate() {
                        li {
                            svg class={ "sample " (class(index)) } width="26" height="10"
                                viewBox="0 0 26 10" aria-hidden="true" {
                                path class="curve" d="M1 5h24" {}
                            }
                            (number(index)) " " (line.label)
                        }
                    }
                    li { "diamond: the neighbour alone" }
                }
                (drawing(chart))
            }
        }
    }
}

fn drawing(chart: &ResponseChart) -> Markup {
    let (x, y) = PLOT.scales(&chart.x, &chart.y);
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
            aria-label=(chart.description) {
            (PLOT.grid(&chart.x, &chart.y))
            text class="axis" x=(LEFT) y=(BOTTOM + 42.0) { (chart.x.title) }
            @for (index, line) in chart.series.iter().enumerate() {
                (series(line, index, x, y))
            }
        }
    }
}

fn series(line: &ResponseSeries, index: usize, x: Scale, y: Scale) -> Markup {
    let mut path = format!("M{} {}", place(x.at(0.0)), place(y.at(1.0)));
    for point in &line.points {
        path.push('L');
        path.push_str(&place(x.at(point.at)));
        path.push(' ');
        path.push_str(&place(y.at(point.factor)));
    }
    // The numbers stand below each other where lines end together.
    let end = line.points.last().map(|point| (x.at(point.at), y.at(point.factor)));
    html! {
        g class=(class(index)) {
            title { (line.text) }
            path class="curve" d=(path) {}
            @for point in &line.points {
                @let at = place(x.at(point.at));
                path class="whisker" d={
                    "M" (at) " " (place(y.at(point.low))) "V" (place(y.at(point.high)))
                } {}
                circle class="mean" cx=(at) cy=(place(y.at(point.factor))) r="3" {}
            }
            @if let Some(at) = line.neighbour_at {
                path class="goal" d={
                    "M" (place(x.at(at))) " " (place(BOTTOM - 5.5)) "l5.5 5.5-5.5 5.5-5.5-5.5z"
                } { title { (line.text) } }
                text class="tick middle" x=(place(x.at(at))) y=(place(BOTTOM - 10.0)) {
                    (number(index))
                }
            }
            @if let Some((at, height)) = end {
                text class="letter" x=(place((at + 6.0).min(RIGHT + 6.0))) y=(place(height))
                    dy="0.32em" { (number(index)) }
            }
        }
    }
}
