//! Blocks in order of time.

use maud::{Markup, html};

use super::marks::{badge, series_class};
use super::scale::{Scale, place};
use crate::model::{SeriesKind, TimelineBlock, TimelineChart};

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = 1052.0;
const LANE: f64 = 66.0;
const BAR: f64 = 30.0;

/// The chart with its heading, its key, and the reasons of what is left out.
pub(super) fn timeline_figure(chart: &TimelineChart) -> Markup {
    html! {
        figure class="wide" {
            figcaption { h3 { (chart.title) } }
            @if let Some(missing) = &chart.missing {
                p class="missing" { (missing) }
            } @else {
                (key(chart))
                div class="scroll" tabindex="0" role="group" aria-label=(chart.title) {
                    (drawing(chart))
                }
                @let rejected: Vec<_> = chart
                    .lanes
                    .iter()
                    .flat_map(|lane| &lane.blocks)
                    .filter(|block| block.rejected.is_some())
                    .collect();
                @if !rejected.is_empty() {
                    ul class="reasons" { @for block in rejected { li { (block.text) } } }
                }
            }
        }
    }
}

fn key(chart: &TimelineChart) -> Markup {
    let kinds = [
        (SeriesKind::InferenceAlone, "A inference alone"),
        (SeriesKind::TrainingAlone, "B training alone"),
        (SeriesKind::Together, "C together"),
        (SeriesKind::WithRemedy, "C′ with remedy"),
    ];
    let blocks = || chart.lanes.iter().flat_map(|lane| &lane.blocks);
    html! {
        ul class="key" {
            @for (kind, label) in kinds {
                @if blocks().any(|block| block.kind == kind) {
                    li { (badge(kind)) " " (label) }
                }
            }
            @if blocks().any(|block| block.checkpoint) {
                li { span class="tri" aria-hidden="true" { "▼" } " with a checkpoint" }
            }
            @if blocks().any(|block| block.rejected.is_some()) {
                li {
                    svg class="swatch sx" width="14" height="14" viewBox="0 0 14 14"
                        aria-hidden="true" {
                        rect class="fill" x="0.5" y="0.5" width="13" height="13" rx="2" {}
                    }
                    " left out"
                }
            }
            li { "pale edges: warm-up and drill, not judged" }
        }
    }
}

fn drawing(chart: &TimelineChart) -> Markup {
    let x = Scale::new(&chart.x, LEFT, RIGHT);
    let bottom = LANE * chart.lanes.len() as f64;
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (place(bottom + 40.0)) } role="img"
            aria-label=(chart.description) {
            @for tick in &chart.x.ticks {
                @let at = place(x.at(tick.at));
                path class="grid" d={ "M" (at) " 0V" (place(bottom)) } {}
                text class={ "tick " (if tick.at > 0.0 { "middle" } else { "" }) } x=(at)
                    y=(place(bottom + 16.0)) { (tick.text) }
            }
            text class="axis end" x=(RIGHT) y=(place(bottom + 34.0)) { (chart.x.title) }
            @for (index, lane) in chart.lanes.iter().enumerate() {
                @let top = LANE * index as f64;
                text class="tick" x=(LEFT) y=(place(top + 13.0)) { (lane.run) }
                @for block in &lane.blocks { (bar(block, x, top + 28.0)) }
            }
        }
    }
}

fn bar(block: &TimelineBlock, x: Scale, top: f64) -> Markup {
    let class = if block.rejected.is_some() { "sx" } else { series_class(block.kind) };
    let (from, to) = (x.at(block.from_min), x.at(block.to_min));
    let (judged_from, judged_to) = (x.at(block.judged_from_min), x.at(block.judged_to_min));
    let middle = place(f64::midpoint(from, to));
    html! {
        g class=(class) {
            title { (block.text) }
            rect class="edge" x=(place(from)) y=(place(top)) width=(place((to - from).max(1.0)))
                height=(BAR) {}
            rect class="fill" x=(place(judged_from)) y=(place(top))
                width=(place((judged_to - judged_from).max(1.0))) height=(BAR) {}
            @if block.checkpoint {
                path class="tri" d={ "M" (middle) " " (place(top - 1.0)) "l-4-7h8z" } {}
            }
            @if to - from > 16.0 {
                text class="inside" x=(middle) y=(place(top + BAR / 2.0)) dy="0.34em" {
                    (block.kind.letter())
                }
            }
        }
    }
}
