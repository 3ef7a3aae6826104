//! Curves along an axis of a sweep.

use cotenant_core::sim::sweep::{Axis as SweepAxis, AxisKind, PointFigures, Setting, lines};

use super::build::SweepInputs;
use super::model::{SweepChart, SweepLine};
use crate::build::axes::{coordinate, linear_with};
use crate::format;
use crate::model::{Axis, AxisScale, Tick};

/// Lines that one drawing can hold apart.
const LINES_DRAWN: usize = 6;
/// Ticks that fit below a drawing.
const TICKS_MAX: usize = 8;

/// What is drawn: a key, a heading, the title of the axis, and the value of a point.
struct Figure {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    value: fn(&PointFigures) -> Option<f64>,
    is_share: bool,
}

const FIGURES: [Figure; 4] = [
    Figure {
        key: "on_time",
        title: "Deadlines that hold",
        unit: "least share of drawn calendars",
        value: PointFigures::on_time_share_least,
        is_share: true,
    },
    Figure {
        key: "short",
        title: "Time short of replicas",
        unit: "share of the time",
        value: |figures| Some(figures.short_share()),
        is_share: true,
    },
    Figure {
        key: "latency",
        title: "Latency at the peak",
        unit: "worst one as a share of its target",
        value: PointFigures::latency_share,
        is_share: true,
    },
    Figure {
        key: "kept",
        title: "Work that is kept",
        unit: "GPU-hours in one calendar",
        value: |figures| Some(figures.gpu_hours_kept),
        is_share: false,
    },
];

/// The drawings: each figure along each axis that has numbers.
pub(super) fn charts(
    inputs: &SweepInputs<'_>,
    is_on_front: &impl Fn(u64) -> bool,
) -> Vec<SweepChart> {
    let mut charts = Vec::new();
    for (place, axis) in inputs.sweep.axes.iter().enumerate() {
        if !axis.kind.is_numeric() || axis.values.len() < 2 {
            continue;
        }
        for figure in &FIGURES {
            charts.extend(chart(inputs, place, axis, figure, is_on_front));
        }
    }
    charts
}

/// One drawing; `None` where no point has the figure.
fn chart(
    inputs: &SweepInputs<'_>,
    place: usize,
    axis: &SweepAxis,
    figure: &Figure,
    is_on_front: &impl Fn(u64) -> bool,
) -> Option<SweepChart> {
    let point = |index: &u64| {
        let outcome = inputs.points.get(usize::try_from(*index).ok()?)?;
        let y = (figure.value)(outcome.figures.as_ref().ok()?)?;
        let x = inputs.sweep.settings(*index).get(place).and_then(|it| it.number())?;
        Some((coordinate(x), coordinate(y), is_on_front(*index)))
    };
    let lines: Vec<SweepLine> = lines(inputs.sweep, place)
        .iter()
        .map(|line| {
            let fixed: Vec<String> =
                line.fixed.iter().map(|(name, value)| format!("{name} {value}")).collect();
            SweepLine {
                label: fixed.join(", "),
                points: line.points.iter().filter_map(point).collect(),
            }
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    let highest =
        lines.iter().flat_map(|line| &line.points).map(|point| point.1).reduce(f64::max)?;
    let name = axis.kind.name().replace('_', " ");
    let drawn = lines.len().min(LINES_DRAWN) as u32;
    Some(SweepChart {
        key: format!("{}-{}", axis.kind.name(), figure.key),
        title: format!("{} by {name}", figure.title),
        description: format!(
            "{} against {name}, one line for each combination of the other settings; its highest is {}",
            figure.title,
            text(figure, highest)
        ),
        x: x_axis(axis),
        y: linear_with(figure.unit, highest, 5.0, |value| text(figure, value)),
        drawn,
        drawn_text: (lines.len() > LINES_DRAWN).then(|| {
            format!("{drawn} of {} lines are drawn; the JSON form has them all", lines.len())
        }),
        lines,
    })
}

fn text(figure: &Figure, value: f64) -> String {
    if figure.is_share { format::share(value) } else { format::trimmed(value) }
}

/// The axis of the sweep with a tick at its values, as many as fit.
fn x_axis(axis: &SweepAxis) -> Axis {
    let mut values: Vec<(f64, String)> = axis
        .values
        .iter()
        .filter_map(|value| Some((coordinate(value.number()?), value.to_string())))
        .collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let step = values.len().div_ceil(TICKS_MAX).max(1);
    let ends = (values.first().map_or(0.0, |it| it.0), values.last().map_or(1.0, |it| it.0));
    let ticks = values.into_iter().step_by(step).map(|(at, text)| Tick { at, text }).collect();
    Axis { title: title(axis), scale: AxisScale::Linear, min: ends.0, max: ends.1, ticks }
}

fn title(axis: &SweepAxis) -> String {
    let unit = match axis.kind {
        AxisKind::Rate => "times the demand",
        AxisKind::Gpus => "GPUs",
        AxisKind::ReclaimTime => "time to reclaim",
        AxisKind::Split => "GPUs of inference",
        AxisKind::Shift => "hours by which deadlines move",
        AxisKind::Window => "minutes of a window",
        AxisKind::Reclaim | AxisKind::Mode | AxisKind::First => axis.kind.name(),
    };
    debug_assert!(axis.values.iter().all(|it| Setting::number(it).is_some()));
    unit.to_owned()
}
