//! One week: demand and reserve above, who holds which GPU below, all on one axis of time.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::heat::{Frame, heat, row_height, words};
use super::marks::color_class;
use crate::html::scale::{Scale, place};
use crate::plan::model::{CalendarDay, CalendarView, HolderKind, ReserveView, WeekFigure};

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 1052.0;
const TITLE: f64 = 22.0;
const DEMAND: f64 = 88.0;
const RESERVE: f64 = 72.0;
const GAP: f64 = 16.0;

/// A panel of the drawing: its top and its bottom.
type Span = (f64, f64);

/// The drawing of one week.
pub(super) fn week_figure(
    week: &WeekFigure,
    view: &CalendarView,
    reserves: &[ReserveView],
) -> Markup {
    let frame = Frame::new(view, week.from, week.until, Scale::new(&week.x, LEFT, RIGHT));
    let row = row_height(view.gpus, 260.0, 22.0);
    let mut at = 6.0;
    let mut panels: Vec<(Span, Span)> = Vec::new();
    for _ in reserves {
        let demand = (at + TITLE, at + TITLE + DEMAND);
        let reserve = (demand.1 + GAP + TITLE, demand.1 + GAP + TITLE + RESERVE);
        at = reserve.1 + GAP;
        panels.push((demand, reserve));
    }
    let top = at + TITLE;
    let bottom = top + row * f64::from(view.gpus);
    html! {
        figure class="wide week" {
            figcaption { h3 { (week.title) } }
            div class="scroll" tabindex="0" role="group" aria-label=(week.title) {
                svg class="chart" viewBox={ "0 0 " (WIDTH) " " (place(bottom + 44.0)) } role="img"
                    aria-label=(week.description) {
                    (days(week, &frame, bottom))
                    @for (reserve, (demand, gpus)) in reserves.iter().zip(&panels) {
                        (demand_panel(reserve, &frame, *demand, view))
                        (reserve_panel(reserve, &frame, *gpus, view))
                        (hover(reserve, &frame, (demand.0, gpus.1)))
                    }
                    text class="panel" x=(LEFT) y=(place(top - 8.0)) { "who holds which GPU" }
                    (heat(&frame, top, row, LEFT - 8.0))
                    (midnights(week, &frame, bottom))
                    (words(&frame, top, row))
                }
            }
        }
    }
}

/// Names of the days and the noons, with hairlines through every panel.
fn days(week: &WeekFigure, frame: &Frame<'_>, bottom: f64) -> Markup {
    html! {
        @for tick in &week.x.ticks {
            @let at = place(frame.x.at(tick.at));
            path class="grid" d={ "M" (at) " 6V" (place(bottom)) } {}
            text class="tick middle faint" x=(at) y=(place(bottom + 16.0)) { (tick.text) }
        }
        @for day in &week.days {
            text class="day middle" x=(place(frame.x.at(day.at))) y=(place(bottom + 36.0)) {
                (day.text)
            }
        }
    }
}

fn midnights(week: &WeekFigure, frame: &Frame<'_>, bottom: f64) -> Markup {
    html! {
        @for midnight in &week.midnights {
            path class="midnight" d={
                "M" (place(frame.x.at(*midnight))) " 6V" (place(bottom + 6.0))
            } {}
        }
    }
}

/// The colour of an inference workload.
fn color_of(workload: &str, view: &CalendarView) -> String {
    let holder = view
        .holders
        .iter()
        .filter(|holder| matches!(holder.kind, HolderKind::Reserved | HolderKind::HotReserve))
        .find(|holder| holder.workload.as_deref() == Some(workload));
    color_class(holder.map_or(0, |holder| holder.color))
}

/// A line that steps from window to window.
fn steps(frame: &Frame<'_>, height: impl Fn(usize) -> f64) -> String {
    let mut path = String::new();
    for window in frame.from..frame.until {
        let command = if window == frame.from { "M" } else { "L" };
        let y = place(height(window));
        let (start, end) = (place(frame.at(window)), place(frame.at(window + 1)));
        // Writing to a String cannot fail.
        let _ = write!(path, "{command}{start} {y}H{end}");
    }
    path
}

/// The area between two lines that step.
fn between(
    frame: &Frame<'_>,
    upper: impl Fn(usize) -> f64,
    lower: impl Fn(usize) -> f64,
) -> String {
    let mut path = steps(frame, upper);
    for window in (frame.from..frame.until).rev() {
        let y = place(lower(window));
        let (start, end) = (place(frame.at(window)), place(frame.at(window + 1)));
        let _ = write!(path, "L{end} {y}H{start}");
    }
    if !path.is_empty() {
        path.push('Z');
    }
    path
}

