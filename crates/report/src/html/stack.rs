//! Stacked bars: CPU by user, and the parts of a reclaim drill.

use maud::{Markup, html};

use super::scale::{Scale, place};
use crate::model::{Axis, DrillChart, HostChart, Segment, State};

const WIDTH: f64 = 520.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 400.0;
const TOP: f64 = 8.0;

/// One bar of either chart.
struct Bar<'a> {
    label: &'a str,
    segments: &'a [Segment],
    /// What stands to the right of the bar, one line or two.
    beside: Vec<String>,
    title: Option<&'a str>,
}

/// CPU by user.
pub(super) fn host_figure(chart: &HostChart) -> Markup {
    let bars: Vec<_> = chart
        .bars
        .iter()
        .map(|bar| Bar {
            label: bar.kind.letter(),
            segments: &bar.segments,
            beside: vec![
                "pressure".to_owned(),
                short(&bar.pressure_cpu.text, bar.pressure_cpu.state),
            ],
            title: None,
        })
        .collect();
    let classes = ["u1", "u2", "u3", "u4", "u5"];
    figure(
        &chart.title,
        &chart.description,
        chart.missing.as_deref(),
        &chart.x,
        &bars,
        &classes,
        34.0,
    )
}

/// Parts of each drill.
pub(super) fn drill_figure(chart: &DrillChart) -> Markup {
    let bars: Vec<_> = chart
        .bars
        .iter()
        .map(|bar| Bar {
            label: &bar.label,
            segments: &bar.parts,
            beside: match &bar.failure {
                Some(_) => vec!["✗ failed".to_owned()],
                None => vec![format!("then {}", short(&bar.resume.text, bar.resume.state))],
            },
            title: Some(&bar.text),
        })
        .collect();
    let classes = ["d1", "d2", "d3", "d4"];
    figure(
        &chart.title,
        &chart.description,
        chart.missing.as_deref(),
        &chart.x,
        &bars,
        &classes,
        20.0,
    )
}

/// Beside a bar there is no room for a reason: the table has it.
fn short(text: &str, state: State) -> String {
    if state == State::Missing { "not seen".to_owned() } else { text.to_owned() }
}

fn figure(
    title: &str,
    description: &str,
    missing: Option<&str>,
    axis: &Axis,
    bars: &[Bar<'_>],
    classes: &[&str],
    row: f64,
) -> Markup {
    html! {
        figure {
            figcaption { h3 { (title) } }
            @if let Some(missing) = missing {
                p class="missing" { (missing) }
            } @else {
                ul class="key" {
                    @if let Some(bar) = bars.first() {
                        @for (segment, class) in bar.segments.iter().zip(classes) {
                            li {
                                svg class={ "swatch " (class) } width="14" height="14"
                                    viewBox="0 0 14 14" aria-hidden="true" {
                                    rect class="fill" x="0.5" y="0.5" width="13" height="13" rx="2" {}
                                }
                                " " (segment.name)
                            }
                        }
                    }
                }
                (drawing(description, axis, bars, classes, row))
            }
        }
    }
}

fn drawing(description: &str, axis: &Axis, bars: &[Bar<'_>], classes: &[&str], row: f64) -> Markup {
    let x = Scale::new(axis, LEFT, RIGHT);
    let bottom = TOP + row * bars.len() as f64;
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (place(bottom + 44.0)) } role="img"
            aria-label=(description) {
            @for tick in &axis.ticks {
                @let at = place(x.at(tick.at));
                path class="grid" d={ "M" (at) " " (TOP) "V" (place(bottom)) } {}
                text class="tick middle" x=(at) y=(place(bottom + 18.0)) { (tick.text) }
            }
            text class="axis" x=(LEFT) y=(place(bottom + 38.0)) { (axis.title) }
            @for (index, bar) in bars.iter().enumerate() {
                (one_bar(bar, classes, x, TOP + row * (index as f64 + 0.5), row * 0.62))
            }
        }
    }
}

fn one_bar(bar: &Bar<'_>, classes: &[&str], x: Scale, at: f64, height: f64) -> Markup {
    let mut from = 0.0;
    let mut parts = Vec::with_capacity(bar.segments.len());
    for (segment, class) in bar.segments.iter().zip(classes) {
        let length = segment.value.value.unwrap_or(0.0).max(0.0);
        parts.push((segment, *class, from, from + length));
        from += length;
    }
    let offset = if bar.beside.len() > 1 { -7.0 } else { 0.0 };
    html! {
        g {
            @if let Some(title) = bar.title { title { (title) } }
            text class="tick end" x=(LEFT - 8.0) y=(place(at)) dy="0.32em" { (bar.label) }
            @for (segment, class, from, to) in parts {
                @let (left, right) = (x.at(from), x.at(to));
                @if right - left > 0.05 {
                    rect class={ "fill " (class) } x=(place(left)) y=(place(at - height / 2.0))
                        width=(place(right - left)) height=(place(height)) {
                        title { (segment.name) ": " (segment.value.text) }
                    }
                }
            }
            @for (index, line) in bar.beside.iter().enumerate() {
                text class="tick" x=(RIGHT + 14.0) y=(place(at + offset + 14.0 * index as f64))
                    dy="0.32em" { (line) }
            }
        }
    }
}
