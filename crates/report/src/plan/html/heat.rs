//! The heat map: GPUs down, time across, a rectangle for each stretch that one holder has.

use maud::{Markup, html};

use super::marks::{fill, holder_class};
use crate::html::scale::{Scale, place};
use crate::plan::model::CalendarView;

/// Where a stretch of windows lies on paper.
pub(super) struct Frame<'a> {
    pub(super) view: &'a CalendarView,
    /// The first window.
    pub(super) from: usize,
    /// The window after the last one.
    pub(super) until: usize,
    /// From hours after the first window to paper.
    pub(super) x: Scale,
    /// Hours after the first window at which each window begins, and the end of the last one.
    starts: Vec<f64>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(view: &'a CalendarView, from: u32, until: u32, x: Scale) -> Self {
        let (from, until) = (from as usize, (until as usize).min(view.windows.len()));
        let mut at = 0.0;
        let mut starts = vec![at];
        for window in view.windows.get(from..until).unwrap_or_default() {
            at += window.hours;
            starts.push(at);
        }
        Self { view, from, until, x, starts }
    }

    /// Where a window begins on paper; beyond the frame, its edge.
    pub(super) fn at(&self, window: usize) -> f64 {
        let inside = window.saturating_sub(self.from).min(self.starts.len() - 1);
        self.x.at(self.starts[inside])
    }
}

/// The height of one GPU: rows stay readable on a small place, and a large one stays on the page.
pub(super) fn row_height(gpus: u32, room: f64, most: f64) -> f64 {
    (room / f64::from(gpus.max(1))).clamp(3.0, most)
}

/// The rectangles and the names of the GPUs.
pub(super) fn heat(frame: &Frame<'_>, top: f64, row: f64, label_at: f64) -> Markup {
    let view = frame.view;
    let every = (14.0 / row).ceil().max(1.0) as u32;
    let (left, right) = (frame.at(frame.from), frame.at(frame.until));
    html! {
        @for gpu in (0..view.gpus).step_by(every as usize) {
            text class="tick end" x=(place(label_at)) y=(place(top + row * (f64::from(gpu) + 0.5)))
                dy="0.32em" { @if gpu == 0 { "GPU " } (gpu) }
        }
        @for block in &view.blocks {
            @let (from, until) = (block.from as usize, block.until as usize);
            @if from < frame.until && until > frame.from {
                @if let Some(holder) = view.holders.get(block.holder as usize) {
                    @let (x, end) = (frame.at(from), frame.at(until));
                    @let y = top + row * f64::from(block.gpu);
                    @let height = row * f64::from(block.gpus);
                    g class={ "cell " (holder_class(holder)) } {
                        title { (block.text) }
                        rect class="area" x=(place(x)) y=(place(y)) width=(place(end - x))
                            height=(place(height)) fill=(fill(holder)) {}
                    }
                }
            }
        }
        @if row >= 5.0 {
            @for gpu in 1..view.gpus {
                path class="between" d={
                    "M" (place(left)) " " (place(top + row * f64::from(gpu))) "H" (place(right))
                } {}
            }
        }
    }
}

/// The words inside of the rectangles, drawn last so that no line goes through them.
pub(super) fn words(frame: &Frame<'_>, top: f64, row: f64) -> Markup {
    let view = frame.view;
    html! {
        @for block in &view.blocks {
            @let (from, until) = (block.from as usize, block.until as usize);
            @if from < frame.until && until > frame.from {
                @if let Some(holder) = view.holders.get(block.holder as usize) {
                    @let (x, end) = (frame.at(from), frame.at(until));
                    @let height = row * f64::from(block.gpus);
                    // In the middle row: between two of them a hairline would cross the word.
                    @let middle = block.gpu + block.gpus.saturating_sub(1) / 2;
                    @let y = top + row * (f64::from(middle) + 0.5);
                    @if let Some(name) = name(block.tenant, &holder.letter, end - x, height, view) {
                        text class={ "inside " (if holder.kind.is_loose() { "on-hatch" } else { "on-fill" }) }
                            x=(place(f64::midpoint(x, end))) y=(place(y)) dy="0.34em" { (name) }
                    }
                }
            }
        }
    }
}

/// What is written into a rectangle: the tenant's name, its letter, or nothing, by the room.
fn name<'a>(
    tenant: Option<u32>,
    letter: &'a str,
    width: f64,
    height: f64,
    view: &'a CalendarView,
) -> Option<&'a str> {
    if height < 11.0 || width < 10.0 {
        return None;
    }
    let tenant = view.tenants.get(tenant? as usize)?;
    let fits = |text: &str| (text.chars().count() as f64) * 7.0 + 10.0 < width;
    [tenant.name.as_str(), tenant.workload.as_str()]
        .into_iter()
        .find(|text| fits(text))
        .or(Some(letter))
}