fn demand_panel(
    reserve: &ReserveView,
    frame: &Frame<'_>,
    (top, bottom): Span,
    view: &CalendarView,
) -> Markup {
    let y = Scale::new(&reserve.demand_axis, bottom, top);
    let of = |window: usize| reserve.windows.get(window).map(|window| window.demand);
    let mean = |window: usize| y.at(of(window).map_or(0.0, |demand| demand.mean));
    let peak = |window: usize| y.at(of(window).map_or(0.0, |demand| demand.peak));
    html! {
        g class=(color_of(&reserve.workload, view)) {
            text class="panel" x=(LEFT) y=(place(top - 8.0)) {
                (reserve.workload) ": demand, " (reserve.unit) " (line: mean, above it: peak)"
            }
            @for tick in &reserve.demand_axis.ticks {
                @let at = place(y.at(tick.at));
                path class="grid" d={ "M" (LEFT) " " (at) "H" (RIGHT) } {}
                text class="tick end" x=(LEFT - 8.0) y=(at) dy="0.32em" { (tick.text) }
            }
            path class="band" d=(between(frame, peak, mean)) {}
            path class="mean-line" d=(steps(frame, mean)) {}
        }
    }
}

fn reserve_panel(
    reserve: &ReserveView,
    frame: &Frame<'_>,
    (top, bottom): Span,
    view: &CalendarView,
) -> Markup {
    let y = Scale::new(&reserve.gpus_axis, bottom, top);
    let of = |window: usize| {
        reserve
            .windows
            .get(window)
            .map_or([0.0; 3], |need| [need.reserved, need.hot, need.lent].map(f64::from))
    };
    let upto =
        |parts: usize| move |window: usize| -> f64 { y.at(of(window).iter().take(parts).sum()) };
    let color = color_of(&reserve.workload, view);
    let number = color.trim_start_matches('k').to_owned();
    html! {
        g class={ "cell " (color) } {
            text class="panel" x=(LEFT) y=(place(top - 8.0)) {
                (reserve.workload) ": GPUs reserved (solid), kept free (hatched), may be lent (pale)"
            }
            @for tick in &reserve.gpus_axis.ticks {
                @let at = place(y.at(tick.at));
                path class="grid" d={ "M" (LEFT) " " (at) "H" (RIGHT) } {}
                text class="tick end" x=(LEFT - 8.0) y=(at) dy="0.32em" { (tick.text) }
            }
            path class="pale" d=(between(frame, upto(3), upto(2))) {}
            path class="area" fill={ "url(#hot" (number) ")" } d=(between(frame, upto(2), upto(1))) {}
            path class="area" fill="var(--k)" d=(between(frame, upto(1), upto(0))) {}
        }
    }
}

/// A strip for each window that tells its numbers on pointing at it.
fn hover(reserve: &ReserveView, frame: &Frame<'_>, (top, bottom): Span) -> Markup {
    html! {
        @for window in frame.from..frame.until {
            @if let (Some(need), Some(at)) =
                (reserve.windows.get(window), frame.view.windows.get(window))
            {
                @let (x, end) = (frame.at(window), frame.at(window + 1));
                rect class="hit" x=(place(x)) y=(place(top)) width=(place(end - x))
                    height=(place(bottom - top)) {
                    title { (at.text) "; " (reserve.workload) ": " (need.text) }
                }
            }
        }
    }
}

/// One day: its GPUs and its hours.
pub(super) fn day_figure(day: &CalendarDay, view: &CalendarView) -> Markup {
    let frame = Frame::new(view, day.from, day.until, Scale::new(&day.x, LEFT, RIGHT));
    let row = row_height(view.gpus, 150.0, 18.0);
    let top = 4.0;
    let bottom = top + row * f64::from(view.gpus);
    html! {
        figure class="wide one-day" {
            figcaption { h4 { (day.label) } }
            div class="scroll" tabindex="0" role="group" aria-label=(day.label) {
                svg class="chart" viewBox={ "0 0 " (WIDTH) " " (place(bottom + 20.0)) } role="img"
                    aria-label={ (day.label) ": who holds which GPU, by the hour" } {
                    (heat(&frame, top, row, LEFT - 8.0))
                    @for tick in &day.x.ticks {
                        @let at = place(frame.x.at(tick.at));
                        path class="hour" d={ "M" (at) " " (top) "V" (place(bottom + 4.0)) } {}
                        text class={ "tick " (if tick.at > 0.0 { "middle" } else { "" }) } x=(at)
                            y=(place(bottom + 17.0)) { (tick.text) }
                    }
                    (words(&frame, top, row))
                }
            }
        }
    }
}
