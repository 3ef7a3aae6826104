//! From values to places on paper. Nothing here makes a number that is shown.

use crate::model::{Axis, AxisScale};

/// Maps an axis to a length in the drawing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: AxisScale,
    min: f64,
    span: f64,
    from: f64,
    length: f64,
}

impl Scale {
    /// An axis laid from `from` to `to` in drawing units; `to` may be the smaller one.
    pub(crate) fn new(axis: &Axis, from: f64, to: f64) -> Self {
        let min = position(axis.scale, axis.min);
        let span = position(axis.scale, axis.max) - min;
        let span = if span.is_finite() && span > 0.0 { span } else { 1.0 };
        Self { kind: axis.scale, min, span, from, length: to - from }
    }

    /// Where a value stands, held inside the axis.
    pub(crate) fn at(self, value: f64) -> f64 {
        let part = (position(self.kind, value) - self.min) / self.span;
        let part = if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) };
        self.from + part * self.length
    }
}

fn position(kind: AxisScale, value: f64) -> f64 {
    match kind {
        AxisScale::Linear => value,
        AxisScale::Log => value.max(1e-12).log10(),
        AxisScale::Nines => -(1.0 - value.clamp(0.0, 1.0 - 1e-9)).log10(),
    }
}

/// A coordinate as SVG has it: one digit after the point is finer than the eye.
pub(crate) fn place(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nine_takes_the_same_length() {
        let axis = Axis {
            title: String::new(),
            scale: AxisScale::Nines,
            min: 0.0,
            max: 0.999,
            ticks: Vec::new(),
        };
        let scale = Scale::new(&axis, 0.0, 300.0);
        for (share, place) in [(0.0, 0.0), (0.9, 100.0), (0.99, 200.0), (0.999, 300.0)] {
            assert!((scale.at(share) - place).abs() < 1e-6);
        }
        assert_eq!(scale.at(f64::NAN), 0.0);
    }
}
