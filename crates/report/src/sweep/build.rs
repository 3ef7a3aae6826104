//! From the points of a sweep to a report.

use cotenant_core::sim::sweep::{
    Aim, AxisKind, PointFigures, PointOutcome, PoolsAt, Sweep, fronts,
};
use cotenant_core::units::Money;

use super::curves::charts;
use super::model::{
    SweepAxisView, SweepJobView, SweepLatencyView, SweepPointView, SweepReport, SweepServiceView,
};
use super::pools::{pays, pools, shift};
use super::{SWEEP_FORMAT, SWEEP_VERSION};
use crate::format;
use crate::model::{Column, Table, Value};

/// Everything that [`build_sweep`] needs.
#[derive(Clone, Copy, Debug)]
pub struct SweepInputs<'a> {
    /// Name of the site.
    pub site_name: &'a str,
    /// Program and version: `cotenant 0.1.0`.
    pub tool_version: &'a str,
    /// GPUs of the place as the site has it.
    pub gpus: u32,
    /// The axes.
    pub sweep: &'a Sweep,
    /// Every point, in the order of its index.
    pub points: &'a [PointOutcome],
    /// What pools need at each rate and shift.
    pub pools: &'a [PoolsAt],
    /// The price of one GPU for one hour, where the site has one.
    pub gpu_hour: Option<&'a Money>,
    /// What the caller assumed, as sentences.
    pub assumed: &'a [String],
    /// Notes on where the histories come from.
    pub notes: &'a [String],
}

