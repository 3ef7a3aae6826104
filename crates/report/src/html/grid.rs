//! What lies under every chart with two axes: a line and a text at each tick.

use maud::{Markup, html};

use super::scale::{Scale, place};
use crate::model::Axis;

/// Where the axes of a chart lie, in drawing units; `top` is less than `bottom`.
#[derive(Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Plot {
    /// The scales of the two axes in this place.
    pub(crate) fn scales(self, x: &Axis, y: &Axis) -> (Scale, Scale) {
        (Scale::new(x, self.left, self.right), Scale::new(y, self.bottom, self.top))
    }

    /// The grid.
    pub(crate) fn grid(self, x_axis: &Axis, y_axis: &Axis) -> Markup {
        let (x, y) = self.scales(x_axis, y_axis);
        html! {
            @for tick in &y_axis.ticks {
                @let at = place(y.at(tick.at));
                path class="grid" d={ "M" (self.left) " " (at) "H" (self.right) } {}
                text class="tick end" x=(self.left - 8.0) y=(at) dy="0.32em" { (tick.text) }
            }
            @for tick in &x_axis.ticks {
                @let at = place(x.at(tick.at));
                path class="grid" d={ "M" (at) " " (self.top) "V" (self.bottom) } {}
                text class="tick middle" x=(at) y=(self.bottom + 18.0) { (tick.text) }
            }
        }
    }
}
