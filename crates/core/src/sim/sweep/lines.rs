//! Points that differ in one axis alone, in its order: what a curve is drawn through.

use super::axes::Sweep;

/// The points along one axis while every other axis stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The settings that stand still: axis and value as text.
    pub fixed: Vec<(String, String)>,
    /// Indices of its points, by the value of the axis ascending where it is a number, else as written.
    pub points: Vec<u64>,
}

/// The lines along an axis, by the place of the axis. Empty where there is no such axis.
pub fn lines(sweep: &Sweep, axis: usize) -> Vec<Line> {
    let Some(along) = sweep.axes.get(axis) else { return Vec::new() };
    let count = along.values.len() as u64;
    // Points between two neighbours along the axis: the product of the axes that run faster.
    let faster = sweep.axes.iter().skip(axis + 1).map(|it| it.values.len() as u64);
    let stride: u64 = faster.product();
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by(|a, b| {
        let number =
            |place: &u64| along.values.get(*place as usize).and_then(super::Setting::number);
        match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => a.cmp(b),
        }
    });
    let first = |index: &u64| (index / stride).is_multiple_of(count);
    (0..sweep.points())
        .filter(first)
        .map(|start| {
            let named = sweep.axes.iter().zip(sweep.settings(start)).enumerate();
            Line {
                fixed: named
                    .filter(|(place, _)| *place != axis)
                    .map(|(_, (axis, value))| (axis.kind.name().to_owned(), value.to_string()))
                    .collect(),
                points: order.iter().map(|place| start + place * stride).collect(),
            }
        })
        .collect()
}