/// The report of a sweep. The same inputs give an equal report.
pub fn build_sweep(inputs: &SweepInputs<'_>) -> SweepReport {
    let aims = Aim::of(inputs.points);
    let front = fronts(inputs.sweep, inputs.points, &aims);
    let front: Vec<u64> = front.into_iter().map(|place| place as u64).collect();
    let is_on_front = |index: u64| front.binary_search(&index).is_ok();
    let view = |point: &PointOutcome| {
        let on_front = is_on_front(point.index);
        point_view(inputs, point, on_front)
    };
    SweepReport {
        format: SWEEP_FORMAT.to_owned(),
        version: SWEEP_VERSION,
        tool: inputs.tool_version.to_owned(),
        site: inputs.site_name.to_owned(),
        origin: "simulated".to_owned(),
        headline: headline(inputs, &front),
        pays: pays(inputs.pools, inputs.gpus),
        axes: inputs
            .sweep
            .axes
            .iter()
            .map(|axis| SweepAxisView {
                name: axis.kind.name().to_owned(),
                values: axis.values.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        aims: aims.iter().map(|aim| aim.name().to_owned()).collect(),
        table: table(inputs, &is_on_front),
        points: inputs.points.iter().map(view).collect(),
        charts: charts(inputs, &is_on_front),
        pools: pools(inputs),
        shift: shift(inputs),
        front,
        assumed: assumed(inputs),
        notes: inputs.notes.to_vec(),
    }
}

fn headline(inputs: &SweepInputs<'_>, front: &[u64]) -> String {
    let all = inputs.points.len() as u64;
    let lost = inputs.points.iter().filter(|point| point.figures.is_err()).count() as u64;
    let open = if lost > 0 {
        format!("; {} cannot be simulated and say why", format::count(lost))
    } else {
        String::new()
    };
    let best = inputs
        .points
        .iter()
        .filter_map(|point| Some((point.index, point.figures.as_ref().ok()?)))
        .filter(|(_, it)| it.on_time_share_least().is_none_or(|share| share >= 1.0))
        .min_by(|(_, a), (_, b)| {
            (a.gpus.cmp(&b.gpus)).then(a.short_share().total_cmp(&b.short_share()))
        });
    let fewest = match best {
        Some((index, figures)) if figures.on_time_share_least().is_some() => format!(
            "; every deadline holds in every drawn calendar on {} at the least ({})",
            format::plural(figures.gpus.into(), "GPU", "GPUs"),
            settings_text(inputs.sweep, index)
        ),
        None if lost < all => {
            "; at no point every deadline holds in every drawn calendar".to_owned()
        }
        _ => String::new(),
    };
    format!(
        "{}, {} of which no other of the same rate beats in everything{open}{fewest}. Simulated: no gate passes on it.",
        format::plural(all, "point", "points"),
        format::count(front.len() as u64)
    )
}

/// The settings of a point in words: `rate 1.5, gpus 8`.
pub(super) fn settings_text(sweep: &Sweep, index: u64) -> String {
    let named = sweep.axes.iter().zip(sweep.settings(index));
    let texts: Vec<String> =
        named.map(|(axis, setting)| format!("{} {setting}", axis.kind.name())).collect();
    texts.join(", ")
}

pub(super) fn column(key: &str, title: &str, numeric: bool) -> Column {
    Column { key: key.to_owned(), title: title.to_owned(), numeric }
}

pub(super) fn share(value: f64) -> Value {
    format::value_with_text(value, "share", format::share(value))
}

pub(super) fn gpu_hours(value: f64) -> Value {
    format::value_with_text(value, "GPU-hours", format::number(value))
}

pub(super) fn money(value: f64, price: &Money) -> Value {
    let text = format!("{} {}", format::number(value), price.currency);
    format::value_with_text(value, &price.currency, text)
}

/// What all GPUs of a point cost in one calendar.
fn cost(inputs: &SweepInputs<'_>, figures: &PointFigures) -> Option<f64> {
    inputs.gpu_hour.map(|price| price.amount * figures.gpu_hours_total())
}

fn table(inputs: &SweepInputs<'_>, is_on_front: &impl Fn(u64) -> bool) -> Table {
    let mut columns = vec![column("front", "", false)];
    for axis in &inputs.sweep.axes {
        let name = axis.kind.name();
        // Times to ask back and names are no numbers; everything else stands to the right.
        columns.push(column(name, &name.replace('_', " "), axis.kind.is_numeric()));
    }
    let has = |kind: AxisKind| inputs.sweep.axes.iter().any(|axis| axis.kind == kind);
    let (with_gpus, with_mode) = (!has(AxisKind::Gpus), !has(AxisKind::Mode));
    if with_gpus {
        columns.push(column("gpus_of_place", "GPUs", true));
    }
    if with_mode {
        columns.push(column("sharing", "sharing", false));
    }
    columns.extend([
        column("on_time_share", "on time", true),
        column("short_share", "short", true),
        column("gpu_hours_kept", "kept", true),
        column("gpu_hours_lost", "lost", true),
    ]);
    let known = inputs.points.iter().filter_map(|point| point.figures.as_ref().ok());
    let with_latency = known.clone().any(|figures| figures.latency_share().is_some());
    if with_latency {
        columns.push(column("latency_share", "latency", true));
    }
    if inputs.gpu_hour.is_some() {
        columns.push(column("cost", "cost", true));
    }
    let width = columns.len();
    let row = |point: &PointOutcome| {
        let mut cells = vec![Value::words(if is_on_front(point.index) { "*" } else { "" })];
        cells.extend(
            inputs.sweep.settings(point.index).iter().map(|it| Value::words(it.to_string())),
        );
        match &point.figures {
            Err(why) => {
                while cells.len() < width {
                    cells.push(Value::missing(why));
                }
            }
            Ok(figures) => {
                if with_gpus {
                    cells.push(format::counted(figures.gpus.into()));
                }
                if with_mode {
                    cells.push(Value::words(figures.mode.clone()));
                }
                let on_time = figures.on_time_share_least();
                cells.push(on_time.map_or_else(|| Value::missing("no deadline"), share));
                cells.push(share(figures.short_share()));
                cells.push(gpu_hours(figures.gpu_hours_kept));
                cells.push(gpu_hours(figures.gpu_hours_lost));
                if with_latency {
                    cells.push(figures.latency_share().map_or_else(
                        || Value::missing("not predictable, or its engine is not known"),
                        share,
                    ));
                }
                if let (Some(price), Some(cost)) = (inputs.gpu_hour, cost(inputs, figures)) {
                    cells.push(money(cost, price));
                }
            }
        }
        cells
    };
    Table {
        key: "points".to_owned(),
        title: "Points".to_owned(),
        note: "A star marks a point that no other of the same rate beats in everything. On time: the least share of the drawn \
               calendars in which a job's deadline held. Short: the mean share of the time in which the \
               worst service had too few replicas. Kept and lost: mean GPU-hours of the jobs in one \
               calendar. Latency, where it is known: the worst one at the declared peak times the rate, as a \
               share of its target."
            .to_owned(),
        columns,
        rows: inputs.points.iter().map(row).collect(),
        empty: "the sweep has no point".to_owned(),
    }
}

fn point_view(inputs: &SweepInputs<'_>, point: &PointOutcome, is_on_front: bool) -> SweepPointView {
    let figures = point.figures.as_ref();
    let known = figures.ok();
    SweepPointView {
        index: point.index,
        settings: inputs.sweep.settings(point.index).iter().map(ToString::to_string).collect(),
        is_on_front,
        missing: figures.err().cloned(),
        gpus: known.map(|it| it.gpus),
        mode: known.map(|it| it.mode.clone()),
        weeks: known.map(|it| it.weeks),
        jobs: known.map_or_else(Vec::new, |it| {
            let job = |job: &cotenant_core::sim::sweep::PointJob| SweepJobView {
                name: job.name.clone(),
                on_time_share: job.on_time_share,
                done_share: job.done_share,
                stops: job.stops,
            };
            it.jobs.iter().map(job).collect()
        }),
        services: known.map_or_else(Vec::new, |it| {
            let latency = |it: &cotenant_core::sim::sweep::PointLatency| SweepLatencyView {
                name: it.name.clone(),
                time_s: it.time_s,
                target_s: it.target_s,
            };
            let service = |service: &cotenant_core::sim::sweep::PointService| SweepServiceView {
                name: service.name.clone(),
                short_share: service.short_share,
                short_share_max: service.short_share_max,
                latencies: service.latencies.iter().flatten().map(latency).collect(),
                latencies_missing: service.latencies.as_ref().err().cloned(),
            };
            it.services.iter().map(service).collect()
        }),
        gpu_hours_serving: known.map(|it| it.gpu_hours_serving),
        gpu_hours_kept: known.map(|it| it.gpu_hours_kept),
        gpu_hours_lost: known.map(|it| it.gpu_hours_lost),
        gpu_hours_free: known.map(|it| it.gpu_hours_free),
        cost: known.and_then(|it| cost(inputs, it)),
        reclaims: known.map(|it| it.reclaims),
        reclaim_s_max: known.and_then(|it| it.reclaim_s_max),
    }
}

/// What stands behind the numbers, for the axes that there are.
fn assumed(inputs: &SweepInputs<'_>) -> Vec<String> {
    let mut list = vec![
        "every point has the same seed and so the same drawn weeks: points differ by their settings alone"
            .to_owned(),
    ];
    let of = |kind: AxisKind| match kind {
        AxisKind::Rate => Some(
            "rate: demand keeps its shape and is multiplied; what a replica carries stays as it is",
        ),
        AxisKind::Gpus => Some("gpus: all GPUs are alike, and the host grows with them"),
        AxisKind::ReclaimTime => Some(
            "reclaim_time: the declared steps of the way back keep their proportions; what drills have \
             shown does not count",
        ),
        AxisKind::Shift => Some(
            "shift: all jobs' deadlines move; one that comes each week moves with the time from which its \
             work may be done",
        ),
        AxisKind::First => Some(
            "first: its lateness weighs ten times that of all others together, and it is stopped last",
        ),
        AxisKind::Split => Some(
            "split: inference holds its GPUs at every hour, needed or not, and nothing is lent",
        ),
        AxisKind::Reclaim | AxisKind::Mode | AxisKind::Window => None,
    };
    list.extend(inputs.sweep.axes.iter().filter_map(|axis| of(axis.kind)).map(str::to_owned));
    list.extend(inputs.assumed.iter().cloned());
    list
}
