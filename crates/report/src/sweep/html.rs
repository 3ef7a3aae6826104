//! A sweep as one page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::model::{SweepChart, SweepLine, SweepReport};
use crate::format::glue;
use crate::html::STYLE;
use crate::html::grid::Plot;
use crate::html::scale::{Scale, place};
use crate::html::table::detail;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 492.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 246.0;
const PLOT: Plot = Plot { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };

/// Colours and dashes of the lines: told apart without colour by their dashes.
const SWEEP_STYLE: &str = "
.l0 { --k: var(--a); } .l1 { --k: var(--b); } .l2 { --k: var(--c); }
.l3 { --k: var(--r); } .l4 { --k: var(--x); } .l5 { --k: var(--ink); }
.l1 .curve { stroke-dasharray: 7 3.5; } .l2 .curve { stroke-dasharray: 1.5 4; }
.l3 .curve { stroke-dasharray: 10 3 2 3; } .l4 .curve { stroke-dasharray: 4 2; }
.l5 .curve { stroke-dasharray: 12 4; }
.point { fill: var(--paper); stroke: var(--k); stroke-width: 1.4; }
.front { fill: var(--k); stroke: var(--ink); stroke-width: 1.2; }
header h1 { font-size: clamp(1.75rem, 5vw, 2.75rem); }
";

/// The sweep as one HTML page that needs nothing beside itself: no network, no script, no font.
pub fn render_sweep_html(report: &SweepReport) -> String {
    page(report).into_string()
}

fn page(report: &SweepReport) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(report.tool);
                title { "What if · " (report.site) " · Cotenant" }
                style { (PreEscaped(STYLE)) (PreEscaped(SWEEP_STYLE)) }
            }
            body class="open" {
                main {
                    header {
                        p class="eyebrow" { span { (report.site) } span { "simulated" } }
                        p class="question" { "What if it were run otherwise?" }
                        h1 { "What if" }
                        p class="reason" { (glue(&report.headline)) }
                        p class="reason" { (glue(&report.pays)) }
                        @if !report.notes.is_empty() {
                            ul class="notes" { @for note in &report.notes { li { (note) } } }
                        }
                    }
                    (charts(report))
                    section id="sweep" {
                        h2 { "All points" }
                        p class="note" { "Compared by: " (report.aims.join(", ")) "." }
                        (detail(&report.table))
                    }
                    section id="economics" {
                        h2 { "Shared and dedicated" }
                        (detail(&report.pools))
                        (detail(&report.shift))
                    }
                    @if !report.assumed.is_empty() {
                        section id="assumed" {
                            h2 { "What was assumed" }
                            ul class="remarks" {
                                @for sentence in &report.assumed { li { (glue(sentence)) } }
                            }
                        }
                    }
                }
                footer {
                    p { (report.tool) " · " (report.format) " version " (report.version) }
                    p { "Every number on this page is in the JSON form of the same sweep." }
                }
            }
        }
    }
}

fn charts(report: &SweepReport) -> Markup {
    html! {
        @if !report.charts.is_empty() {
            section id="curves" {
                h2 { "Curves" }
                p class="note" { "A filled mark is a point that no other of the same rate beats in everything." }
                div class="figures" { @for chart in &report.charts { (figure(chart)) } }
            }
        }
    }
}

fn figure(chart: &SweepChart) -> Markup {
    let drawn = || chart.lines.iter().take(chart.drawn as usize).enumerate();
    html! {
        figure id=(chart.key) {
            figcaption { h3 { (chart.title) } }
            ul class="key" {
                @for (number, line) in drawn() {
                    @if !line.label.is_empty() {
                        li {
                            svg class={ "sample l" (number) } width="26" height="10"
                                viewBox="0 0 26 10" aria-hidden="true" {
                                path class="curve" d="M1 5h24" {}
                            }
                            (line.label)
                        }
                    }
                }
                @if let Some(text) = &chart.drawn_text { li { (text) } }
            }
            (drawing(chart))
        }
    }
}

fn drawing(chart: &SweepChart) -> Markup {
    let (x, y) = PLOT.scales(&chart.x, &chart.y);
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
            aria-label=(chart.description) {
            (PLOT.grid(&chart.x, &chart.y))
            text class="axis" x=(LEFT) y=(BOTTOM + 42.0) { (chart.x.title) "; " (chart.y.title) }
            @for (number, line) in chart.lines.iter().take(chart.drawn as usize).enumerate() {
                g class={ "l" (number) } {
                    path class="curve" d=(path(line, x, y)) { title { (line.label) } }
                    @for (at, value, is_on_front) in &line.points {
                        circle class=(if *is_on_front { "front" } else { "point" })
                            r=(if *is_on_front { "4.5" } else { "3" })
                            cx=(place(x.at(*at))) cy=(place(y.at(*value))) {}
                    }
                }
            }
        }
    }
}

fn path(line: &SweepLine, x: Scale, y: Scale) -> String {
    let mut path = String::new();
    for (number, (at, value, _)) in line.points.iter().enumerate() {
        path.push(if number == 0 { 'M' } else { 'L' });
        path.push_str(&place(x.at(*at)));
        path.push(' ');
        path.push_str(&place(y.at(*value)));
    }
    path
}
